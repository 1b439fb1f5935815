# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The cases of the group `gpu`: messages in memory of emulated GPUs, on the nodes
that FuseLink was measured on, scaled down."""

from . import bars
from . import transports
from .cases import Case, MIB
from .gpu_owner import GpuOwner
from .job import Part
from .lenders import Lent

# NIC 1, PCIe 1.1, NVLink 4; of bytes per second.
_TOPOLOGY = "fuselink-8x8"
_NIC, _NVLINK = 12.5e6, 50e6
# The same at half the speeds: 16 ranks keep two cores busy.
_SLOW_TOPOLOGY = "fuselink-8x8-slow"
_SLOW_NIC, _SLOW_PCIE, _SLOW_NVLINK = _NIC / 2, 1.1 * _NIC / 2, _NVLINK / 2

_FLOW = ("--size", MIB, "--window", 16, "--check", 1, "--warmup", 1.0,
         "--time", 3, "--gpu")
_RANKS = 16
_PART = MIB // 4
_ALLTOALLV = ("--size", _PART, "--check", 1, "--warmup", 0.5, "--time", 2,
              "--gpu")
# Runs differ by so much from each other.
_SPREAD = 0.02


def stream_ceiling(nics):
    """All NICs, or the GPU's own and NVLink to the others'."""
    return min(nics * _NIC, _NIC + _NVLINK)


def _hotspot_ceiling(factor):
    """What the NICs carry in one direction, at most. All that goes to the hot
    rank, also from its own node, enters its GPU over PCIe or NVLink."""
    even = (1 - factor) * _PART
    hot = even + factor * _PART * _RANKS
    per_node = _RANKS // 2
    crossing = per_node * (hot + (per_node - 1) * even)
    into_hot = (_RANKS - 1) * hot
    return crossing / max(crossing / (8 * _SLOW_NIC),
                          into_hot / (_SLOW_PCIE + _SLOW_NVLINK))


def _stream(nics):
    checks = {6: (bars.Ratio("ucx", 4.3),),
              8: (bars.WireShare(0.92),)}.get(nics, ())
    return Case(
        f"gpu-stream{nics}", f"1 MB messages from one GPU to one of the other"
        f" host, {nics} of 8 NICs of 100 Mbit/s, 7 GPUs at each end are not"
        " used otherwise", ("100mbit",) * 8, "flow", _FLOW,
        topology=_TOPOLOGY, limit=240.0, ceiling=stream_ceiling(nics),
        procedure=Lent(nics, range(1, 8)), of=transports.GPU,
        bars=(bars.NotBelow("fuselink-own", _SPREAD), *checks))


def _hotspot(factor, *checks, name="hotspot", of=transports.GPU_ALLTOALLV):
    return Case(
        f"gpu-{name}{factor:g}", "MPI_Alltoallv of GPU memory, 16 ranks with a"
        f" GPU each, 4 MB of each, hot-spot factor {factor:g}, 8 NICs of 50"
        " Mbit/s", ("50mbit",) * 8, "alltoallv",
        (*_ALLTOALLV, "--hotspot", factor), ranks=_RANKS, metric="time_s",
        topology=_SLOW_TOPOLOGY, limit=240.0, ceiling=_hotspot_ceiling(factor),
        procedure=Lent(8, ()),
        of=of, bars=checks)


# 0.3 s of the owner's, ten times; the other job sends all the time, and a second
# before and after.
_BURSTS = ("--size", MIB // 4, "--window", 8, "--check", 1, "--warmup", 1.0,
           "--time", 0.3, "--pause", 0.3, "--bursts", 10, "--gpu")
_BESIDE = Part("flow", ("--size", MIB, "--window", 16, "--check", 1, "--warmup",
                        0.5, "--time", 7.0, "--gpu"))
_OWNER = Case(
    "gpu-owner", "bursts of a GPU on its own NIC, while another GPU's memory"
    " goes over its link to 3 other NICs between them; of what it has alone",
    ("100mbit",) * 8, "bursts", _BURSTS, metric="kept_share",
    topology=_TOPOLOGY, limit=240.0, of=(transports.FUSELINK_GPU,),
    procedure=GpuOwner(_BESIDE),
    bars=(bars.AtLeast("kept_share", "of what the owner has alone", 0.9),))

ALL = (*map(_stream, (1, 2, 3, 4, 6, 8)),
       _hotspot(0, bars.NotBelowBaselines(_SPREAD)),
       # These links give an ideal transport 2.7 x; 5.2 x is what is wanted.
       _hotspot(0.9, bars.Faster("ucx-bound", 5.2), bars.WireShare(0.8)),
       _hotspot(0.9, name="ablation", of=transports.ABLATION), _OWNER)
