# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""NICs that are cut and plugged while programs run."""

import random
import threading
from dataclasses import dataclass

from fuselink_bench.cables import Cables
from fuselink_bench.errors import SampleError
from fuselink_bench.failure_cases import WAYS

from .errors import ConformanceError


@dataclass
class _Cut:
    host: str
    nic: str
    way: str
    begin: float    # seconds since 1970
    end: float = float("inf")


class Cuts:
    """In a with statement: every `period` seconds a random NIC of a random host
    is cut for half of that time, loudly and in silence in turn. So one at most
    is out, at whatever moment a program begins."""

    def __init__(self, cluster, period):
        self._cluster = cluster
        self._period = period
        self._cuts = []
        self._error = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def during(self, begin, end):
        """A line for each cut of this time; seconds since 1970."""
        return [f"{cut.nic} of {cut.host}, {cut.way}, from second"
                f" {cut.begin - begin:.1f} to {min(cut.end, end) - begin:.1f}"
                for cut in list(self._cuts)
                if cut.begin <= end and cut.end >= begin]

    def check(self, tally):
        """Whether there was what programs were to survive."""
        if self._error:
            raise ConformanceError(str(self._error))
        counts = {way: sum(cut.way == way for cut in self._cuts)
                  for way in WAYS}
        text = ", ".join(f"{way} {count}" for way, count in counts.items())
        if all(counts.values()):
            tally.ok("NICs were cut", text)
        else:
            tally.not_ok("NICs were cut", text)

    def _go(self):
        try:
            with Cables(self._cluster) as cables:
                while not self._over.is_set():
                    self._cut(cables)
                    self._over.wait(self._period / 2)
        except SampleError as error:
            self._error = error

    def _cut(self, cables):
        way = list(WAYS)[len(self._cuts) % len(WAYS)]
        host = f"host{random.randrange(self._cluster.hosts)}"
        nic = random.choice(self._cluster.nics)
        begin, _ = cables.cut(host, nic, WAYS[way])
        self._cuts.append(_Cut(host, nic, way, begin))
        self._over.wait(self._period / 2)
        _, self._cuts[-1].end = cables.plug(host, nic)


class NoCuts:
    """What there is of them where no cable is touched."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def during(self, _begin, _end):
        return []

    def check(self, _tally):
        pass
