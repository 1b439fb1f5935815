# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""contrib/bench/run cpu: what messages cost in time of processors.

Counted is all that the processors do: both programs, their threads, and the kernel, which
works for TCP also outside of processes. A program that polls takes a processor whatever it
has to do, so these are ucx_perftest's, which sleep while there is nothing to do.
"""

import argparse
import math
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from fuselink_cluster import Cluster, fuselink_missing

from . import rates
from . import size_cases
from . import transports
from .errors import BenchError
from .options import names_of
from .perftest import Perftest
from .runner import progress

_NAMES = ("ucx", "ucx-default", "ucx-tuned", "fuselink")
_OUTSTANDING = 16
_TICK = os.sysconf("SC_CLK_TCK")
# From here on bytes cost more than messages.
_BULK = 1024


@dataclass(frozen=True)
class Spent:
    """In a job, or for a message of one."""
    processors: float    # seconds of all
    seconds: float

    def less(self, other, part):
        return Spent((self.processors - other.processors) * part,
                     (self.seconds - other.seconds) * part)


def _parser():
    parser = argparse.ArgumentParser(
        prog="contrib/bench/run cpu",
        description="Seconds of processors for a gigabyte, and for a million"
        " messages, between two hosts whose programs sleep while they wait.")
    parser.add_argument("--rounds", type=int, default=5, metavar="N",
                        help="of all transports in turn; the middle one counts"
                        " (default %(default)s)")
    parser.add_argument("--sizes", default="8,64k,4M", metavar="N,...",
                        help="of messages, as of 'sizes' (default %(default)s)")
    parser.add_argument("--rates", default="none,none,none,none",
                        metavar="R,...", help="of the NICs of a host"
                        " (default %(default)s)")
    parser.add_argument("--transports", metavar="A,B,...",
                        help=f"only these: {', '.join(_NAMES)}")
    parser.add_argument("--before", metavar="LIB", help="one more column:"
                        " fuselink as this library has it")
    parser.add_argument("--seconds", type=float, default=1.0, metavar="S",
                        help="that the shorter job of the slowest transport"
                        " lasts, about (default %(default)s)")
    return parser


def busy():
    """Seconds that all processors have worked since the machine is up."""
    fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0]
    user, nice, system, _, _, irq, softirq = map(int, fields.split()[1:8])
    return (user + nice + system + irq + softirq) / _TICK


def _idle():
    """What others take: seconds of processors in a second."""
    before = busy()
    time.sleep(2)
    share = (busy() - before) / 2
    if share > 0.1:
        progress(f"note: other work takes {share:.2f} processors; what is said"
                 " of these jobs will be wrong")
    return share


class _Jobs:
    """ucx_perftest between the hosts of a cluster."""

    def __init__(self, cluster, idle):
        self.cluster = cluster
        self.idle = idle

    def run(self, transport, size, messages):
        """What a job of so many messages takes."""
        with Perftest(self.cluster, transport, ("-E", "sleep")) as server:
            before, start = busy(), time.monotonic()
            server.client(["-t", "tag_bw", "-f", "-s", str(size), "-n", str(messages),
                           "-w", "0", "-O", str(_OUTSTANDING)])
            seconds = time.monotonic() - start
            spent   = busy() - before
        return Spent(spent - self.idle * seconds, seconds)

    def message(self, transport, size, messages):
        """What a message takes: the difference of two jobs, so that what begins
        and ends a job is not in it."""
        few = self.run(transport, size, messages)
        return self.run(transport, size, 3 * messages).less(
            few, 1 / (2 * messages))


def _messages(jobs, columns, size, seconds):
    """So many that the slowest of them is busy for about so long."""
    few = max(200, 3 * _OUTSTANDING)
    while True:
        begun = [jobs.run(column, size, few).seconds for column in columns]
        more = [jobs.run(column, size, 4 * few).seconds for column in columns]
        longest = max(b - a for a, b in zip(begun, more)) / (3 * few)
        if longest * few > seconds / 20 or few > 1 << 22:
            return max(few, round(seconds / longest))
        few *= 8


def table(size, found, base):
    """Lines of the table of a size: found[name] are Spents of a message."""
    bulk = size >= _BULK
    scale, unit = (1e9 / size, "GB") if bulk else (1e6, "million messages")
    lines = [f"{size_cases.size_name(size)}: seconds of processors for a {unit}"]
    # Of short jobs the kernel may have counted nothing.
    middle = {name: statistics.median(one.processors for one in spents)
              for name, spents in found.items()}
    for name, spents in found.items():
        ratio = middle[name] / middle[base] if middle[base] else math.nan
        all_of = [one.processors * scale for one in spents]
        rate = 1 / statistics.median(one.seconds for one in spents)
        speed = (f"{rate * size / 1e6:8.1f} MB/s" if bulk else
                 f"{rate / 1e3:8.1f} k/s")
        lines.append(f"  {name:12} {middle[name] * scale:7.3f}"
                     f" ({min(all_of):.3f}, {max(all_of):.3f})"
                     f"  {ratio:6.3f} x {base} {speed}")
    return lines


def _columns(options):
    columns = [transports.BY_NAME[name] for name in
               names_of("--transports", options.transports, _NAMES)]
    if options.before:
        columns.append(transports.before(options.before))
    return columns


def _sizes(text):
    sizes = size_cases.sizes_of(text)
    if 0 in sizes:
        raise BenchError(f"--sizes '{text}': above 0")
    return sizes


def run(arguments):
    options = _parser().parse_args(arguments)
    for name in ("rounds", "seconds"):
        if getattr(options, name) <= 0:
            raise BenchError(f"--{name} {getattr(options, name)}: above 0")
    columns = _columns(options)
    sizes = _sizes(options.sizes)
    nics = options.rates.split(",")
    rates.total(nics)    # or raises what is wrong with them
    idle = _idle()
    with Cluster("bench", nics) as cluster:
        missing = fuselink_missing(cluster)
        if missing and any(column.fuselink for column in columns):
            raise BenchError(missing)
        jobs = _Jobs(cluster, idle)
        for size in sizes:
            messages = _messages(jobs, columns, size, options.seconds)
            found = {column.name: [] for column in columns}
            for number in range(options.rounds):
                progress(f"{size_cases.size_name(size)}, round {number + 1} of"
                         f" {options.rounds}, {messages} messages")
                for column in columns:
                    found[column.name].append(
                        jobs.message(column, size, messages))
            print("\n".join(table(size, found, columns[0].name)), flush=True)
    return 0
