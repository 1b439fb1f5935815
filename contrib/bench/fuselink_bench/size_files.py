# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Where the map of sizes keeps what was measured: a folder for each build and
settings, in it a file for each wires, pattern, transport and repetition, in it
a line for each size. So a run that was stopped goes on, and nothing is
compared with what another build or other settings gave."""

import hashlib
import json
import os
import time
from pathlib import Path

from .errors import BenchError


def digest(*contents):
    total = hashlib.sha256()
    for content in contents:
        total.update(hashlib.sha256(content).digest())
    return total.hexdigest()[:12]


class Files:
    """`settings` is everything that the results depend on."""

    def __init__(self, top, settings):
        text = json.dumps(settings, indent=1, sort_keys=True) + "\n"
        self.folder = Path(top) / digest(text.encode())
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "settings.json").write_text(text, encoding="utf-8")
        except OSError as error:
            raise BenchError(f"cannot write to {self.folder}: {error}"
                             ) from None

    def _path(self, case, column, repetition):
        return self.folder / f"{case.name}.{column.name}.{repetition}.jsonl"

    def results(self, case, column, repetition):
        path = self._path(case, column, repetition)
        if not path.exists():
            return []
        return list(map(json.loads,
                        path.read_text(encoding="utf-8").splitlines()))

    def read(self, case, column, repetition):
        """{size: result}."""
        return {result["size"]: result
                for result in self.results(case, column, repetition)}

    def missing(self, case, column, sizes, repetition):
        there = self.read(case, column, repetition)
        return [size for size in sizes if size not in there]

    def append(self, case, column, repetition, results):
        """In one step: a run may be killed at any time."""
        path = self._path(case, column, repetition)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        fresh.write_text(text + "".join(
            json.dumps(result | {"time": int(time.time())}) + "\n"
            for result in results), encoding="utf-8")
        fresh.replace(path)
