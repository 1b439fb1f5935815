# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What contrib/bench says of hosts all NICs of which were silent: of arrivals that are
made up, and of a real job."""

import re
import subprocess
import tempfile

from fuselink_bench.outage_job import rate, time_back
from fuselink_bench.outage_report import text

from .report import expect

_STEP, _SIZE = 0.01, 1e6


def _arrivals(*until):
    """Of _SIZE each _STEP, but between pairs of moments."""
    found, total = [], 0.0
    for step in range(1000):
        now = step * _STEP
        if not any(begin < now < end for begin, end in until):
            total += _SIZE
            found.append((now, total))
    return found


def when_the_rate_is_back(_hosts):
    found = _arrivals((2.0, 5.5))
    full = rate(found, 0.5, 1.9)
    expect(abs(full - _SIZE / _STEP) < 0.02 * full, full)
    expect(abs(time_back(found, 5.0, full) - 0.5) < 0.03, time_back(found, 5.0, full))
    expect(time_back(found, 9.7, full) is None, "too little was seen")
    # The first that comes alone is not the rate.
    found = _arrivals((2.0, 5.1), (5.15, 6.0))
    expect(abs(time_back(found, 5.0, full) - 1.0) < 0.03, time_back(found, 5.0, full))
    expect(rate([], 0, 1) == 0 and rate(found, 3.0, 4.0) == 0, "nothing came")


def what_the_table_says(_hosts):
    def result(back):
        return {"back": back, "watch": 40.0}
    rows = [("fuselink", {1.0: [result(0.1), result(0.3), result(0.2)],
                          8.0: [result(0.5), result(None)]}, []),
            ("ucx", {1.0: [], 8.0: []}, ["it hung"])]
    out = text([("a stream", rows)], "4 NICs.")
    expect("| fuselink | 0.20 / 0.30 | 0.50 / 0.50, 1 not within 40 | 0 |" in out
           and "| ucx | - | - | 1 |" in out and "ucx: it hung" in out, out)


def a_silence_of_all(hosts):
    """The rate is there again, and what there is is not measured again."""
    with tempfile.TemporaryDirectory() as name:
        def measure(*words):
            done = subprocess.run(
                [hosts.source / "contrib/bench/run", "outage", "--rounds", "1",
                 "--rate", "100mbit", "--patterns", "stream", "--transports",
                 "fuselink", "--silences", "2.5", "--before", "1", "--folder", name,
                 "--build-dir", hosts.programs, *words],
                capture_output=True, text=True, timeout=300, check=False)
            expect(done.returncode == 0, *vars(done).values())
            return done.stdout
        expect(measure("--dry-run").startswith("1 jobs;"), "nothing is there yet")
        out = measure()
        found = re.search(r"^\| fuselink \| ([0-9.]+) / ([0-9.]+) \| 0 \|$", out, re.M)
        expect(found and float(found[2]) < 20, out)
        expect(measure("--dry-run").startswith("0 jobs;"), out)


CASES = [when_the_rate_is_back, what_the_table_says, a_silence_of_all]
