# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""An MPI job that tells what arrives, when it does, and takes orders: the
program `failure`."""

import os
import re
import signal
import subprocess
import threading

from .clock import Clock
from .errors import SampleError

START_S = 60.0
_END_S = 20.0
_ARRIVAL = re.compile(r"(\d+\.\d+) (\d+)")
# Lines of a job that failed, which are kept.
_KEPT = 1000


def said(line):
    """The word that a line of a rank begins with, and what is with it. mpirun mixes what
    ranks say, now and then within a line: then it is that of the last one."""
    word, _, rest = line[max(0, line.rfind("BENCH-")):].rstrip("\n").partition(" ")
    return word, rest


def arrivals(rest):
    """[(moment, bytes in all)] of what is with BENCH-AT; none, of thousands, if another
    rank has spoken meanwhile."""
    found = _ARRIVAL.fullmatch(rest)
    return [tuple(map(float, found.groups()))] if found else []


class LiveJob:
    """In a with statement, at whose end the job ends, too, and by which SampleError
    gets what the job said. Moments are by `clock`, which is that of the hosts."""

    def __init__(self, cluster, transport, program, placement, options,
                 clock=Clock(), devices=None, start=START_S):
        """`devices`: the network devices of host0's NICs, in the order of these, if they
        are called otherwise. `start`: seconds that it may take to begin."""
        devices = devices or cluster.nics
        self._clock = clock
        self._start = start
        self._nics = dict(zip(devices, cluster.nics))
        nics = cluster.nics
        words, env = transport.launch(nics)
        self._process = cluster.start(
            ["mpirun", *placement, *words, *transport.wrapper(nics),
             str(program), *map(str, options), *devices], env)
        self._changed = threading.Condition()
        self._arrivals = []    # (seconds since 1970, bytes in all)
        self._messages = []    # {nic: bytes} of each time it was asked
        self._words = {}       # {other word: what was with it}
        self._ended = False    # it has said so
        self._closed = False   # it says no more
        self._said = []
        self._printed = []     # beside its own words
        self._readers = [threading.Thread(target=each, daemon=True)
                         for each in (self._read, self._listen)]
        for reader in self._readers:
            reader.start()

    def __enter__(self):
        return self

    def __exit__(self, _, error, __):
        self._kill()
        for reader in self._readers:
            reader.join(5)
        if isinstance(error, SampleError):
            error.said = self.lines()[-_KEPT:]

    def order(self, letter):
        try:
            self._process.stdin.write(letter)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise SampleError(self._why()) from None

    def arrivals(self):
        with self._changed:
            return list(self._arrivals)

    def last_arrival(self):
        """When; 0 if there was none."""
        with self._changed:
            return self._arrivals[-1][0] if self._arrivals else 0.0

    def messages(self, number):
        """What NICs carried of short messages, the number-th time."""
        self._wait(lambda: len(self._messages) > number, self._start,
                   "does not say which NICs have its messages")
        return self._messages[number]

    def wait_for(self, word, seconds):
        """Until it has said a word, and with that what."""
        self._wait(lambda: word in self._words, seconds,
                   f"does not say {word}")
        return self._words[word]

    def pid(self):
        """Of the last rank."""
        return int(self.wait_for("BENCH-PID", self._start))

    def lines(self):
        """What its processes and libraries have said."""
        with self._changed:
            return self._printed + self._said

    def wait_for_arrival(self, after, seconds):
        """Whether something arrives after this moment."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or (self._arrivals and
                                         self._arrivals[-1][0] > after),
                seconds)
            if self._closed and not self._ended:
                raise SampleError(self._why())
            return bool(self._arrivals) and self._arrivals[-1][0] > after

    def sleep_until(self, moment):
        """Also until it ends, which is an error then."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed,
                                   max(0.0, moment - self._clock.now()))
            if self._closed:
                raise SampleError(self._why())

    def finish(self):
        """Lets it come to its end."""
        self.order("q")
        self._wait(lambda: self._ended, _END_S, "does not end")
        try:
            status = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            raise SampleError("the job does not end") from None
        if status != 0:
            raise SampleError(self._why())

    def _wait(self, done, seconds, complaint):
        with self._changed:
            self._changed.wait_for(lambda: done() or self._closed, seconds)
            if not done():
                raise SampleError(self._why() if self._closed
                                  else f"the job {complaint}")

    def _why(self):
        self._kill()
        errors = [line for line in self._said if line.strip(" -*=\n")]
        return (f"the job ended with {self._process.returncode}: "
                + (errors or ["it said nothing"])[-1].strip()[:200])

    def _read(self):
        line = ""
        try:
            for line in self._process.stdout:
                with self._changed:
                    self._hear(line)
                    self._changed.notify_all()
        except (ValueError, KeyError) as error:
            self._said.append(f"what it says is not understood ({error!r}): {line}")
        finally:
            with self._changed:
                self._closed = True
                self._changed.notify_all()

    def _hear(self, line):
        word, rest = said(line)
        if word == "BENCH-AT":
            self._arrivals += arrivals(rest)
        elif word == "BENCH-MESSAGES":
            pairs = (pair.split("=") for pair in rest.split())
            self._messages.append({self._nics[device]: float(count)
                                   for device, count in pairs})
        elif word == "BENCH-END":
            self._ended = True
        elif word.startswith("BENCH-"):
            self._words[word] = rest
        else:
            self._printed.append(line)

    def _listen(self):
        for line in self._process.stderr:
            self._said.append(line)

    def _kill(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                if self._process.poll() is None:
                    os.killpg(self._process.pid, number)
                self._process.wait(5)
                return
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
