# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What cuts cost, as Markdown."""

import math
from statistics import median

from .failure_cut import BACK
from .received import QUIET


class Cuts:
    """Of one transport in one case: `jobs` are lists of Cut, one for each
    job, `failures` what jobs said that ended, `wanted` is failure_cases.Wanted."""

    def __init__(self, name, jobs, failures, wanted):
        self.name = name
        self._wanted = wanted
        self._jobs = jobs
        self.failures = failures
        self.of_messages = 0
        self.still, self.watched, self.resumed = 0, 0.0, 0
        self.lost, self.gaps, self.usual = [], [], []
        self.byte_gaps, self.usual_byte_gaps, self.steps = [], [], []
        self.rates, self.back, self.not_back = [], [], 0
        self.count = 0
        for cuts in jobs:
            rates = [rate for cut in cuts if (rate := cut.full_rate())]
            for cut in cuts:
                self._add(cut, median(rates) if rates else None)

    def part(self, number):
        """Those that came so many after another one."""
        return Cuts(f"{self.name}, {number + 1} out",
                    [[cut for cut in cuts if cut.number == number]
                     for cuts in self._jobs], [], self._wanted)

    def _add(self, cut, full):
        self.count += 1
        self.of_messages += cut.of_messages
        if cut.still:
            self.still += 1
            self.watched = max(self.watched, cut.watch)
            self.resumed += bool(cut.result.get("goes_on"))
        if full is None or not cut.happened:
            return
        self._keep(self.usual, cut.usual_gap())
        self._keep(self.gaps, cut.longest_gap())
        self._keep(self.usual_byte_gaps, cut.usual_gap_of_bytes())
        self._keep(self.byte_gaps, cut.longest_gap_of_bytes())
        self._keep(self.steps, cut.worst_step())
        if cut.still:
            return
        self.lost.append(cut.time_lost(full))
        after = cut.rate_after()
        self._keep(self.rates, after and after / cut.reduced_rate(full))
        if not cut.last:
            return
        back = cut.time_back(full)
        if back is None:
            self.not_back += 1
        else:
            self.back.append(back)

    @staticmethod
    def _keep(values, value):
        if value is not None:
            values.append(value)

    def misses(self):
        """What of it is not as it is wanted."""
        found = [f"{self.still} of {self.count} cuts: it stood still"
                 ] if self.still else []
        found += [f"a job failed: {why}" for why in self.failures]
        if not self.lost:
            return found + ["no cut was measured"]
        if not self.byte_gaps:
            found.append("no gap of bytes was measured")
        for what, values in (("time lost", self.lost),
                             ("longest gap of bytes", self.byte_gaps)):
            found += [f"{name} of the {what}: {value(values) * 1e3:.0f} ms, not"
                      f" {most * 1e3:.0f}" for name, value, most in (
                          ("median", median, self._wanted.median),
                          (f"p{self._wanted.share * 100:.0f}", self._percentile,
                           self._wanted.most))
                      if values and value(values) > most]
        if self.rates and median(self.rates) < BACK:
            found.append(f"rate after the cut: {median(self.rates):.0%} of"
                         " what the other NICs carry")
        within = self._wanted.back
        if self.not_back or not self.back or max(self.back) > within:
            found.append(f"not at {BACK:.0%} within {within:g} s of the"
                         " cable's return each time")
        return found

    def row(self):
        still = "-"
        if self.still:
            still = (f"{self.still}, watched for {self.watched:.0f} s;"
                     f" {self.resumed} went on with the cable back")
        back = "-"
        if self.back or self.not_back:
            seen = ([f"{median(self.back):.2f} / {max(self.back):.2f} s"]
                    if self.back else [])
            back = ", ".join(seen + ([f"{self.not_back} later"]
                                     if self.not_back else []))
        return [self.name, str(self.count), str(self.of_messages), still,
                self._times(self.lost), self._times(self.byte_gaps),
                _ms(median(self.usual_byte_gaps))
                if self.usual_byte_gaps else "-",
                _ms(max(self.steps)) if self.steps else "-",
                self._times(self.gaps),
                _ms(median(self.usual)) if self.usual else "-",
                f"{median(self.rates):.0%}" if self.rates else "-", back,
                str(len(self.failures) or "-")]

    def _percentile(self, values):
        """By nearest rank: of few the worst."""
        return sorted(values)[math.ceil(self._wanted.share * len(values)) - 1]

    def _times(self, values):
        if not values:
            return "-"
        return " / ".join(map(_ms, (median(values), self._percentile(values),
                                    max(values))))


def _ms(value):
    return f"{value * 1e3:.0f}"


def _line(cells):
    return "| " + " | ".join(cells) + " |"


_HEAD = ["", "cuts", "of the NIC of messages", "stood still",
         "time lost, ms", "longest gap of bytes, ms", "usual, ms",
         "read every, ms", "longest gap of calls, ms", "usual, ms",
         "rate after, of the other NICs", f"back at {BACK:.0%}",
         "jobs failed"]

_NOTES = f"""\
Times are median / p{{share:.0f}} / worst (of few cuts p{{share:.0f}} is the worst). *Time lost*:
until the cable is back, or the next one is cut, against the NICs that there were before
the cut and one less after it, at the rate that the same job has with all NICs. *Longest
gap of bytes*: how long less than {QUIET:.0%} of the rate with all NICs came to a host, after
the cut, over all its NICs and whatever it was, by counters that were read every
{{step}} ms; of several hosts that receive the worst. *Read every*: the longest time
between two of these readings after a cut; a gap is stated too long by up to two. *Longest
gap of calls*: between two messages, calls or flushes that are complete, after the cut.
*Usual*: the median of the longest ones before the cuts. *Rate after*: in the second half
of the time with a NIC less. *Back*: median / worst, after all cables are back. A job that
stands still is not used for times lost, and its gap is what was seen of it. Of a
transport with one NIC that one is cut first. Of NICs that are cut one after the other
the first row is all cuts, *2 out* those after which two are out.
"""


def text(tables, head, wires):
    """tables: [(case, [Cuts])]."""
    lines = [head, ""]
    for case, rows in tables:
        if not any(each.count or each.failures for each in rows):
            continue
        lines += [f"### {case.title}", "", _line(_HEAD),
                  _line(["---"] + ["---:"] * (len(_HEAD) - 1))]
        lines += [_line(each.row()) for each in rows
                  if each.count or each.failures]
        lines += [""] + [f"- {each.name}: {why}" for each in rows
                         for why in dict.fromkeys(each.failures)] + [""]
    return "\n".join(lines + [_NOTES.format(share=wires.wanted.share * 100,
                                            step=wires.step_ms)])
