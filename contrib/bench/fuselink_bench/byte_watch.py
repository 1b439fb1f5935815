# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What comes to hosts while a job runs, read every few milliseconds, and how long
nothing came around a cut."""

from contextlib import ExitStack

from . import hosts
from .received import Received

# Kept of the readings, around a cut, for who doubts.
_AROUND_S = (0.01, 0.1)


class ByteWatch:
    """In a with statement."""

    def __init__(self, cluster, folder, devices, step_ms):
        self._cluster = cluster
        self._words = [folder / "nicwatch", "rx", step_ms]
        self._devices = devices     # {number of a host that receives: its NICs}
        self._programs = {}
        self._stack = ExitStack()

    def __enter__(self):
        with ExitStack() as stack:
            for number, nics in self._devices.items():
                self._programs[f"host{number}"] = stack.enter_context(
                    hosts.HostProgram(self._cluster, number,
                                      [*self._words, *nics], in_time=True))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *details):
        return self._stack.__exit__(*details)

    def readings(self):
        """{host: Received} since the last time."""
        return {host: Received(totals(program.ask()))
                for host, program in self._programs.items()}

    def latest(self):
        """When a host's counters were read last, by its clock; these readings are not
        given again."""
        lines = next(iter(self._programs.values())).ask()
        return float(lines[-1].split()[0])


def totals(lines):
    """Of all NICs together, from lines of nicwatch."""
    words = map(str.split, lines)
    return [(float(when), sum(map(int, counts))) for when, *counts in words]


def facts(received, before, cut, end):
    """{host: what is kept of it} of the time from a cut to its end, of a job that had
    all NICs in the time `before`. Without a rate there is nothing that a gap could be
    of."""
    found = {}
    for host, each in received.items():
        full = each.rate(*before)
        if full > 0:
            found[host] = {
                "rate": full,
                "gap": each.longest_gap(cut, end, full),
                "usual": each.longest_gap(*before, full),
                "step": each.worst_step(cut, end),
                "around": each.around(cut, *_AROUND_S)}
    return found
