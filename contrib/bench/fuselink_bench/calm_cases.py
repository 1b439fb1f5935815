# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Where no NIC fails: the cases of contrib/bench/run calm."""

from dataclasses import dataclass

RANKS = 8


@dataclass(frozen=True)
class Pattern:
    title: str
    options: tuple


PATTERNS = {
    "alltoallv": Pattern("MPI_Alltoallv, 256 kB to each",
                         ("--alltoallv", "--size", 1 << 18)),
    "hotspot": Pattern("1 MB of each to one rank",
                       ("--hotspot", "--size", 1 << 20))}

# One at which the ranks wait for their turn on a core, and one at which they wait
# for the wire, so that queues are full.
RATES = ("200mbit", "20mbit")

# Milliseconds that a NIC's queue holds.
QUEUES = (5, 20, 50, 100)

# Who has to wait when a queue is full.
DROPS = {"no": "the host's TCP waits", "yes": "the switch drops"}


@dataclass(frozen=True)
class Case:
    pattern: str
    rate: str
    queue: int
    drops: bool

    @property
    def name(self):
        return (f"{self.pattern}.{self.rate}.{self.queue}ms"
                + (".drops" if self.drops else ""))

    @property
    def wires(self):
        return self.rate, self.queue, self.drops


@dataclass(frozen=True)
class Rest:
    """What a receiver does for a while instead of MPI."""
    name: str
    title: str


STOPPED = Rest("stopped", "the receiver of a stream is stopped (SIGSTOP)")
COMPUTES = Rest("computes", "the receiver of a stream computes, without a call"
                " of MPI")
RESTS = (STOPPED, COMPUTES)
