# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The command line of contrib/bench/run."""

import argparse
import signal
import sys

from fuselink_cluster import Cluster, ClusterError

from . import bars
from . import calm
from . import cases
from . import catalogue
from . import cpu
from . import failure
from . import lower_bound
from . import outage
from . import programs
from . import report
from . import scaling
from . import sizes
from . import transports
from . import watched
from .errors import BenchError
from .runner import Runner, in_order, progress, warn_when_busy


_COMMANDS = {"calm": calm.run, "cpu": cpu.run, "failure": failure.run,
             "outage": outage.run, "sizes": sizes.run, "watched": watched.run}


def _parser():
    parser = argparse.ArgumentParser(
        prog="contrib/bench/run",
        description="Measures fuselink, UCX and Open MPI's TCP transport on"
        " hosts and NICs that contrib/cluster makes on this machine.")
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help="cases to run (see --list); all: those of"
                        " TCP, rdma: those in a virtual machine with RDMA"
                        " NICs, skew: those with uneven load, computing:"
                        " those that compute meanwhile, gpu: those with"
                        " memory of emulated GPUs; 'sizes', 'failure',"
                        " 'outage', 'calm', 'cpu' and 'watched' are commands of their"
                        " own: see"
                        " sizes --help")
    parser.add_argument("--list", action="store_true",
                        help="list the cases and their bars")
    parser.add_argument("--rounds", type=int, metavar="N",
                        help="rounds of all transports (default 3;"
                        " with --quick 2)")
    parser.add_argument("--transports", metavar="A,B,...",
                        help="only these: "
                        + ", ".join(transports.BY_NAME))
    parser.add_argument("--variant", action="append", default=[],
                        metavar="NAME=BASE:VAR=VALUE,...",
                        help="one more column: transport BASE with these"
                        " variables")
    parser.add_argument("--before", metavar="LIB",
                        help="one more column: fuselink as this library has"
                        " it, which another commit was built to; at the end"
                        " what has changed, and with --check a bar: 0.96 to"
                        " 1.04")
    parser.add_argument("--dry-run", action="store_true",
                        help="show what would be run, in its order, and how"
                        " long each case may take")
    parser.add_argument("--json", metavar="FILE",
                        help="write all measurements to FILE, anew after each"
                        " case; \"complete\" says if the run came to its end")
    parser.add_argument("--chart", metavar="FILE.svg",
                        help="draw what the cases gpu-stream1 ... reached")
    parser.add_argument("--check", action="store_true",
                        help="check the bars; exit with 1 if one is missed")
    parser.add_argument("--timeout", type=float, default=120, metavar="S",
                        help="seconds a job may take (default 120)")
    parser.add_argument("--build-dir", default=programs.default_folder(),
                        metavar="DIR", help="where the MPI programs are built"
                        " (default build-bench)")
    parser.add_argument("--quick", action="store_true",
                        help="alltoallv and stream in one table, on a cluster"
                        " that is up (--cluster)")
    parser.add_argument("--cluster", metavar="NAME",
                        help="the cluster of --quick")
    return parser


def _list():
    width = max(map(len, catalogue.BY_NAME))
    for case in catalogue.BY_NAME.values():
        print(f"{case.name:{width}}  {case.title}")
    print(f"{'calm':{width}}  whether a NIC is given up where none fails, see"
          " calm --help")
    print(f"{'cpu':{width}}  time of processors that messages cost, see cpu"
          " --help")
    print(f"{'failure':{width}}  what a cut NIC costs, see failure --help")
    print(f"{'outage':{width}}  how long a job stands when all NICs of a host were"
          " silent, see outage --help")
    print(f"{'sizes':{width}}  all sizes of several patterns, see sizes --help")
    print(f"{'watched':{width}}  what endpoints with error handling cost, see watched"
          " --help")


def _show_plan(chosen, runner):
    """What --dry-run prints."""
    for group in in_order(chosen):
        print(f"{runner.rounds} x a cluster with NICs"
              f" {','.join(group[0].rates)}"
              + (" for RDMA" if group[0].rdma else ""))
        for case in group:
            names = [transport.name
                     for transport in (*case.transports, *runner.variants)
                     if runner.chosen is None
                     or transport.name in runner.chosen]
            print(f"  {case.name}, at most {case.limit:.0f} s:"
                  f" {', '.join(names) or 'nothing'}")


def _run(options):
    if options.list:
        _list()
        return 0
    if bool(options.quick) != bool(options.cluster):
        raise BenchError("--quick and --cluster go together")
    if options.quick and (options.cases or options.check or options.dry_run):
        raise BenchError("--quick has cases of its own and no bars")
    rounds = options.rounds if options.rounds is not None else (
        2 if options.quick else 3)
    if rounds < 1:
        raise BenchError(f"--rounds {rounds}: at least 1")
    chosen = None if options.quick else catalogue.chosen(options.cases)

    def save(results, complete=False):
        if options.json:
            report.write_json(options.json, results, bars.evaluate(results),
                              complete)

    runner = Runner(None, rounds, options.timeout,
                    transports.chosen(options.transports),
                    [transports.variant(text) for text in options.variant]
                    + ([transports.before(options.before)]
                       if options.before else []),
                    save)
    if runner.chosen is not None:
        runner.chosen += [variant.name for variant in runner.variants]
    if options.dry_run:
        _show_plan(chosen, runner)
        return 0
    if chosen and any(case.skew for case in chosen):
        lower_bound.check()
    runner.programs = programs.build(options.build_dir)
    warn_when_busy()

    if options.quick:
        with Cluster(name=options.cluster) as cluster:
            results = [runner.run_on(cluster, case)
                       for case in cases.quick(cluster.rates)]
        print(report.quick_table(results))
    else:
        try:
            results = runner.run(chosen)
        except SystemExit: # a signal: what there is so far
            print(report.text(runner.results))
            save(runner.results)
            raise
        print(report.text(results))
        for line in scaling.table(results):
            print(line)
        if options.chart:
            scaling.draw(options.chart, results)

    save(results, complete=True)
    verdicts = bars.evaluate(results)
    if options.before:
        changes = bars.changes(results)
        print()
        for verdict in changes:
            print(verdict.line())
        verdicts = changes
    if options.check:
        if not options.before:
            print()
            for verdict in verdicts:
                print(verdict.line())
        return 0 if all(verdict.passed for verdict in verdicts) else 1
    return 1 if any(result.failures for result in results) else 0


def _interrupt(number, _frame):
    """Signals end the run the way Ctrl-C does: the cluster is taken down."""
    sys.exit(128 + number)


def main():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _interrupt)
    try:
        command = _COMMANDS.get(sys.argv[1]) if len(sys.argv) > 1 else None
        if command is not None:
            return command(sys.argv[2:])
        return _run(_parser().parse_args())
    except (BenchError, ClusterError) as error:
        progress(f"bench: {error}")
        return 2
