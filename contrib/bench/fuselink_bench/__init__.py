# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Measures fuselink and what it is compared with on a contrib/cluster."""
