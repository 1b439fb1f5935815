# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""ucx_perftest between the first two hosts of a cluster."""

import re
import time

from fuselink_cluster import end

from .errors import SampleError

_PORT = 13400


class Perftest:
    """Its server, on host1, for the client's one run: a context. `options` are for both."""

    def __init__(self, cluster, transport, options=()):
        self.cluster = cluster
        self.name = transport.name
        words, self.env = transport.launch(cluster.nics)
        self.words = [*words, "ucx_perftest", "-p", str(_PORT), *options]
        self.server = None

    def __enter__(self):
        self.server = self.cluster.start(
            ["mpirun", "-np", "1", "--host", "host1", *self.words], self.env)
        try:
            self._await()
        except BaseException:
            end(self.server)
            raise
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                self.server.communicate(timeout=20)
        finally:
            end(self.server)
        if kind is None and self.server.returncode != 0:
            raise SampleError(f"{self.name}: ucx_perftest's server has failed")

    def _listens(self):
        process = self.cluster.start(
            ["exec", "1", "cat", "/proc/net/tcp", "/proc/net/tcp6"], {})
        text, _ = process.communicate(timeout=20)
        return re.search(rf":{_PORT:04X} 0+:0000 0A", text) is not None

    def _await(self):
        until = time.monotonic() + 20
        while not self._listens():
            if time.monotonic() > until or self.server.poll() is not None:
                raise SampleError(f"{self.name}: ucx_perftest does not listen")
            time.sleep(0.05)

    def client(self, options, timeout=120):
        """What it prints."""
        status, out, error = self.cluster.mpirun(
            ["-np", "1", "--host", "host0", *self.words, "host1", *options], self.env,
            timeout)
        if status != 0:
            raise SampleError(f"{self.name}: {(error or out)[-500:]}")
        return out
