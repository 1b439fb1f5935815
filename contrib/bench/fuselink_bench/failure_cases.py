# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What is cut, and under what: the cases of contrib/bench/run failure."""

from dataclasses import dataclass

from . import transports


@dataclass(frozen=True)
class Way:
    title: str
    cut: str          # of contrib/cluster nic
    back: str


WAYS = {"loud": Way("the carrier is gone", "down", "up"),
        "silent": Way("in silence, with the carrier up", "silent",
                      "speaking")}


@dataclass(frozen=True)
class Wanted:
    """Of fuselink, seconds; of time lost and the longest gap of bytes."""
    median: float
    share: float      # of cuts, in which it is
    most: float       # at most that
    back: float = 1.0


@dataclass(frozen=True)
class Wires:
    title: str
    rate: str         # of each NIC, if none is asked for
    columns: tuple
    wanted: Wanted
    step_ms: int      # between two readings of counters
    slower: int = 1   # sizes are by that smaller
    rdma: bool = False

    def devices(self, cluster, number):
        """The network devices of that host's NICs. Those below soft-RoCE are in one
        namespace, for all hosts."""
        return ([f"rdma_h{number}n{i}" for i in range(len(cluster.nics))]
                if self.rdma else cluster.nics)


WIRES = {
    "tcp": Wires("TCP", "200mbit",
                 (transports.FUSELINK, transports.UCX_TUNED, transports.UCX,
                  transports.OB1), Wanted(0.05, 0.99, 0.2), step_ms=1),
    # In a guest, whose processors are slow, and counters what RDMA NICs send.
    "rdma": Wires("RDMA", "16mbit",
                  (transports.FUSELINK_RC, transports.RC_TUNED, transports.RC),
                  Wanted(0.5, 0.95, 0.5, back=2.0), step_ms=5, slower=8,
                  rdma=True)}


def size_text(size):
    """As people say it, of powers of two and of ten."""
    step = 1024 if size % 1024 == 0 else 1000
    return (f"{size // step ** 2} MB" if size % step ** 2 == 0
            else f"{size // step} kB")


@dataclass(frozen=True)
class Pattern:
    title: str        # with the size
    size: int
    options: tuple
    ranks: int
    receivers: tuple  # hosts to which data comes
    windows: bool = False

    def words(self, wires):
        return *self.options, "--size", self.size // wires.slower

    def named(self, wires):
        return self.title.format(size_text(self.size // wires.slower))


PATTERNS = {
    "stream": Pattern("stream of {} messages, 8 in flight", 1000000,
                      ("--window", 8), 2, (1,)),
    # Calls are short, as a cut is seen at the end of one.
    "alltoallv": Pattern("MPI_Alltoallv of 8 ranks, {} to each", 1 << 16,
                         ("--alltoallv",), 8, (0, 1)),
    # The same on each wire, and no rank waits for a processor.
    "alltoallv2": Pattern("MPI_Alltoallv of 2 ranks, a processor each,"
                          " {} to each", 1 << 20, ("--alltoallv",), 2,
                          (0, 1)),
    # The target is told of each flush, and looks at the data.
    "onesided": Pattern("MPI_Put of {}, 4 for each flush", 1000000,
                        ("--put", "--window", 4), 2, (1,), windows=True)}


@dataclass(frozen=True)
class Case:
    wires: Wires
    pattern: str
    way: str
    of_messages: bool      # always the NIC of the messages
    in_turn: int = 1       # NICs, one after the other

    @property
    def name(self):
        return (f"{self.pattern}.{self.way}"
                + (".messages" if self.of_messages else "")
                + (f".{self.in_turn}" if self.in_turn > 1 else ""))

    @property
    def title(self):
        return (f"{PATTERNS[self.pattern].named(self.wires)}; {self.which}:"
                f" {WAYS[self.way].title}")

    @property
    def which(self):
        if self.in_turn > 1:
            return f"{self.in_turn} random NICs are cut, one after the other"
        return ("the NIC of the messages is cut" if self.of_messages
                else "a random NIC is cut")
