# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""How fast load moves away from a NIC when something else begins to fill it,
and back: from the NICs' counters, read every 2 ms at the receiving host, and
the arrivals of the background.

All cycles are laid over each other, which averages the grain of the frames
out. The load has moved at the first moment from which, over the next 20 ms and
over the rest of the phase, 90 % of the change of the NIC's part in all that the
job moves is done. A part, because what this machine does beside slows all NICs
alike; how much of what is left the job gets is said beside it.
"""

from bisect import bisect_right

from .errors import SampleError, TooBusy

_STEP = 0.002
_WINDOW = 10          # steps
_CHANGE = 0.9
# A longer hole in the readings hides what is looked for.
_HOLE = 0.015


def analyse(cycles, arrivals, readings, nic, capacity, on, off):
    """Times are those of the phase if the load did not move within it."""
    times = [reading[0] for reading in readings]
    first, last = cycles[0][0] - 0.1, cycles[-1][1] + off
    hole = max((b - a for a, b in zip(times, times[1:]) if first < a < last),
               default=None)
    if hole is None or times[0] > first or times[-1] < last:
        raise SampleError("the NICs' counters were not read all the time")
    if hole > _HOLE:
        raise TooBusy(f"the NICs' counters were not read for"
                      f" {hole * 1e3:.0f} ms: this machine is too busy")
    own = _own(times, readings, arrivals, nic)
    rate = (sum(sent for _, _, sent in cycles)
            / sum(stop - start for start, stop, _ in cycles))
    full, wire = sum(capacity), capacity[nic]
    during = _folded(own, [start for start, _, _ in cycles], on)
    after = _folded(own, [start + on for start, _, _ in cycles], off)
    alone, beside = wire / full, (wire - rate) / (full - rate)
    away = _moved(during, nic, alone, beside)
    back = _moved(after, nic, beside, alone)
    tail = during[len(during) // 2:]
    return {"away_s": on if away is None else away,
            "back_s": off if back is None else back,
            "moved_away": away is not None, "moved_back": back is not None,
            "of_left_during": sum(map(sum, tail)) / len(tail)
            / (full - rate),
            "largest_hole_s": hole,
            "curve": {"step_s": _STEP, "nic": nic,
                      "during": _rounded(during), "after": _rounded(after)}}


def _rounded(curve):
    return [[round(speed) for speed in point] for point in curve]


class _Line:
    """Bytes up to a moment, in a straight line between two readings."""

    def __init__(self, times, totals):
        self._times = times
        self._totals = totals

    def at(self, when):
        i = bisect_right(self._times, when)
        if i == 0:
            return self._totals[0]
        if i == len(self._times):
            return self._totals[-1]
        part = ((when - self._times[i - 1])
                / (self._times[i] - self._times[i - 1]))
        return (self._totals[i - 1]
                + part * (self._totals[i] - self._totals[i - 1]))


def _own(times, readings, arrivals, nic):
    """For each NIC, the bytes that are not the background's."""
    lines = [[reading[i] for reading in readings]
             for i in range(1, len(readings[0]))]
    total, k = 0, 0
    for i, when in enumerate(times):
        while k < len(arrivals) and arrivals[k][0] <= when:
            total += arrivals[k][1]
            k += 1
        lines[nic][i] -= total
    return [_Line(times, totals) for totals in lines]


def _folded(own, events, length):
    """[[bytes per second of each NIC]] for each step after the events."""
    steps = int(length / _STEP + 0.5)
    curve = []
    for k in range(steps):
        curve.append([
            sum(line.at(event + (k + 1) * _STEP) - line.at(event + k * _STEP)
                for event in events) / len(events) / _STEP for line in own])
    return curve


def _moved(curve, nic, before, after):
    """When the NIC's part has gone from one value to the other, if it has."""
    def done(points):
        total = sum(map(sum, points))
        part = sum(point[nic] for point in points) / total if total else before
        return (part - before) / (after - before) >= _CHANGE

    for k in range(len(curve) - _WINDOW + 1):
        if done(curve[k:k + _WINDOW]) and done(curve[k:]):
            return (k + 1) * _STEP
    return None
