# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""One MPI job of a case, and the result that its program prints."""

import json
from dataclasses import dataclass
from pathlib import Path

from fuselink_cluster import Cluster, JobTimeout

from .errors import SampleError

_PREFIX = "BENCH-RESULT "


@dataclass(frozen=True)
class Run:
    """What one measurement is made of."""
    cluster: Cluster
    case: object
    transport: object
    programs: Path
    timeout: float
    capacity: object      # measured for this cluster, or None


class Alone:
    """The usual way to measure: one job and nothing else."""

    def measure(self, run):
        return launch(run)


def launch(run, extra=()):
    """Runs the job; raises SampleError if it fails."""
    words, env = run.transport.launch(run.cluster.nics)
    program = [*run.transport.wrapper(run.cluster.nics),
               str(run.programs / run.case.program),
               *map(str, run.case.options), *extra]
    try:
        status, out, err = run.cluster.mpirun(
            [*run.case.placement, *words, *program], env, run.timeout)
    except JobTimeout as error:
        raise SampleError(str(error)) from None
    if status != 0:
        raise SampleError(f"exit status {status}: {_last_words(err or out)}")
    return _result(out, err)


def _last_words(text):
    """The line of an error message that tells most: ours, else the last."""
    lines = [line.strip() for line in text.splitlines()
             if line.strip(" -*=\n")]
    told = [line for line in lines
            if line.startswith(("bench:", "cluster:")) or "ERROR" in line]
    return (told or lines or ["it said nothing"])[-1][:200]


def _result(out, err):
    lines = [line for line in out.splitlines() if line.startswith(_PREFIX)]
    if len(lines) != 1:
        raise SampleError(f"{len(lines)} results instead of one:"
                          f" {_last_words(err or out)}")
    return json.loads(lines[0].removeprefix(_PREFIX))
