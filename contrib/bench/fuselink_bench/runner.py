# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Runs cases: all transports in turn, round after round, so that whatever
else the machine does meets all of them alike."""

import re
import sys
from itertools import groupby

from .cluster import Cluster
from .errors import BenchError, SampleError
from .results import CaseResults
from .sample import measure

# After so many failures in a row a transport is not tried again in a case.
_GIVE_UP = 2


def progress(text):
    print(text, file=sys.stderr, flush=True)


class Runner:
    def __init__(self, programs, rounds, timeout, chosen=None, variants=()):
        self.programs = programs
        self.rounds = rounds
        self.timeout = timeout
        self.chosen = chosen          # names of transports, None for all
        self.variants = variants      # fuselink with other settings

    def run(self, cases):
        """Results of the cases; those with the same NICs share a cluster."""
        found = {}
        ordered = sorted(cases, key=lambda case: case.rates)
        for rates, group in groupby(ordered, key=lambda case: case.rates):
            with Cluster(rates) as cluster:
                for case in group:
                    found[case.name] = self.run_case(cluster, case)
        return [found[case.name] for case in cases]

    def run_case(self, cluster, case):
        results = CaseResults(case, cluster.rates)
        wanted = self._transports(cluster, case, results)
        for number in range(self.rounds):
            for transport in wanted:
                failed = results.failures.get(transport.name, [])
                if len(failed) >= _GIVE_UP:
                    continue
                progress(f"{case.name}: round {number + 1} of {self.rounds},"
                         f" {transport.name}")
                self._sample(cluster, results, transport, number)
        return results

    def _sample(self, cluster, results, transport, number):
        try:
            results.add(measure(cluster, results.case, transport, number,
                                self.programs, self.timeout))
        except SampleError as error:
            progress(f"{results.case.name}: {transport.name} FAILED: {error}")
            results.fail(transport.name, str(error))
            cluster.restart()

    def _transports(self, cluster, case, results):
        """Those that are asked for and there; why not goes into results."""
        wanted = []
        library = None
        for transport in (*case.transports, *self.variants):
            if self.chosen is not None and transport.name not in self.chosen:
                continue
            if transport.fuselink:
                if library is None:
                    library = fuselink_missing(cluster)
                if library:
                    results.left_out[transport.name] = library
                    continue
            wanted.append(transport)
        return wanted


def fuselink_missing(cluster):
    """Why fuselink cannot be measured because it has not been built, or ""
    when it loads. A library that is there and does not load is an error."""
    status, out, err = cluster.mpirun(["-np", "1", "ucx_info", "-d"],
                                      {"FUSELINK": "1"}, timeout=60)
    if re.search(r"^# +Transport: fuselink$", out, re.M):
        return ""
    if status != 0 and "neither built" in err:
        return err.strip().splitlines()[-1].removeprefix("cluster: ")
    raise BenchError("fuselink's library is there but UCX does not list its"
                     " transport: " + ((err or out).strip().splitlines() or
                                       ["no message"])[-1])
