# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""One program over one transport, and what came of it."""

import re
from dataclasses import dataclass

from fuselink_cluster import JobTimeout

# Open MPI takes its UCX layer for these NICs only when told so. One-sided
# communication goes over UCX too, except for windows of shared memory, which
# Open MPI's UCX component does not have.
_UCX = ("--mca", "pml", "ucx", "--mca", "osc", "ucx,sm",
        "--mca", "opal_common_ucx_tls", "any",
        "--mca", "opal_common_ucx_devices", "any")

# Neighbouring ranks on different hosts: programs of two ranks use the NICs,
# those of more use the shared-memory lanes as well.
_PLACEMENT = ("--map-by", "node")

# The suite's own default is 180 s, for machines of any speed, and some of its
# programs have 600; but one that hangs takes all of it.
_DEFAULT_TIME_LIMIT = 90.0
_LONGEST_TIME_LIMIT = 180.0
# The processor of the virtual machine is emulated.
_EMULATION = 3


@dataclass(frozen=True)
class Outcome:
    passed: bool
    reason: str = ""
    output: str = ""
    timed_out: bool = False


class Job:
    def __init__(self, cluster, transport):
        self._cluster = cluster
        self._transport = transport

    def run(self, entry, program):
        limit = min(entry.time_limit or _DEFAULT_TIME_LIMIT,
                    _LONGEST_TIME_LIMIT)
        limit *= _EMULATION if self._cluster.rdma else 1
        words = [*_PLACEMENT, "-np", str(entry.ranks)]
        env = {}
        if self._transport == "fuselink":
            env["FUSELINK"] = "1"
        elif self._transport == "rc":
            words += [*_UCX, "-x", "UCX_TLS=rc,self,sm"]
            env["FUSELINK_CLUSTER_NICS"] = "0"
        else:
            # One NIC: of several UCX would take any, the slowest too.
            words += [*_UCX, "-x", "UCX_TLS=tcp,self,sm",
                      "-x", "UCX_NET_DEVICES=nic0"]
        for item in entry.env:
            words += ["-x", item]
        try:
            status, out, err = self._cluster.mpirun(
                [*words, str(program), *entry.args], env, limit)
        except JobTimeout as error:
            return Outcome(False, str(error), error.output, timed_out=True)
        return _judge(status, out, err)


def _judge(status, out, err):
    """Passed is: exit status 0, the line "No Errors", and nothing on standard
    output that says otherwise."""
    output = out + err
    found = re.search(r"^.*[Ff]ound \d+ [Ee]rror.*$", out, re.M)
    if status != 0:
        return Outcome(False, f"exit status {status}: {_telling(output)}",
                       output=output)
    if found:
        return Outcome(False, found[0].strip(), output=output)
    if not re.search(r"^\s*No [Ee]rrors\s*$", out, re.M):
        return Outcome(False, f"no 'No Errors': {_telling(output)}",
                       output=output)
    return Outcome(True, output=output)


def _telling(output):
    """The line of a failed job's output that says most."""
    lines = [line.strip() for line in output.splitlines()
             if line.strip(" -*=\n")]
    for pattern in (r"Assertion|signal \d|Segmentation|Caught signal",
                    r"[Ee]rror|ERROR|wrong|mismatch|expected", r"."):
        for line in lines:
            if re.search(pattern, line):
                return line[:160]
    return "no output"
