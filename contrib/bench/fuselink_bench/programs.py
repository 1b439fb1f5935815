# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Compiles the MPI programs when they are not there or not up to date."""

import os
import subprocess
from pathlib import Path

from .errors import BenchError

_SOURCE = Path(__file__).resolve().parents[1] / "src"
_ROOT = Path(__file__).resolve().parents[3]
_MPI = ("stream", "latency", "alltoallv", "onesided", "peers", "moe", "flow",
        "bursts", "paired", "failure", "overlap")
_LIBRARIES = {"paired": ["-lucp", "-lucs"]}
_SHARED = ("common.c", "common.h", "memory.c", "memory.h")
_ROUTING = ("routing.c", "routing.h")
_NIC_FILE = ("nic_file.h",)
_MORE = {"moe": _ROUTING, "overlap": _ROUTING, "failure": _NIC_FILE,
         "nicwatch": _NIC_FILE}
_ALONE = ("nicwatch",)     # without MPI


def default_folder():
    return _ROOT / "build-bench"


def build(folder):
    """Returns the folder with a program for each name."""
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*_MPI, *_ALONE):
        program = folder / name
        inputs = [_SOURCE / file for file in
                  (f"{name}.c", *(_SHARED if name in _MPI else ()),
                   *_MORE.get(name, ()))]
        if program.exists() and all(
                program.stat().st_mtime >= item.stat().st_mtime
                for item in inputs):
            continue
        _compile(program, [str(item) for item in inputs
                           if item.suffix == ".c"])
    return folder


def _compile(program, sources):
    # Another run may use the old program: replace it by a rename.
    fresh = program.with_name(f"{program.name}.{os.getpid()}")
    try:
        subprocess.run(["mpicc", "-O2", "-std=gnu11", "-Wall", "-Wextra",
                        "-o", str(fresh), *sources, "-lm",
                        *_LIBRARIES.get(program.name, [])], check=True)
    except FileNotFoundError:
        raise BenchError("mpicc is missing (Debian package: libopenmpi-dev)"
                         ) from None
    except subprocess.CalledProcessError:
        raise BenchError(f"cannot compile {program.name}") from None
    fresh.replace(program)
