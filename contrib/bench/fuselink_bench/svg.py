# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Panels with one stacked area for each NIC, as an SVG document."""

from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 360, 150        # of a panel's plot
_LEFT, _TOP, _GAP = 50, 50, 60
_COLOURS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377",
            "#bbbbbb", "#332288", "#88ccee", "#44aa99", "#117733", "#999933",
            "#ddcc77", "#cc6677", "#882255", "#aa4499")


class Panel:
    """speeds[i][nic] in bytes per second, each of `step` seconds; wire is
    what all NICs carry together."""

    def __init__(self, title, step, speeds, wire):
        self.title = title
        self.step = step
        self.speeds = speeds
        self.wire = wire


def document(title, rows, nics):
    """rows: lists of panels. Panels of a row have one scale of time, so that
    the shorter one is seen to be shorter."""
    columns = max(map(len, rows))
    width = _LEFT + columns * (_WIDTH + _GAP)
    height = _TOP + len(rows) * (_HEIGHT + _GAP) + 20
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}"'
             f' height="{height}" font-family="sans-serif" font-size="11">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="{_LEFT}" y="20" font-size="14">{escape(title)}</text>']
    for r, panels in enumerate(rows):
        seconds = max(len(panel.speeds) * panel.step for panel in panels)
        for c, panel in enumerate(panels):
            parts += _panel(panel, _LEFT + c * (_WIDTH + _GAP),
                            _TOP + r * (_HEIGHT + _GAP), seconds)
    for i, nic in enumerate(nics):
        x, y = _LEFT + i * 60, height - 20
        parts += [f'<rect x="{x}" y="{y}" width="10" height="10"'
                  f' fill="{_COLOURS[i]}"/>',
                  f'<text x="{x + 14}" y="{y + 9}">{escape(nic)}</text>']
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel, left, top, seconds):
    def x(index):
        return left + index * panel.step / seconds * _WIDTH

    def y(speed):
        return top + _HEIGHT * (1 - speed / (1.1 * panel.wire))

    bottom = top + _HEIGHT
    parts = [f'<text x="{left}" y="{top - 6}">{escape(panel.title)}</text>']
    below = [0.0] * len(panel.speeds)
    for nic in range(len(panel.speeds[0])):
        above = [low + point[nic] for low, point in zip(below, panel.speeds)]
        line = [f"{x(i + 0.5):.1f},{y(value):.1f}"
                for i, value in enumerate(above)]
        line += [f"{x(i + 0.5):.1f},{y(value):.1f}"
                 for i, value in reversed(list(enumerate(below)))]
        parts.append(f'<polygon points="{" ".join(line)}"'
                     f' fill="{_COLOURS[nic]}"/>')
        below = above
    parts += [f'<path d="M{left} {top}V{bottom}H{left + _WIDTH}"'
              ' fill="none" stroke="black"/>',
              f'<path d="M{left} {y(panel.wire):.1f}h{_WIDTH}" fill="none"'
              ' stroke="black" stroke-dasharray="4 3"/>',
              f'<text x="{left - 4}" y="{y(panel.wire) + 4:.1f}"'
              f' text-anchor="end">{panel.wire / 1e6:.0f}</text>',
              f'<text x="{left - 4}" y="{top - 6}" text-anchor="end">MB/s'
              "</text>",
              f'<text x="{left - 4}" y="{bottom}" text-anchor="end">0</text>']
    for part in (0, 0.5, 1):
        parts.append(f'<text x="{left + part * _WIDTH:.0f}" y="{bottom + 14}"'
                     f' text-anchor="middle">{part * seconds:.1f} s</text>')
    return parts
