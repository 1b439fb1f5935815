# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""contrib/bench/run outage: how long a job stands when all NICs of a host were silent."""

import argparse
import os
import time

from fuselink_cluster import Cluster, fuselink_missing

from . import failure_cases
from . import outage_report
from . import programs
from . import surroundings
from . import transports
from .errors import BenchError, SampleError
from .options import add_outputs, names_of, write
from .outage_job import OutageJob
from .runner import progress, warn_when_busy
from .size_files import Files

_FORMAT = 1   # of a line of the samples

_COLUMNS = failure_cases.WIRES["tcp"].columns
_PATTERNS = ("stream", "alltoallv")


def _parser():
    parser = argparse.ArgumentParser(
        prog="contrib/bench/run outage",
        description="Has all NICs of a host drop everything for some seconds while a"
        " job runs, with their carriers up, and measures how long after that it has"
        " its rate again. The transports take turns, a job each, on a cluster for"
        " each repetition; a job goes through all silences. What is in the folder is"
        " not measured again, unless the library, the programs or the settings"
        " differ.")
    parser.add_argument("--patterns", metavar="A,B,...", help="only these programs: "
                        + ", ".join(_PATTERNS))
    parser.add_argument("--transports", metavar="A,B,...", help="only these: "
                        + ", ".join(each.name for each in _COLUMNS))

    def number(option, default, what, kind=float):
        parser.add_argument(option, type=kind, default=default, metavar="N",
                            help=f"{what} (default %(default)s)")

    parser.add_argument("--silences", default="1,3,7.5,13", metavar="N,N,...",
                        help="seconds without a word (default %(default)s)")
    number("--rounds", 3, "jobs of each transport", int)
    number("--nics", 4, "NICs of each host", int)
    parser.add_argument("--rate", default="200mbit", metavar="R",
                        help="of each NIC (default %(default)s)")
    number("--before", 2.0, "seconds before a silence")
    number("--watch", 40.0, "seconds to wait until it has its rate again")
    add_outputs(parser, "outage")
    return parser


def _silences(text):
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) <= 0:
        raise BenchError(f"--silences '{text}': accepted: numbers above 0, with commas")
    return found


class _Plan:
    """What is asked for, and what there is of it."""

    def __init__(self, options):
        columns = {each.name: each for each in _COLUMNS}
        self.columns = [columns[name] for name in names_of(
            "--transports", options.transports, columns)]
        self.cases = [failure_cases.Case(failure_cases.WIRES["tcp"], pattern, "silent",
                                         False)
                      for pattern in names_of("--patterns", options.patterns, _PATTERNS)]
        self.silences = _silences(options.silences)
        self.rates = (options.rate,) * options.nics
        self.rounds = options.rounds
        self.times = options.before, options.watch
        self.files = Files(options.folder, {
            **surroundings.settings(), "rates": self.rates, "times": self.times,
            "silences": self.silences, "format": _FORMAT})

    def left(self, number):
        """[(case, column)] of a repetition that there is nothing of."""
        return [(case, column) for case in self.cases for column in self.columns
                if not self.files.results(case, column, number)]

    def tables(self):
        """[(title, [(column, {silence: results}, failures)])]"""
        return [(failure_cases.PATTERNS[case.pattern].named(case.wires),
                 [(column.name, *self._found(case, column)) for column in self.columns])
                for case in self.cases]

    def _found(self, case, column):
        by_silence, failures = {each: [] for each in self.silences}, []
        for number in range(self.rounds):
            for result in self.files.results(case, column, number):
                if "failure" in result:
                    failures.append(result["failure"])
                else:
                    by_silence[result["silence"]].append(result)
        return by_silence, failures


def _measure(plan, options, folder):
    end = time.monotonic() + 60 * (options.minutes or float("inf"))
    for number in range(plan.rounds):
        left = plan.left(number)
        if not left or time.monotonic() > end:
            continue
        with Cluster("bench", plan.rates) as cluster:
            missing = fuselink_missing(cluster)
            if missing:
                raise BenchError(missing)
            for case, column in left:
                if time.monotonic() > end:
                    progress("the time is over; run it again to go on")
                    return
                _job(plan, folder, cluster, case, column, number)


def _job(plan, folder, cluster, case, column, number):
    progress(f"{case.pattern}, {number + 1} of {plan.rounds}: {column.name}")
    results = []
    try:
        OutageJob(cluster, case, column, folder, *plan.times).run(plan.silences,
                                                                  results.append)
    except SampleError as error:
        progress(f"{case.pattern}: {column.name} FAILED: {error}")
        results.append({"failure": str(error), "said": error.said})
        cluster.restart() # what was under way may be anywhere in the kernel
    plan.files.append(case, column, number, results)


def run(words):
    options = _parser().parse_args(words)
    for name in ("rounds", "nics", "before", "watch"):
        if getattr(options, name) <= 0:
            raise BenchError(f"--{name} {getattr(options, name)}: above 0")
    plan = _Plan(options)
    if options.dry_run:
        left = sum(len(plan.left(number)) for number in range(plan.rounds))
        print(f"{left} jobs; in {plan.files.folder}")
        return 0
    folder = programs.build(options.build_dir)
    warn_when_busy()
    try:
        _measure(plan, options, folder)
    finally: # also at a signal: what there is so far
        text = outage_report.text(
            plan.tables(), f"{len(plan.rates)} NICs of {plan.rates[0]} in each of 2"
            f" hosts, {os.cpu_count()} cores; samples {plan.files.folder.name}.")
        print(text)
        if options.table:
            write(options.table, text)
    return 0
