# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The shortest time in which any schedule could move a traffic matrix: a
linear program over the measured capacities, solved by GLPK.

    minimise T, such that
    - the bytes from host s to host d are split over the rails in any way: a
      rail connects NIC i of one host with NIC i of another;
    - the bytes over each NIC and direction are at most its capacity x T.

What stays within a host uses no NIC. Phases follow each other, so their times
add up.
"""

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

from .errors import BenchError


_MISSING = ("glpsol is missing, which computes the lower bound (Debian package:"
            " glpk-utils)")


def check():
    """Raises BenchError at once where it would be found out after a job."""
    if shutil.which("glpsol") is None:
        raise BenchError(_MISSING)


def seconds(phases, capacity):
    """Of the phases that an MPI program reports, in sequence."""
    return sum(_phase(_frozen(phase["demands"]), _frozen(capacity.tx),
                      _frozen(capacity.rx)) for phase in phases)


def one_nic_per_rank(phases, capacity):
    """The same if every rank has one NIC, by its number in its host, for
    what it sends and for what it gets, on wires without any other limit."""
    total = 0.0
    for phase in phases:
        loads = {}
        next_nic = {}
        for rank in phase["ranks"]:
            host = rank["host"]
            number = next_nic.get(host, 0)
            next_nic[host] = number + 1
            nic = number % len(capacity.tx[host])
            for way, speeds in (("tx", capacity.tx), ("rx", capacity.rx)):
                key = (host, nic, way)
                loads[key] = (loads.get(key, 0.0)
                              + rank[way] / speeds[host][nic])
        total += max(loads.values())
    return total


def _frozen(matrix):
    return tuple(tuple(row) for row in matrix)


@functools.lru_cache(maxsize=None)
def _phase(demands, tx, rx):
    if not any(amount for src, row in enumerate(demands)
               for dst, amount in enumerate(row) if src != dst):
        return 0.0
    return _solve(_program(demands, tx, rx))


def _program(demands, tx, rx):
    """In the CPLEX format; bytes are in MB, which the solver's tolerances
    suit better."""
    nics = range(len(tx[0]))
    pairs = [(src, dst) for src, row in enumerate(demands)
             for dst, amount in enumerate(row) if src != dst and amount]
    lines = ["Minimize", " time: T", "Subject To"]
    for src, dst in pairs:
        parts = " + ".join(f"x_{src}_{dst}_{nic}" for nic in nics)
        lines.append(f" demand_{src}_{dst}: {parts}"
                     f" = {demands[src][dst] / 1e6:.9g}")
    for way, end, speeds in (("tx", 0, tx), ("rx", 1, rx)):
        for host in range(len(demands)):
            for nic in nics:
                parts = " + ".join(f"x_{src}_{dst}_{nic}"
                                   for src, dst in pairs
                                   if (src, dst)[end] == host)
                if parts:
                    lines.append(f" {way}_{host}_{nic}: {parts} -"
                                 f" {speeds[host][nic] / 1e6:.9g} T <= 0")
    return "\n".join([*lines, "End", ""])


def _solve(program):
    with tempfile.TemporaryDirectory(prefix="fuselink-bench-") as folder:
        problem, solution = Path(folder, "problem"), Path(folder, "solution")
        problem.write_text(program, encoding="ascii")
        try:
            done = subprocess.run(
                ["glpsol", "--lp", str(problem), "--write", str(solution)],
                capture_output=True, text=True, timeout=60, check=False)
        except FileNotFoundError:
            raise BenchError(_MISSING) from None
        except subprocess.TimeoutExpired:
            raise BenchError("glpsol did not end within 60 s") from None
        lines = (solution.read_text(encoding="ascii").splitlines()
                 if solution.exists() else [])
    for line in lines:
        # "s bas ROWS COLUMNS PRIMAL DUAL VALUE"; f: feasible
        words = line.split()
        if words[:2] == ["s", "bas"] and words[4:6] == ["f", "f"]:
            return float(words[6])
    raise BenchError("glpsol found no solution for the lower bound: "
                     + (done.stdout.strip().splitlines() or ["?"])[-1])
