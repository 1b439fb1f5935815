# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What jobs said of NICs that did not fail, as Markdown."""

# More than this beside the data is no header any more.
_MOST_SENT = 1.05


class Calm:
    """`results` are those of a case's jobs; of one that failed what there
    is, and why as "failure"."""

    def __init__(self, name, results):
        self.name = name
        self.results = results
        self.failures = [result["failure"] for result in results
                         if "failure" in result]

    def total(self, key):
        return sum(result.get(key, 0) for result in self.results)

    def said(self, key):
        return [line for result in self.results
                for line in result.get(key, [])]

    def longest_gap(self):
        return max((result.get("longest_gap", 0.0)
                    for result in self.results), default=0.0)

    def misses(self):
        found = [f"a job failed: {why}" for why in self.failures]
        for key, what in (("given_up", "NICs were given up"),
                          ("path_breaks", "paths were given up"),
                          ("message_moves", "times messages moved"),
                          ("resent_bytes", "bytes were sent again")):
            if self.total(key):
                found.append(f"{self.total(key)} {what}")
        if self.said("warnings"):
            found.append(f"{len(self.said('warnings'))} warnings, the first:"
                         f" {self.said('warnings')[0].strip()}")
        if not self.results:
            found.append("nothing was run")
        return found

    def row(self):
        seconds = self.total("seconds")
        rate = self.total("bytes") / seconds / 1e6 if seconds else 0.0
        return [str(len(self.results)), f"{seconds / 60:.1f}", f"{rate:.1f}",
                f"{self.longest_gap() * 1e3:.0f}",
                str(max(0, self.total("lost"))), str(self.total("timeouts")),
                str(self.total("given_up")), str(self.total("path_breaks")),
                str(self.total("message_moves")),
                str(self.total("resent_bytes")),
                str(len(self.said("warnings"))), str(len(self.failures))]


class Rested(Calm):
    """A stream whose receiver has rested."""

    def misses(self):
        found = super().misses()
        sent, data = self.total("sent"), self.total("bytes")
        if data and sent > _MOST_SENT * data:
            found.append(f"the NICs sent {sent / data:.1%} of the data")
        return found

    def row(self):
        data = self.total("bytes")
        return super().row() + [f"{self.total('sent') / data:.1%}"
                                if data else "-"]


def _line(cells):
    return "| " + " | ".join(cells) + " |"


def _table(titles, head, rows):
    """rows: those of Calm, with the cells in front of each."""
    head = [*titles, *head]
    return [_line(head), _line(["---"] * len(titles)
                               + ["---:"] * (len(head) - len(titles))),
            *(_line([*first, *each.row()]) for first, each in rows), ""]


# In front of a case's figures.
_CASES = ["program", "NICs", "queue", "when it is full"]
_RDMA_CASES = ["program", "packets lost"]

_HEAD = ["jobs", "minutes", "MB/s", "longest gap, ms", "lost segments",
         "timeouts", "NICs given up", "paths given up", "messages moved",
         "bytes again", "warnings", "jobs failed"]

_NOTES = """\
*Lost segments*: what the hosts' kernels sent again, less what was there twice then;
*timeouts*: how often they waited for one; where the switch drops they show that it
did; of RDMA NICs: packets that the switch has lost. What is right of it is fuselink's, and is to be 0: *NICs given up* of all
processes, each for itself; *paths given up* and *messages moved*, to another NIC;
*bytes again*: what fuselink sent once more because of that; *warnings*: lines of UCX
and fuselink. *MB/s* is what comes to the last rank's host, and *longest gap* that
between two calls, or messages, that are complete there.
"""


def text(moved, rested, head):
    """moved: [(case, Calm)], rested: [(rest, seconds, Rested)]."""
    lines = [head, ""]
    if moved:
        lines += _table(_RDMA_CASES if moved[0][0].rdma else _CASES, _HEAD,
                        [(case.cells(), each) for case, each in moved])
    if rested:
        lines += _table(["receiver", "for"], [*_HEAD, "NICs sent, of the data"],
                        [([rest.title, f"{seconds:g} s"], each)
                         for rest, seconds, each in rested])
    for each in [row[-1] for row in (*moved, *rested)]:
        lines += [f"- {each.name}: {why}"
                  for why in dict.fromkeys(each.failures)]
        lines += [f"- {each.name}: `{line.strip()}`"
                  for line in each.said("warnings")[:5]]
    return "\n".join(lines + ["", _NOTES])
