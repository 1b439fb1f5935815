# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Runs cases: all transports in turn, round after round, so that whatever
else the machine does meets all of them alike."""

import sys
from itertools import groupby

from fuselink_cluster import Cluster, fuselink_missing

from . import capacity
from . import policies
from .errors import SampleError
from .job import Run
from .results import CaseResults
from .sample import measure

# After so many failures a transport is not tried again in a case.
_GIVE_UP = 2


def progress(text):
    print(text, file=sys.stderr, flush=True)


class Runner:
    def __init__(self, programs, rounds, timeout, chosen=None, variants=()):
        self.programs = programs
        self.rounds = rounds
        self.timeout = timeout
        self.chosen = chosen          # names of transports, None for all
        self.variants = variants      # transports with other settings
        self._missing = None          # what fuselink_missing() said
        self._policies = None         # of the library, once asked

    def run(self, cases):
        """Results of the cases; those with the same NICs share a cluster.

        Every round has a cluster of its own: the order in which a host lists
        its NICs is drawn by the kernel when the host is made, and UCX picks
        its rails in that order.
        """
        found = {case.name: CaseResults(case, case.rates) for case in cases}
        def nics(case):
            return case.rdma, case.rates

        ordered = sorted(cases, key=nics)
        for (rdma, rates), group in groupby(ordered, key=nics):
            group = list(group)
            for number in range(self.rounds):
                with Cluster("bench", rates, rdma=rdma) as cluster:
                    wires = None
                    if any(case.skew for case in group):
                        progress(f"what the wires carry: round {number + 1}"
                                 f" of {self.rounds}")
                        wires = capacity.measure(cluster)
                    for case in group:
                        self._round(cluster, found[case.name], number, wires)
        return list(found.values())

    def run_on(self, cluster, case):
        """Results of a case on a cluster that is up."""
        results = CaseResults(case, cluster.rates)
        for number in range(self.rounds):
            self._round(cluster, results, number)
        return results

    def _round(self, cluster, results, number, wires=None):
        if wires:
            results.capacities.append(wires)
        case = results.case
        wanted = self._transports(cluster, results)
        for _ in range(case.repeat):
            for transport in wanted:
                if len(results.failures.get(transport.name, [])) < _GIVE_UP:
                    progress(f"{case.name}: round {number + 1} of"
                             f" {self.rounds}, {transport.name}")
                    self._sample(cluster, results, transport, number, wires)

    def _sample(self, cluster, results, transport, number, wires):
        try:
            results.add(measure(Run(cluster, results.case, transport,
                                    self.programs, self.timeout, wires),
                                number))
        except SampleError as error:
            progress(f"{results.case.name}: {transport.name} FAILED: {error}")
            results.fail(transport.name, str(error))
            cluster.restart()

    def _transports(self, cluster, results):
        """Those that are asked for and there; why not goes into results."""
        wanted = []
        for transport in (*results.case.transports, *self.variants):
            if self.chosen is not None and transport.name not in self.chosen:
                continue
            if transport.fuselink:
                if self._missing is None:
                    self._missing = fuselink_missing(cluster)
                if self._missing:
                    results.left_out[transport.name] = self._missing
                    continue
            if transport.policy:
                if self._policies is None:
                    self._policies = policies.query(cluster)
                why = self._policies.missing(transport.policy)
                if why:
                    results.left_out[transport.name] = why
                    continue
            wanted.append(transport)
        return wanted
