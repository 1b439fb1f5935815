# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""contrib/bench/run failure: what it costs when a NIC is cut while a job runs."""

import argparse
import copy
import os
import subprocess
import sys
import time

from fuselink_cluster import Cluster, fuselink_missing

from . import failure_cases
from . import failure_jobs
from . import failure_report
from . import programs
from . import surroundings
from . import transports
from .errors import BenchError, SampleError
from .failure_cut import cuts_of
from .options import add_outputs, names_of, write
from .runner import progress, warn_when_busy
from .size_files import Files

_FORMAT = 2   # of a line of the samples


def _parser():
    parser = argparse.ArgumentParser(
        prog="contrib/bench/run failure",
        description="Cuts a random NIC at a random moment of a running job, and"
        " plugs it again. The transports take turns, a job each, on a cluster"
        " for each repetition. What is in the folder is not measured again,"
        " unless the library, the programs or the settings differ. A job that"
        " stands still after a cut is watched, and ended.")

    def names(option, all_names, what):
        parser.add_argument(option, metavar="A,B,...",
                            help=f"only these {what}: " + ", ".join(all_names))

    names("--patterns", failure_cases.PATTERNS, "programs")
    names("--ways", failure_cases.WAYS, "ways to cut")
    names("--transports", dict.fromkeys(
        each.name for wires in failure_cases.WIRES.values()
        for each in wires.columns), "transports")
    parser.add_argument("--rdma", action="store_true",
                        help="RDMA NICs, in a virtual machine")
    parser.add_argument("--variant", action="append", default=[],
                        metavar="NAME=BASE:VAR=VALUE,...",
                        help="one more column, as for other cases")
    parser.add_argument("--nics-of-messages", action="store_true",
                        help="not a random NIC, but the one that has most of"
                        " the short messages, as its counters say")

    def number(option, default, what, kind=float):
        parser.add_argument(option, type=kind, default=default, metavar="N",
                            help=f"{what} (default %(default)s)")

    number("--in-turn", 1, "NICs that are cut one after the other, until all"
           " are plugged again", int)
    number("--rounds", 3, "jobs of each transport", int)
    number("--cuts", 10, "cuts in a job; with --in-turn: of the first NIC", int)
    number("--nics", 4, "NICs of each host", int)
    parser.add_argument("--rate", metavar="R", help="of each NIC (default "
                        + ", ".join(f"{wires.rate} for {wires.title}" for wires
                                    in failure_cases.WIRES.values()) + ")")
    number("--before", 1.0, "seconds before a cut")
    number("--out", 1.5, "seconds without the cable, in which data moves")
    number("--back", 2.0, "seconds after it is back")
    number("--watch", 60.0, "seconds to watch a job that stands still")
    parser.add_argument("--at-once", action="store_true",
                        help="the jobs of other transports than fuselink beside"
                        " each other, when its own are over: they stand still for"
                        " most of their time")
    parser.add_argument("--check", action="store_true",
                        help="exit with 1 if fuselink loses more than is"
                        " wanted")
    add_outputs(parser, "cuts")
    return parser


class _Plan:
    """What is asked for, and what there is of it."""

    def __init__(self, options):
        self.wires = failure_cases.WIRES["rdma" if options.rdma else "tcp"]
        columns = {each.name: each for each in self.wires.columns}
        self.columns = [columns[name] for name in names_of(
            "--transports", options.transports, columns)]
        self.columns += map(transports.variant, options.variant)
        self.cases = [
            failure_cases.Case(self.wires, pattern, way,
                               options.nics_of_messages, options.in_turn)
            for pattern in names_of("--patterns", options.patterns,
                                    failure_cases.PATTERNS)
            for way in names_of("--ways", options.ways, failure_cases.WAYS)]
        self.rates = (options.rate or self.wires.rate,) * options.nics
        self.rounds = options.rounds
        self.times = failure_jobs.Times(options.before, options.out,
                                        options.back, options.watch)
        self.files = Files(options.folder, {
            **surroundings.settings(), "rates": self.rates,
            "times": vars(self.times), "cuts": options.cuts,
            "step_ms": self.wires.step_ms, "rdma": self.wires.rdma,
            "format": _FORMAT,
            "variants": [[each.name, each.title] for each in self.columns
                         if each.environment]})

    def left(self, number):
        """[(case, column)] of a repetition that there is nothing of."""
        return [(case, column) for case in self.cases
                for column in self.columns
                if not self.files.results(case, column, number)]

    def without(self, columns):
        """The same, but for those."""
        rest = copy.copy(self)
        rest.columns = [each for each in self.columns if each not in columns]
        return rest

    def tables(self):
        return [(case, [row for column in self.columns
                        for row in self._rows(case, column)])
                for case in self.cases]

    def _rows(self, case, column):
        """Of NICs in turn all together, and then each by itself."""
        total = self._cuts(case, column)
        return [total] + [total.part(number) for number in range(case.in_turn)
                          if case.in_turn > 1]

    def _cuts(self, case, column):
        jobs, failures = [], []
        for number in range(self.rounds):
            found = self.files.results(case, column, number)
            jobs.append([cut for result in found if "failure" not in result
                         for cut in cuts_of(result)])
            failures += [result["failure"] for result in found
                         if "failure" in result]
        return failure_report.Cuts(column.name, jobs, failures,
                                   self.wires.wanted)


