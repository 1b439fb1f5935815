# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""contrib/bench/run calm: whether a NIC is given up where none fails."""

import argparse
import os
from pathlib import Path

from fuselink_cluster import Cluster, fuselink_missing

from . import calm_cases
from . import calm_report
from . import programs
from . import surroundings
from .calm_jobs import CalmJob
from .errors import BenchError, SampleError
from .options import names_of
from .runner import progress

_ROOT = Path(__file__).resolve().parents[3]
# The wires over which a stream goes to a receiver that rests.
_RESTS_AT = ("200mbit", 20, False)
# Short frames, so that also short queues hold some.
_MTU = "1500"


def _parser():
    parser = argparse.ArgumentParser(
        prog="contrib/bench/run calm",
        description="Runs jobs over fuselink on NICs that do not fail, with"
        " queues of all depths, ranks that share two cores and do not yield,"
        " and receivers that are stopped or compute. Counts how often a NIC"
        " was given up all the same; exits with 1 if one was, or if anything"
        " was sent again or warned of.")

    def names(option, accepted, what):
        parser.add_argument(option, metavar="A,B,...",
                            help=f"only these {what}: "
                            + ", ".join(map(str, accepted)).replace("%", "%%"))

    def number(option, default, what, kind=float):
        parser.add_argument(option, type=kind, default=default, metavar="N",
                            help=f"{what} (default %(default)s)")

    number("--minutes", 60.0, "in which data moves, of all cases together; 0:"
           " only --stopped")
    number("--stopped", 60.0, "seconds that a receiver is stopped, and"
           " computes; 0: only --minutes")
    number("--seconds", 25.0, "of a job, which is one turn of a case")
    names("--patterns", calm_cases.PATTERNS, "programs")
    names("--queues", calm_cases.QUEUES, "depths of queues, in ms")
    names("--drops", calm_cases.DROPS, "answers to whether the switch drops"
          " packets")
    parser.add_argument("--rdma", action="store_true",
                        help=f"RDMA NICs of {calm_cases.RDMA_RATE} in a virtual"
                        " machine, and a switch that loses packets by chance;"
                        " not with --queues, --drops, --rates and --stopped")
    names("--losses", calm_cases.LOSSES, "shares of packets, with --rdma")
    number("--nics", 4, "NICs of each host", int)
    number("--cores", 2, "that the ranks share", int)
    parser.add_argument("--rates", metavar="R,...",
                        default=",".join(calm_cases.RATES),
                        help="of each NIC, in turn (default %(default)s)")
    parser.add_argument("--table", metavar="FILE.md",
                        help="write the tables to FILE, too")
    parser.add_argument("--folder", default=_ROOT / "build-bench/calm",
                        metavar="DIR", help="for what the processes of a job"
                        " said that was not calm (default build-bench/calm)")
    parser.add_argument("--dry-run", action="store_true",
                        help="show how many jobs there are, and how long")
    parser.add_argument("--build-dir", default=programs.default_folder(),
                        metavar="DIR", help="where the MPI programs are built"
                        " (default build-bench)")
    return parser


class _Plan:
    """What is asked for, and what came of it."""

    def __init__(self, options):
        patterns = names_of("--patterns", options.patterns,
                            calm_cases.PATTERNS)
        self.rdma = options.rdma
        self.cases = ([
            calm_cases.RdmaCase(pattern, loss)
            for loss in names_of("--losses", options.losses,
                                 calm_cases.LOSSES)
            for pattern in patterns] if self.rdma else [
            calm_cases.Case(pattern, rate, int(queue), drops == "yes")
            for rate in options.rates.split(",")
            for queue in names_of("--queues", options.queues,
                                  calm_cases.QUEUES)
            for drops in names_of("--drops", options.drops, calm_cases.DROPS)
            for pattern in patterns])
        self.nics = options.nics
        # All get the same time, in jobs of about what is asked for.
        share = 60 * options.minutes / len(self.cases)
        self.rounds = (max(1, round(share / options.seconds)) if share > 0
                       else 0)
        self.seconds = share / max(1, self.rounds)
        self.stopped = 0 if self.rdma else options.stopped
        self.rests = calm_cases.RESTS if self.stopped > 0 else ()
        self.results = {each: [] for each in (*self.cases, *self.rests)}

    def rdma_cluster(self):
        return Cluster("bench", (calm_cases.RDMA_RATE,) * self.nics, rdma=True)

    def cluster(self, rate, queue, drops, mtu=""):
        return Cluster("bench", (rate,) * self.nics, queue=f"{queue}ms",
                       drops=drops, mtu=mtu)

    def tables(self):
        """What calm_report.text wants."""
        moved = [(case, calm_report.Calm(case.name, self.results[case]))
                 for case in self.cases if self.rounds]
        rested = [(rest, self.stopped,
                   calm_report.Rested(rest.name, self.results[rest]))
                  for rest in self.rests]
        return moved, rested


