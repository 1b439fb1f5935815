# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What options of several commands have in common."""

from .errors import BenchError


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
