# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What a stage of contrib/check prints."""

import fnmatch
import time
import traceback


class Wrong(Exception):
    """What is seen is not what should be."""


def expect(condition, *what):
    if not condition:
        raise Wrong(" ".join(str(part)[:2000] for part in what))


def _matches(name, patterns):
    return [pattern for pattern in patterns if fnmatch.fnmatch(name, pattern)]


class Report:
    """@param patterns  What the user asks for; none: all.
    @param few  Patterns of what stands for the others, if he asks for nothing; none:
    nothing does."""

    def __init__(self, patterns, few=()):
        self.patterns = patterns
        self.few = [] if patterns else list(few)
        self.passed = self.failed = self.left_out = 0
        self._used = set()

    def wants(self, name):
        if self.patterns:
            return bool(_matches(name, self.patterns))
        used = _matches(name, self.few)
        self._used.update(used)
        self.left_out += bool(self.few and not used)
        return bool(used or not self.few)

    def check(self, name, test, *args):
        if not self.wants(name):
            return
        begin = time.monotonic()
        try:
            test(*args)
        except Exception as error:  # pylint: disable=broad-except
            self.not_ok(name, str(error) if isinstance(error, Wrong)
                        else traceback.format_exc())
            return
        self.passed += 1
        print(f"ok - {name} ({time.monotonic() - begin:.1f} s)", flush=True)

    def not_ok(self, name, why):
        self.failed += 1
        print(f"not ok - {name}")
        print("".join(f"  # {line}\n" for line in why.splitlines()), end="",
              flush=True)

    def finish(self, whole=True):
        """@param whole  All cases were named here."""
        for pattern in self.few:
            if whole and pattern not in self._used:
                self.not_ok(f"representative.list: '{pattern}' is a test", "")
        if self.left_out:
            print(f"# contrib/check --all has {self.left_out} tests more")
        print(f"{self.passed} passed, {self.failed} failed, 0 skipped")
        return 1 if self.failed else 0
