# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Tests of the tools with real jobs on clusters."""
