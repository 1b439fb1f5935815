# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""One job, while all NICs of a host are silent again and again."""

from bisect import bisect_right

from . import failure_cases
from .cables import Cables
from .clock import Clock
from .failure_cut import BACK, SETTLES_S
from .live_job import LiveJob

_HOST = "host1"
_WINDOW_S = 0.5  # of a rate
_STEP_S = 0.2    # between two looks


def rate(arrivals, begin, end):
    """Bytes a second that came between two moments, of [(moment, bytes in all)]."""
    i, j = (bisect_right(arrivals, (when, float("inf"))) - 1 for when in (begin, end))
    if i < 0 or j <= i:
        return 0.0
    return (arrivals[j][1] - arrivals[i][1]) / (end - begin)


def time_back(arrivals, back, full):
    """Seconds from `back` until the rate is BACK of `full`, for _WINDOW_S; None: it is
    not yet."""
    for when, _ in arrivals[bisect_right(arrivals, (back, 0.0)):]:
        if when + _WINDOW_S > arrivals[-1][0]:
            break
        if rate(arrivals, when, when + _WINDOW_S) >= BACK * full:
            return when - back
    return None


class OutageJob:
    """`before` seconds with all NICs, a silence, and at most `watch` seconds until it
    has its rate again; that for each silence."""

    def __init__(self, cluster, case, transport, folder, before, watch):
        self._cluster = cluster
        self._case = case
        self._transport = transport
        self._program = folder / "failure"
        self._before = before
        self._watch = watch
        self._clock = Clock()

    def run(self, silences, done):
        """done(result) for each; it ends with one that it does not survive. Raises
        SampleError if the job fails."""
        pattern = failure_cases.PATTERNS[self._case.pattern]
        with Cables(self._cluster) as cables, LiveJob(
                self._cluster, self._transport, self._program,
                ["-np", str(pattern.ranks)], pattern.words(self._case.wires),
                self._clock) as job:
            job.messages(0)
            for silence in silences:
                result = self._silence(job, cables, silence)
                done(result)
                if result["back"] is None:
                    return
            job.finish()

    def _silence(self, job, cables, silence):
        start = self._clock.now() + SETTLES_S
        job.sleep_until(start + self._before)
        way = failure_cases.WAYS["silent"]
        cut = [cables.cut(_HOST, nic, way) for nic in self._cluster.nics]
        full = rate(job.arrivals(), start, cut[0][0])
        job.sleep_until(cut[-1][1] + silence)
        plugged = [cables.plug(_HOST, nic) for nic in self._cluster.nics][-1][1]
        found = None
        while found is None and self._clock.now() < plugged + self._watch:
            job.sleep_until(self._clock.now() + _STEP_S)
            found = time_back(job.arrivals(), plugged, full)
        first = [when for when, _ in job.arrivals() if when > plugged]
        return {"silence": silence, "full": full, "back": found,
                "first": first[0] - plugged if first else None,
                "watch": self._watch,
                "failed": sum(line.count("has failed") for line in job.lines())}
