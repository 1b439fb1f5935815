# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Runs cases: all transports in turn, round after round, so that whatever
else the machine does meets all of them alike."""

import os
import sys
import time
from itertools import groupby

from fuselink_cluster import Cluster, ClusterError, fuselink_missing

from . import capacity
from . import policies
from .errors import BenchError, SampleError, TooBusy
from .job import Run
from .results import CaseResults
from .sample import measure

# After so many failures a transport is not tried again in a case.
_GIVE_UP = 2
# A job that has less than this is not begun.
_LEAST_S = 5.0
# The name under which a case reports what is no single transport's fault.
_CASE = "case"


def progress(text):
    print(text, file=sys.stderr, flush=True)


def warn_when_busy():
    load = os.getloadavg()[0]
    if load > 0.5 * os.cpu_count():
        progress(f"note: the load average is {load:.1f} on {os.cpu_count()}"
                 " cores; what is bound by the CPU will vary")


def in_order(cases):
    """Lists of cases that share a cluster, as they are run."""
    def nics(case):
        return case.rdma, case.hosts, case.topology, case.rates, case.queue

    return [list(group) for _, group in groupby(sorted(cases, key=nics), nics)]


class _Limit:
    """What is left of a case's time in one round."""

    def __init__(self, seconds):
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self):
        return self._end - time.monotonic()


class Runner:
    """`finished` is called with all results whenever a case is through with
    a round, so that a run which does not come to its end has told something.

    A case that fails, or takes longer than its limit, is reported and the
    next one goes on. Before anything was measured an error is one of the
    machine or its set-up, and ends the run."""

    def __init__(self, programs, rounds, timeout, chosen=None, variants=(),
                 finished=lambda results: None):
        self.programs = programs
        self.rounds = rounds
        self.timeout = timeout
        self.chosen = chosen          # names of transports, None for all
        self.variants = variants      # transports with other settings
        self.finished = finished
        self._found = {}              # results of each case by its name
        self._measured = False        # anything
        self._missing = None          # what fuselink_missing() said
        self._policies = None         # of the library, once asked

    @property
    def results(self):
        """Of the cases that were begun."""
        return [found for found in self._found.values()
                if found.samples or found.failures or found.left_out]

    def run(self, cases):
        """Results of the cases; those with the same NICs share a cluster.

        Every round has a cluster of its own: the order in which a host lists
        its NICs is drawn by the kernel when the host is made, and UCX picks
        its rails in that order.
        """
        self._found = {case.name: CaseResults(case, case.rates)
                       for case in cases}
        for group in in_order(cases):
            for number in range(self.rounds):
                self._group(group, number)
        return self.results

    def run_on(self, cluster, case):
        """Results of a case on a cluster that is up."""
        results = CaseResults(case, cluster.rates)
        for number in range(self.rounds):
            self._round(cluster, results, number)
        return results

    def _group(self, group, number):
        """One round of cases on one cluster, or on several if one breaks."""
        left = list(group)
        while left:
            try:
                with Cluster("bench", left[0].rates,
                             rdma=left[0].rdma,
                             hosts=left[0].hosts,
                             topology=left[0].topology,
                             queue=left[0].queue) as cluster:
                    wires = None
                    if any(case.skew for case in left):
                        progress(f"what the wires carry: round {number + 1}"
                                 f" of {self.rounds}")
                        wires = capacity.measure(cluster)
                    while left:
                        self._round(cluster, self._found[left[0].name],
                                    number, wires)
                        left.pop(0)
                        self.finished(self.results)
            except (BenchError, ClusterError) as error:
                if not self._measured:
                    raise
                if not left: # it was not taken down
                    progress(f"FAILED: {error}")
                    return
                case = left.pop(0)
                progress(f"{case.name}: FAILED: {error}")
                self._found[case.name].fail(_CASE, str(error))
                self.finished(self.results)

    def _round(self, cluster, results, number, wires=None):
        if wires:
            results.capacities.append(wires)
        case = results.case
        wanted = self._transports(cluster, results)
        limit = _Limit(case.limit)
        for _ in range(case.repeat):
            for transport in wanted:
                name = transport.name
                if len(results.failures.get(name, [])) >= _GIVE_UP:
                    continue
                if limit.left() < _LEAST_S:
                    why = (f"not run: the {case.limit:.0f} s of the case were"
                           " over")
                    progress(f"{case.name}: {name} {why}")
                    results.fail(name, why)
                    continue
                progress(f"{case.name}: round {number + 1} of"
                         f" {self.rounds}, {name}")
                self._sample(cluster, results, transport, number, wires,
                             limit)

    def _sample(self, cluster, results, transport, number, wires, limit):
        for again in (True, False):
            run = Run(cluster, results.case, transport, self.programs,
                      min(self.timeout, limit.left()), wires)
            try:
                results.add(measure(run, number))
                self._measured = True
                return
            except SampleError as error:
                progress(f"{results.case.name}: {transport.name} FAILED:"
                         f" {error}")
                self._measured = True
                cluster.restart()
                if not (again and isinstance(error, TooBusy)
                        and limit.left() > _LEAST_S):
                    results.fail(transport.name, str(error))
                    return

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
