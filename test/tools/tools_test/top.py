# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""fuselink_top."""

import json
import re
import time

from .report import expect

# What a byte of data costs on the wire in headers and short messages, at most.
_OVERHEAD = 1.05


def _reading(hosts, host, *words):
    status, out, err = hosts.use(host, "fuselink_top", "--once", "--json",
                                 "--interval", "0.3", *words)
    expect(status == 0 and err == "", status, err)
    return json.loads(out)


def _lines(reading, direction):
    return {line["nic"]: line for line in reading["nics"]
            if line["direction"] == direction}


def _rails(reading, nic):
    return [rail for rail in reading["rails"] if rail["nic"] == nic]


def _completed(line):
    return sum(part["completed_bytes"] for part in line["processes"])


def wait_for(hosts, host, job, condition, seconds=60):
    """The first reading for which condition holds, while the job runs."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and job.running():
        reading = _reading(hosts, host)
        if condition(reading):
            return reading
    expect(False, "never seen while the job ran:", job.result)


def job_is_well(job):
    status, out, err = job.result
    expect(status == 0, f"the job ended with {status}:", out, err)


def no_board(hosts):
    """Nobody uses fuselink: an empty table, one line, no error."""
    status, out, err = hosts.use(0, "fuselink_top", "--once", "--interval",
                                 "0.05")
    expect(status == 0 and err == "", status, err)
    lines = out.splitlines()
    expect(len(lines) == 2 and lines[0].startswith("NIC") and
           "no load board" in lines[1], out)
    reading = _reading(hosts, 0)
    expect(reading["boards"] == 0 and reading["nics"] == [] and
           reading["processes"] == [], reading)
    expect("shm" not in hosts.run(0, "ls", "/dev/shm")[1], "left behind")


def arguments(hosts):
    for words, text in ((["--interval", "0"], "0.05 to 3600"),
                        (["--interval", "1x"], "0.05 to 3600"),
                        (["--often"], "--often"),
                        (["--prometheus"], "--prometheus"),
                        (["--prometheus", ""], "name of a file")):
        status, out, err = hosts.use(0, "fuselink_top", *words)
        expect(status == 2 and out == "" and text in err and
               err.count("\n") == 1, words, status, out, err)
    status, _, err = hosts.use(0, "fuselink_top", "--once", "--prometheus",
                               "/nowhere/x.prom")
    expect(status == 1 and "/nowhere/x.prom" in err, status, err)
    for words in (["--help"], ["--version"]):
        status, out, err = hosts.use(0, "fuselink_top", *words)
        expect(status == 0 and "fuselink_top" in out and err == "", words)


def job_is_shown(hosts):
    """Every NIC, both ranks of a host, and as many bytes as the kernel counts
    on the NICs."""
    before = hosts.cluster.counters()
    with hosts.background("flow", "--size", 4000000, "--window", 8,
                          "--warmup", 0.5, "--time", 5) as job:
        def enough(direction):
            return lambda reading: sum(
                _completed(line)
                for line in _lines(reading, direction).values()) > 120e6
        sender = wait_for(hosts, 0, job, enough("out"))
        receiver = wait_for(hosts, 1, job, enough("in"))
    job_is_well(job)
    for host, reading, direction, counter, ranks in (
            (0, sender, "out", "tx", {"0", "1"}),
            (1, receiver, "in", "rx", {"2", "3"})):
        lines = _lines(reading, direction)
        expect(set(lines) == set(hosts.cluster.nics), lines.keys())
        expect({one["rank"] for one in reading["processes"]} == ranks,
               reading["processes"])
        expect(all(one["program"] == "flow" and one["pid"] > 0
                   for one in reading["processes"]), reading["processes"])
        for nic, line in lines.items():
            moved = line["nic_bytes"] - before[f"host{host}"][nic][counter]
            # What goes over a NIC in 160 ms: the tool may have to wait for a
            # core between board and counters.
            in_flight = line["in_flight_bytes"] + 4e6
            expect(_completed(line) <= moved <=
                   (_completed(line) + in_flight) * _OVERHEAD,
                   f"host{host} {nic} {direction}: the processes say",
                   _completed(line), "the kernel", moved)
            expect(abs(sum(part["bytes_per_second"]
                           for part in line["processes"]) -
                       line["bytes_per_second"]) < 1, line)


def cable(hosts):
    """A NIC whose cable is out, in mid-job."""
    with hosts.background("flow", "--size", 4000000, "--window", 8,
                          "--warmup", 0.5, "--time", 3) as job:
        wait_for(hosts, 0, job, lambda reading: any(
            line["bytes_per_second"] > 0 for line in reading["nics"]))
        hosts.cable(0, 2, "down")
        try:
            wait_for(hosts, 0, job, lambda reading: all(
                line["carrier"] == (line["nic"] != "nic2")
                for line in reading["nics"]) and all(
                    (rail["state"] == "down") == (rail["nic"] == "nic2")
                    for rail in reading["rails"]))
            _, text, _ = hosts.use(0, "fuselink_top", "--once", "--interval",
                                   "0.05")
        finally:
            hosts.cable(0, 2, "up")
    job_is_well(job)
    expect(all(("(no carrier)" in line) == line.startswith("nic2")
               for line in text.splitlines()), text)


def silence(hosts):
    """A NIC that falls silent in mid-job: who finds it shows that, says it in one
    line, and in another when it works again. The other NICs are well."""
    with hosts.background("flow", "--size", 4000000, "--window", 8,
                          "--warmup", 0.5, "--time", 15) as job:
        wait_for(hosts, 0, job, lambda reading: all(
            _completed(line) > 4e6 for line in _lines(reading, "out").values()))
        hosts.cable(0, 2, "silent")
        try:
            cut = wait_for(hosts, 0, job, lambda reading: any(
                rail["state"] == "silent" and rail["path_breaks"] > 0
                for rail in _rails(reading, "nic2")))
            _, text, _ = hosts.use(0, "fuselink_top", "--once", "--interval",
                                   "0.05")
        finally:
            hosts.cable(0, 2, "speaking")
        back = wait_for(hosts, 0, job, lambda reading: all(
            rail["state"] == "up" and rail["paths_out"] == 0
            for rail in reading["rails"]))
    job_is_well(job)
    expect(re.search(r"^nic2 +silent.* [1-9]\d* of [1-9]", text, re.M), text)
    silent = [rail for rail in _rails(cut, "nic2") if rail["state"] == "silent"]
    expect(all(rail["paths_out"] > 0 for rail in silent), silent)
    broke = [rail for rail in _rails(back, "nic2") if rail["path_breaks"] > 0]
    expect(broke and all(0 < rail["longest_wait_seconds"] <
                         rail["out_seconds"] and rail["rests_seconds"] == 0
                         for rail in broke), back["rails"])
    expect(all(rail["path_breaks"] == 0 and rail["message_moves"] == 0
               for rail in back["rails"] if rail["nic"] != "nic2"),
           back["rails"])
    expect(sum(rail["message_peers"] for rail in back["rails"]) > 0,
           back["rails"])
    lines = (job.result[1] + job.result[2]).splitlines()
    for what in ("has failed", "carries data again"):
        said = [re.search(r"\[\w+:(\d+) *:", line) for line in lines
                if what in line]
        pids = [match[1] for match in said if match]
        expect(pids and len(pids) == len(said) == len(set(pids)), lines)


def text_and_prometheus(hosts):
    with hosts.background("flow", "--size", 4000000, "--window", 8,
                          "--warmup", 0.5, "--time", 5) as job:
        wait_for(hosts, 0, job, lambda reading: any(
            line["bytes_per_second"] > 0 for line in reading["nics"]))
        status, text, err = hosts.use(0, "fuselink_top", "--once",
                                      "--interval", "0.5")
        expect(status == 0 and err == "", err)
        name = f"/tmp/fuselink-{hosts.cluster.name}.prom"
        status, out, err = hosts.use(0, "fuselink_top", "--once",
                                     "--prometheus", name)
        expect(status == 0 and out == err == "", out, err)
        _, metrics, _ = hosts.run(0, "cat", name)
        hosts.run(0, "rm", name)
    job_is_well(job)
    expect(re.search(r"^nic0 +out +\d", text, re.M) and
           re.search(r"flow\[\d+\] rank [01] \d", text), text)
    samples = {}
    for line in metrics.splitlines():
        if not line.startswith("#"):
            match = re.fullmatch(r"(\w+)(\{(?:\w+=\"[^\"]*\",?)*\})? "
                                 r"(\d+(?:\.\d+)?)",
                                 line)
            expect(match, "no sample:", line)
            samples.setdefault(match[1], []).append(
                (match[2], float(match[3])))
    expect(sum(value for _, value in
               samples["fuselink_completed_bytes_total"]) > 0, metrics)
    for name in samples:
        expect(f"# TYPE {name} " in metrics and f"# HELP {name} " in metrics,
               name)


def hostile_board(hosts):
    """Somebody writes nonsense all over the board: what is shown stays
    well-formed, and the job does not mind."""
    with hosts.background("flow", "--size", 4000000, "--window", 8,
                          "--warmup", 0.5, "--time", 5) as job:
        wait_for(hosts, 0, job, lambda reading: reading["processes"])
        with hosts.scribbling(0, 3) as scribble:
            count = 0
            while scribble.running():
                _reading(hosts, 0)
                status, out, err = hosts.use(0, "fuselink_top", "--once",
                                             "--interval", "0.05")
                expect(status == 0 and err == "" and out.isascii() and
                       "\033" not in out, status, out, err)
                count += 1
        expect(scribble.result[0] == 0 and count > 0, scribble.result, count)
    job_is_well(job)


CASES = [no_board, arguments, job_is_shown, cable, silence,
         text_and_prometheus, hostile_board]
