# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What contrib/bench says of NICs that do not fail: of results that are made up,
of real jobs with tiny settings, and of one whose NIC does fail."""

import re
import subprocess
import tempfile
from pathlib import Path

from fuselink_bench.calm_cases import Case
from fuselink_bench.calm_jobs import CalmJob
from fuselink_bench.calm_report import Calm, Rested

from .report import expect

_FINE = {"seconds": 2.0, "bytes": 2e8, "longest_gap": 0.01, "lost": 7,
         "timeouts": 1, "warnings": [], "notes": [], "given_up": 0,
         "path_breaks": 0, "message_moves": 0, "resent_bytes": 0,
         "sent": 2.02e8}


def what_is_an_alarm(_hosts):
    expect(not Calm("fine", [_FINE, _FINE]).misses(), "two fine jobs")
    for more in ({"given_up": 1}, {"path_breaks": 1}, {"message_moves": 1},
                 {"resent_bytes": 1}, {"warnings": ["UCX  WARN  x"]},
                 {"failure": "it hung"}):
        misses = Calm("bad", [_FINE, _FINE | more]).misses()
        expect(len(misses) == 1, more, misses)
    expect(Calm("none", []).misses(), "nothing was run")
    expect(not Rested("fine", [_FINE]).misses(), "headers")
    expect(Rested("twice", [_FINE | {"sent": 2.2e8}]).misses(), "sent twice")


def calm_jobs(hosts):
    """Jobs on NICs that do not fail, and receivers that rest."""
    with tempfile.TemporaryDirectory() as name:
        done = subprocess.run(
            [hosts.source / "contrib/bench/run", "calm", "--minutes", "0.1",
             "--queues", "50", "--drops", "no", "--rates", "50mbit",
             "--stopped", "3", "--folder", Path(name) / "said", "--table",
             Path(name) / "table.md", "--build-dir", hosts.programs],
            capture_output=True, text=True, timeout=300, check=False)
        expect(done.returncode == 0, *vars(done).values())
        table = (Path(name) / "table.md").read_text(encoding="utf-8")
    expect(done.stdout.startswith(table.rstrip())
           and done.stdout.endswith("no false alarm\n"), done.stdout)
    rows = [row.split(" | ") for row in re.findall(r"^\| (.*) \|$", table,
                                                   re.M)]
    moved = [row for row in rows if row[1] == "50mbit"]
    rested = [row for row in rows if row[1] == "3 s"]
    expect(len(moved) == 2 and len(rested) == 2, table)
    for row in moved:
        expect(row[4] == "1" and float(row[6]) > 0
               and set(row[10:]) == {"0"}, row)
    for row in rested:
        expect(row[2] == "1" and float(row[5]) >= 2900
               and set(row[8:14]) == {"0"}, row)


class _CutJob(CalmJob):
    """Goes on for so long after one of its cables was cut: the command that cuts
    may wait for seconds beside ranks that never give way."""

    def __init__(self, hosts):
        super().__init__(hosts.cluster, hosts.programs)
        self._hosts = hosts

    def _go_on(self, job, seconds):
        self._hosts.cable(1, 2, "silent")
        super()._go_on(job, seconds)


def a_cut_is_an_alarm(hosts):
    """A NIC that does fail is counted as one that was given up."""
    job = _CutJob(hosts)
    try:
        job.run(Case("alltoallv", "", 0, False), 4)
    finally:
        hosts.cable(1, 2, "speaking")
    misses = Calm("cut", [job.result]).misses()
    expect(job.result["given_up"] >= 1 and job.result["resent_bytes"] > 0
           and job.result["warnings"] and "failure" not in job.result
           and len(misses) >= 3, job.result, misses)
    expect(any("tcp/nic2" in line for line in job.result["warnings"]),
           job.result["warnings"])


def helps(hosts):
    """Each part of contrib/bench/run says what its options are."""
    for words in ([], ["sizes"], ["failure"], ["outage"], ["calm"], ["cpu"],
                  ["watched"]):
        done = subprocess.run([hosts.source / "contrib/bench/run", *words, "--help"],
                              capture_output=True, text=True, timeout=60, check=False)
        expect(done.returncode == 0 and done.stdout.startswith("usage: "), words,
               *vars(done).values())


CASES = [what_is_an_alarm, calm_jobs, a_cut_is_an_alarm, helps]
