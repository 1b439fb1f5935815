# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The suite's testlist files: one line for each run of a program,

    PROGRAM [RANKS] [KEY=VALUE...]

with the keys arg and env (repeatable), timeLimit, mem, strict and xfail. The
last two say what MPICH expects of itself and are not used here.
"""

from dataclasses import dataclass, replace

from .errors import ConformanceError

_DEFAULT_RANKS = 2
_KEYS = {"arg", "env", "timeLimit", "mem", "strict", "xfail"}
# Lists of a folder. testlist.cvar repeats programs with settings that only
# MPICH reads.
_FILES = ("testlist", "testlist.dtp")


@dataclass(frozen=True)
class Entry:
    folder: str
    program: str
    ranks: int
    args: tuple = ()
    env: tuple = ()
    time_limit: float = 0       # seconds, 0 is the default
    memory: float = 0           # GB for all ranks

    @property
    def name(self):
        """Unique in the suite, and how set files name it."""
        words = [f"{self.folder}/{self.program}", str(self.ranks), *self.args]
        return " ".join(words)


def parse_line(folder, line):
    """The entry of a line, None of one without a program."""
    words = line.partition("#")[0].split()
    if not words:
        return None
    keys = {}
    ranks = _DEFAULT_RANKS
    for position, word in enumerate(words[1:]):
        key, equals, value = word.partition("=")
        if equals and key in _KEYS:
            keys.setdefault(key, []).append(value)
        elif position == 0 and word.isdigit():
            ranks = int(word)
        elif "=" in word:
            raise ConformanceError(f"test list of {folder}: unknown key"
                                   f" '{key}' in: {line.strip()}")
        # The suite ignores other words; one list has a path there.
    return Entry(
        folder, words[0], ranks, tuple(keys.get("arg", ())),
        # MPICH's own variables mean nothing to another MPI.
        tuple(item for item in keys.get("env", ())
              if not item.startswith("MPIR_")),
        float(keys.get("timeLimit", [0])[-1]),
        float(keys.get("mem", [0])[-1]))


def read_folder(build, folder):
    """Entries of a folder of the built suite, each once."""
    found = {}
    for file in _FILES:
        path = build / folder / file
        if not path.exists():
            raise ConformanceError(f"the suite has no {folder}/{file}")
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = parse_line(folder, line)
            if entry is None:
                continue
            known = found.setdefault(entry.name, entry)
            if known.time_limit < entry.time_limit:
                found[entry.name] = replace(known,
                                            time_limit=entry.time_limit)
    return list(found.values())


def select(entries, set_file):
    """Those that a set file names, in its order: one name a line."""
    by_name = {entry.name: entry for entry in entries}
    chosen = []
    try:
        lines = set_file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ConformanceError(f"--set '{set_file}': {error.strerror}"
                               ) from None
    for line in lines:
        name = " ".join(line.partition("#")[0].split())
        if not name:
            continue
        if name not in by_name:
            raise ConformanceError(f"{set_file}: the suite has no '{name}'"
                                   " (a name is: FOLDER/PROGRAM RANKS"
                                   " ARGUMENTS, see --list)")
        chosen.append(by_name[name])
    return chosen
