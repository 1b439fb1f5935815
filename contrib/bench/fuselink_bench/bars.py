# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Bars: what fuselink must reach in a case. Each evaluates to a Verdict."""

from dataclasses import dataclass

_FUSELINK = "fuselink"


@dataclass(frozen=True)
class Verdict:
    passed: bool
    case: str
    want: str
    got: str

    def line(self):
        return (f"{'ok' if self.passed else 'MISSED':6}  {self.case}:"
                f" want {self.want}, got {self.got}")


def _verdict(results, want, got, passed):
    return Verdict(bool(passed), results.case.name, want, got)


def _of_middle(results, key, want, show, passes, column=_FUSELINK):
    """The verdict on the middle one of what fuselink's jobs, or those of another
    column, have as `key`."""
    value = results.middle(column, key)
    if value is None:
        return _verdict(results, want, "no measurement", False)
    return _verdict(results, want, show(value), passes(value))


@dataclass(frozen=True)
class Ratio:
    """The metric is so many times a baseline's: at least where more is
    better, at most where less is."""
    over: str
    limit: float

    def evaluate(self, results):
        less = results.case.lower_is_better
        want = (f"{'<=' if less else '>='} {self.limit:.3g} x {self.over}")
        ratio = results.ratio(_FUSELINK, self.over)
        if ratio is None:
            return _verdict(results, want, "no measurement", False)
        passed = ratio <= self.limit if less else ratio >= self.limit
        return _verdict(results, want, f"{ratio:.3f} x", passed)


@dataclass(frozen=True)
class WireShare:
    """The speed is so much of the sum of all rates."""
    limit: float

    def evaluate(self, results):
        want = f">= {self.limit:.0%} of the wire's bound"
        share = results.wire_share(_FUSELINK)
        if share is None:
            return _verdict(results, want, "no measurement", False)
        return _verdict(results, want, f"{share:.1%}", share >= self.limit)


@dataclass(frozen=True)
class Fastest:
    """Better than every baseline, all of which must have been measured."""

    def evaluate(self, results):
        less = results.case.lower_is_better
        others = [transport.name for transport in results.case.transports
                  if transport.name != _FUSELINK]
        want = f"faster than {', '.join(others)}"
        values = {name: results.typical(name) for name in (*others, _FUSELINK)}
        missing = [name for name, value in values.items() if value is None]
        if missing:
            return _verdict(results, want,
                            f"no measurement of {', '.join(missing)}", False)
        mine = values.pop(_FUSELINK)
        best = (min if less else max)(values, key=values.get)
        ratio = mine / values[best]
        return _verdict(results, want, f"{ratio:.3f} x {best}",
                        ratio < 1 if less else ratio > 1)


@dataclass(frozen=True)
class NicShare:
    """Every NIC moved so much of its fair share, by rate, in every job."""
    limit: float

    def evaluate(self, results):
        want = f"every NIC > {self.limit:.0%} of its fair share of the bytes"
        if not results.samples.get(_FUSELINK):
            return _verdict(results, want, "no measurement", False)
        share, where = results.worst_nic_share(_FUSELINK)
        return _verdict(results, want, f"{share:.1%} ({where})",
                        share > self.limit)


@dataclass(frozen=True)
class Faster:
    """So many times as fast as a baseline, of times."""
    over: str
    limit: float

    def evaluate(self, results):
        want = f">= {self.limit:g} x as fast as {self.over}"
        ratio = results.ratio(self.over, _FUSELINK)
        if ratio is None:
            return _verdict(results, want, "no measurement", False)
        return _verdict(results, want, f"{ratio:.2f} x", ratio >= self.limit)


@dataclass(frozen=True)
class NotBelow:
    """As good as another column, but for what runs differ by."""
    over: str
    spread: float

    def evaluate(self, results):
        want = (f">= 1.0 x {self.over}, less {self.spread:.0%} that runs differ"
                " by")
        ratio = results.ratio(_FUSELINK, self.over)
        if ratio is None:
            return _verdict(results, want, "no measurement", False)
        ratio = 1 / ratio if results.case.lower_is_better else ratio
        return _verdict(results, want, f"{ratio:.3f} x", ratio >= 1 - self.spread)


