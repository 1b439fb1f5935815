# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The suite's source and its build against the installed Open MPI."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from . import testlist
from .errors import ConformanceError

_HERE = Path(__file__).resolve().parents[1]
_ROOT = _HERE.parents[1]
_NAMES_HEADER = _HERE / "mpi1_names.h"
_PACKAGE = "mpich"
FOLDERS = ("pt2pt", "coll", "rma")

# The suite is built to test the standard only: what MPICH adds to it says
# nothing about another MPI.
_CONFIGURE = ("CC=mpicc", "MPICC=mpicc", "--disable-fortran", "--disable-cxx",
              "--disable-spawn", "--enable-strictmpi",
              "--disable-dependency-tracking")


def default_folder():
    return _ROOT / "build-mpich"


class Suite:
    """Everything lives below one folder and is made only once, and programs
    when they are needed: mpich-VERSION (the source), suite (the build),
    build.log."""

    def __init__(self, folder, jobs, source=None):
        self.folder = Path(folder).resolve()
        self.build = self.folder / "suite"
        self.log = self.folder / "build.log"
        self._jobs = jobs
        self._source = Path(source).resolve() if source else None
        self._why = {}      # program: why it does not build

    def prepare(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        done = self.build / "configured"
        if not done.exists():
            shutil.rmtree(self.build, ignore_errors=True)
            self.build.mkdir()
            with self.log.open("w", encoding="utf-8") as log:
                self._configure(self._find_source(), log)
            done.touch()

    def entries(self):
        return [entry for folder in FOLDERS
                for entry in testlist.read_folder(self.build, folder)]

    def program(self, entry):
        """Path of the program, None if it could not be built."""
        path = self.build / entry.folder / entry.program
        return path if path.exists() else None

    def why_not_built(self, entry):
        if not self._why and self.log.exists():
            self._why = _missing_symbols(
                self.log.read_text(encoding="utf-8", errors="replace"))
        return self._why.get(f"{entry.folder}/{entry.program}",
                             f"see {self.log}")

    def _find_source(self):
        if self._source is None:
            self._source = _get_source(self.folder)
        suite = self._source / "test" / "mpi"
        if not (suite / "configure").is_file():
            raise ConformanceError(f"'{self._source}' is no source tree of"
                                   f" {_PACKAGE}: it has no"
                                   " test/mpi/configure")
        return suite

    def _configure(self, source, log):
        if shutil.which("mpicc") is None:
            raise ConformanceError("mpicc is missing (Debian package:"
                                   " libopenmpi-dev)")
        _say("configuring the MPICH test suite")
        _run([str(source / "configure"), *_CONFIGURE], self.build, log,
             "configure of the MPICH test suite failed")

    def make(self, entries):
        """Builds what these need and is not built. Programs that use what this
        MPI does not have are left out; everything else stops the run."""
        _say("building programs of the MPICH test suite")
        make = ["make", f"-j{self._jobs}", "V=0",
                f"CFLAGS=-O0 -include {_NAMES_HEADER}"]
        with self.log.open("a", encoding="utf-8") as log:
            _run([*make, "-C", "dtpools", "all"], self.build, log,
                 "the suite's data type pools do not build")
            _run([*make, "-C", "util", "libmtest_single.la"], self.build, log,
                 "the suite's library does not build")
            for folder in FOLDERS:
                needed = [entry for entry in entries if entry.folder == folder]
                if not needed:
                    continue
                programs = sorted({entry.program for entry in needed})
                status = _status([*make, "-k", "-C", folder, *programs],
                                 self.build, log)
                if not any(self.program(entry) for entry in needed):
                    raise ConformanceError(
                        f"no program of the suite's folder {folder} builds"
                        f" (make: {status}); see {self.log}")


def _get_source(folder):
    """The package's source through the machine's own apt, kept in folder."""
    present = sorted(folder.glob(f"{_PACKAGE}-*/test/mpi/configure"))
    if present:
        return present[-1].parents[2]
    _say(f"getting the source of {_PACKAGE}")
    script = _ROOT / "contrib" / "lib" / "apt-source.sh"
    result = subprocess.run(
        ["sh", "-c", '. "$1" && apt_source "$2" "$3"', "sh", str(script),
         _PACKAGE, str(folder)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        check=False)
    if result.returncode != 0:
        last = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise ConformanceError(last)
    return Path(result.stdout.strip())


def _missing_symbols(log):
    """{FOLDER/PROGRAM: what the linker or compiler misses} of a make log.
    The programs of the suite carry the name of their source."""
    why = {}
    pattern = re.compile(
        r"test/mpi/(\w+/\w+)\.c:(?:\d+:)*"
        r".*?(undefined reference to [`'](\w+)'|error: (.*))")
    for match in map(pattern.search, log.splitlines()):
        if match:
            text = f"this MPI has no {match[3]}" if match[3] else match[4]
            why.setdefault(match[1], text)
    return why


def _status(words, folder, log):
    log.flush()
    return subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL,
                          stdout=log, stderr=subprocess.STDOUT,
                          check=False).returncode


def _run(words, folder, log, message):
    if _status(words, folder, log) != 0:
        raise ConformanceError(f"{message}; see {log.name}")


def _say(text):
    print(f"conformance: {text}", file=sys.stderr, flush=True)
