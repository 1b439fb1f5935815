# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The map of sizes: what the samples say of fuselink and its peers in each cell,
which is one size of one pattern on one kind of wires."""

from statistics import geometric_mean, median

BAR = 0.97
# A cell below the bar is measured again, so many times as often.
AGAIN = 3


def again(repetition):
    """Name of a repetition of what was below the bar."""
    return f"again{repetition}"


class Cell:
    def __init__(self, case, size, own, peers):
        self.case = case
        self.size = size
        self.own = own           # name of fuselink's column
        self.peers = peers       # names that are not fuselink
        self.first = {}          # name: results, of the first pass
        self.second = {}         # of what was below the bar

    def values(self, name, second=False):
        found = (self.second if second else self.first).get(name, [])
        return [result[self.case.metric] for result in found]

    def median(self, name, second=False):
        values = self.values(name, second)
        return median(values) if values else None

    def spread(self, name):
        """Half of what lies between the worst and the best, of the median."""
        values = self.values(name)
        return (max(values) - min(values)) / 2 / median(values)

    def ratio(self, name, second=False):
        """Speed of fuselink as a factor of another's; None without both."""
        mine, other = self.median(self.own, second), self.median(name, second)
        if mine is None or other is None:
            return None
        return other / mine if self.case.lower_is_better else mine / other

    def best(self, second=False):
        """(ratio, name) of the fastest peer; None without one."""
        ratios = [(ratio, name) for name in self.peers
                  if (ratio := self.ratio(name, second)) is not None]
        return min(ratios, default=None)

    def faster(self):
        """Names of the peers against which fuselink is below the bar."""
        return [name for name in self.peers
                if (ratio := self.ratio(name)) is not None and ratio < BAR]

    def measured_again(self, rounds):
        return all(len(self.values(name, True)) >= AGAIN * rounds
                   for name in (self.own, *self.faster()))

    def below(self, rounds):
        """Whether it stays below the bar; None if that is not known yet."""
        if not self.faster():
            return False
        if not self.measured_again(rounds):
            return None
        return self.best(second=True)[0] < BAR


def read(files, case, sizes, columns, rounds):
    """The cells of a case."""
    own = next(each.name for each in case.transports if each.fuselink)
    peers = [each.name for each in columns if not each.fuselink]
    cells = {size: Cell(case, size, own, peers) for size in sizes}
    for column in columns:
        for number in range(AGAIN * rounds):
            for name, into in ((number, "first"), (again(number), "second")):
                if into == "first" and number >= rounds:
                    continue
                found = files.read(case, column, name)
                for size in set(found) & set(cells):
                    getattr(cells[size], into).setdefault(
                        column.name, []).append(found[size])
    return list(cells.values())


def mean_ratio(cells):
    """Geometric mean of the ratios to the best peer."""
    ratios = [cell.best()[0] for cell in cells if cell.best()]
    return geometric_mean(ratios) if ratios else None
