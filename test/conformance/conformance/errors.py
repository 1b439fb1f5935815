# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Errors that end a run with one line and no traceback."""


class ConformanceError(Exception):
    """Something the person who started the run has to know or change."""
