# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The command line of test/conformance/run."""

import argparse
import os
import signal
import sys
from pathlib import Path

from fuselink_cluster import Cluster, ClusterError, fuselink_missing

from . import suite as suites
from . import testlist
from .cuts import Cuts, NoCuts
from .errors import ConformanceError
from .runner import Runner, Tally

_REPRESENTATIVE = Path(__file__).resolve().parents[1] / "representative.list"
_TRANSPORTS = ("tcp", "rc", "fuselink", "both")
# Of different speed, so that what takes two ways arrives out of order, and
# none so slow that a transport which takes to it needs minutes.
_RATES = "none,8gbit,4gbit,2gbit"
_RDMA_RATES = "64mbit,64mbit,32mbit,32mbit"


def _parser():
    parser = argparse.ArgumentParser(
        prog="test/conformance/run",
        description="Runs the pt2pt, coll and rma programs of the MPICH test"
        " suite, built against Open MPI, on 2 hosts of a contrib/cluster: what"
        " passes on UCX tcp must pass on fuselink.")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true",
                       default=os.environ.get("FUSELINK_CHECK") == "all",
                       help="every program of the suite, as with"
                       " contrib/check --all")
    which.add_argument("--set", type=Path, metavar="FILE",
                       default=_REPRESENTATIVE,
                       help="the programs named in FILE (default:"
                       " representative.list)")
    parser.add_argument("--match", metavar="TEXT",
                        help="only programs whose name contains TEXT")
    parser.add_argument("--list", action="store_true",
                        help="list the names and run nothing")
    parser.add_argument("--tls", choices=_TRANSPORTS, default="both",
                        help="one transport, or fuselink and what fails there"
                        " over stock UCX, too, which is tcp, with --rdma rc"
                        " (default: both)")
    parser.add_argument("--rdma", action="store_true",
                        help="RDMA NICs, in a virtual machine")
    parser.add_argument("--cuts", type=float, metavar="SECONDS",
                        help="so often a random NIC is cut, for half of that"
                        " time, while the programs run over fuselink; stock"
                        " UCX is not run")
    parser.add_argument("--jobs", type=int, metavar="N",
                        default=os.cpu_count(),
                        help="programs that run at once (default: cores)")
    parser.add_argument("--rates", metavar="R0,R1,...",
                        help=f"the NICs of each host (default {_RATES}; with"
                        f" --rdma {_RDMA_RATES})")
    parser.add_argument("--build-dir", metavar="DIR", type=Path,
                        default=suites.default_folder(),
                        help="the suite and logs (default build-mpich)")
    parser.add_argument("--source", metavar="DIR",
                        help="source tree of mpich (default: get it with apt)")
    return parser


def _entries(suite, options):
    entries = suite.entries()
    if not options.all:
        entries = testlist.select(entries, options.set)
    if options.match:
        entries = [entry for entry in entries if options.match in entry.name]
    if not entries:
        raise ConformanceError("no program is selected")
    return entries


def _transports(options):
    stock = "rc" if options.rdma else "tcp"
    if options.cuts is not None:
        if options.rdma or options.tls == stock:
            raise ConformanceError("--cuts: accepted without --rdma, and with"
                                   " --tls fuselink or both")
        if options.cuts < 0.2:
            raise ConformanceError(f"--cuts {options.cuts}: at least 0.2")
        return ["fuselink"]
    if options.tls == "both":
        return [stock, "fuselink"]
    if options.tls not in (stock, "fuselink"):
        raise ConformanceError(f"--tls {options.tls}: accepted"
                               f"{' with' if options.rdma else ' without'}"
                               f" --rdma: {stock}, fuselink, both")
    return [options.tls]


def _run(options):
    if options.jobs < 1:
        raise ConformanceError(f"--jobs {options.jobs}: at least 1")
    transports = _transports(options)
    rates = options.rates or (_RDMA_RATES if options.rdma else _RATES)
    suite = suites.Suite(options.build_dir, options.jobs, options.source)
    suite.prepare()
    entries = _entries(suite, options)
    if options.list:
        print("\n".join(entry.name for entry in entries))
        return 0
    suite.make(entries)

    if len(entries) < len(suite.entries()):
        print(f"# --all has {len(suite.entries()) - len(entries)} programs"
              " more")
    tally = Tally()
    with Cluster("conformance", rates.split(","),
                 rdma=options.rdma) as cluster:
        if "fuselink" in transports:
            missing = fuselink_missing(cluster)
            if missing:
                raise ConformanceError(missing)
        with (Cuts(cluster, options.cuts) if options.cuts
              else NoCuts()) as cuts:
            runner = Runner(cluster, suite, options.jobs,
                            Path(options.build_dir) / "logs", cuts)
            runner.run(entries, transports, tally)
        cuts.check(tally)
    tally.close()
    return 1 if tally.failed else 0


def _interrupt(number, _frame):
    """Signals end the run the way Ctrl-C does: the cluster is taken down."""
    sys.exit(128 + number)


def main():
    options = _parser().parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _interrupt)
    try:
        return _run(options)
    except (ConformanceError, ClusterError) as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
