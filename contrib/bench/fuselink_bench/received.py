# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""How long next to nothing came to a host, by its NICs' counters."""

from bisect import bisect_left, bisect_right

from .errors import SampleError

# Less than this share of the job's full rate is nothing. Acknowledgements of what goes
# the other way are half a percent of it, hellos, probes and the headers of messages
# less; the slowest that can be called data is one NIC of the eight that a host may
# have, an eighth.
QUIET = 0.05


class Received:
    """`readings` are (seconds since 1970, bytes in all), each some time after the
    one before: as a rule a millisecond, but who reads may come late."""

    def __init__(self, readings):
        self._times = [when for when, _ in readings]
        self._bytes = [total for _, total in readings]

    def rate(self, begin, end):
        i, j = self._within(begin, end)
        return ((self._bytes[j] - self._bytes[i])
                / (self._times[j] - self._times[i]))

    def worst_step(self, begin, end):
        """The longest time between two readings."""
        i, j = self._within(begin, end)
        return max(b - a for a, b in zip(self._times[i:j],
                                         self._times[i + 1:j + 1]))

    def around(self, moment, before, after):
        """[(seconds since that moment, bytes since the first of these)]."""
        i = bisect_left(self._times, moment - before)
        j = bisect_right(self._times, moment + after)
        return [(round(when - moment, 6), total - self._bytes[i])
                for when, total in zip(self._times[i:j], self._bytes[i:j])]

    def longest_gap(self, begin, end, full):
        """The longest time within this one in which less than QUIET of the rate
        `full` came. When in the time before a reading its bytes came is not
        known, but they took their time at that rate: a gap may begin after that,
        or end before it. So a gap is stated too long, by up to two readings, but
        none is hidden by one that comes late."""
        i, j = self._within(begin, end)
        least = QUIET * full
        starts, ends = [], []
        for k in range(i, j + 1):
            starts.append(max(begin, self._soonest(k, full) if k > i
                              else self._times[k]))
            ends.append(min(end, self._latest(k, full) if k < j
                            else self._times[k]))
        totals = self._bytes[i:j + 1]

        # Above the line of that rate as no start before it: no other one can be
        # the start of a longest gap.
        highest = []
        for k, start in enumerate(starts):
            if (not highest or totals[k] - least * start
                    > totals[highest[-1]] - least * starts[highest[-1]]):
                highest.append(k)
        longest = 0.0
        for k in range(len(ends) - 1, -1, -1):
            while highest and (highest[-1] > k
                               or totals[k] - totals[highest[-1]]
                               < least * (ends[k] - starts[highest[-1]])):
                start = highest.pop()
                if start <= k:
                    longest = max(longest, ends[k] - starts[start])
        return longest

    def _soonest(self, k, full):
        """When all bytes of a reading may have come."""
        return min(self._times[k], self._times[k - 1]
                   + (self._bytes[k] - self._bytes[k - 1]) / full)

    def _latest(self, k, full):
        """When none of the next reading's bytes may have come yet."""
        return max(self._times[k], self._times[k + 1]
                   - (self._bytes[k + 1] - self._bytes[k]) / full)

    def _within(self, begin, end):
        """The last reading before, and the first after."""
        i = bisect_right(self._times, begin) - 1
        j = bisect_left(self._times, end)
        if i < 0 or j == len(self._times) or i >= j:
            raise SampleError("the NICs' counters were not read all the time")
        return i, j
