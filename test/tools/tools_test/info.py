# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""fuselink_info."""

import json
import os
from pathlib import Path

from .report import expect
from .top import job_is_well, wait_for

_XML = Path(__file__).resolve().parents[1] / "two-sockets-gpus.xml"
_NICS = {"UCX_FUSELINK_DEVICES": "^mgmt0"}


def _facts(hosts, host=0, env=None, command=()):
    status, out, err = hosts.run(host, *command, hosts.tools / "fuselink_info",
                                 "--json", env={**_NICS, **(env or {})})
    expect(status == 0 and err == "", status, out, err)
    return json.loads(out)


def rails(hosts):
    """What is a rail, what is not, and why."""
    facts = _facts(hosts)
    expect([rail["port"] for rail in facts["rails"]] == hosts.cluster.nics,
           facts["rails"])
    expect(all(rail["transport"] == "tcp" and
               rail["speed_bytes_per_second"] > 0 and rail["near"]
               for rail in facts["rails"]), facts["rails"])
    why = {one["port"]: one["why"] for one in facts["left_out"]}
    expect("UCX_FUSELINK_DEVICES" in why["mgmt0"] and
           "loopback" in why["lo"], why)
    expect(facts["node"] == {"messages": "posix", "bulk": "cma"},
           facts["node"])
    expect(facts["gpus"] == [], facts["gpus"])


def settings(hosts):
    facts = _facts(hosts, env={"UCX_FUSELINK_WEIGHTS": "nic1=0.5",
                               "UCX_FUSELINK_BOARD": "no"})
    given = {one["name"]: one for one in facts["settings"]}
    expect(given["UCX_FUSELINK_WEIGHTS"]["value"] == "nic1=0.5" and
           given["UCX_FUSELINK_WEIGHTS"]["given"], given)
    expect(given["UCX_FUSELINK_BOARD"]["value"] == "n", given)
    expect(not given["UCX_FUSELINK_SCHED"]["given"], given)
    expect(all(name.startswith("UCX_FUSELINK_") for name in given), given)
    # UCX's own list has the same names and values.
    _, listed, _ = hosts.run(0, "env", "UCX_FUSELINK_RELAY=y",
                             f"LD_PRELOAD={os.environ['FUSELINK_LIB']}",
                             "ucx_info", "-c", env=_NICS)
    listed = dict(line.split("=", 1) for line in listed.splitlines()
                  if line.startswith("UCX_FUSELINK_"))
    given = {one["name"]: one["value"]
             for one in _facts(hosts, env={"UCX_FUSELINK_RELAY": "y"})["settings"]}
    expect(given == {name: listed.get(name) for name in given} and
           len(given) > 20, given, listed)
    speeds = [rail["speed_bytes_per_second"] /
              rail["reported_bytes_per_second"] for rail in facts["rails"]]
    expect([round(speed, 3) for speed in speeds] == [1, 0.5, 1, 1], speeds)


def progress(hosts):
    """Who moves data while a program computes, and why."""
    name, words = "UCX_FUSELINK_PROGRESS", "while the program computes, too"
    for mode, thread in (("caller", False), ("thread", True), ("auto", True)):
        said = _facts(hosts, env={name: mode})["progress"]
        expect(said["thread"] == thread
               and said["why"].startswith(f"{name}={mode}"), mode, said)
        status, text, err = hosts.run(0, hosts.tools / "fuselink_info",
                                      env={**_NICS, name: mode})
        expect(status == 0 and (words in text) == thread and said["why"] in text,
               mode, text, err)
    many = _facts(hosts, env={name: "auto", "MPI_LOCALNRANKS": "100000"})["progress"]
    expect(not many["thread"] and "100000 processes" in many["why"], many)


def examples(hosts):
    """Transfers as the policies divide them."""
    for policy in ("finish", "stripe", "auto"):
        facts = _facts(hosts, env={"UCX_FUSELINK_SCHED": policy})
        expect(facts["policy"] == policy, facts["policy"])
        last = facts["examples"][-1]
        parts = last["rails"].values()
        expect(sum(parts) == last["bytes"], last)
        expect(all(0.2 < part / last["bytes"] < 0.3 for part in parts), last)
    facts = _facts(hosts, env={"UCX_FUSELINK_SCHED": "single"})
    for example in facts["examples"]:
        expect(sorted(example["rails"].values()) ==
               [0, 0, 0, example["bytes"]], example)


