# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Runs the MPICH test suite over UCX tcp and over fuselink and compares."""
