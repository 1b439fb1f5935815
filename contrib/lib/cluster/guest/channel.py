# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Frames between the agent in the guest and a command on the machine.

A connection carries one job. The command sends START, the agent answers with
the job's output and at last END or FAILED. A frame is a letter, the length of
its payload, and the payload.
"""

import struct

HEADER = struct.Struct(">cI")

START = b"J"      # JSON: token, argv, cwd, env
INPUT = b"I"      # for the job's standard input; empty at its end
SIGNAL = b"S"     # a number
CONSUMED = b"C"   # this many bytes of INPUT were taken by the job
OUTPUT = b"O"     # of the job's standard output
ERROR = b"R"      # of the job's standard error
END = b"E"        # the job's wait status
FAILED = b"F"     # why the job could not be started

# Input that is under way, at most: the job's end of it is kept in memory, so
# that the agent never has to stop reading signals.
WINDOW = 65536
CHUNK = 65536


def frame(kind, payload=b""):
    return HEADER.pack(kind, len(payload)) + payload


def number(kind, value):
    return frame(kind, b"%d" % value)


class Parser:
    """Takes bytes as they come and gives the complete frames."""

    def __init__(self):
        self._bytes = bytearray()

    def feed(self, data):
        self._bytes += data
        frames = []
        while len(self._bytes) >= HEADER.size:
            kind, length = HEADER.unpack_from(self._bytes)
            end = HEADER.size + length
            if len(self._bytes) < end:
                break
            frames.append((kind, bytes(self._bytes[HEADER.size:end])))
            del self._bytes[:end]
        return frames
