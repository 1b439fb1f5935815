# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The jobs of the map of sizes."""

import time

from fuselink_cluster import Cluster

from . import size_cases
from .errors import SampleError
from .job import Run
from .runner import progress
from .sample import measure_sizes


class OutOfTime(Exception):
    """The minutes are over that the run may take."""


class Sweeps:
    """Measures what is not there yet."""

    def __init__(self, files, folder, minutes):
        self.jobs = 0
        self.failures = 0
        self._files = files
        self._folder = folder     # of the programs
        self._end = (time.monotonic() + 60 * minutes if minutes is not None
                     else float("inf"))

    def run(self, wires, wanted, repetition):
        """wanted: [(case, column, sizes)] of one kind of wires. They have a
        cluster of their own, since the order in which a host lists its NICs is
        drawn when it is made."""
        left = [(case, column, sizes) for case, column, all_sizes in wanted
                if (sizes := self._files.missing(case, column, all_sizes,
                                                 repetition))]
        if not left:
            return
        self._look_at_the_clock()
        with Cluster("bench", wires.rates, rdma=wires.rdma) as cluster:
            for case, column, sizes in left:
                self._look_at_the_clock()
                progress(f"{case.name}, {repetition}: {column.name}, sizes:"
                         f" {len(sizes)}")
                self._job(cluster, case, column, sizes, repetition)

    def _look_at_the_clock(self):
        if time.monotonic() > self._end:
            raise OutOfTime

    def _job(self, cluster, case, column, sizes, repetition):
        # The longest take half a minute for a size.
        run = Run(cluster, size_cases.with_sizes(case, sizes), column,
                  self._folder, 60 + 40 * len(sizes), None)
        self.jobs += 1
        try:
            results = measure_sizes(run, len(sizes))
        except SampleError as error:
            progress(f"{case.name}: {column.name} FAILED: {error}")
            self.failures += 1
            cluster.restart()
            return
        self._files.append(case, column, repetition, results)
