# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What contrib/bench/run cpu says: of jobs that are made up, and of short ones."""

import re
import subprocess

from fuselink_bench import cpu
from fuselink_bench.cpu import Spent

from .report import expect


def what_messages_cost(_hosts):
    """Of two jobs that differ in messages alone the difference counts."""
    begins = Spent(0.3, 1.0)
    longer = Spent(0.3 + 0.2, 1.0 + 0.1)
    one = longer.less(begins, 1 / 2000)
    expect(abs(one.processors - 1e-4) < 1e-12
           and abs(one.seconds - 5e-5) < 1e-12, one)
    lines = cpu.table(65536, {"ucx": [one, one.less(Spent(0, 0), 3), one],
                              "fuselink": [one.less(Spent(0, 0), 0.5)]}, "ucx")
    expect([re.split(r"\s{2,}| (?=\()", line.strip()) for line in lines[1:]] == [
        ["ucx", "1.526", "(1.526, 4.578)", "1.000 x ucx", "1310.7 MB/s"],
        ["fuselink", "0.763", "(0.763, 0.763)", "0.500 x ucx", "2621.4 MB/s"]],
           lines)
    lines = cpu.table(8, {"ucx": [one]}, "ucx")
    expect("million messages" in lines[0] and "100.000" in lines[1]
           and "20.0 k/s" in lines[1], lines)
    before = cpu.busy()
    sum(range(10 ** 7))
    expect(cpu.busy() > before, before)


def cpu_jobs(hosts):
    """Both transports are measured, whatever else this machine does."""
    done = subprocess.run(
        [hosts.source / "contrib/bench/run", "cpu", "--rounds", "1", "--sizes",
         "65536", "--seconds", "1", "--rates", "200mbit,200mbit",
         "--transports", "ucx,fuselink"],
        capture_output=True, text=True, timeout=120, check=False)
    speeds = dict(re.findall(r"^  (\w+) .* x ucx +([0-9.]+) MB/s$", done.stdout,
                             re.M))
    expect(done.returncode == 0 and set(speeds) == {"ucx", "fuselink"},
           *vars(done).values())
    for wrong in (["--sizes", "0"], ["--rates", "fast"], ["--before", "/none"],
                  ["--transports", "ob1"]):
        done = subprocess.run(
            [hosts.source / "contrib/bench/run", "cpu", *wrong],
            capture_output=True, text=True, timeout=60, check=False)
        expect(done.returncode == 2 and wrong[1] in done.stderr, wrong,
               *vars(done).values())


CASES = [what_messages_cost, cpu_jobs]
