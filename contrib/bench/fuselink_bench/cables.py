# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Cables of a cluster, pulled and plugged at known moments."""

from fuselink_cluster import end

from .errors import SampleError


class Cables:
    """In a with statement; at its end all cables are as they were."""

    def __init__(self, cluster):
        self._rdma = cluster.rdma
        self._process = cluster.start(["nic", "-"], None)
        self._undo = {}     # {(host, nic): action}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            for (host, nic), action in list(self._undo.items()):
                self._do(host, nic, action)
        end(self._process)

    def cut(self, host, nic, way):
        """(before, after), seconds since 1970: it happened between them."""
        self._undo[host, nic] = way.back
        return self._do(host, nic, way.cut)

    def plug(self, host, nic):
        return self._do(host, nic, self._undo.pop((host, nic)))

    def _name(self, nic):
        """That of RDMA NICs, which hosts may have beside others."""
        return nic.replace("nic", "rdma") if self._rdma else nic

    def _do(self, host, nic, action):
        try:
            self._process.stdin.write(f"{host} {self._name(nic)} {action}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        times = self._process.stdout.readline().split()
        if len(times) != 2:
            raise SampleError("cannot cut a NIC: "
                              + self._process.stderr.read().strip())
        return tuple(map(float, times))
