# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""contrib/cluster for Python programs: a cluster from up to down, and jobs.

A job or a tool that does not do what is asked raises ClusterError, one that
does not end JobTimeout; both are one line for a person to read.
"""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

_TOOL = Path(__file__).resolve().parents[1] / "cluster"

# What a person has set for other jobs must not change what is measured; the
# library to measure is the exception.
_DROPPED = re.compile(r"(UCX_|OMPI_|PMIX_|ORTE_|OPAL_|FUSELINK)")
_KEPT = {"FUSELINK_LIB", "FUSELINK_CUDASIM", "FUSELINK_CLUSTER_DIR", "FUSELINK_GUEST_MEMORY",
         "FUSELINK_GUEST_CPUS"}


class ClusterError(Exception):
    """contrib/cluster cannot do what it is asked for."""


class JobTimeout(ClusterError):
    """A job was ended because it took too long."""

    def __init__(self, text, output=""):
        super().__init__(text)
        self.output = output      # what it had said


def clean_environment(extra=None):
    """The caller's environment without settings of UCX and Open MPI."""
    env = {name: value for name, value in os.environ.items()
           if name in _KEPT or not _DROPPED.match(name)}
    env.update(extra or {})
    return env


class Cluster:
    """Hosts with NICs of the given rates; use it in a with statement.

    Made with a prefix, its name has the process id, and it is taken down when
    this process ends, however it ends. With a name the cluster is somebody
    else's: it must be up, and stays up.
    """

    def __init__(self, prefix=None, rates=None, hosts=2, name=None,
                 rdma=False, topology="", queue="", drops=False, mtu=""):
        self.owned = name is None
        self._watcher = None
        self._running = set()
        self.name = name or f"{prefix}-{os.getpid()}"
        self.hosts = hosts
        self.rates = rates
        self.rdma = rdma
        self.topology = topology      # of emulated GPUs, "" for none
        self.queue = queue            # of a NIC, such as "20ms"
        self.drops = drops            # the switch drops what is too much
        self.mtu = mtu                # of NICs

    def __enter__(self):
        if not self.owned:
            self._read_status()
            return self
        # Its standard input ends with us, also when we are killed.
        self._watcher = subprocess.Popen(
            ["sh", "-c", 'read _; exec "$0" down --name "$1"', str(_TOOL),
             self.name], stdin=subprocess.PIPE, env=clean_environment(),
            start_new_session=True)
        # A virtual machine takes a minute or two to boot.
        self._tool("up", *(["--rdma"] if self.rdma else []),
                   *(["--topology", self.topology] if self.topology else []),
                   *(["--queue", self.queue] if self.queue else []),
                   *(["--drops"] if self.drops else []),
                   *(["--mtu", self.mtu] if self.mtu else []),
                   "--hosts", str(self.hosts),
                   "--rates", ",".join(self.rates),
                   timeout=300 if self.rdma else 60)
        return self

    def __exit__(self, *_):
        if self.owned:
            self._watcher.stdin.close()
            if self._watcher.wait(timeout=60) != 0:
                raise ClusterError(f"cluster '{self.name}' is still there")

    @property
    def nics(self):
        return [f"nic{i}" for i in range(len(self.rates))]

    def restart(self):
        """Gets rid of whatever a job that had to be killed left running."""
        if self.owned:
            self.__exit__()
            self.__enter__()

    def counters(self):
        """{host: {nic: {"rx": bytes, "tx": bytes}}} since the cluster is up.
        RDMA NIC i of a host is nic<i>, too."""
        read = json.loads(self._tool("counters", "--json"))
        return {host: {re.sub(r"^rxe_h\d+n(?=\d+$)", "nic", nic): counts
                       for nic, counts in nics.items()}
                for host, nics in read.items()}

    def mpirun(self, args, env, timeout):
        """Runs mpirun; returns (exit status, stdout, stderr)."""
        return self._spawn(["mpirun", *args], env, timeout)

    def start(self, words, env):
        """Starts a command of contrib/cluster whose input and output are pipes;
        who called ends it, with end()."""
        return subprocess.Popen(
            [str(_TOOL), words[0], "--name", self.name, *words[1:]],
            env=clean_environment(env), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True)

    def end_jobs(self):
        """Ends the jobs that other threads have started and wait for."""
        for process in list(self._running):
            process.terminate()

    def _tool(self, command, *args, timeout=60):
        status, out, err = self._spawn([command, *args], None, timeout)
        if status != 0:
            raise ClusterError(err.strip() or
                               f"cluster {command} failed with {status}")
        return out

    def _spawn(self, words, env, timeout):
        words = [str(_TOOL), words[0], "--name", self.name, *words[1:]]
        # A session of its own, so that a job is ended with all it started and
        # Ctrl-C reaches it through us, in order.
        process = subprocess.Popen(
            words, env=clean_environment(env), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True)
        self._running.add(process)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            said = b"".join(filter(None, (error.stdout, error.stderr)))
            raise JobTimeout(f"no end within {timeout:.0f} s",
                             said.decode(errors="replace")) from None
        finally:
            end(process)
            self._running.discard(process)
        return process.returncode, out, err

    def _read_status(self):
        """Hosts and rates of a cluster that somebody else brought up."""
        status = self._tool("status")
        self.hosts = len(re.findall(r"^host\d+ \(", status, re.M))
        first = status.partition("\nhost1 (")[0]
        self.rates = re.findall(r"^ +nic\d+ +\S+ +(\S+) ", first, re.M)
        if self.hosts < 2 or not self.rates:
            raise ClusterError(f"cluster '{self.name}' needs 2 hosts that are"
                               " up, each with NICs")


def end(process):
    """Ends a process group: first so that it may clean up, then for good."""
    for sig, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 10)):
        if process.poll() is not None:
            return
        try:
            os.killpg(process.pid, sig)
            process.communicate(timeout=patience)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def fuselink_missing(cluster):
    """Why fuselink cannot be used because it has not been built, or "" when
    it loads. A library that is there and does not load is an error."""
    status, out, err = cluster.mpirun(["-np", "1", "ucx_info", "-d"],
                                      {"FUSELINK": "1"}, timeout=60)
    if re.search(r"^# +Transport: fuselink$", out, re.M):
        return ""
    if status != 0 and "neither built" in err:
        return err.strip().splitlines()[-1].removeprefix("cluster: ")
    raise ClusterError("fuselink's library is there but UCX does not list its"
                       " transport: " + ((err or out).strip().splitlines() or
                                         ["no message"])[-1])