def standby(hosts):
    """A rail that rests has no part in a transfer."""
    facts = _facts(hosts, env={"UCX_FUSELINK_STANDBY": "nic3"})
    expect([rail["standby"] for rail in facts["rails"]] ==
           [False, False, False, True], facts["rails"])
    for example in facts["examples"]:
        expect(example["rails"]["nic3"] == 0 and
               sum(example["rails"].values()) == example["bytes"], example)


def refusals(hosts):
    for env, text in (({"UCX_FUSELINK_SCHED": "fastest"}, "finish"),
                      ({"UCX_FUSELINK_DEVICES": "eth9"}, "nic0")):
        status, out, err = hosts.run(0, "env",
                                     *(f"{name}={value}"
                                       for name, value in env.items()),
                                     hosts.tools / "fuselink_info", "--json")
        expect(status == 1 and text in err, env, status, out, err)
        expect("{" not in out, out)
    status, _, err = hosts.use(0, "fuselink_info", "--all")
    expect(status == 2 and "--all" in err, status, err)


def preloaded(hosts):
    """As a program is started: with the library and other ones."""
    library = os.environ["FUSELINK_LIB"]
    alone = _facts(hosts)
    for preload in (library, f"libm.so.6:{library}", f"{library} libm.so.6"):
        facts = _facts(hosts, command=("env", f"LD_PRELOAD={preload}"))
        expect(facts["rails"] == alone["rails"] and facts["notes"] == [],
               facts)
    status, out, err = hosts.use(0, "fuselink_info", "--json",
                                 env={"FUSELINK": "1"})
    expect(status == 0 and err == "", err)
    expect([rail["port"] for rail in json.loads(out)["rails"]] ==
           hosts.cluster.nics, out)


def no_rails(hosts):
    facts = _facts(hosts, env={"UCX_FUSELINK_DEVICES":
                               "^mgmt0," + ",".join(hosts.cluster.nics)})
    expect(facts["rails"] == [] and facts["examples"] == [], facts)
    expect(any("UCX_FUSELINK_DEVICES" in note for note in facts["notes"]),
           facts["notes"])


def distances(hosts):
    """NICs and GPUs of a machine with two sockets, seen from the first."""
    facts = _facts(hosts, command=("taskset", "-c", "0"),
                   env={"HWLOC_XMLFILE": str(_XML), "HWLOC_THISSYSTEM": "1"})
    expect([rail["place"] for rail in facts["rails"]] ==
           ["near", "near", "far", "far"], facts["rails"])
    expect([rail["numa_node"] for rail in facts["rails"]] == [0, 0, 1, 1],
           facts["rails"])
    expect(len(facts["gpus"]) == 1, facts["gpus"])
    gpu = facts["gpus"][0]
    expect(gpu["bus_id"] == "0000:02:00.0" and gpu["numa_node"] == 0 and
           gpu["name"] == "Example GPU", gpu)
    expect(gpu["distances"] == {"nic0": "PIX", "nic1": "PHB",
                                "nic2": "SYS", "nic3": "SYS"}, gpu)
    expect(gpu["gpu"] == 0 and gpu["cuda"] is None and gpu["peers"] == [] and not gpu["mig"], gpu)
    expect([(path["rail"], path["way"]) for path in gpu["paths"]] ==
           [("nic0", "direct"), ("nic1", "far"), ("nic2", "far"),
            ("nic3", "far")], gpu)
    expect(31e9 < gpu["pcie_bytes_per_second"] < 32e9, gpu)
    status, text, _ = hosts.run(
        0, "taskset", "-c", "0", hosts.tools / "fuselink_info",
        env={**_NICS, "HWLOC_XMLFILE": str(_XML), "HWLOC_THISSYSTEM": "1"})
    expect(status == 0 and "nic0, nic1 first, which are beside" in text, text)


_FOUR_GPUS = """
gpu 0000:10:00.0
gpu 0000:11:00.0
gpu 0000:12:00.0    # far from all NICs
gpu 0000:13:00.0
nic nic0 200mbit
pcie 50MB/s
nvlink 0 1 40MB/s
nvlink 0 3 20MB/s
near nic0 0
near nic1 1
connection nic2 3 PHB
numa 0 gpus 0-1
numa 0 nics nic0,nic1
numa 1 gpus 2,3
numa 1 nics nic2
"""


def _write(hosts, text):
    """A file that the hosts see."""
    path = hosts.programs / "topology.txt"
    path.write_text(text, encoding="utf-8")
    return path


