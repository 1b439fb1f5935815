# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Where no NIC fails: the cases of contrib/bench/run calm."""

from dataclasses import dataclass

from .failure_cases import WIRES, size_text

RANKS = 8
# In a guest, whose processors are slow.
RDMA_RANKS = 4


@dataclass(frozen=True)
class Pattern:
    title: str        # with the size
    option: str
    size: int
    rdma_size: int

    def named(self, rdma):
        size = self.rdma_size if rdma else self.size
        return self.title.format(size_text(size))

    def words(self, rdma):
        return self.option, "--size", self.rdma_size if rdma else self.size


PATTERNS = {
    "alltoallv": Pattern("MPI_Alltoallv, {} to each", "--alltoallv",
                         1 << 18, 1 << 16),
    "hotspot": Pattern("{} of each to one rank", "--hotspot", 1 << 20,
                       1 << 18)}

# One at which the ranks wait for their turn on a core, and one at which they wait
# for the wire, so that queues are full.
RATES = ("200mbit", "20mbit")

# Milliseconds that a NIC's queue holds.
QUEUES = (5, 20, 50, 100)

# Of packets between RDMA NICs, and the NICs' rate.
LOSSES = ("0.01%", "0.1%")
RDMA_RATE = WIRES["rdma"].rate

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

    rdma = False

    def cells(self):
        return [PATTERNS[self.pattern].named(False), self.rate,
                f"{self.queue} ms", DROPS["yes" if self.drops else "no"]]


@dataclass(frozen=True)
class RdmaCase:
    pattern: str
    loss: str

    @property
    def name(self):
        return f"{self.pattern}.rdma.{self.loss.rstrip('%')}"

    @property
    def wires(self):
        return ()       # of all of them

    rdma = True

    def cells(self):
        return [PATTERNS[self.pattern].named(True), self.loss]


@dataclass(frozen=True)
class Rest:
    """What a receiver does for a while instead of MPI."""
    name: str
    title: str


STOPPED = Rest("stopped", "the receiver of a stream is stopped (SIGSTOP)")
COMPUTES = Rest("computes", "the receiver of a stream computes, without a call"
                " of MPI")
RESTS = (STOPPED, COMPUTES)
