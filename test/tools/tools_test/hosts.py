# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""A cluster, its hosts' tools and jobs."""

import subprocess
import threading
from pathlib import Path

from fuselink_cluster import clean_environment


class Hosts:
    """Two hosts with NICs, the tools of a build, and MPI programs."""

    def __init__(self, top, build, programs, cluster):
        self.source = top
        self.tool = str(top / "contrib/cluster")
        self.tools = Path(build) / "src/tools"
        self.programs = Path(programs)
        self.cluster = cluster

    def run(self, host, *words, timeout=60, env=None):
        """Runs a command in a host; (status, stdout, stderr)."""
        done = subprocess.run(
            [self.tool, "exec", "--name", self.cluster.name, f"host{host}",
             *map(str, words)], capture_output=True, text=True,
            errors="replace", timeout=timeout, check=False,
            env=clean_environment(env), stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def use(self, host, tool, *words, **more):
        return self.run(host, self.tools / tool, *words, **more)

    def cable(self, host, nic, state):
        """Pulls (down) or plugs (up) the cable of a NIC, by its number."""
        subprocess.run([self.tool, "nic", "--name", self.cluster.name,
                        f"host{host}", str(nic), state], timeout=30,
                       check=True, env=clean_environment())

    def job(self, program, *words, ranks=4, timeout=120, env=None):
        """Runs an MPI program over fuselink; (status, stdout, stderr)."""
        settings = {"FUSELINK": "1", **(env or {})}
        return self.cluster.mpirun(
            ["-np", str(ranks), *(word for name in (env or {})
                                  for word in ("-x", name)),
             str(self.programs / program), *map(str, words)],
            settings, timeout)

    def scribbling(self, host, seconds):
        """Somebody who writes nonsense over the host's load board."""
        return Background(lambda: self.run(
            host, self.programs / "scribble", seconds))

    def background(self, *words, **more):
        return Background(lambda: self.job(*words, **more))


class Background:
    """A job that runs meanwhile; in a with statement, which waits for it."""

    def __init__(self, what):
        self.result = None
        self._what = what
        self._thread = threading.Thread(target=self._go)

    def _go(self):
        self.result = self._what()

    def __enter__(self):
        self._thread.start()
        return self

    def running(self):
        return self._thread.is_alive()

    def __exit__(self, *_):
        self._thread.join()
