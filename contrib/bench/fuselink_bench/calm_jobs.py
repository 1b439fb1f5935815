# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Jobs that nothing happens to, and what their processes say of NICs."""

import json
import os
import re
import signal
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from . import calm_cases
from .byte_watch import ByteWatch
from .clock import Clock, clock_of
from .errors import SampleError
from .failure_cases import WIRES
from .hosts import HostProgram
from .live_job import START_S, LiveJob
from .loss import Loss

# Of a guest, whose processors are slow.
_GUEST_START_S = 240.0
# Before and after a receiver does something else.
_MOVES_S = 2.0
# So long what it had received may still be told.
_TELLS_S = 1.0
# Ranks that poll and never give way, as on cores of their own.
_NEVER_YIELD = ("--mca", "mpi_yield_when_idle", "0")
_ALARM = re.compile(r"UCX +(WARN|ERROR|FATAL)\b")
_OF_FUSELINK = re.compile(r"UCX +\w+ +fuselink: ")


class CalmJob:
    """One job over fuselink. After run() or rest(), which raise SampleError if
    the job fails, `result` is what calm_report.Calm reads, and `lines` what
    its processes said; also, as far as it is known, after a failure."""

    def __init__(self, cluster, folder):
        self._cluster = cluster
        self._folder = folder
        self._program = folder / "failure"
        self._wires = WIRES["rdma" if cluster.rdma else "tcp"]
        self._clock = Clock()
        self.result = {}
        self.lines = []

    def run(self, case, seconds):
        """Moves data for so long."""
        options = calm_cases.PATTERNS[case.pattern].words(case.rdma)

        def move(job):
            self._go_on(job, seconds)

        if not case.rdma:
            self._measure(calm_cases.RANKS, _NEVER_YIELD, options, move)
            return
        # A guest has a clock of its own.
        with ByteWatch(self._cluster, self._folder,
                       {0: self._wires.devices(self._cluster, 0)},
                       self._wires.step_ms) as watch:
            self._clock = clock_of(watch.latest)
        loss = Loss(self._cluster, case.loss)
        try:
            with loss:
                self._measure(calm_cases.RDMA_RANKS, _NEVER_YIELD, options, move)
        finally:
            self.result["lost"] = loss.count

    def _go_on(self, job, seconds):
        """Lets the job move data for so long; tests do more meanwhile."""
        job.sleep_until(self._clock.now() + seconds)

    def rest(self, rest, seconds):
        """A stream to a receiver that rests for so long in between."""
        def stop(job):
            os.kill(job.pid(), signal.SIGSTOP)
            try:
                self._nothing_arrives(job, time.time() + seconds)
            finally:
                os.kill(job.pid(), signal.SIGCONT)

        def compute(job):
            job.order("c")
            job.wait_for("BENCH-COMPUTES", START_S)
            self._nothing_arrives(job, time.time() + seconds - _TELLS_S)
            job.wait_for("BENCH-COMPUTED", START_S)

        def move(job):
            job.sleep_until(time.time() + _MOVES_S)
            (stop if rest is calm_cases.STOPPED else compute)(job)
            if not job.wait_for_arrival(time.time(), START_S):
                raise SampleError("nothing arrives after the receiver's rest")
            job.sleep_until(time.time() + _MOVES_S)

        self._measure(2, (), ("--size", 1000000, "--window", 8, "--compute",
                              seconds), move)

    @staticmethod
    def _nothing_arrives(job, until):
        """Else the receiver did not rest."""
        job.sleep_until(min(time.time() + _TELLS_S, until))
        last = job.last_arrival()
        job.sleep_until(until)
        if job.last_arrival() != last:
            raise SampleError("the receiver went on when it was to rest")

    def _measure(self, ranks, words, options, move):
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "reports.json"
            if self._cluster.rdma: # files of the guest are its own
                path = Path(f"/dev/shm/{Path(name).name}.json")
            transport = replace(self._wires.columns[0], environment={
                "UCX_FUSELINK_REPORT": path, "UCX_LOG_LEVEL": "info"})
            tcp, sent = self._tcp(), self._sent()
            with LiveJob(self._cluster, transport, self._program,
                         ["-np", str(ranks), *words], options, self._clock,
                         self._wires.devices(self._cluster, 0),
                         _GUEST_START_S if self._cluster.rdma else START_S) as job:
                try:
                    self._moves(job, move)
                finally:
                    self.lines = job.lines()
                    self._add_lines()
            # The reports come last, after what was said.
            self._add_reports(path, ranks)
            self.result |= {
                key: value - tcp[key] for key, value in self._tcp().items()}
            self.result["sent"] = self._sent() - sent

    def _moves(self, job, move):
        job.messages(0)
        start = self._clock.now()
        if not job.wait_for_arrival(start, START_S):
            raise SampleError("no data moves")
        move(job)
        job.finish()
        arrivals = [each for each in job.arrivals() if each[0] >= start]
        times = [when for when, _ in arrivals]
        self.result |= {
            "seconds": times[-1] - times[0], "bytes": arrivals[-1][1],
            "longest_gap": max((b - a for a, b in zip(times, times[1:])),
                               default=0.0)}

    def _add_lines(self):
        self.result["warnings"] = [line for line in self.lines
                                   if _ALARM.search(line)]
        self.result["notes"] = [line for line in self.lines
                                if _OF_FUSELINK.search(line)
                                and not _ALARM.search(line)]

    def _add_reports(self, path, ranks):
        text = self._lines_of(path)
        reports = list(map(json.loads, text))
        if len(reports) != ranks:
            raise SampleError(f"{len(reports)} of {ranks} processes have"
                              " reported what failed")
        self.lines += text
        found = [(report["host"], report["pid"], rail)
                 for report in reports for rail in report["rails"]
                 if "failures" in rail]
        if not found:
            raise SampleError("the reports say nothing of failures")
        for key in ("path_breaks", "message_moves", "resent_bytes"):
            self.result[key] = sum(rail["failures"][key]
                                   for _, _, rail in found)
        # A NIC is one of a process: each has found that out for itself.
        self.result["given_up"] = sum(
            rail["failures"]["path_breaks"] + rail["failures"]["message_moves"]
            > 0 for _, _, rail in found)

    def _lines_of(self, path):
        """Of a file of the hosts', each of which may have its own."""
        if self._cluster.rdma:
            return [line for host in range(self._cluster.hosts)
                    for line in HostProgram(self._cluster, host,
                                            ["cat", path]).wait(30)]
        return (path.read_text(encoding="utf-8").splitlines()
                if path.exists() else [])

    def _tcp(self):
        """What the hosts' kernels count."""
        total = {"lost": 0, "timeouts": 0}
        for host in range(self._cluster.hosts):
            lines = [line.split() for line in HostProgram(
                self._cluster, host,
                ["cat", "/proc/net/snmp", "/proc/net/netstat"]).wait(30)]
            counts = {f"{names[0]}{name}": int(value)
                      for names, values in zip(lines[::2], lines[1::2])
                      for name, value in zip(names[1:], values[1:])}
            # Those of which the other end had one are but questions: kernels
            # ask for an answer that is late.
            total["lost"] += (counts["Tcp:RetransSegs"]
                              - counts["TcpExt:TCPDSACKRecvSegs"])
            total["timeouts"] += counts["TcpExt:TCPTimeouts"]
        return total

    def _sent(self):
        """Bytes of the first host's NICs."""
        return sum(each["tx"] for nic, each
                   in self._cluster.counters()["host0"].items()
                   if nic in self._cluster.nics)
