# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What results that are compared have in common: libraries, programs, and the
machine."""

import os
import platform
import subprocess
from pathlib import Path

from . import report
from .errors import BenchError
from .size_files import digest

_ROOT = Path(__file__).resolve().parents[3]
_LIBRARY = _ROOT / "build/src/uct/fuselink/.libs/libuct_fuselink.so.0"


def library():
    """What is measured, by a path that every job gets."""
    path = Path(os.environ.setdefault("FUSELINK_LIB", str(_LIBRARY)))
    if not path.is_file():
        raise BenchError(f"{path}: no such library; build it or set"
                         " FUSELINK_LIB to its path")
    return path


def settings(before=None):
    """`before` is another library that is measured, if there is one."""
    libraries = [library()] + ([Path(before)] if before else [])
    sources = sorted((_ROOT / "contrib/bench/src").glob("*.[ch]"))
    return {"libraries": [digest(path.read_bytes()) for path in libraries],
            "programs": digest(*(path.read_bytes() for path in sources)),
            "ucx": _version("ucx_info", "-v"),
            "mpi": _version("mpirun", "--version"),
            "kernel": platform.release(), "cores": os.cpu_count(),
            "tcp": report.congestion_control()}


def _version(*words):
    try:
        done = subprocess.run(words, capture_output=True, text=True,
                              check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BenchError(f"{' '.join(words)}: {error}") from None
    return done.stdout.splitlines()[0]
