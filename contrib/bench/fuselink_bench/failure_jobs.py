# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Jobs whose NICs are cut while they run, and plugged again."""

import random
from dataclasses import dataclass

from . import byte_watch
from . import failure_cases
from . import transports
from .cables import Cables
from .clock import Clock, clock_of
from .failure_cut import SETTLES_S
from .live_job import LiveJob

# The cut comes at any moment of this time: of all phases of a window or call.
_JITTER_S = 0.5
# Nothing for so long is standing still, and is watched.
_STILL_S = 0.5


@dataclass(frozen=True)
class Times:
    """Seconds."""
    before: float    # with all NICs
    out: float       # the cable is out and the job goes on
    back: float      # after it is back
    watch: float     # a job that stands still


class FailureJob:
    """One job of one transport. `rounds` makes its chances its own."""

    def __init__(self, cluster, case, transport, folder, times, cuts, number):
        self._cluster = cluster
        self._case = case
        self._transport = (transports.with_windows(transport)
                           if failure_cases.PATTERNS[case.pattern].windows
                           else transport)
        self._folder = folder
        self._times = times
        self._cuts = cuts
        self._clock = Clock()
        self._chance = random.Random(f"{case.name}.{transport.name}.{number}")

    def run(self, done):
        """done(result) for each time that NICs were cut and plugged, which
        failure_cut.cuts_of() reads. Ends with the first that the job does not
        survive; raises SampleError if the job fails otherwise."""
        pattern = failure_cases.PATTERNS[self._case.pattern]
        wires = self._case.wires
        devices = {number: wires.devices(self._cluster, number)
                   for number in (0, *pattern.receivers)}
        with Cables(self._cluster) as cables, byte_watch.ByteWatch(
                self._cluster, self._folder,
                {number: devices[number] for number in pattern.receivers},
                wires.step_ms) as watch:
            if wires.rdma: # a guest has a clock of its own
                self._clock = clock_of(watch.latest)
            with LiveJob(self._cluster, self._transport,
                         self._folder / "failure", ["-np", str(pattern.ranks)],
                         pattern.words(wires), self._clock,
                         devices[0]) as job:
                for number in range(self._cuts):
                    if number > 0:
                        job.order("m")
                    result = self._cut_in_turn(job, cables, watch, number)
                    done(result)
                    if result["still"]:
                        return
                job.finish()

    def _cut_in_turn(self, job, cables, watch, number):
        times = self._times
        messages = job.messages(number)
        start = self._clock.now()
        if not job.wait_for_arrival(start, times.watch):
            return self._record(start, messages, still="before the cut")
        job.sleep_until(start + times.before)
        cuts, still = [], ""
        while not still and len(cuts) < self._case.in_turn:
            cuts.append(self._cut(job, cables, messages,
                                  {each["nic"] for each in cuts}))
            still = self._stands_still(job, cuts[-1]["cut"][1])
        plugged = [cables.plug(each["host"], each["nic"]) for each in cuts]
        goes_on = not still or job.wait_for_arrival(plugged[-1][1],
                                                    times.watch)
        job.sleep_until(self._clock.now() + times.back)
        received = watch.readings()
        ends = [each["cut"][0] for each in cuts[1:]] + [plugged[0][0]]
        for each, end in zip(cuts, ends):
            each["end"] = end
            each["received"] = byte_watch.facts(
                received, (start + SETTLES_S, cuts[0]["cut"][0]),
                each["cut"][0], end)
        return self._record(
            start, messages, still=still, goes_on=goes_on, cuts=cuts,
            plugged=(plugged[0][0], plugged[-1][1]),
            arrivals=[(when, total) for when, total in job.arrivals()
                      if when >= start])

    def _cut(self, job, cables, messages, out):
        """One that is not out yet."""
        host = f"host{self._chance.randrange(self._cluster.hosts)}"
        nic = self._nic(messages, out)
        job.sleep_until(self._clock.now() + self._chance.uniform(0, _JITTER_S))
        return {"host": host, "nic": nic, "cut": cables.cut(
            host, nic, failure_cases.WAYS[self._case.way])}

    def _stands_still(self, job, cut):
        """Returns when it has gone on for its time, or was watched for that
        of a job that does not; whether it is the latter."""
        until = cut + self._times.out
        while True:
            job.sleep_until(until)
            last = max(cut, job.last_arrival())
            if self._clock.now() - last < _STILL_S:
                return ""
            if not job.wait_for_arrival(last, cut + self._times.watch
                                        - self._clock.now()):
                return "after the cut"
            until = self._clock.now() + self._times.out

    def _nic(self, messages, out):
        if self._transport.one_nic and not out: # another one costs it nothing
            return self._cluster.nics[0]
        if self._case.of_messages:
            return max(messages, key=messages.get)
        return self._chance.choice([nic for nic in self._cluster.nics
                                    if nic not in out])

    def _record(self, start, messages, **more):
        return {"nics": len(self._cluster.nics), "start": start, "cuts": [],
                "messages": messages, "watch": self._times.watch, **more}
