# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The cases of the group `computing`: the program computes while it transfers, ranks that
share processors and do not yield, and what other programs of the machine have beside
them."""

from . import bars
from . import transports
from .cases import Case, FOUR, MIB
from .sessions import Sessions

# A repetition is two transfers and three computations as long as one: on one NIC
# of 200 Mbit/s 3.5 s.
_TIMES = ("--check", 1, "--warmup", 0.5, "--time", 3)
_PAIR = ("--size", 16 * MIB, *_TIMES)
# As much crosses the network: two ranks of a host send to two of the other.
_ALLTOALLV = ("--size", 4 * MIB, "--ialltoallv", *_TIMES)
# Half of 8 MB of each rank, before the skew; rows as in the group `skew`.
_MOE = ("--size", 8192, "--tokens", 512, "--experts", 4, "--topk", 2, "--skew",
        1.2, "--moe", *_TIMES)
_CROWD = ("--size", MIB, "--check", 1, "--warmup", 0.5, "--time", 2)
# Others wait in jobs of all patterns, but not in each job: one that takes some time.
_BESIDE = ("--size", MIB // 16, "--check", 1, "--warmup", 0.1, "--time", 8)


def _case(name, title, options, ranks):
    return Case(f"overlap{name}", f"overlap of a computation and {title}, 4 NICs"
                " of 200 Mbit/s", FOUR, "overlap", options, ranks=ranks,
                computes=True, metric="overlap_share", limit=300.0,
                bars=(bars.AtLeast("overlap_share", "overlap", 0.8),))


def _crowded(queue):
    return Case(f"crowded{queue}", "MPI_Alltoallv, 8 ranks that do not yield, 1 MB to"
                f" each, 4 NICs of 200 Mbit/s with queues of {queue} ms", FOUR,
                "alltoallv", _CROWD, ranks=8, computes=True, metric="time_s",
                queue=f"{queue}ms", of=transports.CROWDED,
                bars=(bars.Ratio("fuselink-yields", 1.15),
                      *(bars.Faster(peer, 1.0) for peer in
                        ("ucx", "ucx-tuned", "ob1"))))


ALL = (
    _case("", "16 MB each way", _PAIR, 2),
    _case("-alltoallv", "MPI_Ialltoallv, 4 ranks, 4 MB to each", _ALLTOALLV, 4),
    _case("-moe", "MoE dispatch and combine, 4 ranks of 512 tokens, Zipf"
          " exponent 1.2", _MOE, 4),
    *(_crowded(queue) for queue in (5, 20, 50, 100)),
    Case("sessions", "how long other sessions wait beside MPI_Alltoallv, 8 ranks, 64"
         " kB to each, 4 NICs of 200 Mbit/s", FOUR, "alltoallv", _BESIDE, ranks=8,
         computes=True, metric="waited_s", procedure=Sessions(4),
         bars=(bars.AtMost("fuselink", "waited_s", "s", 0.2),)),
)
