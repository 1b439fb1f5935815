# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""A chart with a line for each column, as an SVG document: throughput of one GPU
against the number of NICs, beside what the links allow."""

import math
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 480, 300        # of the plot
_LEFT, _TOP, _RIGHT, _BOTTOM = 60, 40, 380, 50
_STEPS = 6                        # of the scale, at most
_COLOURS = ("#bbbbbb", "#ccbb44", "#66ccee", "#228833", "#4477aa", "#aa3377")


def _step(most):
    """Of a scale up to `most`: 1, 2 or 5 times a power of ten."""
    unit = 10.0 ** math.floor(math.log10(most / _STEPS))
    return next(unit * times for times in (1, 2, 5, 10)
                if unit * times * _STEPS >= most)


class Line:
    """points: [(x, y)] in order of x."""

    def __init__(self, name, points, dashed=False):
        self.name = name
        self.points = points
        self.dashed = dashed


def document(title, lines, x_title, y_title):
    most_x = max(x for line in lines for x, _ in line.points)
    most_y = 1.1 * max(y for line in lines for _, y in line.points)
    bottom = _TOP + _HEIGHT

    def place(x, y):
        return (f"{_LEFT + x / most_x * _WIDTH:.1f},"
                f"{bottom - y / most_y * _HEIGHT:.1f}")

    width, height = _LEFT + _WIDTH + _RIGHT, bottom + _BOTTOM
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}"'
             f' height="{height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="{_LEFT}" y="20" font-size="14">{escape(title)}</text>',
             f'<path d="M{_LEFT} {_TOP}V{bottom}H{_LEFT + _WIDTH}" fill="none"'
             ' stroke="black"/>',
             f'<text x="{_LEFT + _WIDTH / 2:.0f}" y="{height - 10}"'
             f' text-anchor="middle">{escape(x_title)}</text>',
             f'<text x="{_LEFT - 6}" y="{_TOP - 6}" text-anchor="end">'
             f'{escape(y_title)}</text>']
    for x in range(1, int(most_x) + 1):
        at = place(x, 0).split(",")[0]
        parts.append(f'<text x="{at}" y="{bottom + 16}"'
                     f' text-anchor="middle">{x}</text>')
    step = _step(most_y)
    for y in (step * i for i in range(int(most_y / step) + 1)):
        at = place(0, y).split(",")[1]
        parts.append(f'<text x="{_LEFT - 6}" y="{at}" text-anchor="end">'
                     f'{y:g}</text>')
    for i, line in enumerate(lines):
        colour = "black" if line.dashed else _COLOURS[i % len(_COLOURS)]
        points = " ".join(place(x, y) for x, y in line.points)
        style = (f'stroke="{colour}" stroke-width="2"'
                 + (' stroke-dasharray="6 4"' if line.dashed else ""))
        parts.append(f'<polyline points="{points}" fill="none" {style}/>')
        if not line.dashed:
            parts += [f'<circle cx="{at[0]}" cy="{at[1]}" r="3"'
                      f' fill="{colour}"/>'
                      for at in (place(*point).split(",")
                                 for point in line.points)]
        y = _TOP + 20 * i
        x = _LEFT + _WIDTH + 20
        parts += [f'<path d="M{x} {y}h24" {style}/>',
                  f'<text x="{x + 32}" y="{y + 4}">{escape(line.name)}</text>']
    return "\n".join([*parts, "</svg>", ""])
