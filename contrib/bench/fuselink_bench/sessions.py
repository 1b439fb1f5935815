# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""A job beside other sessions of the machine, which want a processor now and then."""

import subprocess
from contextlib import ExitStack

from . import hosts
from . import job
from .errors import SampleError

_TOOL = hosts.TOOLS / "session"


class Sessions:
    """So many of them; each says how long it had to wait."""

    def __init__(self, count):
        self.count = count

    def measure(self, run):
        with ExitStack() as stack:
            others = [stack.enter_context(subprocess.Popen(
                [_TOOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True, start_new_session=True))
                for _ in range(self.count)]
            result = job.launch(run)
            waits = [_waited(other) for other in others]
        return result | {"waited_s": max(waits), "waits_s": waits}


def _waited(other):
    said, _ = other.communicate()
    if other.returncode != 0:
        raise SampleError(f"a session ended with {other.returncode}")
    return float(said)
