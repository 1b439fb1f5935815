# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""All cases by name, and the groups of them."""

from . import cases
from . import gpu_cases
from . import overlap_cases
from . import skew_cases
from .errors import BenchError

BY_NAME = {case.name: case
           for case in (*cases.TCP_AND_RDMA, *skew_cases.ALL,
                        *overlap_cases.ALL, *gpu_cases.ALL)}
GROUPS = tuple(dict.fromkeys(case.group for case in BY_NAME.values()))


def chosen(names):
    """The cases of a group, or those with these names."""
    if not names:
        raise BenchError("name cases, or one of " + ", ".join(GROUPS)
                         + "; --list shows them")
    if len(names) == 1 and names[0] in GROUPS:
        return [case for case in BY_NAME.values() if case.group == names[0]]
    for name in names:
        if name not in BY_NAME:
            raise BenchError(f"no case '{name}'; accepted: "
                             + ", ".join((*GROUPS, *BY_NAME)))
    return [BY_NAME[name] for name in dict.fromkeys(names)]
