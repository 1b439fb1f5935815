# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""coverage.py TOP BUILD: the table of contrib/coverage, from what gcov says."""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


class File:
    """Lines and branches of a source, from all objects that have it."""

    def __init__(self):
        self.lines = {}     # number: times that it ran
        self.branches = {}  # number: of each, times that it was taken

    def add(self, line):
        number = line["line_number"]
        self.lines[number] = self.lines.get(number, 0) + line["count"]
        # Not those that an exception would take: the library has none.
        taken = [branch["count"] for branch in line["branches"]
                 if not branch["throw"]]
        known = self.branches.setdefault(number, [])
        # Instances of a template may have another number of them.
        known += [0] * (len(taken) - len(known))
        for index, count in enumerate(taken):
            known[index] += count

    def counts(self):
        taken = [count for line in self.branches.values() for count in line]
        return Counts(sum(count > 0 for count in self.lines.values()),
                      len(self.lines), sum(count > 0 for count in taken),
                      len(taken))


class Counts:
    def __init__(self, run=0, lines=0, taken=0, branches=0):
        self.run, self.lines = run, lines
        self.taken, self.branches = taken, branches

    def __add__(self, other):
        return Counts(self.run + other.run, self.lines + other.lines,
                      self.taken + other.taken, self.branches + other.branches)

    @property
    def percent(self):
        return 100 * self.run / self.lines if self.lines else 100.0

    def row(self, name):
        branches = (f"{100 * self.taken / self.branches:9.1f}"
                    if self.branches else f"{'-':>9}")
        return f"{name:<44}{self.lines:7}{self.percent:8.1f}{branches}"


def _gcov(note):
    """What gcov knows of an object. It writes nothing; --stdout is one line for
    each object."""
    done = subprocess.run(["gcov", "--json-format", "--stdout",
                           "--branch-probabilities",
                           "--branch-counts", str(note.resolve())],
                          cwd=note.parent, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"coverage: gcov {note}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines() if line]


def _read(top, build):
    """{file below src: File}, of all objects, those that never ran as well. With
    libtool an object may lie in a folder .libs; gcov finds its counts by the
    path of the object."""
    sources = os.path.join(top, "src") + os.sep
    files = {}
    notes = sorted(build.rglob("*.gcno"))
    if not notes:
        raise SystemExit(f"coverage: nothing was built in {build}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for reports in pool.map(_gcov, notes):
            for report in reports:
                folder = report["current_working_directory"]
                for file in report["files"]:
                    path = os.path.realpath(os.path.join(folder,
                                                         file["file"]))
                    if not path.startswith(sources):
                        continue
                    one = files.setdefault(path[len(sources) - 4:], File())
                    for line in file["lines"]:
                        one.add(line)
    return files


def _is_wanted(folder, only):
    return not only or any(("/" + folder).endswith("/" + one.strip("/"))
                           for one in only)


def main():
    parser = argparse.ArgumentParser(prog="contrib/coverage")
    parser.add_argument("top")
    parser.add_argument("build", type=Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--min-folder", type=float, default=0)
    parser.add_argument("--min-file", type=float, default=0)
    options = parser.parse_args()

    folders = {}
    files = _read(os.path.realpath(options.top), options.build)
    for path, file in sorted(files.items()):
        folder = os.path.dirname(path)
        if _is_wanted(folder, options.only) and file.lines:
            folders.setdefault(folder, {})[path] = file.counts()
    for one in options.only:
        if not any(_is_wanted(folder, [one]) for folder in folders):
            raise SystemExit(f"coverage: --only {one}: no such folder in:"
                             f" {' '.join(sorted({os.path.dirname(path) for path in files}))}")

    low = []
    total = Counts()
    print(f"{'':<44}{'lines':>7}{'run %':>8}{'branch %':>9}")
    for folder, members in folders.items():
        together = sum(members.values(), Counts())
        total += together
        print(together.row(folder))
        if together.percent < options.min_folder:
            low.append(f"{folder}: {together.percent:.1f} % of the lines run,"
                       f" not {options.min_folder:g} %")
        for path, counts in members.items():
            print(counts.row("    " + os.path.basename(path)))
            if counts.percent < options.min_file:
                low.append(f"{path}: {counts.percent:.1f} % of the lines run,"
                           f" not {options.min_file:g} %")
    print(total.row("all"))
    for line in low:
        print(line)
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
