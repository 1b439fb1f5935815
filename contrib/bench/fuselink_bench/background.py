# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""A job while another program, which is neither MPI nor UCX, fills a part of
one NIC: all the time, or on and off."""

from contextlib import ExitStack

from . import hosts
from . import job
from . import movement
from .errors import SampleError, TooBusy

_PORT = 7078
_NIC = 1            # the one that is filled
_PART = 0.5         # of its capacity
# The sender of the background is late by no more than this.
_OFFERED = 0.97


class Background:
    """on and off are seconds; off 0 is background without a pause."""

    def __init__(self, on, off=0.0, cycles=1):
        self.on = on
        self.off = off
        self.cycles = cycles

    def measure(self, run):
        return job.at_a_moment(lambda at: self._beside(run, at))

    def _beside(self, run, at):
        rate = _PART * run.capacity.wire(0, 1, _NIC)
        begin = at + run.case.option("--warmup") - (0 if self.off else 0.3)
        to = hosts.address(1, _NIC)
        tool = hosts.TOOLS / "background"
        with ExitStack() as stack:
            def start(host, words, ready=None):
                return stack.enter_context(hosts.HostProgram(
                    run.cluster, host, words, ready, in_time=True))

            receiver = start(1, [tool, "receive", to, _PORT], "listening")
            sender = start(0, [tool, "send", to, _PORT, f"{rate:.0f}",
                               f"{begin:.6f}", self.on, self.off,
                               self.cycles], "ready")
            watch = start(1, [run.programs / "nicwatch", "rx", 2,
                              *run.cluster.nics])
            result = job.launch(run, ("--at", f"{at:.3f}"))
            cycles = [tuple(map(float, line.split()))
                      for line in sender.finish()]
            arrivals = _pairs(receiver.finish())
            readings = [[float(word) for word in line.split()]
                        for line in watch.finish()]
        self._check_sender(cycles, rate, result)
        left = self._left(run, result, arrivals)
        result |= {"background_offered_bytes_per_s": rate,
                   "left_bytes_per_s": left,
                   "of_left": result["bytes_per_s"] / left}
        if self.off:
            result |= movement.analyse(
                cycles, arrivals, readings, _NIC,
                [run.capacity.wire(0, 1, nic)
                 for nic in range(len(run.cluster.rates))], self.on,
                self.off)
        return result

    def _left(self, run, result, arrivals):
        """What the wires carried besides the background while the job was
        measured: by what came through of it, not by what was offered."""
        came = sum(count for when, count in arrivals
                   if result["from"] <= when <= result["to"])
        return run.capacity.total(0, 1) - came / result["seconds"]

    def _check_sender(self, cycles, rate, result):
        if self.off and len(cycles) != self.cycles:
            raise SampleError(f"the background had {len(cycles)} of"
                              f" {self.cycles} cycles while the job ran")
        if not self.off and (not cycles or cycles[0][1] < result["to"]):
            raise SampleError("the background ended before the job")
        for start, stop, sent in cycles:
            if sent < _OFFERED * rate * (stop - start):
                raise TooBusy(
                    f"the background sent {sent / (stop - start) / 1e6:.2f}"
                    f" MB/s, not {rate / 1e6:.2f}: this machine is too busy")


def _pairs(lines):
    return [(float(when), int(count)) for when, count in map(str.split, lines)]
