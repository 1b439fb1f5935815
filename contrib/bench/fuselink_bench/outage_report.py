# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""How long jobs stood after silences, as Markdown."""

from statistics import median


def _cell(results):
    """Median and worst; of those that were not back in time how many."""
    found = [each["back"] for each in results if each["back"] is not None]
    lost = [each for each in results if each["back"] is None]
    words = []
    if found:
        words.append(f"{median(found):.2f} / {max(found):.2f}")
    if lost:
        words.append(f"{len(lost)} not within {lost[0]['watch']:.0f}")
    return ", ".join(words) or "-"


def text(tables, head):
    """`tables` as outage's plan has them."""
    lines = ["Seconds until a job has its rate again when all NICs of one host were"
             f" silent for so long, median / worst. {head}", ""]
    for title, rows in tables:
        silences = list(rows[0][1]) if rows else []
        lines += [f"**{title}**", "",
                  "| transport | " + " | ".join(f"{each:g} s" for each in silences)
                  + " | jobs that failed |",
                  "|---|" + "---:|" * (len(silences) + 1)]
        for name, by_silence, failures in rows:
            cells = [_cell(by_silence[each]) for each in silences]
            lines.append(f"| {name} | " + " | ".join(cells)
                         + f" | {len(failures)} |")
        lines.append("")
        for name, _, failures in rows:
            lines += [f"{name}: {why}" for why in failures]
    return "\n".join(lines) + "\n"
