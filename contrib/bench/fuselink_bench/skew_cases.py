# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The cases of the group `skew`: some ranks, NICs or jobs have more to do than
others. NICs are slow, so that two cores drive all of them easily."""

from . import bars
from .background import Background
from .cases import Case, MIB
from .job import Part
from .owner import Owner, ReceivingOwner, UnnamedOwner
from .two_jobs import TwoJobs

EIGHT = ("50mbit",) * 8
UNEVEN = ("25mbit", "50mbit", "100mbit", "200mbit")
FOUR = ("100mbit",) * 4

_TIMES = ("--check", 1, "--warmup", 0.5, "--time", 2)
_ALLTOALLV = ("--size", MIB // 4, *_TIMES)
# Rows of 4096 values of 2 bytes, two experts for each token: Mixtral's.
_MOE = ("--size", 8192, "--tokens", 256, "--experts", 4, "--topk", 2, *_TIMES)
# What is in flight when the time counted begins and ends is 1 % of it.
_FLOW = ("--size", MIB // 8, "--window", 16, "--check", 1, "--warmup", 1.0)
_STEADY = (*_FLOW, "--time", 4.0)
_MOVES = (*_FLOW, "--time", 5.0)
# The owner of a NIC has 0.3 s to send ten times; the other job sends all the
# time that this takes, and a second before and after.
_BURSTS = ("--size", MIB // 32, "--window", 16, "--check", 1, "--warmup", 1.0,
           "--time", 0.3, "--pause", 0.2, "--bursts", 10)
_BESIDE = Part("flow", ("--size", 2 * MIB, "--window", 16, "--check", 1,
                        "--warmup", 0.5, "--time", 6.0))

# The same with messages that go as bulk data where nothing is set.
_LONG_BURSTS = ("--size", MIB // 8, "--window", 16, *_BURSTS[4:])
_STREAM = Part("flow", ("--size", MIB, "--window", 16, *_BESIDE.options[4:]))

# Runs differ by so much from each other.
_SPREAD = 0.02

# Seconds for all transports of a round: twice what the longest case takes on a
# machine that does nothing else.
_LIMIT = 180.0


def _case(*args, **more):
    return Case(*args, skew=True, limit=_LIMIT, **more)


def _hotspot(factor, *checks):
    return _case(
        f"hotspot{factor:g}",
        f"MPI_Alltoallv, 16 ranks, 4 MB of each, hot-spot factor {factor:g},"
        " 8 NICs of 50 Mbit/s", EIGHT, "alltoallv",
        (*_ALLTOALLV, "--hotspot", factor), ranks=16, metric="time_s",
        bars=checks)


def _moe(skew):
    return _case(
        f"moe{skew:g}",
        f"MoE dispatch and combine, 16 ranks of 256 tokens, Zipf exponent"
        f" {skew:g}, 8 NICs of 50 Mbit/s", EIGHT, "moe",
        (*_MOE, "--skew", skew), ranks=16, metric="time_s",
        bars=(bars.NotBelowBaselines(_SPREAD),))


def _unnamed_owner(name, how, procedure, **more):
    return _case(
        name, "a burst on the only NIC of a job, which another one uses"
        f" meanwhile, 4 NICs of 100 Mbit/s, {how}; of what it has alone, after"
        " 80 ms", FOUR, "bursts", _LONG_BURSTS, metric="owner_share",
        procedure=procedure,
        only=("ucx-tuned", "ob1", "fuselink", "fuselink-idle"),
        bars=(bars.AtLeast("owner_share", "of what the owner has alone, in the"
                           " second batch", 0.95),
              bars.AtLeast("first_batch_share", "of what the owner has alone, in"
                           " the first batch", 0.85)), **more)


ALL = (
    _hotspot(0, bars.NotBelowBaselines(_SPREAD)),
    _hotspot(0.4, bars.OverBound(0.1)),
    _hotspot(0.9, bars.Faster("ucx-bound", 5.2), bars.OverBound(0.1)),
    _moe(0), _moe(0.6), _moe(1.2),
    _case("uneven-alltoallv", "MPI_Alltoallv, 16 ranks, 4 MB of each, NICs of"
          " 25, 50, 100 and 200 Mbit/s", UNEVEN, "alltoallv", _ALLTOALLV,
          ranks=16, metric="time_s",
          bars=(bars.NotBelowBaselines(_SPREAD), bars.OverBound(0.1))),
    _case("background", "stream while another program fills half of one of 4"
          " NICs of 100 Mbit/s", FOUR, "flow", _STEADY,
          procedure=Background(60.0), bars=(bars.OfLeft(0.95),)),
    _case("background-moves", "time until a stream has left a NIC that another"
          " program half fills, 4 NICs of 100 Mbit/s (400: not within the"
          " phase)", FOUR, "flow", _MOVES, metric="away_s",
          procedure=Background(0.4, 0.4, 6),
          bars=(bars.Within("away_s", "the load moves away", 0.02),
                bars.Within("back_s", "the load is back", 0.1))),
    _case("two-jobs", "two jobs with a stream each at once, 4 NICs of 100"
          " Mbit/s", FOUR, "flow", _STEADY, procedure=TwoJobs(),
          bars=(bars.Fair(0.45), bars.OfLeft(0.95))),
    _case("owner", "a burst on the NIC that a job owns and another one uses"
          " meanwhile, 4 NICs of 100 Mbit/s; of what it has alone, after one"
          " batch", FOUR, "bursts", _BURSTS, metric="owner_share",
          procedure=Owner(_BESIDE),
          only=("ucx-tuned", "ob1", "fuselink", "fuselink-idle",
                "fuselink-stripe"),
          bars=(bars.AtLeast("owner_share", "of what the owner has alone,"
                             " within one batch", 0.9),)),
    _unnamed_owner("owner-unnamed", "nothing is set", UnnamedOwner(_STREAM)),
    _unnamed_owner("owner-receives", "nothing is set, by data of different"
                   " hosts", ReceivingOwner(_STREAM), hosts=3),
)
