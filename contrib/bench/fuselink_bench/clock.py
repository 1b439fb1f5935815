# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The time in the hosts of a cluster, which is this machine's unless they are in a
guest."""

import time

_TRIES = 9
_PAUSE_S = 0.02


class Clock:
    """`ahead`: seconds that the hosts' clock is ahead of ours."""

    def __init__(self, ahead=0.0):
        self._ahead = ahead

    def now(self):
        """Seconds since 1970, by the hosts."""
        return time.time() + self._ahead


def clock_of(latest):
    """`latest()` asks a host, and returns by its clock a moment before it answered. The
    quickest answer of several is used: what it took is what may be wrong."""
    found = []
    for _ in range(_TRIES):
        time.sleep(_PAUSE_S)
        before = time.time()
        there = latest()
        after = time.time()
        found.append((after - before, there - (before + after) / 2))
    return Clock(min(found)[1])
