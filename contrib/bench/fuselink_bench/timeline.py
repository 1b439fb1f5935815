# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What each NIC carries over time, in a balanced and in a skewed alltoallv:
one NIC bound to each rank beside fuselink, drawn from the NICs' counters."""

import argparse
import os
from dataclasses import replace
from pathlib import Path

from fuselink_cluster import Cluster, ClusterError, fuselink_missing

from . import catalogue
from . import hosts
from . import job
from . import programs
from . import rates
from . import svg
from . import transports
from .errors import BenchError
from .runner import progress

_CASES = ("hotspot0", "hotspot0.9")
_TRANSPORTS = ("ucx-bound", "fuselink")
_STEP = 0.05
# A few calls of the case, the same number for all, and one that is checked.
_TIMES = ("--check", 1, "--warmup", 0, "--time", 0)
# Less than this in a step is connections being set up.
_QUIET = 0.02


def _record(run):
    """[[bytes per second of each NIC]], from when data moves to when none
    does, as host0 sends it."""
    with hosts.HostProgram(run.cluster, 0, [
            run.programs / "nicwatch", "tx", 5, *run.cluster.nics]) as watch:
        job.launch(run)
        readings = [[float(word) for word in line.split()]
                    for line in watch.finish()]
    if len(readings) < 2:
        raise BenchError("the NICs' counters were not read")
    steps, last = [], readings[0]
    for reading in readings[1:]:
        passed = reading[0] - last[0]
        if passed >= _STEP:
            speeds = [(now - before) / passed
                      for now, before in zip(reading[1:], last[1:])]
            # A late reading stands for all the steps that it covers.
            steps += [speeds] * max(1, round(passed / _STEP))
            last = reading
    loud = [i for i, speeds in enumerate(steps)
            if sum(speeds) > _QUIET * rates.total(run.cluster.rates)]
    if not loud:
        raise BenchError("no data moved over the NICs")
    return steps[loud[0]:loud[-1] + 1]


def _panels(cluster, case, folder, timeout):
    case = replace(case, options=case.options + _TIMES)
    panels = []
    for name in _TRANSPORTS:
        transport = transports.BY_NAME[name]
        progress(f"{case.name}: {transport.name}")
        speeds = _record(job.Run(cluster, case, transport, folder, timeout,
                                 None))
        panels.append(svg.Panel(
            f"hot-spot factor {case.option('--hotspot'):g},"
            f" {transport.title}", _STEP, speeds, rates.total(cluster.rates)))
    return panels


def _draw(options):
    chosen = [catalogue.BY_NAME[name] for name in _CASES]
    folder = programs.build(options.build_dir)
    with Cluster("bench", chosen[0].rates) as cluster:
        why = fuselink_missing(cluster)
        if why:
            raise BenchError(why)
        rows = [_panels(cluster, case, folder, options.timeout)
                for case in chosen]
        text = svg.document("MPI_Alltoallv: what host0 sends on each NIC",
                            rows, cluster.nics)
    fresh = Path(f"{options.file}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(options.file)
    except OSError as error:
        raise BenchError(f"cannot write {options.file}: {error}") from None


def main():
    parser = argparse.ArgumentParser(
        prog="contrib/bench/timeline",
        description="Measures a balanced and a skewed MPI_Alltoallv and draws"
        " what each NIC carries over time as an SVG picture.")
    parser.add_argument("file", metavar="FILE.svg")
    parser.add_argument("--timeout", type=float, default=120, metavar="S",
                        help="seconds a job may take (default 120)")
    parser.add_argument("--build-dir", default=programs.default_folder(),
                        metavar="DIR", help="where the MPI programs are built"
                        " (default build-bench)")
    try:
        _draw(parser.parse_args())
    except (BenchError, ClusterError) as error:
        progress(f"bench: {error}")
        return 2
    return 0
