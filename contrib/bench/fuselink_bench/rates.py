# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""NIC rates as contrib/cluster writes them: 200mbit, 1.5gbit, none."""

import re

from .errors import BenchError

_UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


def bytes_per_s(rate):
    """Bytes per second of a rate, None for an unshaped NIC."""
    if rate == "none":
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(kbit|mbit|gbit)", rate)
    if not match:
        raise BenchError(f"rate '{rate}': accepted: 200mbit, 1gbit, ... or"
                         " none")
    return float(match[1]) * _UNITS[match[2]] / 8


def total(rates):
    """Sum of the rates in bytes per second, None if one is unshaped."""
    values = [bytes_per_s(rate) for rate in rates]
    return None if None in values else sum(values)
