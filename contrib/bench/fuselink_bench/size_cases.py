# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The map of sizes: its wires, its patterns, and the sizes that it is asked
for."""

import re
from dataclasses import dataclass, replace

from . import cases
from . import transports
from .errors import BenchError

_LARGEST = 16 << 20      # with 8 ranks more would not fit into MPI's ints
_UNITS = {"": 1, "k": 1 << 10, "M": 1 << 20}
DEFAULT = "0:16M:2"


@dataclass(frozen=True)
class Wires:
    title: str
    rates: tuple
    # Bytes of a stream in flight: less than half a second on one NIC. The
    # programs send at least four messages.
    in_flight: int = 8 << 20
    largest: int = _LARGEST
    node: bool = False
    rdma: bool = False


WIRES = {
    "shaped": Wires("4 NICs of 200 Mbit/s", cases.FOUR),
    "unshaped": Wires("4 NICs without a limit", cases.UNSHAPED),
    "node": Wires("within a node", cases.UNSHAPED, node=True),
    # A larger size would take minutes.
    "rdma": Wires("4 RDMA NICs of 16 Mbit/s", ("16mbit",) * 4,
                  in_flight=1 << 19, largest=1 << 20, rdma=True)}


@dataclass(frozen=True)
class Pattern:
    title: str
    program: str
    options: tuple
    ranks: int
    metric: str
    directions: int = 1
    smallest: int = 0


PATTERNS = {
    "latency": Pattern("latency", "latency", (), 2, "latency_s"),
    "one-way": Pattern("one way", "stream", (), 2, "messages_per_s"),
    "both-ways": Pattern("both ways", "stream", ("--bidir",), 2,
                         "messages_per_s", directions=2),
    "pairs": Pattern("one way, 4 pairs", "stream", (), 8, "messages_per_s"),
    # Open MPI sends nothing when there is nothing to send.
    "alltoall": Pattern("MPI_Alltoall, 8 ranks", "alltoallv",
                        ("--alltoall",), 8, "time_s", smallest=1),
    "alltoallv": Pattern("MPI_Alltoallv, 8 ranks", "alltoallv", (), 8,
                         "time_s", smallest=1)}


def case(wires, pattern, seconds):
    """The case of a job, which lacks nothing but sizes()."""
    where, what = WIRES[wires], PATTERNS[pattern]
    window = (("--in-flight", where.in_flight) if what.program == "stream"
              else ())
    return cases.Case(
        f"{wires}.{pattern}", f"{what.title}, {where.title}", where.rates,
        what.program,
        (*what.options, *window, "--check", 1, "--warmup", seconds / 2,
         "--time", seconds),
        ranks=what.ranks, node=where.node, rdma=where.rdma,
        metric=what.metric, directions=what.directions)


def with_sizes(one, sizes):
    return replace(one, options=(*one.options, "--sizes",
                                 ",".join(map(str, sizes))))


def columns(one, chosen, before, variants):
    """Transports of a case, with another library's if there is one."""
    own = next(each for each in one.transports if each.fuselink)
    found = [each for each in one.transports
             if chosen is None or each.name in chosen]
    return [*found, *variants,
            *([transports.before(before, own)] if before else [])]


def fitting(sizes, wires, pattern):
    return [size for size in sizes
            if PATTERNS[pattern].smallest <= size <= WIRES[wires].largest]


def _size(text):
    match = re.fullmatch(r"(\d{1,9})([kM]?)", text)
    size = int(match[1]) * _UNITS[match[2]] if match else _LARGEST + 1
    if size > _LARGEST:
        raise BenchError(f"--sizes '{text}': accepted: 0 to 16M, as 8, 64k,"
                         " 4M")
    return size


def sizes_of(text):
    """Of a list 8,64k,4M or a range 8:4M:4, which goes down from its end in
    factors of 4, and has its beginning too."""
    parts = text.split(":")
    if len(parts) == 1:
        return sorted({_size(word) for word in text.split(",")})
    if len(parts) != 3 or not re.fullmatch(r"[2-9]|[1-9]\d", parts[2]):
        raise BenchError(f"--sizes '{text}': accepted: a list as 8,64k,4M, or"
                         " FIRST:LAST:FACTOR with a factor of 2 to 99")
    first, size = _size(parts[0]), _size(parts[1])
    found = {first}
    while size > first:
        found.add(size)
        size //= int(parts[2])
    return sorted(found)


def size_name(size):
    for unit, name in ((1 << 20, "MB"), (1 << 10, "kB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"
