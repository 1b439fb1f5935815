# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""contrib/bench/run watched: what endpoints with error handling cost.

By ucx_perftest, which makes both kinds of endpoints: its words are the same but for -e.
"""

import argparse
import os
import statistics
from dataclasses import dataclass

from fuselink_cluster import Cluster, fuselink_missing

from . import rates
from . import transports
from .errors import BenchError, SampleError
from .options import names_of, write
from .perftest import Perftest
from .runner import progress, warn_when_busy

_NAMES = ("ucx", "ucx-tuned", "fuselink")
_BASE = "ucx"
_MEGA = 1 << 20


@dataclass(frozen=True)
class Way:
    """How ucx_perftest sends."""
    name: str
    title: str
    test: str
    size: int
    count: int
    alone: bool = False    # one message at a time, there and back

    def arguments(self):
        return ["-t", self.test, "-f", "-s", str(self.size), "-n", str(self.count),
                "-w", "2", *(() if self.alone else ("-O", "8"))]


_WAYS = {way.name: way for way in (
    Way("tag", "tags, 8 of 4 MB at a time", "tag_bw", 4 * _MEGA, 24),
    Way("am", "active messages, 8 of 4 MB at a time", "ucp_am_bw", 4 * _MEGA, 24),
    Way("turns", "tags, one of 4 MB there, one back", "tag_lat", 4 * _MEGA, 8, True),
    Way("turns256k", "the same, 256 kB", "tag_lat", _MEGA // 4, 60, True))}


def _parser():
    parser = argparse.ArgumentParser(
        prog="contrib/bench/run watched",
        description="MB/s of ucx_perftest between two hosts, by endpoints without and"
        " with error handling (UCP_ERR_HANDLING_MODE_PEER).")
    parser.add_argument("--rounds", type=int, default=3, metavar="N",
                        help="of all transports in turn (default %(default)s)")
    parser.add_argument("--rates", default="200mbit,200mbit,200mbit,200mbit",
                        metavar="R,...", help="of the NICs of a host"
                        " (default %(default)s)")
    parser.add_argument("--ways", metavar="A,B,...",
                        help=f"only these: {', '.join(_WAYS)}")
    parser.add_argument("--transports", metavar="A,B,...",
                        help=f"only these: {', '.join(_NAMES)}")
    parser.add_argument("--table", metavar="FILE.md",
                        help="write the table to FILE, too")
    return parser


def _speed(way, text):
    """Bytes per second, of what ucx_perftest prints at the end: messages, then of latency
    what is typical, of late and of all, and MB/s of late and of all."""
    try:
        words = text.split("\n")[-2].removeprefix("Final:").split()
        if way.alone:
            return way.size / (float(words[3]) * 1e-6)
        return float(words[5]) * _MEGA
    except (IndexError, ValueError, ZeroDivisionError):
        raise SampleError(f"ucx_perftest says '{text[-200:]}'") from None


def _measure(cluster, columns, ways, rounds):
    """{(way, column, watched): [bytes per second]}"""
    found = {}
    for number in range(rounds):
        for way in ways:
            progress(f"{way.name}, round {number + 1} of {rounds}")
            for column in columns:
                for watched in (False, True):
                    with Perftest(cluster, column) as server:
                        text = server.client([*way.arguments(),
                                              *(("-e",) if watched else ())])
                    found.setdefault((way, column.name, watched), []).append(
                        _speed(way, text))
    return found


def table(found, head):
    """As Markdown, of what _measure() found."""
    lines = [f"MB/s, middle of the rounds (least, most), without and with error handling."
             f" {head}", "",
             "| | transport | without | with | with / without | with / "
             f"{_BASE} with |", "|---|---|---:|---:|---:|---:|"]
    middle = {key: statistics.median(speeds) for key, speeds in found.items()}

    def cell(key):
        speeds = found[key]
        return (f"{middle[key] / 1e6:.1f} ({min(speeds) / 1e6:.1f},"
                f" {max(speeds) / 1e6:.1f})")

    for way, name, watched in found:
        if watched:
            continue
        with_it = middle[way, name, True]
        base = middle.get((way, _BASE, True))
        lines.append(f"| {way.title} | {name} | {cell((way, name, False))} |"
                     f" {cell((way, name, True))} |"
                     f" {with_it / middle[way, name, False]:.2f} |"
                     f" {f'{with_it / base:.2f}' if base else '-'} |")
    return "\n".join(lines) + "\n"


def run(arguments):
    options = _parser().parse_args(arguments)
    if options.rounds <= 0:
        raise BenchError(f"--rounds {options.rounds}: above 0")
    columns = [transports.BY_NAME[name] for name in
               names_of("--transports", options.transports, _NAMES)]
    ways = [_WAYS[name] for name in names_of("--ways", options.ways, _WAYS)]
    nics = options.rates.split(",")
    rates.total(nics)    # or raises what is wrong with them
    warn_when_busy()
    with Cluster("bench", nics) as cluster:
        missing = fuselink_missing(cluster)
        if missing and any(column.fuselink for column in columns):
            raise BenchError(missing)
        found = _measure(cluster, columns, ways, options.rounds)
    text = table(found, f"NICs of {', '.join(nics)} in each of 2 hosts, {os.cpu_count()}"
                 " cores.")
    print(text)
    if options.table:
        write(options.table, text)
    return 0
