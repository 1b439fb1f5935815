# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The map of sizes as an SVG document: speed of fuselink as a factor of the best
peer over the size, a panel for each kind of wires, a line for each pattern."""

import math
from xml.sax.saxutils import escape

from .size_cases import size_name
from .size_map import BAR

_COLOURS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377")
_LEFT, _WIDTH, _RIGHT = 60, 560, 170
_HEIGHT, _TOP, _GAP = 180, 74, 66
_LABEL = 48                       # width of a size's name


class Panel:
    """lines: {pattern: [(size, ratio)]}."""

    def __init__(self, title, lines):
        self.title = title
        self.lines = lines


def _panel(panel, top, sizes, ratios, colours):
    low, high = math.log2(ratios[0]), math.log2(ratios[1])

    def x(size):
        return _LEFT + (sizes.index(size) + 0.5) * _WIDTH / len(sizes)

    def y(ratio):
        return top + _HEIGHT * (high - math.log2(ratio)) / (high - low)

    bottom = top + _HEIGHT
    parts = [f'<text x="{_LEFT}" y="{top - 8}" font-weight="bold">'
             f"{escape(panel.title)}</text>",
             f'<path d="M{_LEFT} {top}V{bottom}H{_LEFT + _WIDTH}" fill="none"'
             ' stroke="black"/>',
             f'<path d="M{_LEFT} {y(1):.1f}h{_WIDTH}" stroke="black"/>',
             f'<path d="M{_LEFT} {y(BAR):.1f}h{_WIDTH}" stroke="#555555"'
             ' stroke-dasharray="4 3"/>']
    for power in range(math.ceil(low), math.floor(high) + 1):
        parts.append(f'<text x="{_LEFT - 6}" y="{y(2 ** power) + 4:.1f}"'
                     f' text-anchor="end">{2.0 ** power:g}</text>')
    every = math.ceil(_LABEL * len(sizes) / _WIDTH)
    for size in sizes[::-every]:
        parts.append(f'<text x="{x(size):.1f}" y="{bottom + 16}"'
                     f' text-anchor="middle">{size_name(size)}</text>')
    for name, points in panel.lines.items():
        at = [(f"{x(size):.1f}", f"{y(ratio):.1f}") for size, ratio in points]
        parts.append(f'<polyline points="{" ".join(map(",".join, at))}"'
                     f' fill="none" stroke="{colours[name]}"'
                     ' stroke-width="2"/>')
        parts += [f'<circle cx="{cx}" cy="{cy}" r="3" fill="{colours[name]}"/>'
                  for cx, cy in at]
    return parts


def document(panels):
    points = [point for panel in panels for line in panel.lines.values()
              for point in line]
    sizes = sorted({size for size, _ in points})
    # A whole power of two at both ends, and 1 between them.
    ratios = (2.0 ** math.floor(math.log2(min(0.9, *(r for _, r in points)))),
              2.0 ** math.ceil(math.log2(max(1.1, *(r for _, r in points)))))
    names = list(dict.fromkeys(name for panel in panels
                               for name in panel.lines))
    colours = dict(zip(names, _COLOURS))
    width = _LEFT + _WIDTH + _RIGHT
    height = _TOP + len(panels) * (_HEIGHT + _GAP) - 20
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}"'
             f' height="{height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="{_LEFT}" y="20" font-size="15">Speed of fuselink by'
             " size: 1 is the fastest of the others</text>",
             f'<text x="{_LEFT}" y="38" fill="#555555">Two hosts of Linux'
             f" namespaces on one machine; dashed: {BAR}</text>"]
    for i, panel in enumerate(panels):
        parts += _panel(panel, _TOP + i * (_HEIGHT + _GAP), sizes, ratios,
                        colours)
    for i, name in enumerate(names):
        at, y = _LEFT + _WIDTH + 16, _TOP + 20 * i
        parts += [f'<path d="M{at} {y}h20" stroke="{colours[name]}"'
                  ' stroke-width="2"/>',
                  f'<text x="{at + 26}" y="{y + 4}">{escape(name)}</text>']
    return "\n".join([*parts, "</svg>", ""])
