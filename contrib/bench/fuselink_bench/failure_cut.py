# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What one cut cost, from the moments at which messages or calls were complete
at the receiver."""

from bisect import bisect_left, bisect_right

# What a job does after it was asked for its NICs is not measured.
SETTLES_S = 0.3
# "Back" is: this share of four NICs' rate, over this time.
BACK = 0.95
_BACK_S = 0.3
# From so much of the short messages' bytes on a NIC is one of the messages.
_OF_MESSAGES = 0.2


def cuts_of(result):
    """Of one that stood still before it was cut, one that did not happen."""
    return [Cut(result, number)
            for number in range(max(1, len(result["cuts"])))]


class Cut:
    """The number-th of those that came one after the other in `result`, which is a
    FailureJob's: it ends with the next one, or when the cables are back. Rates are of bytes that have come to the
    last rank's host. Needs full_rate() of the job for what it compares. What is
    said of bytes is of the NICs' counters, and of the worse host."""

    def __init__(self, result, number=0):
        self.result = result
        self.number = number
        self.last = number == max(0, len(result["cuts"]) - 1)
        self.still = result["still"] if self.last else ""
        self.happened = bool(result["cuts"])
        self._own = result["cuts"][number] if self.happened else {}
        self.watch = result["watch"]
        self._times = [when for when, _ in result.get("arrivals", [])]
        self._bytes = [total for _, total in result.get("arrivals", [])]

    @property
    def of_messages(self):
        """Whether the NIC had messages. Who has them when another NIC is out was
        not asked."""
        messages = self.result["messages"]
        return (self.number == 0 and messages.get(self._own.get("nic"), 0)
                >= _OF_MESSAGES * sum(messages.values()))

    def full_rate(self):
        """With all NICs, before the first cut; None if nothing came."""
        return (self._rate(*self._before())
                if self._times and self.happened else None)

    def reduced_rate(self, full):
        """Of the NICs that are left after it."""
        nics = self.result["nics"]
        return full * (nics - self.number - 1) / nics

    def longest_gap(self):
        """Between two arrivals, from the cut until its end. Of who stands still, how
        long that was seen."""
        first = max(0, bisect_right(self._times, self._own["cut"][0]) - 1)
        last = bisect_left(self._times, self._own["end"])
        moments = self._times[first:last] + (
            [self._own["end"]] if self.still else [])
        return _longest(moments)

    def usual_gap(self):
        """The longest one before the first cut."""
        begin, end = self._before()
        return _longest(self._times[bisect_left(self._times, begin):
                                    bisect_right(self._times, end)])

    def longest_gap_of_bytes(self):
        """From the cut until its end."""
        return self._worst("gap")

    def usual_gap_of_bytes(self):
        """The longest one before the first cut."""
        return self._worst("usual")

    def worst_step(self):
        """The longest time in which the counters were not read."""
        return self._worst("step")

    def time_lost(self, full):
        """Against the NICs that there were until the cut and one less after it."""
        cut, end = sum(self._own["cut"]) / 2, self._own["end"]
        reduced = self.reduced_rate(full)
        moved = (self._at(end, reduced)
                 - self._at(cut, reduced + full / self.result["nics"]))
        return end - cut - moved / reduced

    def rate_after(self):
        """In the second half of the time until its end."""
        cut, end = self._own["cut"][1], self._own["end"]
        return self._rate((cut + end) / 2, end)

    def time_back(self, full):
        """Until it has the rate of all NICs again, after all cables are back;
        None if it was not seen."""
        plugged = self.result["plugged"][1]
        for i in range(bisect_left(self._times, plugged), len(self._times)):
            j = bisect_left(self._times, self._times[i] + _BACK_S)
            if j == len(self._times):
                return None
            if (self._bytes[j] - self._bytes[i] >= BACK * full
                    * (self._times[j] - self._times[i])):
                return self._times[i] - plugged
        return None

    def _worst(self, fact):
        return max((facts[fact] for facts in self._own["received"].values()),
                   default=None)

    def _before(self):
        return (self.result["start"] + SETTLES_S,
                self.result["cuts"][0]["cut"][0])

    def _rate(self, begin, end):
        i = bisect_left(self._times, begin)
        j = bisect_right(self._times, end) - 1
        if j <= i:
            return None
        return ((self._bytes[j] - self._bytes[i])
                / (self._times[j] - self._times[i]))

    def _at(self, when, rate):
        """Bytes up to a moment: that of the last arrival, and what may have
        come of the next one since."""
        i = bisect_right(self._times, when) - 1
        if i < 0:
            return 0.0
        total = self._bytes[i] + rate * (when - self._times[i])
        return min(total, self._bytes[i + 1] if i + 1 < len(self._times)
                   else self._bytes[i])


def _longest(moments):
    return max((b - a for a, b in zip(moments, moments[1:])), default=None)
