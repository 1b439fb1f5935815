# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""GPU memory is sent while the node's other GPUs, each with a process that uses
it and does nothing, may lend their links to the host."""

import os
from contextlib import ExitStack

from . import job
from .hosts import TOOLS, HostProgram

# Copies of the emulator are in time although ranks poll. Only root may.
REALTIME = {"CUDASIM_REALTIME": "1"} if os.geteuid() == 0 else {}
_HOSTS = 2


class Lenders:
    """In a with statement: the GPUs of all hosts that these are."""

    def __init__(self, run, gpus):
        self._run = run
        self._gpus = gpus
        self._stack = ExitStack()

    def __enter__(self):
        environment = {"FUSELINK": "1", "UCX_FUSELINK_DEVICES": "^mgmt0"}
        with ExitStack() as stack:
            for host in range(_HOSTS):
                stack.enter_context(HostProgram(
                    self._run.cluster, host,
                    (TOOLS / "lend", *self._gpus), ready="ready",
                    environment=environment))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        self._stack.close()


class Lent:
    """A job on the first NICs and GPU 0, while the GPUs `gpus` are lent."""

    def __init__(self, nics, gpus):
        self.nics = nics
        self.gpus = gpus

    def measure(self, run):
        nics = run.cluster.nics[:self.nics]
        if not (self.gpus and run.transport.lends):
            return job.launch(run, nics=nics, environment=REALTIME)
        with Lenders(run, self.gpus):
            return job.launch(run, nics=nics, environment=REALTIME)
