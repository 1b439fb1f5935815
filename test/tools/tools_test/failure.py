# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What contrib/bench says of NICs that are cut: of arrivals that are made up, and
of real jobs with tiny settings."""

import re
import subprocess
import tempfile
from pathlib import Path

from fuselink_bench.failure_cut import Cut
from fuselink_bench.failure_report import Cuts

from .report import expect

_CUT, _PLUGGED, _BACK, _END = 2.0, 4.0, 4.5, 7.0
_RATE, _SIZE = 1e8, 1e6     # of four NICs, and of a message


def _arrivals(gap, after):
    """Of _SIZE: all NICs, nothing for a gap, `after` of the rate until the last
    NIC is back."""
    now, total, found = 0.0, 0.0, []
    while now < _END:
        reduced = _CUT <= now < _BACK
        step = _SIZE / (_RATE * (after if reduced else 1))
        if now < _CUT <= now + step:
            step = _CUT - now + gap
        now, total = now + step, total + _SIZE
        found.append((now, total))
    return found


def _result(arrivals, **more):
    return {"nics": 4, "start": 0.0, "watch": 9.0, "still": "",
            "goes_on": True, "cut": (_CUT - 0.001, _CUT + 0.001),
            "plugged": (_PLUGGED - 0.001, _PLUGGED + 0.001), "nic": "nic1",
            "messages": {"nic0": 10.0, "nic1": 90.0}, "arrivals": arrivals,
            **more}


def _near(value, wanted, margin):
    return value is not None and abs(value - wanted) <= margin


def what_a_cut_costs(_hosts):
    for gap, after, lost in ((0.08, 0.75, 0.08), (0.0, 0.75, 0.0),
                             (0.3, 0.6, 0.3 + 1.7 * 0.2)):
        cut = Cut(_result(_arrivals(gap, after)))
        full = cut.full_rate()
        expect(_near(full, _RATE, 0.01 * _RATE), full)
        expect(_near(cut.longest_gap(), max(gap, _SIZE / _RATE / after), 0.012),
               gap, cut.longest_gap())
        expect(_near(cut.usual_gap(), _SIZE / _RATE, 1e-6), cut.usual_gap())
        expect(_near(cut.time_lost(full), lost, 0.025), lost,
               cut.time_lost(full))
        expect(_near(cut.rate_after() / cut.reduced_rate(full), after / 0.75,
                     0.02), after, cut.rate_after())
        expect(_near(cut.time_back(full), _BACK - _PLUGGED, 0.06),
               cut.time_back(full))
        expect(cut.of_messages, cut.result["messages"])
    other = Cut(_result(_arrivals(0.08, 0.75), nic="nic0"))
    expect(not other.of_messages, other.result["messages"])
    slow = [(when, total if when < _CUT else total * 0.1 + 1.8e8)
            for when, total in _arrivals(0.0, 0.75)]
    expect(Cut(_result(slow)).time_back(_RATE) is None, "it is not back")


def standing_still_is_no_time_lost(_hosts):
    arrivals = [each for each in _arrivals(0.08, 0.75) if each[0] < _CUT]
    still = Cut(_result(arrivals, still="after the cut", goes_on=False))
    expect(_near(still.longest_gap(), _PLUGGED - _CUT, 0.02),
           still.longest_gap())
    lively = Cut(_result(_arrivals(0.08, 0.75)))
    one = Cuts("ucx", [[lively], [still]], [])
    expect(one.still == 1 and one.count == 2 and len(one.lost) == 1
           and len(one.gaps) == 2, vars(one))
    expect(any("1 of 2 cuts" in why for why in one.misses()), one.misses())
    fine = Cuts("fuselink", [[Cut(_result(_arrivals(0.03, 0.75)))]], [])
    expect(not fine.misses(), fine.misses())
    bad = Cuts("fuselink", [[lively]], ["no data"])
    expect(len(bad.misses()) == 2, bad.misses()) # that, and the time lost


def cuts_a_job(hosts):
    """A job on fuselink survives each cut, and one of UCX stands still; what is
    there is not measured again."""
    with tempfile.TemporaryDirectory() as name:
        command = [hosts.source / "contrib/bench/run", "failure", "--patterns",
                   "stream", "--ways", "silent", "--transports",
                   "fuselink,ucx", "--rounds", "1", "--cuts", "2", "--rate",
                   "100mbit", "--before", "0.5", "--out", "1", "--back", "0.5",
                   "--watch", "20", "--folder", Path(name) / "samples",
                   "--build-dir", hosts.programs]

        def run(*more):
            done = subprocess.run([*command, *more], capture_output=True,
                                  text=True, timeout=300, check=False)
            expect(done.returncode == 0, *vars(done).values())
            return done.stdout

        expect(run("--dry-run").startswith("2 jobs;"), "dry run")
        out = run()
        rows = {match[1]: match[2].split(" | ") for match in re.finditer(
            r"^\| (fuselink|ucx) \| (.*) \|$", out, re.M)}
        expect(rows["fuselink"][0] == "2" and rows["fuselink"][2] == "-"
               and rows["fuselink"][-1] == "-", out)
        expect(rows["ucx"][0] == "1" and rows["ucx"][1] == "1"
               and rows["ucx"][2].startswith("1, watched for 20 s"), out)
        expect(run("--dry-run").startswith("0 jobs;") and run() == out, out)


CASES = [what_a_cut_costs, standing_still_is_no_time_lost, cuts_a_job]