@dataclass(frozen=True)
class NotBelowBaselines:
    """As good as the best baseline, but for what runs differ by."""
    spread: float

    def evaluate(self, results):
        want = (">= 1.0 x the best baseline, less"
                f" {self.spread:.0%} that runs differ by")
        best = results.best_baseline()
        mine = results.typical(_FUSELINK)
        if best is None or mine is None:
            return _verdict(results, want, "no measurement", False)
        name, value = best
        ratio = value / mine if results.case.lower_is_better else mine / value
        return _verdict(results, want, f"{ratio:.3f} x {name}",
                        ratio >= 1 - self.spread)


@dataclass(frozen=True)
class OverBound:
    """The time is at most so much longer than the wires allow."""
    limit: float

    def evaluate(self, results):
        return _of_middle(results, "over_bound",
                          f"<= {self.limit:.0%} over the lower bound",
                          "{:+.1%}".format, lambda over: over <= self.limit)


@dataclass(frozen=True)
class OfLeft:
    """All of fuselink's jobs get so much of what the wires have for them."""
    limit: float

    def evaluate(self, results):
        return _of_middle(results, "of_left",
                          f">= {self.limit:.0%} of what is left of the wires",
                          "{:.1%}".format, lambda part: part >= self.limit)


@dataclass(frozen=True)
class Fair:
    """Of two jobs the smaller part, in every round."""
    limit: float

    def evaluate(self, results):
        want = f"each job {self.limit:.0%} to {1 - self.limit:.0%}"
        shares = [sample.result["least_share"]
                  for sample in results.samples.get(_FUSELINK, [])]
        if not shares:
            return _verdict(results, want, "no measurement", False)
        return _verdict(results, want, f"{min(shares):.1%} to"
                        f" {1 - min(shares):.1%}", min(shares) >= self.limit)


@dataclass(frozen=True)
class Within:
    """Something happens within a time."""
    key: str
    what: str
    limit: float

    def evaluate(self, results):
        return _of_middle(results, self.key,
                          f"{self.what} within {self.limit * 1e3:.0f} ms",
                          lambda time: f"{time * 1e3:.0f} ms",
                          lambda time: time <= self.limit)


@dataclass(frozen=True)
class AtLeast:
    """A part of a whole."""
    key: str
    what: str
    limit: float

    def evaluate(self, results):
        return _of_middle(results, self.key, f">= {self.limit:.0%} {self.what}",
                          "{:.1%}".format, lambda part: part >= self.limit)


@dataclass(frozen=True)
class AtMost:
    """A multiple that the jobs of a column tell."""
    column: str
    key: str
    what: str
    limit: float

    def evaluate(self, results):
        return _of_middle(results, self.key, f"<= {self.limit:.3g} {self.what}",
                          lambda ratio: f"{ratio:.3f} {self.what}",
                          lambda ratio: ratio <= self.limit, self.column)


def evaluate(all_results):
    """Verdicts for every bar, and one for each failed measurement."""
    verdicts = []
    for results in all_results:
        verdicts += [bar.evaluate(results) for bar in results.case.bars]
        verdicts += [_verdict(results, f"{name} to run",
                              f"{len(why)} failures, the last: {why[-1]}",
                              False)
                     for name, why in results.failures.items()]
    return verdicts


# What another build may be apart, either way.
_UNCHANGED = 0.04


def changes(all_results):
    """Of each case, whether fuselink is as the library of --before; for each its
    speed as a factor of that, so that more is better."""
    verdicts = []
    for results in all_results:
        want = f"{1 - _UNCHANGED:.2f} to {1 + _UNCHANGED:.2f} x before"
        ratio = results.ratio(_FUSELINK, "before")
        if ratio is None:
            verdicts.append(_verdict(results, want, "no measurement", False))
            continue
        if results.case.lower_is_better:
            ratio = 1 / ratio
        spread = [max(values) / min(values) - 1
                  for values in map(results.values, (_FUSELINK, "before"))]
        verdicts.append(_verdict(
            results, want,
            f"{ratio:.3f} x (spread {max(spread):.1%})",
            abs(ratio - 1) <= _UNCHANGED))
    return verdicts
