# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The map of sizes as Markdown."""

import os
import platform
import re
import time

from .size_cases import size_name
from .size_map import AGAIN, BAR, mean_ratio


def _number(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def _shown(cell, value):
    """Of a stream the bytes, or the messages when they have none."""
    if cell.case.metric != "messages_per_s":
        return _number(value * 1e6)
    if cell.size == 0:
        return f"{_number(value / 1e3)} k/s"
    return _number(value * cell.size / 1e6)


def _value(cell, name):
    value = cell.median(name)
    if value is None:
        return "-"
    return f"{_shown(cell, value)} ± {100 * cell.spread(name):.0f} %"


def _ratio(best):
    return f"{best[0]:.2f} x {best[1]}" if best else "-"


def _row(cells):
    return "| " + " | ".join(cells) + " |"


def _table(cells, columns):
    case = cells[0].case
    unit = "MB/s" if case.metric == "messages_per_s" else "us"
    before = any(column.name == "before" for column in columns)
    lines = [f"### {case.title}, {unit}", "",
             _row(["size", *(column.name for column in columns), "x the best"]
                  + (["x before"] if before else [])),
             _row(["---"] + ["---:"] * (len(columns) + 1 + before))]
    for cell in cells:
        best = cell.best()
        ratio = _ratio(best)
        if best and best[0] < BAR:
            ratio = f"**{ratio}**"
        row = [size_name(cell.size),
               *(_value(cell, column.name) for column in columns), ratio]
        if before:
            changed = cell.ratio("before")
            row.append(f"{changed:.3f}" if changed else "-")
        lines.append(_row(row))
    mean = mean_ratio(cells)
    if mean:
        lines += ["", f"Geometric mean {mean:.2f} x the best."]
    return lines + [""]


def _listed(cell, rounds):
    text = (f"- {cell.case.title}, {size_name(cell.size)}:"
            f" {_ratio(cell.best())}")
    if cell.below(rounds) is None:
        return text + ", not measured again yet"
    return (text + f"; with {len(cell.values(cell.own, True))} samples"
            f" {_ratio(cell.best(second=True))}")


def _lists(cells, rounds):
    below = [cell for cell in cells if cell.below(rounds) is not False]
    above = [cell for cell in cells
             if cell.faster() and cell.below(rounds) is False]
    lines = [f"### Cells below {BAR} x the best", ""]
    lines += [_listed(cell, rounds) for cell in below] or ["None."]
    if above:
        lines += ["", f"Not below it with {AGAIN} times the samples:", ""]
        lines += [_listed(cell, rounds) for cell in above]
    return lines + [""]


def _head(cells, rounds, seconds, files):
    times = [result["time"] for cell in cells
             for results in cell.first.values() for result in results]
    if not times:
        return ["Nothing was measured.", ""]
    counts = [len(results) for cell in cells
              for results in cell.first.values()]
    first, last = (time.strftime("%Y-%m-%d %H:%M", time.gmtime(moment))
                   for moment in (min(times), max(times)))
    jobs = f"{min(counts)} to {rounds}" if min(counts) < rounds else rounds
    kernel = re.match(r"[\d.]*\d|", platform.release())[0]
    return [f"Measured {first} to {last} UTC, {os.cpu_count()} cores, Linux"
            f" {kernel}, samples {files.folder.name}. Jobs: {jobs}, each"
            f" {seconds:g} s for a size. Medians; ± half of what lies between"
            " the lowest and the highest, of the median. A ratio above 1 says"
            " that fuselink is faster.", ""]


def text(by_case, rounds, seconds, files):
    """by_case: [(cells, columns)]."""
    cells = [cell for some, _ in by_case for cell in some]
    lines = _head(cells, rounds, seconds, files)
    for some, columns in by_case:
        if any(cell.first for cell in some):
            lines += _table(some, columns)
    return "\n".join(lines + _lists(cells, rounds))
