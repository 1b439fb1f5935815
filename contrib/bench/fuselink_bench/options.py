# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What options of several commands have in common."""

from pathlib import Path

from . import programs
from .errors import BenchError

_ROOT = Path(__file__).resolve().parents[3]


def add_outputs(parser, name):
    """Of commands that keep what they have measured, in build-bench/`name`."""
    parser.add_argument("--minutes", type=float, metavar="N",
                        help="begin no job after so long; run it again to go"
                        " on")
    parser.add_argument("--folder", default=_ROOT / "build-bench" / name,
                        metavar="DIR", help="of what is measured (default"
                        f" build-bench/{name})")
    parser.add_argument("--table", metavar="FILE.md",
                        help="write the tables to FILE, too")
    parser.add_argument("--dry-run", action="store_true",
                        help="show how many jobs there are left to run")
    parser.add_argument("--build-dir", default=programs.default_folder(),
                        metavar="DIR", help="where the MPI programs are built"
                        " (default build-bench)")


def write(path, text):
    """What --table names."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BenchError(f"cannot write {path}: {error}") from None


def names_of(option, text, accepted):
    """Names of a list A,B,... that an option has, all of `accepted` if there is
    none."""
    accepted = list(map(str, accepted))
    names = accepted if text is None else text.split(",")
    for name in names:
        if name not in accepted:
            raise BenchError(f"{option} '{name}': accepted: "
                             + ", ".join(accepted))
    return names