class _Measurement:
    def __init__(self, plan, programs_folder, folder):
        self._plan = plan
        self._programs = programs_folder
        self._folder = Path(folder)
        self._asked = False

    def all(self):
        plan = self._plan
        if plan.rdma: # a guest takes long to boot
            self._rounds(range(plan.rounds), ())
            return
        for number in range(plan.rounds):
            for wires in dict.fromkeys(case.wires for case in plan.cases):
                self._rounds([number], wires)
        if not plan.rests:
            return
        with plan.cluster(*_RESTS_AT) as cluster:
            self._ask(cluster)
            for rest in plan.rests:
                progress(f"{rest.title}, for {plan.stopped:g} s")
                self._job(cluster, rest, 0,
                          lambda job, rest=rest: job.rest(rest, plan.stopped))

    def _rounds(self, numbers, wires):
        plan = self._plan
        with (plan.rdma_cluster() if plan.rdma else
              plan.cluster(*wires, _MTU)) as cluster:
            self._ask(cluster)
            for number in numbers:
                for case in plan.cases:
                    if case.wires == wires:
                        self._case(cluster, case, number)

    def _case(self, cluster, case, number):
        plan = self._plan
        progress(f"{case.name}, {number + 1} of {plan.rounds}:"
                 f" {plan.seconds:.1f} s")
        self._job(cluster, case, number,
                  lambda job: job.run(case, plan.seconds))

    def _ask(self, cluster):
        """Once: whether there is something to measure."""
        missing = "" if self._asked else fuselink_missing(cluster)
        if missing:
            raise BenchError(missing)
        self._asked = True

    def _job(self, cluster, case, number, run):
        job = CalmJob(cluster, self._programs)
        try:
            run(job)
        except SampleError as error:
            job.result["failure"] = str(error)
        self._plan.results[case].append(job.result)
        found = calm_report.Calm(case.name, [job.result]).misses()
        if found:
            path = self._folder / f"{case.name}.{number}.log"
            _write(path, "".join(f"{line.rstrip()}\n"
                                 for line in [*found, "", *job.lines]))
            progress(f"{case.name}: {'; '.join(found)}; see {path}")
        if "failure" in job.result:
            cluster.restart()


def _write(path, content):
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise BenchError(f"cannot write {path}: {error}") from None


def _share_cores(number):
    """Jobs inherit it. Returns how many there are."""
    cores = sorted(os.sched_getaffinity(0))[:number]
    os.sched_setaffinity(0, cores)
    return len(cores)


def _head(options, cores):
    if options.rdma:
        return (f"{options.nics} RDMA NICs of {calm_cases.RDMA_RATE} in each of 2"
                " hosts, in a virtual machine. Programs:"
                f" {calm_cases.RDMA_RANKS} ranks that do not yield.")
    return (f"{options.nics} TCP NICs in each of 2 hosts, {cores} cores."
            f" Programs: {calm_cases.RANKS} ranks that do not yield, MTU {_MTU}."
            f" Receivers that rest: NICs of {_RESTS_AT[0]} with queues of"
            f" {_RESTS_AT[1]} ms, MTU 9000.")


def run(words):
    options = _parser().parse_args(words)
    for name in ("minutes", "stopped"):
        if getattr(options, name) < 0:
            raise BenchError(f"--{name} {getattr(options, name)}: 0 or more")
    if options.minutes == 0 and options.stopped == 0:
        raise BenchError("--minutes 0 --stopped 0: one of them above 0")
    if 0 < options.stopped < 2:
        raise BenchError(f"--stopped {options.stopped}: 0, or at least 2")
    if options.seconds <= 0 or options.cores < 1:
        raise BenchError("--seconds and --cores: above 0")
    if options.rdma and options.minutes == 0:
        raise BenchError("--rdma --minutes 0: above 0")
    for name in ("queues", "drops") if options.rdma else ("losses",):
        if getattr(options, name) is not None:
            raise BenchError(f"--{name}: {'not' if options.rdma else 'only'}"
                             " with --rdma")
    if options.nics < 2:
        raise BenchError(f"--nics {options.nics}: at least 2")
    plan = _Plan(options)
    if options.dry_run:
        print(f"{plan.rounds * len(plan.cases)} jobs of {plan.seconds:.1f} s,"
              f" {len(plan.rests)} with a rest of {plan.stopped:g} s")
        return 0
    surroundings.library()
    folder = programs.build(options.build_dir)
    cores = _share_cores(options.cores)
    try:
        _Measurement(plan, folder, options.folder).all()
    finally: # also at a signal: what there is so far
        moved, rested = plan.tables()
        table = calm_report.text(moved, rested, _head(options, cores))
        print(table)
        if options.table:
            _write(options.table, table)
    misses = [f"{row[-1].name}: {why}" for row in (*moved, *rested)
              for why in row[-1].misses()]
    print("\n".join(misses or ["no false alarm"]))
    return 1 if misses else 0