def _measure(plan, options, folder):
    end = time.monotonic() + 60 * (options.minutes or float("inf"))
    for number in range(plan.rounds):
        left = plan.left(number)
        if not left or time.monotonic() > end:
            continue
        with Cluster("bench", plan.rates, rdma=plan.wires.rdma) as cluster:
            missing = fuselink_missing(cluster)
            if missing:
                raise BenchError(missing)
            for case, column in left:
                if time.monotonic() > end:
                    progress("the time is over; run it again to go on")
                    return
                _job(plan, options.cuts, folder, cluster, case, column, number)


def _measure_at_once(words, columns):
    """A process of this command for each, with clusters of its own."""
    children = [subprocess.Popen(
        [sys.executable, sys.argv[0], "failure", *words, "--transports", column.name,
         "--table", ""], stdout=subprocess.DEVNULL) for column in columns]
    try:
        for child, column in zip(children, columns):
            if child.wait() != 0:
                raise BenchError(f"{column.name} was not measured")
    finally:
        for child in children:
            child.terminate() # if it is still there
        for child in children:
            child.wait()


def _job(plan, cuts, folder, cluster, case, column, number):
    progress(f"{case.name}, {number + 1} of {plan.rounds}: {column.name}")
    results = []
    job = failure_jobs.FailureJob(cluster, case, column, folder, plan.times,
                                  cuts, number)
    try:
        job.run(results.append)
    except SampleError as error:
        progress(f"{case.name}: {column.name} FAILED: {error}")
        results.append({"failure": str(error), "said": error.said})
    # What was cut while it stood still may be anywhere in the kernel.
    if any(result.get("still", True) for result in results):
        cluster.restart()
    plan.files.append(case, column, number, results)


def _head(plan):
    return (f"{len(plan.rates)} {plan.wires.title} NICs of {plan.rates[0]} in each"
            " of 2 hosts,"
            f" {os.cpu_count()} cores; samples {plan.files.folder.name}.")


def run(words):
    options = _parser().parse_args(words)
    for name in ("rounds", "cuts", "before", "out", "back", "watch"):
        if getattr(options, name) <= 0:
            raise BenchError(f"--{name} {getattr(options, name)}: above 0")
    if options.nics < 2:
        raise BenchError(f"--nics {options.nics}: at least 2")
    if not 1 <= options.in_turn < options.nics:
        raise BenchError(f"--in-turn {options.in_turn}: from 1 to"
                         f" {options.nics - 1}, as one NIC has to be left")
    if options.in_turn > 1 and options.nics_of_messages:
        raise BenchError("--in-turn or --nics-of-messages: who has the messages"
                         " is asked before the first NIC is cut")
    if options.at_once and options.variant:
        raise BenchError("--at-once or --variant")
    plan = _Plan(options)
    if options.dry_run:
        left = sum(len(plan.left(number)) for number in range(plan.rounds))
        print(f"{left} jobs; in {plan.files.folder}")
        return 0
    folder = programs.build(options.build_dir)
    warn_when_busy()
    others = [each for each in plan.columns if not each.fuselink]
    if not options.at_once or len(others) < 2:
        others = []
    try:
        _measure(plan.without(others), options, folder)
        if others:
            _measure_at_once(words, others)
    finally: # also at a signal: what there is so far
        tables = plan.tables()
        text = failure_report.text(tables, _head(plan), plan.wires)
        print(text)
        if options.table:
            write(options.table, text)
    misses = [f"{case.name}: {why}" for case, rows in tables for row in rows
              if row.name == "fuselink" for why in row.misses()]
    if options.check:
        print("\n".join(misses or ["all as wanted"]))
        return 1 if misses else 0
    return 0
