# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The cases: what is run on which NICs, and what is expected of fuselink."""

from dataclasses import dataclass, field

from . import bars
from . import transports
from .job import Alone

MIB = 1 << 20


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    rates: tuple              # of each host's NICs, as contrib/cluster takes
    program: str
    options: tuple            # of the program
    ranks: int = 2
    hosts: int = 2
    node: bool = False        # all ranks on one host
    rdma: bool = False        # the NICs are RDMA NICs
    metric: str = "bytes_per_s"
    cpu_bound: bool = False   # the wire is not what limits it
    directions: int = 1       # wires of a NIC that are loaded at once
    bars: tuple = field(default=())
    skew: bool = False        # of the group `skew`
    computes: bool = False    # of the group `computing`
    limit: float = 900.0      # seconds for all transports of a round
    only: tuple = ()          # names of transports, where others say nothing
    of: tuple = ()            # transports, of a group that has its own
    topology: str = ""        # of emulated GPUs, of the group `gpu`
    queue: str = ""           # what those of a NIC hold, as contrib/cluster takes
    ceiling: float = 0.0      # bytes per second, if not the sum of all NICs
    procedure: object = field(default=Alone())

    @property
    def group(self):
        return ("rdma" if self.rdma else "skew" if self.skew
                else "computing" if self.computes
                else "gpu" if self.topology else "all")

    def option(self, name):
        """Value of an option of the program."""
        return self.options[self.options.index(name) + 1]

    @property
    def transports(self):
        if self.of:
            return self.of
        if self.only:
            return tuple(transports.BY_NAME[name] for name in self.only)
        if self.skew:
            return transports.SKEW
        if self.rdma:
            return transports.RDMA
        return transports.NODE if self.node else transports.NETWORK

    @property
    def lower_is_better(self):
        return not self.metric.endswith(("per_s", "share"))

    @property
    def repeat(self):
        """Measurements of each transport in a round. What the CPU bounds
        varies with whatever else it does: many short jobs say more than one
        long."""
        return 3 if self.cpu_bound else 1

    @property
    def placement(self):
        """mpirun arguments; spread over the hosts is the cluster's default."""
        where = ["--host", f"host0:{self.ranks}"] if self.node else []
        return ["-np", str(self.ranks), *where]


FOUR = ("200mbit",) * 4
EIGHT = ("100mbit",) * 8
UNEVEN = ("50mbit", "100mbit", "200mbit", "400mbit")
UNSHAPED = ("none",) * 4

# One window of 16 x 4 MB takes 2.7 s on one NIC of 200 Mbit/s, so one window
# is checked, one warms up and as many as fit are timed.
_STREAM = ("--size", 4 * MIB, "--window", 16, "--check", 1, "--warmup", 0,
           "--time", 2)
_ALLTOALLV = ("--size", MIB, "--check", 1, "--warmup", 0.5, "--time", 2)

