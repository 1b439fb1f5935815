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
class Pattern:
    title: str
    options: tuple
    ranks: int
    receivers: tuple  # hosts to which data comes
    windows: bool = False


PATTERNS = {
    "stream": Pattern("stream of 1 MB messages, 8 in flight",
                      ("--size", 1000000, "--window", 8), 2, (1,)),
    # Calls are short, as a cut is seen at the end of one.
    "alltoallv": Pattern("MPI_Alltoallv of 8 ranks, 64 kB to each",
                         ("--alltoallv", "--size", 1 << 16), 8, (0, 1)),
    # The same on each wire, and no rank waits for a processor.
    "alltoallv2": Pattern("MPI_Alltoallv of 2 ranks, a processor each,"
                          " 1 MB to each",
                          ("--alltoallv", "--size", 1 << 20), 2, (0, 1)),
    # The target is told of each flush, and looks at the data.
    "onesided": Pattern("MPI_Put of 1 MB, 4 for each flush",
                        ("--put", "--size", 1000000, "--window", 4), 2, (1,),
                        windows=True)}

COLUMNS = (transports.FUSELINK, transports.UCX_TUNED, transports.UCX,
           transports.OB1)


@dataclass(frozen=True)
class Case:
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
        return (f"{PATTERNS[self.pattern].title}; {self.which}:"
                f" {WAYS[self.way].title}")

    @property
    def which(self):
        if self.in_turn > 1:
            return f"{self.in_turn} random NICs are cut, one after the other"
        return ("the NIC of the messages is cut" if self.of_messages
                else "a random NIC is cut")
