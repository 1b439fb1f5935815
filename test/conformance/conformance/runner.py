# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Runs entries over a transport, and what fails there over another one."""

import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from .jobs import Job

# What one job may need of the memory that is free.
_MEMORY_SHARE = 0.5


class Tally:
    """Prints results as they are told and counts them."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def ok(self, name, note=""):
        self.passed += 1
        self._print("ok", name, note)

    def not_ok(self, name, reason):
        self.failed += 1
        self._print("not ok", name, reason)

    def skip(self, name, reason):
        self.skipped += 1
        self._print("skip", name, reason)

    @staticmethod
    def _print(word, name, text):
        print(f"{word} {name}" + (f" - {text}" if text else ""), flush=True)

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed,"
              f" {self.skipped} skipped", flush=True)


class Runner:
    def __init__(self, cluster, suite, concurrent, logs, cuts):
        self._cluster = cluster
        self._suite = suite
        self._concurrent = concurrent
        self._logs = logs
        self._cuts = cuts
        logs.mkdir(parents=True, exist_ok=True)

    def run(self, entries, transports, tally):
        """On the last of the transports. Of two the first is the one to compare
        with: a program that fails on both says nothing about the second."""
        runnable = []
        for entry in entries:
            reason = self._why_not(entry)
            if reason:
                tally.skip(entry.name, reason)
            else:
                runnable.append(entry)
        transport = transports[-1]
        outcomes, sent = self._run_all(runnable, transport)
        failing = [entry for entry, outcome in outcomes.items()
                   if not outcome.passed]
        if len(transports) == 2 and failing:
            failing = self._passing(failing, transports[0], tally)
        for entry, outcome in outcomes.items():
            if outcome.passed:
                tally.ok(entry.name)
            elif entry in failing:
                tally.not_ok(entry.name, f"{transport}: {outcome.reason}")
        if transport == "fuselink" and runnable:
            _check_nics(sent, tally)

    def _passing(self, entries, transport, tally):
        """Those of the entries that pass on a transport. The others get a second
        try, on their own: only a failure of the program excuses, not one of the
        moment. One that did not end had time enough."""
        outcomes, _ = self._run_all(entries, transport)
        passing = []
        for entry, outcome in outcomes.items():
            if not (outcome.passed or outcome.timed_out):
                outcome = self._run_one(entry, transport)
            if outcome.passed:
                passing.append(entry)
            else:
                tally.skip(entry.name, f"fails on {transport}, too:"
                           f" {outcome.reason}")
        return passing

    def _why_not(self, entry):
        if self._suite.program(entry) is None:
            return f"not built: {self._suite.why_not_built(entry)}"
        free = _free_memory_gb()
        if entry.memory > free * _MEMORY_SHARE:
            return (f"needs {entry.memory:g} GB of memory, {free:.1f} GB are"
                    " free")
        return ""

    def _run_one(self, entry, transport):
        begin = time.time()
        outcome = Job(self._cluster, transport).run(
            entry, self._suite.program(entry))
        if not outcome.passed:
            self._log(entry, transport, outcome,
                      self._cuts.during(begin, time.time()))
        return outcome

    def _run_all(self, entries, transport):
        """({entry: Outcome}, {nic: bytes that all hosts sent})."""
        before = self._cluster.counters()
        start = time.monotonic()
        outcomes = {}

        def run(entry):
            begin = time.monotonic()
            outcome = self._run_one(entry, transport)
            return outcome, time.monotonic() - begin

        with ThreadPoolExecutor(self._concurrent) as pool:
            try:
                for entry, (outcome, seconds) in zip(entries,
                                                     pool.map(run, entries)):
                    outcomes[entry] = outcome
                    _say(f"{transport}: {len(outcomes)} of {len(entries)},"
                         f" {entry.name}: {seconds:.1f} s,"
                         f" {'passed' if outcome.passed else outcome.reason}")
            except BaseException:
                # The pool waits for what runs.
                pool.shutdown(wait=False, cancel_futures=True)
                self._cluster.end_jobs()
                raise
        after = self._cluster.counters()
        sent = {nic: sum(after[host][nic]["tx"] - before[host][nic]["tx"]
                         for host in after)
                for nic in self._cluster.nics}
        _say(f"{transport}: {len(entries)} programs in"
             f" {time.monotonic() - start:.0f} s; sent "
             + ", ".join(f"{nic} {count / 1e6:.1f} MB"
                         for nic, count in sent.items()))
        return outcomes, sent

    def _log(self, entry, transport, outcome, cuts):
        file = re.sub(r"[^\w.=-]+", "_", entry.name)[:120]
        path = self._logs / f"{file}.{transport}.log"
        told = "".join(f"cut: {cut}\n" for cut in cuts)
        path.write_text(f"{entry.name}: {outcome.reason}\n{told}\n"
                        f"{outcome.output}", encoding="utf-8")


def _check_nics(sent, tally):
    idle = [nic for nic, count in sent.items() if count == 0]
    if idle:
        tally.not_ok("every NIC carries bytes",
                     f"nothing on {', '.join(idle)}")
    else:
        tally.ok("every NIC carries bytes")


def _say(text):
    print(text, file=sys.stderr, flush=True)


def _free_memory_gb():
    pages = os.sysconf("SC_AVPHYS_PAGES")
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9
