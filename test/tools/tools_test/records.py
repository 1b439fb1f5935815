# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What processes leave behind: reports at exit, traces."""

import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from .report import expect

_OVERHEAD = 1.05 # headers and short messages, see top.py
# Data is checked of two windows before the time begins: with the 64 messages that a
# window has by default, for ten seconds.
_JOB = ("flow", "--size", 4000000, "--window", 8, "--warmup", 0.2, "--time", 1)


def _run(hosts, env, words=_JOB, status=0):
    done = hosts.job(*words, env={name: str(value)
                                  for name, value in env.items()})
    expect((done[0] == 0) == (status == 0), "the job ended with", *done)
    return done


def _reports(path):
    return [json.loads(line) for line in
            Path(path).read_text(encoding="ascii").splitlines()]


def report_is_right(hosts):
    """The reports of all ranks add up to what the kernel counted on the NICs,
    whoever writes: the side that has the data, or the one that asks."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        before = hosts.cluster.counters()
        _run(hosts, {"UCX_FUSELINK_REPORT": path})
        after = hosts.cluster.counters()
        reports = _reports(path)
    expect(sorted(one["rank"] for one in reports) == ["0", "1", "2", "3"],
           reports)
    sums = defaultdict(lambda: defaultdict(int))
    for one in reports:
        for rail in one["rails"]:
            if rail["peers"] == "other nodes":
                nic = rail["name"].removeprefix("tcp/")
                sums[one["host"], nic]["tx"] += rail["sent"]["bytes"]
                sums[one["host"], nic]["rx"] += rail["received"]["bytes"]
                expect(rail["nic_bytes"]["sent"] <= after[one["host"]][nic]
                       ["tx"] - before[one["host"]][nic]["tx"], rail)
        expect(one["host"] != "host0" or 1 <= one["unevenness_sent"] < 1.5,
               one["unevenness_sent"])
    for (host, way) in (("host0", "tx"), ("host1", "rx")):
        for nic in hosts.cluster.nics:
            moved = after[host][nic][way] - before[host][nic][way]
            expect(sums[host, nic][way] <= moved <=
                   sums[host, nic][way] * _OVERHEAD, host, nic, way,
                   "the reports say", sums[host, nic][way], "the kernel",
                   moved)


def report_for_people(hosts):
    """On the standard error, one table for each process, with node-local
    data."""
    _, out, err = _run(hosts, {"UCX_FUSELINK_REPORT": "stderr",
                               "UCX_RNDV_THRESH": "8k"},
                       ("alltoallv", "--size", 1000000, "--warmup", 0,
                        "--time", 0.2))
    tables = err.split("fuselink: bulk data of ")[1:]
    expect(len(tables) == 4, out, err)
    for table in tables:
        expect(all(nic in table for nic in hosts.cluster.nics), table)
        node = [line for line in table.splitlines() if "this node" in line]
        expect(len(node) == 1 and float(node[0].split()[3]) +
               float(node[0].split()[6]) > 0, node)


def _trace(path):
    return json.loads(Path(path).read_text(encoding="ascii"))["traceEvents"]


def trace_is_right(hosts):
    """Each chunk of a job once, with times that two processes of a host can
    compare, and named for people."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        _run(hosts, {"UCX_FUSELINK_TRACE": f"{folder}/%h.%p.trace",
                     "UCX_FUSELINK_TRACE_SIZE": "64m",
                     "UCX_FUSELINK_REPORT": report})
        reports = _reports(report)
        traces = {(one["host"], one["pid"]):
                  _trace(f"{folder}/{one['host']}.{one['pid']}.trace")
                  for one in reports}
    spans = []
    for one in reports:
        events = traces[one["host"], one["pid"]]
        names = {event["args"]["name"] for event in events
                 if event["name"] == "process_name"}
        expect(len(names) == 1 and f"rank {one['rank']} " in names.pop(),
               names)
        threads = {event["tid"]: event["args"]["name"] for event in events
                   if event["name"] == "thread_name"}
        for phase, side in (("X", "sent"), ("i", "received")):
            chunks = [event for event in events if event["ph"] == phase]
            for rail in one["rails"]:
                if rail["peers"] != "other nodes":
                    continue
                mine = [chunk["args"]["bytes"] for chunk in chunks
                        if threads[chunk["tid"]].split()[0] == rail["name"]]
                expect((sum(mine), len(mine)) ==
                       (rail[side]["bytes"], rail[side]["chunks"]),
                       one["host"], rail["name"], side)
            if phase == "X" and one["host"] == "host0":
                expect(all(chunk["args"]["why"].startswith("auto: ") and
                           chunk["args"]["state"] == "done"
                           for chunk in chunks), chunks[:3])
                spans.append((min(chunk["ts"] for chunk in chunks),
                              max(chunk["ts"] + chunk["dur"]
                                  for chunk in chunks)))
    # Both ranks of host0 sent at the same time.
    expect(len(spans) == 2 and min(span[1] for span in spans) >
           max(span[0] for span in spans), spans)
    expect(len({events[0]["pid"] for events in traces.values()}) == 4,
           "processes with one number")


