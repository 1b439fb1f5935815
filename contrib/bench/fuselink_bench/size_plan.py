# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What the map of sizes is to have, and in which order it is measured."""

from . import size_cases
from . import size_chart
from . import size_map
from . import transports
from .options import names_of


class Plan:
    """What is asked for: {wires: [(case, sizes, columns)]}."""

    def __init__(self, options, files, variants):
        chosen = transports.chosen(options.transports)
        sizes = size_cases.sizes_of(options.sizes)
        self.rounds = options.rounds
        self.files = files
        self.plan = {}
        for wires in names_of("--wires", options.wires, size_cases.WIRES):
            self.plan[wires] = []
            for pattern in names_of("--patterns", options.patterns,
                                    size_cases.PATTERNS):
                case = size_cases.case(wires, pattern, options.seconds)
                self.plan[wires].append(
                    (case, size_cases.fitting(sizes, wires, pattern),
                     size_cases.columns(case, chosen, options.before,
                                        variants)))

    def first_pass(self):
        """Yields (wires, [(case, column, sizes)], repetition)."""
        for number in range(self.rounds):
            for name, cases in self.plan.items():
                yield size_cases.WIRES[name], [
                    (case, column, sizes) for case, sizes, columns in cases
                    for column in columns], number

    def second_pass(self):
        """The same of what is below the bar: fuselink and who is faster."""
        again = {name: [(case, column, found)
                        for case, sizes, columns in cases
                        for column in columns
                        if (found := self._below(case, sizes, columns,
                                                 column))]
                 for name, cases in self.plan.items()}
        for number in range(size_map.AGAIN * self.rounds):
            for name, wanted in again.items():
                yield (size_cases.WIRES[name], wanted,
                       size_map.again(number))

    def _below(self, case, sizes, columns, column):
        return [cell.size for cell in self.cells(case, sizes, columns)
                if cell.faster() and column.name in (cell.own, *cell.faster())]

    def cells(self, case, sizes, columns):
        return size_map.read(self.files, case, sizes, columns, self.rounds)

    def by_case(self):
        return [(self.cells(*entry), entry[2])
                for cases in self.plan.values() for entry in cases]

    def panels(self):
        for name, cases in self.plan.items():
            lines = {}
            for entry in cases:
                points = [(cell.size, cell.best()[0])
                          for cell in self.cells(*entry) if cell.best()]
                if points:
                    lines[entry[0].title.removesuffix(
                        f", {size_cases.WIRES[name].title}")] = points
            if lines:
                yield size_chart.Panel(size_cases.WIRES[name].title, lines)
