# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Programs beside the MPI jobs, in a host of the cluster."""

import os
import select
import subprocess
import threading
from pathlib import Path

from fuselink_cluster import clean_environment

from .errors import SampleError

_CLUSTER = Path(__file__).resolve().parents[2] / "cluster"
TOOLS = Path(__file__).resolve().parents[1] / "tools"
_START_S = 20.0

# Ranks that poll leave little of a small machine to others: what has to happen
# every millisecond goes before them. Only root may.
_IN_TIME = ("chrt", "--fifo", "10") if os.geteuid() == 0 else ()


class HostProgram:
    """A program that runs until its standard input ends, in a with statement;
    so it also ends when this process is killed. One that must be in time goes
    before all others, if that is allowed."""

    def __init__(self, cluster, host, words, ready=None, in_time=False,
                 environment=None):
        self._words = list(map(str, words))
        first = _IN_TIME if in_time else ()
        self._process = subprocess.Popen(
            [str(_CLUSTER), "exec", "--name", cluster.name, f"host{host}",
             *first, *self._words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env=clean_environment(environment),
            start_new_session=True)
        if ready is not None:
            line = self._first_line()
            if line != ready:
                self.finish()
                raise SampleError(f"{self._words[0]} said '{line}' instead of"
                                  f" '{ready}'")

    def _first_line(self):
        told, _, _ = select.select([self._process.stdout], [], [], _START_S)
        if not told:
            self._process.kill()
            raise SampleError(f"{self._words[0]} did not start within"
                              f" {_START_S:.0f} s")
        return self._process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def ask(self, timeout=30):
        """The lines with which it answers a line, up to an empty one."""
        lines = []
        # Who waits for a line cannot look at a clock.
        patience = threading.Timer(timeout, self._process.kill)
        patience.start()
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
            while (line := self._process.stdout.readline()) not in ("", "\n"):
                lines.append(line.rstrip("\n"))
        except BrokenPipeError:
            line = ""
        finally:
            patience.cancel()
        if not line:
            self.finish()
            raise SampleError(f"{self._words[0]} does not answer")
        return lines

    def finish(self, timeout=30):
        """Ends it; returns the lines that it printed."""
        try:
            out, err = self._process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise SampleError(f"{self._words[0]} did not end") from None
        if self._process.returncode != 0:
            last = (err.strip().splitlines() or ["no message"])[-1]
            raise SampleError(f"{self._words[0]} failed: {last}")
        return out.splitlines()

    def wait(self, timeout):
        """Lets it end by itself; returns the lines that it printed."""
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise SampleError(f"{self._words[0]} took more than"
                              f" {timeout:.0f} s") from None
        return self.finish()


def address(host, nic):
    """Of a NIC, as contrib/cluster gives it."""
    return f"10.0.{nic}.{host + 1}"
