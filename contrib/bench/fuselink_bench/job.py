# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""One MPI job of a case, and the result that its program prints."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from fuselink_cluster import Cluster, JobTimeout

from .errors import SampleError

_PREFIX = "BENCH-RESULT "
# How long before its moment a job that begins at one is started: what is
# usual, and what a busy machine needs.
_LEADS = (3.5, 9.0)


@dataclass(frozen=True)
class Run:
    """What one measurement is made of."""
    cluster: Cluster
    case: object
    transport: object
    programs: Path
    timeout: float
    capacity: object      # measured for this cluster, or None


@dataclass(frozen=True)
class Part:
    """A program that runs beside that of the case."""
    program: str
    options: tuple


class Alone:
    """The usual way to measure: one job and nothing else."""

    def measure(self, run):
        return launch(run)


class TooLate(SampleError):
    """A job was not ready at its moment."""


def at_a_moment(measure):
    """measure(moment), in seconds since 1970; again with more time before it
    if the job was not ready."""
    for lead in _LEADS[:-1]:
        try:
            return measure(time.time() + lead)
        except TooLate:
            pass
    return measure(time.time() + _LEADS[-1])


def launch(run, extra=(), other=None, nics=None, environment=None,
           placement=None):
    """Runs the job, or another Part beside it; raises SampleError if it
    fails. With `nics` it is told of no others, and with `placement`, which are
    arguments of mpirun, its ranks are not where those of the case are."""
    return launch_all(run, 1, extra, other, nics, environment, placement)[0]


def launch_all(run, count, extra=(), other=None, nics=None, environment=None,
               placement=None):
    """launch() of a program that prints so many results."""
    nics = nics or run.cluster.nics
    part = other or run.case
    words, env = run.transport.launch(nics)
    for name, value in (environment or {}).items():
        words += ["-x", f"{name}={value}"]
    program = [*run.transport.wrapper(nics),
               str(run.programs / part.program), *map(str, part.options),
               *extra]
    try:
        status, out, err = run.cluster.mpirun(
            [*(placement or run.case.placement), *words, *program], env,
            run.timeout)
    except JobTimeout as error:
        raise SampleError(str(error)) from None
    if "start it earlier" in err:
        raise TooLate(_last_words(err))
    if status != 0:
        raise SampleError(f"exit status {status}: {_last_words(err or out)}")
    return _results(out, err, count)


def _last_words(text):
    """The line of an error message that tells most: of what UCX says the
    first, which is the cause, else our last, else the last."""
    lines = [line.strip() for line in text.splitlines()
             if line.strip(" -*=\n")]
    causes = [line for line in lines if "UCX  ERROR" in line]
    ours = [line for line in lines if line.startswith(("bench:", "cluster:"))]
    return (causes[:1] or ours or lines or ["it said nothing"])[-1][:200]


def _results(out, err, count):
    lines = [line for line in out.splitlines() if line.startswith(_PREFIX)]
    if len(lines) != count:
        raise SampleError(f"{len(lines)} results instead of {count}:"
                          f" {_last_words(err or out)}")
    return [json.loads(line.removeprefix(_PREFIX)) for line in lines]