def topology_file(hosts):
    """GPUs and distances that a file gives, and the paths that follow."""
    file = _write(hosts, _FOUR_GPUS)
    env = {"UCX_FUSELINK_TOPOLOGY": str(file), "CUDA_VISIBLE_DEVICES": "3,1"}
    facts = _facts(hosts, env=env)
    gpus = facts["gpus"]
    expect([gpu["bus_id"] for gpu in gpus] ==
           [f"0000:1{i}:00.0" for i in range(4)], gpus)
    expect([gpu["cuda"] for gpu in gpus] == [None, 1, None, 0], gpus)
    expect(gpus[0]["distances"] == {"nic0": "PIX", "nic1": "NODE",
                                    "nic2": "SYS", "nic3": None}, gpus[0])
    expect([peer["nvlinks"] for peer in gpus[0]["peers"]] == [1, 0, 1],
           gpus[0])
    expect([(path["rail"], path["way"],
             [relay["gpu"] for relay in path["relays"]])
            for path in gpus[0]["paths"]] ==
           [("nic0", "direct", []), ("nic1", "relay", [1]),
            ("nic2", "relay", [3]), ("nic3", "far", [])], gpus[0]["paths"])
    relay = gpus[0]["paths"][1]["relays"][0]
    expect(relay == {"gpu": 1, "connection": "PIX",
                     "hop_bytes_per_second": 40e6,
                     "bytes_per_second": 40e6}, relay)
    expect(gpus[0]["paths"][0]["bytes_per_second"] == 25e6,
           gpus[0]["paths"][0])
    expect([path["way"] for path in gpus[2]["paths"]] ==
           ["direct", "far", "far", "far"], gpus[2]["paths"])
    status, text, err = hosts.run(0, hosts.tools / "fuselink_info",
                                  env={**_NICS, **env})
    expect(status == 0 and err == "", status, err)
    rows = {line.split()[0]: line.split() for line in text.splitlines()
            if line.startswith("GPU")}
    expect(rows["GPU0"][-8:] == ["X", "NV1", "SYS", "NV1", "PIX", "NODE",
                                 "SYS", "-"], rows["GPU0"])
    expect("2. host" in text and "by GPU1" not in text, text)
    expect(all(path["used"] == "host" for gpu in gpus for path in gpu["paths"]), gpus)
    expect(not any(rail["gpu_direct"] for rail in facts["rails"]) and
           "the kernel" in facts["rails"][0]["no_gpu_direct"], facts["rails"])
    expect("GPU memory is copied to and from the host's for nic0, nic1, nic2, "
           "nic3: the kernel" in text, text)


def topology_errors(hosts):
    """One line, which names file, line and what is accepted."""
    for text, words in (("gpus 4\n", "line 1, 'gpus': accepted: gpu, nic"),
                        ("\nnear nic0 0", "line 2, 'near': no GPU '0'"),
                        ("near nic9 0", "no NIC 'nic9'; accepted: "),
                        ("gpu 0000:10:00.0\nconnection nic0 0 near\n",
                         "PIX, PXB, PHB, NODE, SYS")):
        file = _write(hosts, text)
        env = {**_NICS, "UCX_FUSELINK_TOPOLOGY": str(file)}
        status, out, err = hosts.run(0, hosts.tools / "fuselink_info",
                                     "--json", env=env)
        expect(status == 1 and out == "", status, out)
        expect(err.count("\n") == 1 and words in err and
               f"UCX_FUSELINK_TOPOLOGY={file}: line " in err, err)
    status, _, err = hosts.run(0, hosts.tools / "fuselink_info",
                               env={**_NICS, "UCX_FUSELINK_TOPOLOGY":
                                    "/nonexistent"})
    expect(status == 1 and "/nonexistent: cannot be read" in err, status, err)


def _users(facts):
    """Of the rail that most processes use."""
    return max(rail["users"] for rail in facts["rails"])


def others(hosts):
    """Who uses the NICs now; looking takes no seat."""
    with hosts.background("flow", "--size", 4000000, "--window", 8,
                          "--warmup", 0.5, "--time", 5) as job:
        wait_for(hosts, 0, job, lambda reading: any(
            line["bytes_per_second"] > 0 for line in reading["nics"]))
        facts = _facts(hosts)
        # The sender may just have nothing in flight.
        while job.running() and not _users(facts):
            facts = _facts(hosts)
        after = wait_for(hosts, 0, job, lambda reading: True)
    job_is_well(job)
    expect(facts["board"] and 0 < _users(facts) <= 2, facts["rails"])
    expect(len(after["processes"]) == 2, after["processes"])


CASES = [rails, settings, progress, examples, standby, refusals, preloaded, no_rails,
         distances, topology_file, topology_errors, others]
