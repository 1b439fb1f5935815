# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Which scheduling policies the library under test has."""

import re
from dataclasses import dataclass

from fuselink_cluster import ClusterError


@dataclass(frozen=True)
class Policies:
    names: tuple
    default: str

    def missing(self, name):
        """Why there is no column for a policy, or ""."""
        if name not in self.names:
            return (f"this library has no policy '{name}', only "
                    + ", ".join(self.names))
        if name == self.default:
            return f"'{name}' is the default policy: see fuselink"
        return ""


def query(cluster):
    """Asks the library for its setting and the help text of it."""
    _, out, err = cluster.mpirun(["-np", "1", "ucx_info", "-cf"],
                                 {"FUSELINK": "1"}, timeout=60)
    default = re.search(r"^UCX_FUSELINK_SCHED=(\w+)$", out, re.M)
    help_text = re.search(r"((?:^#.*\n)+)(?:^\n)?UCX_FUSELINK_SCHED=", out,
                          re.M)
    names = (re.findall(r"^#\s+(\w+)\s+- ", help_text[1], re.M)
             if help_text else [])
    if not default or default[1] not in names:
        raise ClusterError("ucx_info -cf does not tell the policies of"
                           " UCX_FUSELINK_SCHED: "
                           + ((err or out).strip().splitlines() or ["?"])[-1])
    return Policies(tuple(names), default[1])
