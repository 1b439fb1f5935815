# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""contrib/bench/run sizes: measures fuselink and its peers over all sizes."""

import argparse
import os
from pathlib import Path

from . import programs
from . import size_cases
from . import size_chart
from . import size_map
from . import size_report
from . import surroundings
from . import transports
from .errors import BenchError
from .options import add_outputs
from .runner import progress, warn_when_busy
from .size_files import Files
from .size_plan import Plan
from .size_sweeps import OutOfTime, Sweeps


def _parser():
    parser = argparse.ArgumentParser(
        prog="contrib/bench/run sizes",
        description="Measures fuselink, UCX and Open MPI's TCP transport over"
        " sizes. A job sweeps all sizes; repetitions of all transports take"
        " turns. What is in the folder is not measured again, unless the"
        " library, the programs or the settings differ. A cell below"
        f" {size_map.BAR} x the best peer is measured again, with"
        f" {size_map.AGAIN} times the samples.")
    parser.add_argument("--sizes", default=size_cases.DEFAULT,
                        help="8,64k,4M or FIRST:LAST:FACTOR (default"
                        " %(default)s)")
    parser.add_argument("--patterns", metavar="A,B,...",
                        help="only these: " + ", ".join(size_cases.PATTERNS))
    parser.add_argument("--wires", metavar="A,B,...",
                        default="shaped,unshaped,node",
                        help="of " + ", ".join(size_cases.WIRES)
                        + " (default %(default)s)")
    parser.add_argument("--transports", metavar="A,B,...",
                        help="only these, fuselink among them")
    parser.add_argument("--variant", action="append", default=[],
                        metavar="NAME=BASE:VAR=VALUE,...",
                        help="one more column, as for other cases")
    parser.add_argument("--before", metavar="LIB",
                        help="one more column: fuselink as this library has"
                        " it, which another commit was built to")
    parser.add_argument("--rounds", type=int, default=5, metavar="N",
                        help="repetitions (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.2, metavar="S",
                        help="to time a size (default %(default)s)")
    parser.add_argument("--chart", metavar="FILE.svg",
                        help="draw the ratio to the best peer over the size")
    parser.add_argument("--check", action="store_true",
                        help="exit with 1 if a cell stays below the bar")
    add_outputs(parser, "sizes")
    return parser


def _settings(options, variants):
    """What results that are compared have in common."""
    return {**surroundings.settings(options.before),
            "wires": {name: [wires.rates, wires.in_flight]
                      for name, wires in size_cases.WIRES.items()},
            "variants": [[variant.name, variant.title]
                         for variant in variants],
            "seconds": options.seconds}


def _write(path, text):
    try:
        fresh = Path(f"{path}.{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise BenchError(f"cannot write {path}: {error}") from None


def _measure(whole, sweeps):
    try:
        for job in whole.first_pass():
            sweeps.run(*job)
        for job in whole.second_pass():
            sweeps.run(*job)
    except OutOfTime:
        progress("the time is over; run it again to go on")


def _report(whole, options):
    """Prints, writes and draws what is there; returns the cells."""
    by_case = whole.by_case()
    text = size_report.text(by_case, options.rounds, options.seconds,
                            whole.files)
    print(text)
    if options.table:
        _write(options.table, text)
    panels = list(whole.panels())
    if options.chart and panels:
        _write(options.chart, size_chart.document(panels))
    return [cell for cells, _ in by_case for cell in cells]


def run(words):
    options = _parser().parse_args(words)
    for name in ("rounds", "seconds"):
        if getattr(options, name) <= 0:
            raise BenchError(f"--{name} {getattr(options, name)}: above 0")
    variants = [transports.variant(text) for text in options.variant]
    if options.before:
        transports.before(options.before)
    files = Files(options.folder, _settings(options, variants))
    whole = Plan(options, files, variants)
    if options.dry_run:
        left = [sizes for _, wanted, repetition in whole.first_pass()
                for case, column, all_sizes in wanted
                if (sizes := files.missing(case, column, all_sizes,
                                           repetition))]
        print(f"{len(left)} jobs with {sum(map(len, left))} sizes in all, then"
              f" what is below the bar; in {files.folder}")
        return 0
    sweeps = Sweeps(files, programs.build(options.build_dir), options.minutes)
    warn_when_busy()
    try:
        _measure(whole, sweeps)
    finally: # also at a signal: what there is so far
        cells = _report(whole, options)
    progress(f"jobs: {sweeps.jobs}, failed: {sweeps.failures}; samples are in"
             f" {files.folder}")
    below = any(cell.below(options.rounds) is not False for cell in cells)
    return 1 if sweeps.failures or (options.check and below) else 0