_SHORT = ("--warmup", 0.1, "--time", 0.5)
_LATENCY = ("--size", 8, *_SHORT)
_RATE = ("--size", 8, "--window", 64, *_SHORT)
_BULK64K = ("--size", MIB // 16, "--window", 64, *_SHORT)
_BULK1M = ("--size", MIB, "--window", 16, *_SHORT)
_BULK4M = ("--size", 4 * MIB, "--window", 16, "--check", 1, *_SHORT)


def _streams(name, title, rates, bar):
    """A stream case and its twin with both directions at once. There stock
    UCX on one NIC may be far from that NIC's own bound, and a multiple of it
    says little; the twin also has to fill the wires."""
    checks = (bar, bars.NicShare(0.8))
    twin = checks if isinstance(bar, bars.WireShare) else (
        *checks, bars.WireShare(0.95))
    return (
        Case(name, f"one 4 MB stream, {title}", rates, "stream", _STREAM,
             bars=checks),
        Case(f"bi{name}", f"4 MB streams in both directions at once, {title}",
             rates, "stream", _STREAM + ("--bidir",), directions=2,
             bars=twin))


_ALL = (
    *_streams("stream4", "4 NICs of 200 Mbit/s", FOUR,
              bars.Ratio("ucx", 3.9)),
    *_streams("stream8", "8 NICs of 100 Mbit/s", EIGHT,
              bars.Ratio("ucx", 7.6)),
    *_streams("uneven", "NICs of 50, 100, 200 and 400 Mbit/s", UNEVEN,
              bars.WireShare(0.95)),
    Case("alltoallv", "MPI_Alltoallv, 8 ranks, 1 MB to each, 4 NICs of 200"
         " Mbit/s", FOUR, "alltoallv", _ALLTOALLV, ranks=8, metric="time_s",
         bars=(bars.Fastest(), bars.WireShare(0.9), bars.NicShare(0.8))),
    Case("latency8", "latency of 8 bytes, 4 NICs of 200 Mbit/s", FOUR,
         "latency", _LATENCY, metric="latency_s", cpu_bound=True,
         bars=(bars.Ratio("ucx", 1.05),)),
    Case("rate8", "8-byte messages, 4 NICs of 200 Mbit/s", FOUR, "stream",
         _RATE, metric="messages_per_s", cpu_bound=True,
         bars=(bars.Ratio("ucx", 0.95),)),
    Case("node-lat", "latency of 8 bytes within a node", FOUR, "latency",
         _LATENCY, node=True, metric="latency_s", cpu_bound=True,
         bars=(bars.Ratio("sm", 1 / 0.95),)),
    Case("node-bw", "stream of 1 MB messages within a node", FOUR, "stream",
         _BULK1M, node=True, cpu_bound=True, bars=(bars.Ratio("sm", 0.95),)),
    Case("node-bw64k", "stream of 64 kB messages within a node", FOUR,
         "stream", _BULK64K, node=True, cpu_bound=True,
         bars=(bars.Ratio("sm", 0.95),)),
    Case("unshaped-bw", "stream of 4 MB messages, 4 NICs without a limit",
         UNSHAPED, "stream", _BULK4M, cpu_bound=True,
         bars=(bars.Ratio("ucx", 0.95),)),
    Case("unshaped-bw64k", "stream of 64 kB messages, 4 NICs without a limit",
         UNSHAPED, "stream", _BULK64K, cpu_bound=True,
         bars=(bars.Ratio("ucx", 0.95),)),
    Case("unshaped-lat", "latency of 8 bytes, 4 NICs without a limit",
         UNSHAPED, "latency", _LATENCY, metric="latency_s", cpu_bound=True,
         bars=(bars.Ratio("ucx", 1.05),)),
    Case("peers", "memory for each peer, 64 ranks, 8 bytes to each, 4 NICs without"
         " a limit", UNSHAPED, "peers", ("--size", 8), ranks=64,
         metric="bytes_per_peer", only=("ucx", "fuselink")),
)

# In the guest, whose CPU is emulated: slow NICs, so that they are the limit.
_RDMA = ("16mbit",) * 4
_RDMA_BULK = ("--size", MIB, "--window", 4, "--check", 1, "--warmup", 0,
              "--time", 4)
_RDMA_SHORT = ("--window", 16, *_RDMA_BULK[4:])
_RDMA_BARS = (bars.Ratio("rc", 3.7), bars.NicShare(0.8))


def _rdma(name, title, program, options, **more):
    return Case(f"rdma-{name}", f"{title}, 4 RDMA NICs of 16 Mbit/s", _RDMA,
                program, options, rdma=True, **more)


TCP_AND_RDMA = _ALL + (
    _rdma("stream", "1 MB messages", "stream", _RDMA_BULK, bars=_RDMA_BARS),
    _rdma("stream64k", "64 kB messages", "stream",
          ("--size", MIB // 16, *_RDMA_SHORT), bars=_RDMA_BARS),
    # Each goes over one NIC.
    _rdma("stream16k", "16 kB messages", "stream",
          ("--size", MIB // 64, *_RDMA_SHORT), bars=_RDMA_BARS),
    _rdma("put", "MPI_Put of 1 MB", "onesided", _RDMA_BULK, bars=_RDMA_BARS),
    _rdma("get", "MPI_Get of 1 MB", "onesided", (*_RDMA_BULK, "--get"),
          bars=_RDMA_BARS),
    _rdma("latency", "latency of 8 bytes", "latency",
          ("--size", 8, "--warmup", 0.5, "--time", 3), metric="latency_s",
          cpu_bound=True, bars=(bars.Ratio("rc", 1.05),)),
    _rdma("latency-paired", "latency of 8 bytes in turn with rc", "paired",
          ("--size", 8, "--time", 10), metric="ratio",
          only=("beside-rc",), bars=(bars.AtMost("beside-rc", "ratio",
                                                 "x rc", 1.05),)),
    # Messages, and bulk data, long enough for all NICs.
    _rdma("peers", "memory and queue pairs, 64 ranks, 4 kB to each",
          "peers", ("--size", MIB // 256), ranks=64, metric="bytes_per_peer"),
    _rdma("peers-bulk", "memory and queue pairs, 64 ranks, 256 kB to each",
          "peers", ("--size", MIB // 4), ranks=64, metric="bytes_per_peer"),
)

def quick(rates):
    """The two cases of --quick, on a cluster with these NICs."""
    rates = tuple(rates)
    nics = f"{len(rates)} NICs"
    return (
        Case("alltoallv", f"MPI_Alltoallv, 8 ranks, 1 MB to each, {nics}",
             rates, "alltoallv",
             ("--size", MIB, "--check", 1, "--warmup", 0, "--time", 1),
             ranks=8, metric="time_s"),
        Case("stream", f"one 4 MB stream, {nics}", rates, "stream",
             ("--size", 4 * MIB, "--window", 8, "--check", 1, "--warmup", 0,
              "--time", 1)))
