# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Errors that end a run with one line and no traceback."""


class BenchError(Exception):
    """Something the person who started the run has to know or change."""


class SampleError(BenchError):
    """One measurement failed or cannot be believed."""

    said = ()  # the last lines of the job that failed, if it was one


class TooBusy(SampleError):
    """This machine had other work at the wrong moment."""
