# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What a stage of contrib/check prints."""

import fnmatch
import traceback


class Wrong(Exception):
    """What is seen is not what should be."""


def expect(condition, *what):
    if not condition:
        raise Wrong(" ".join(str(part)[:2000] for part in what))


class Report:
    def __init__(self, patterns):
        self.patterns = patterns
        self.passed = self.failed = 0

    def wants(self, name):
        return not self.patterns or any(fnmatch.fnmatch(name, pattern)
                                        for pattern in self.patterns)

    def check(self, name, test, *args):
        if not self.wants(name):
            return
        try:
            test(*args)
        except Exception as error:  # pylint: disable=broad-except
            self.not_ok(name, str(error) if isinstance(error, Wrong)
                        else traceback.format_exc())
            return
        self.passed += 1
        print(f"ok - {name}", flush=True)

    def not_ok(self, name, why):
        self.failed += 1
        print(f"not ok - {name}")
        print("".join(f"  # {line}\n" for line in why.splitlines()), end="",
              flush=True)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, 0 skipped")
        return 1 if self.failed else 0
