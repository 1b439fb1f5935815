# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Which cases run on which cluster."""

import subprocess
from pathlib import Path

from fuselink_bench import programs
from fuselink_cluster import Cluster, ClusterError

from . import calm, cpu, failure, info, outage, records, sizes, top, watched
from .hosts import Hosts
from .report import Report


def _build(source, build):
    folder = Path(build) / "test-tools"
    programs.build(folder)
    for compiler, name in (("cc", "scribble"), ("mpicc", "kill-me")):
        subprocess.run([compiler, "-O1", "-Wall", "-Wextra", "-o",
                        str(folder / name),
                        str(source / f"test/tools/{name}.c")], check=True)
    return folder


def _few(source, environ):
    """What stands for the others in contrib/check, as in test/lib/representative.sh."""
    if environ.get("FUSELINK_CHECK") != "representative":
        return []
    lines = (source / "test/tools/representative.list").read_text(encoding="utf-8")
    return [words for line in lines.splitlines()
            if (words := line.partition("#")[0].strip())]


def main(source, patterns, environ):
    build = environ.get("FUSELINK_BUILD")
    if not build:
        print("FUSELINK_BUILD is to name the folder of a finished build")
        return 1
    build = Path(build).resolve()
    environ.setdefault("FUSELINK_LIB", str(
        build / "src/uct/fuselink/.libs/libuct_fuselink.so.0"))
    report = Report(patterns, _few(source, environ))
    folder = _build(source, build)
    try:
        with Cluster(prefix="test-tools", rates=["200mbit"] * 4) as cluster:
            hosts = Hosts(source, build, folder, cluster)
            for module in (top, info, records, sizes, failure,
                           outage, calm, cpu, watched):
                for case in module.CASES:
                    name = f"{module.__name__.rpartition('.')[2]}." \
                           f"{case.__name__}"
                    report.check(name, case, hosts)
    except ClusterError as error:
        report.not_ok("the cluster", str(error))
        return report.finish(whole=False)
    return report.finish()
