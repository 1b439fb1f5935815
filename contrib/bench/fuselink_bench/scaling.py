# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The cases `gpu-streamN` side by side: throughput against the number of NICs."""

import os

from . import chart
from .errors import BenchError
from .gpu_cases import stream_ceiling


def _by_nics(all_results):
    return {results.case.procedure.nics: results for results in all_results
            if results.case.name.startswith("gpu-stream") and results.samples}


def table(all_results):
    """Lines; none if fewer than two of the cases were measured."""
    found = _by_nics(all_results)
    if len(found) < 2:
        return []
    first = next(iter(found.values()))
    names = [transport.name for transport in first.case.transports]
    rows = [["MB/s, by NICs", *map(str, found)]]
    for name in names:
        values = [results.typical(name) for results in found.values()]
        rows.append([name, *(f"{value / 1e6:.1f}" if value else "-"
                             for value in values)])
    rows.append(["what the links allow",
                 *(f"{results.case.ceiling / 1e6:.1f}"
                   for results in found.values())])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(widths[0]) if i == 0 else cell.rjust(widths[i])
                      for i, cell in enumerate(row)) for row in rows]


def draw(path, all_results):
    found = _by_nics(all_results)
    if not found:
        raise BenchError(f"--chart {path}: no case gpu-stream1 ... was measured")
    transports = next(iter(found.values())).case.transports
    lines = [chart.Line(transport.title,
                        [(nics, results.typical(transport.name) / 1e6)
                         for nics, results in found.items()
                         if results.typical(transport.name)])
             for transport in transports]
    lines = [line for line in lines if line.points]
    lines.append(chart.Line("what the links allow",
                            [(nics, stream_ceiling(nics) / 1e6)
                             for nics in range(1, max(found) + 1)],
                            dashed=True))
    text = chart.document("One GPU to one of another host", lines, "NICs",
                          "MB/s")
    fresh = f"{path}.{os.getpid()}"
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(fresh, path)
