# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What contrib/bench says of NICs that are cut: of arrivals that are made up, and
of real jobs with tiny settings."""

import random
import re
import subprocess
import tempfile
import time
from pathlib import Path

from fuselink_bench.failure_cut import Cut, cuts_of
from fuselink_bench import byte_watch
from fuselink_bench.clock import clock_of
from fuselink_bench.errors import SampleError
from fuselink_bench.failure_cases import WIRES
from fuselink_bench.failure_report import Cuts
from fuselink_bench.live_job import LiveJob, arrivals, said
from fuselink_bench.received import QUIET, Received

from .report import expect

_CUT, _PLUGGED, _BACK, _END = 2.0, 4.0, 4.5, 7.0
_RATE, _SIZE = 1e8, 1e6     # of four NICs, and of a message
_WANTED = WIRES["tcp"].wanted


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


def _result(arrivals, nic="nic1", received=None, **more):
    return {"nics": 4, "start": 0.0, "watch": 9.0, "still": "",
            "goes_on": True, "cuts": [_cut(_CUT, _PLUGGED, nic, received)],
            "plugged": (_PLUGGED - 0.001, _PLUGGED + 0.001),
            "messages": {"nic0": 10.0, "nic1": 90.0}, "arrivals": arrivals,
            **more}


def _cut(when, end, nic, received=None):
    return {"cut": (when - 0.001, when + 0.001), "end": end - 0.001,
            "host": "host0", "nic": nic, "received": received or {}}


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
    one = Cuts("ucx", [[lively], [still]], [], _WANTED)
    expect(one.still == 1 and one.count == 2 and len(one.lost) == 1
           and len(one.gaps) == 2, vars(one))
    expect(any("1 of 2 cuts" in why for why in one.misses()), one.misses())
    fine = _cuts((0.03, 0.03, 0.75))
    expect(not fine.misses(), fine.misses())
    unseen = Cuts("fuselink", [[lively]], ["no data"], _WANTED)
    expect(len(unseen.misses()) == 3, unseen.misses()) # also the time lost


def _cuts(*each):
    """Of one job, with these gaps of calls and of bytes, and rates after."""
    return Cuts("fuselink", [[
        Cut(_result(_arrivals(gap, after), received=byte_watch.facts(
            {"host0": Received(_readings(gap_of_bytes))}, (0.3, _CUT), _CUT,
            _PLUGGED)))
        for gap, gap_of_bytes, after in each]], [], _WANTED)


def what_is_wanted(_hosts):
    good = (0.02, 0.02, 0.75)
    for cuts, words in (
            ([good] * 5, []),
            ([good, good, (0.0, 0.15, 0.75)], []),
            ([good, (0.0, 0.06, 0.75), (0.0, 0.06, 0.75)],
             ["median of the longest gap of bytes"]),
            ([good] * 200 + [(0.02, 0.25, 0.75)] * 2, []),
            ([good] * 200 + [(0.02, 0.25, 0.75)] * 3,
             ["p99 of the longest gap of bytes"]),
            ([good, good, (0.3, 0.02, 0.75)], ["p99 of the time lost"]),
            ([good, (0.1, 0.02, 0.75), (0.1, 0.02, 0.75)],
             ["median of the time lost"])):
        found = _cuts(*cuts).misses()
        expect(len(found) == len(words) and all(map(str.startswith, found, words)),
               words, found)


def _readings(gap, late=0.0, trickle=0.0):
    """Each millisecond: all NICs, from the cut nothing but a trickle for a gap,
    and three NICs; with no reading from a while before the gap's end until as long
    after it."""
    found, end = [], _CUT + gap
    for k in range(int(_END * 1000)):
        now = k / 1000
        total = (_RATE * min(now, _CUT)
                 + trickle * _RATE * max(0.0, min(now, end) - _CUT)
                 + 0.75 * _RATE * max(0.0, now - end))
        if not (late and abs(now - end) < late / 2):
            found.append((now, total))
    return found


def how_long_no_bytes_came(_hosts):
    step = 0.001
    for gap, late, trickle in ((0.03, 0.0, 0.0), (0.03, 0.01, 0.0),
                               (0.03, 0.05, 0.0), (0.2, 0.0, 0.8 * QUIET),
                               (0.0, 0.0, 0.0)):
        received = Received(_readings(gap, late, trickle))
        longest = received.longest_gap(_CUT, _PLUGGED, _RATE)
        # At the rate of three NICs a part of a late reading may be of nothing.
        most = gap / (1 - QUIET) + 2 * step + late / 4
        expect(gap <= longest + 1e-9 and longest <= most + 1e-9, gap, late,
               longest, most)
        expect(_near(received.rate(0.5, _CUT), _RATE, 1e-3 * _RATE),
               received.rate(0.5, _CUT))
        expect(_near(received.worst_step(_CUT, _PLUGGED), max(step, late),
                     2 * step), late, received.worst_step(_CUT, _PLUGGED))
    lively = Received(_readings(0.2, 0.0, 2 * QUIET))
    expect(lively.longest_gap(_CUT, _PLUGGED, _RATE) < 0.01,
           lively.longest_gap(_CUT, _PLUGGED, _RATE))
    # What is before the cut, or after the cable is back, is not counted.
    part = Received(_readings(0.2)).longest_gap(_CUT + 0.05, _CUT + 0.15, _RATE)
    expect(_near(part, 0.1, 1e-9), part)
    for begin, end in ((-1.0, 1.0), (1.0, _END + 1), (_END + 1, _END + 2)):
        try:
            Received(_readings(0.0)).longest_gap(begin, end, _RATE)
        except SampleError:
            continue
        expect(False, "a gap where nothing was read", begin, end)


def gaps_as_if_all_were_tried(_hosts):
    """The same as by comparing each start with each end."""
    chance = random.Random(5)
    for _ in range(200):
        now, total, readings = 0.0, 0.0, [(0.0, 0.0)]
        for _ in range(40):
            step = chance.choice((0.001, 0.001, 0.003, 0.02))
            now += step
            total += step * chance.choice((0, 0, 0.02, 0.1, 1, 2)) * _RATE
            readings.append((now, total))
        begin, end = 0.1 * now, 0.9 * now
        first = max(k for k, each in enumerate(readings) if each[0] <= begin)
        last = min(k for k, each in enumerate(readings) if each[0] >= end)
        longest = 0.0
        for i in range(first, last + 1):
            start, came = readings[i]
            if i > first:
                start = min(start, readings[i - 1][0]
                            + (came - readings[i - 1][1]) / _RATE)
            start = max(start, begin)
            for j in range(i, last + 1):
                stop, upto = readings[j]
                if j < last:
                    stop = max(stop, readings[j + 1][0]
                               - (readings[j + 1][1] - upto) / _RATE)
                stop = min(stop, end)
                if upto - came < QUIET * _RATE * (stop - start):
                    longest = max(longest, stop - start)
        got = Received(readings).longest_gap(begin, end, _RATE)
        expect(_near(got, longest, 1e-9), readings, got, longest)


def bytes_of_the_worse_host(_hosts):
    expect(byte_watch.totals(["1.5 10 0 5", "1.501 20 7 5"])
           == [(1.5, 15), (1.501, 32)], "the sum of all NICs")
    facts = byte_watch.facts(
        {"host0": Received(_readings(0.02)),
         "host1": Received(_readings(0.07, 0.01)),
         "host2": Received([(k / 1000, 0) for k in range(int(_END * 1000))])},
        (0.3, _CUT), _CUT, _PLUGGED)
    expect(sorted(facts) == ["host0", "host1"], sorted(facts))
    around = facts["host1"]["around"]
    expect(len(around) <= 120 and around[0][0] < 0 < around[-1][0]
           and around[0][1] == 0, around)
    cut = Cut(_result(_arrivals(0.08, 0.75), received=facts))
    expect(_near(cut.longest_gap_of_bytes(), 0.07, 0.01),
           cut.longest_gap_of_bytes())
    expect(cut.usual_gap_of_bytes() < 0.003, cut.usual_gap_of_bytes())
    expect(_near(cut.worst_step(), 0.01, 0.002), cut.worst_step())
    unseen = Cut(_result(_arrivals(0.08, 0.75)))
    expect(unseen.longest_gap_of_bytes() is None, "of no readings")


# Of NICs in turn: when they are cut, for how long nothing comes then, and the rate
# after that.
_IN_TURN = ((2.0, 0.02, 0.75), (3.0, 0.06, 0.5), (4.0, 0.15, 0.25))
_ALL_PLUGGED = 5.0


def clock_of_a_guest(_hosts):
    """Answers that take long are not what it goes by."""
    takes = iter([0.05, 0.0, 0.08] * 3)

    def latest():
        moment = time.time() + 7
        time.sleep(next(takes))
        return moment

    ahead = clock_of(latest).now() - time.time()
    expect(_near(ahead, 7, 0.01), ahead)


def _in_turn(changed=()):
    """A message each time that one may be complete; all NICs are back at once."""
    phases = [(0.0, 0.0, 1.0), *_IN_TURN, (_ALL_PLUGGED, 0.0, 1.0), (_END,)]
    for number, gap, rate in changed:
        phases[number] = (phases[number][0], gap, rate)
    total, found = 0.0, []
    for (begin, gap, rate), (end, *_) in zip(phases, phases[1:]):
        for k in range(1, int((end - begin - gap) * rate * _RATE / _SIZE + 1.5)):
            found.append((begin + gap + k * _SIZE / (rate * _RATE),
                          total + k * _SIZE))
        total = found[-1][1]
    ends = [when for when, _, _ in _IN_TURN[1:]] + [_ALL_PLUGGED]
    return _result(found, plugged=(_ALL_PLUGGED - 0.001, _ALL_PLUGGED + 0.001),
                   cuts=[_cut(when, end, f"nic{k}") for k, ((when, _, _), end)
                         in enumerate(zip(_IN_TURN, ends))])


def nics_in_turn(_hosts):
    cuts = cuts_of(_in_turn())
    expect(len(cuts) == 3 and [cut.last for cut in cuts] == [False, False, True],
           len(cuts))
    for cut, (_, gap, rate) in zip(cuts, _IN_TURN):
        full = cut.full_rate()
        expect(_near(full, _RATE, 0.01 * _RATE), full)
        expect(_near(cut.reduced_rate(_RATE), rate * _RATE, 1.0),
               cut.reduced_rate(_RATE))
        expect(_near(cut.time_lost(_RATE), gap, 0.01), gap,
               cut.time_lost(_RATE))
        expect(_near(cut.longest_gap(), gap + _SIZE / _RATE / rate, 0.011), gap,
               cut.longest_gap())
        expect(_near(cut.usual_gap(), _SIZE / _RATE, 1e-6), cut.usual_gap())
        expect(_near(cut.rate_after() / cut.reduced_rate(_RATE), 1, 0.02),
               cut.rate_after())
    expect(cuts[2].time_back(_RATE) < 0.05, cuts[2].time_back(_RATE))
    # Who had messages is known of the first only, and that is nic0 here.
    expect(not any(cut.of_messages for cut in cuts), "of messages")

    rows = Cuts("fuselink", [cuts], [], _WANTED)
    expect(rows.count == 3 and len(rows.lost) == 3 and len(rows.back) == 1,
           vars(rows))
    last = rows.part(2)
    expect(last.name == "fuselink, 3 out" and last.count == 1
           and len(last.back) == 1 and _near(last.lost[0], 0.15, 0.01),
           vars(last))
    expect(not rows.part(0).back and not rows.part(0).not_back, "back at once")

    # Half of what the two NICs that are left carry.
    slow = cuts_of(_in_turn([(2, 0.0, 0.25)]))[1]
    expect(_near(slow.rate_after() / slow.reduced_rate(_RATE), 0.5, 0.02),
           slow.rate_after())
    expect(_near(slow.time_lost(_RATE), 0.5, 0.02), slow.time_lost(_RATE))

    # Standing still belongs to the NIC that was cut last.
    result = _in_turn()
    result |= {"still": "after the cut", "cuts": result["cuts"][:2]}
    rows = Cuts("ucx", [cuts_of(result)], [], _WANTED)
    expect(rows.count == 2 and rows.still == 1 and len(rows.lost) == 1
           and rows.part(1).still == 1 and rows.part(0).still == 0, vars(rows))
    result |= {"still": "before the cut", "cuts": []}
    rows = Cuts("ucx", [cuts_of(result)], [], _WANTED)
    expect(rows.count == rows.still == 1 and not rows.gaps, vars(rows))


def _measure(hosts, folder, *words):
    """{transport: cells of its row}, and all that was said."""
    done = subprocess.run(
        [hosts.source / "contrib/bench/run", "failure", "--rounds", "1",
         "--rate", "100mbit", "--before", "0.5", "--out", "1", "--back", "0.5",
         "--watch", "8", "--folder", folder, "--build-dir", hosts.programs,
         *words], capture_output=True, text=True, timeout=300, check=False)
    expect(done.returncode == 0, *vars(done).values())
    return {match[1]: match[2].split(" | ") for match in re.finditer(
        r"^\| (\w[^|]*) \| (.*) \|$", done.stdout, re.M)}, done.stdout


def cuts_a_job(hosts):
    """A job on fuselink survives each cut, and one of UCX stands still; what is
    there is not measured again."""
    words = ["--patterns", "stream", "--ways", "silent", "--transports",
             "fuselink,ucx", "--cuts", "2"]
    with tempfile.TemporaryDirectory() as name:
        _, out = _measure(hosts, name, *words, "--dry-run")
        expect(out.startswith("2 jobs;"), out)
        rows, out = _measure(hosts, name, *words)
        expect(rows["fuselink"][0] == "2" and rows["fuselink"][2] == "-"
               and rows["fuselink"][-1] == "-", out)
        expect(rows["ucx"][0] == "1" and rows["ucx"][1] == "1"
               and rows["ucx"][2].startswith("1, watched for 8 s"), out)
        # Nothing came for as long as it was watched.
        longest = float(rows["ucx"][4].split(" / ")[0])
        expect(longest > 7000, out)
        _, left = _measure(hosts, name, *words, "--dry-run")
        expect(left.startswith("0 jobs;"), left)
        expect(_measure(hosts, name, *words)[1] == out, out)


def _measure_till(figures, hosts, *words):
    """As _measure(). A machine that is busy with other work may let so little of a job
    come that its figures are missing, though not three times in a row."""
    for _ in range(3):
        with tempfile.TemporaryDirectory() as name:
            rows, out = _measure(hosts, name, *words)
        if figures(rows):
            break
    return rows, out


def cuts_puts(hosts):
    rows, out = _measure_till(
        lambda rows: rows["fuselink"][4] != "-", hosts, "--patterns", "onesided",
        "--ways", "silent", "--transports", "fuselink", "--cuts", "1")
    expect(rows["fuselink"][0] == "1" and rows["fuselink"][2] == "-"
           and rows["fuselink"][4] != "-" and rows["fuselink"][-1] == "-", out)


def cuts_in_turn(hosts):
    def figures(rows):
        return all("-" not in (row[3], row[4], row[9])
                   for row in (rows[f"fuselink, {number} out"]
                               for number in (1, 2, 3)))

    rows, out = _measure_till(
        figures, hosts, "--patterns", "stream", "--ways", "loud", "--transports",
        "fuselink", "--cuts", "1", "--in-turn", "3", "--back", "1.5")
    expect(rows["fuselink"][0] == "3" and rows["fuselink"][2] == "-"
           and rows["fuselink"][-1] == "-", out)
    expect(figures(rows), out)
    for number in (1, 2, 3):
        row = rows[f"fuselink, {number} out"]
        expect(row[0] == "1" and (row[10] == "-") == (number < 3), out)


def ranks_that_speak_at_once(_hosts):
    for line, word, rest in (
            ("BENCH-AT 17.25 4096\n", "BENCH-AT", "17.25 4096"),
            ("BENCH-AT 17.2BENCH-MESSAGES nic0=1 nic1=2\n", "BENCH-MESSAGES",
             "nic0=1 nic1=2"),
            ("BENCH-AT 17.BENCH-AT 18.5 1\n", "BENCH-AT", "18.5 1"),
            ("5 4096\n", "5", "4096"), ("BENCH-END\n", "BENCH-END", "")):
        expect(said(line) == (word, rest), f"{line!r}: {said(line)}")
    expect(arrivals("17.25 4096") == [(17.25, 4096.0)], "an arrival")
    for rest in ("", "17.25", "17.25 40 96", "17.25 nic0=1", "x 1"):
        expect(arrivals(rest) == [], f"{rest!r} is no arrival")


class _Speaker:
    """A cluster, and a transport, of a job that only says something."""
    nics = ["nic0"]

    def __init__(self, line):
        self._line = line

    def start(self, _words, _env):
        return subprocess.Popen(
            ["sh", "-c", "echo \"$0\"; exec sleep 60", self._line],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True)

    def launch(self, _nics):
        return [], {}

    def wrapper(self, _nics):
        return []


def what_is_not_understood_ends_the_job(_hosts):
    for line in ("BENCH-MESSAGES nic9=1", "BENCH-MESSAGES nic0", "BENCH-MESSAGES nic0=x"):
        speaker = _Speaker(line)
        begin = time.monotonic()
        try:
            with LiveJob(speaker, speaker, "program", [], []) as job:
                job.messages(0)
            raise AssertionError(f"{line}: no error")
        except SampleError as error:
            expect("not understood" in str(error) and line in str(error), str(error))
        expect(time.monotonic() - begin < 20, f"{line}: it was waited for")


CASES = [what_a_cut_costs, how_long_no_bytes_came, gaps_as_if_all_were_tried,
         bytes_of_the_worse_host, standing_still_is_no_time_lost,
         what_is_wanted, clock_of_a_guest, nics_in_turn, cuts_a_job, cuts_puts,
         cuts_in_turn, ranks_that_speak_at_once,
         what_is_not_understood_ends_the_job]