def traces_merge(hosts):
    """One file of all, in which every peer has a name."""
    with tempfile.TemporaryDirectory() as folder:
        _run(hosts, {"UCX_FUSELINK_TRACE": f"{folder}/%h.%p"})
        paths = sorted(map(str, Path(folder).iterdir()))
        done = subprocess.run([hosts.source / "contrib/merge-traces", *paths],
                              capture_output=True, text=True, check=True)
        separate = sum(len(_trace(path)) for path in paths)
        events = json.loads(done.stdout)["traceEvents"]
        expect(len(paths) == 4 and len(events) == separate, paths)
        peers = {event["args"]["peer"] for event in events
                 if event["ph"] in "Xi"}
        expect(len(peers) == 4 and all(" rank " in peer for peer in peers),
               peers)
        Path(paths[0]).write_text("{}", encoding="ascii")
        done = subprocess.run([hosts.source / "contrib/merge-traces", *paths],
                              capture_output=True, text=True, check=False)
        expect(done.returncode == 1 and paths[0] in done.stderr and
               done.stdout == "", done)


def trace_forgets(hosts):
    with tempfile.TemporaryDirectory() as folder:
        _run(hosts, {"UCX_FUSELINK_TRACE": f"{folder}/%h.%p",
                     "UCX_FUSELINK_TRACE_SIZE": "8k"})
        for path in Path(folder).glob("host0.*"):
            events = _trace(path)
            facts = [event["args"] for event in events
                     if event["name"] == "fuselink"]
            # Paths to a peer that leaves break last of all, and are events, too.
            kept = [event for event in events if event["ph"] != "M"]
            expect(len(facts) == 1 and facts[0]["dropped"] > 0 and
                   len(kept) == facts[0]["room"] ==
                   facts[0]["chunks"] - facts[0]["dropped"], facts, len(kept))


def killed(hosts):
    """A job that is killed leaves traces that can be read, and no report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        hosts.job("kill-me", env={"UCX_FUSELINK_TRACE": f"{folder}/%h.%p",
                                  "UCX_FUSELINK_REPORT": str(report)})
        paths = list(Path(folder).glob("host*"))
        expect(len(paths) == 4, paths)
        for path in paths:
            _trace(path)
        expect(len(_reports(report)) < 4, _reports(report))


def refusals(hosts):
    for name, value, text in (
            ("UCX_FUSELINK_REPORT", "/nowhere/report", "/nowhere/report"),
            ("UCX_FUSELINK_TRACE", "/nowhere/trace", "/nowhere/trace"),
            ("UCX_FUSELINK_TRACE_SIZE", "0", "accepted")):
        _, out, err = _run(hosts, {name: value}, status=1)
        expect(name in out + err and text in out + err, out, err)


CASES = [report_is_right, report_for_people, trace_is_right, traces_merge,
         trace_forgets, killed, refusals]
