# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What contrib/bench/run watched says: of speeds that are made up, and of short jobs."""

import re
import subprocess

from fuselink_bench import watched
from fuselink_bench.watched import Way

from .report import expect


def what_it_says(_hosts):
    """Speeds are compared with those without error handling, and with one NIC's."""
    way = Way("turns", "in turns", "tag_lat", 1000, 1, True)
    found = {(way, "ucx", False): [2e6, 1e6, 3e6], (way, "ucx", True): [1e6],
             (way, "fuselink", False): [8e6], (way, "fuselink", True): [4e6]}
    text = watched.table(found, "Here.")
    expect("| in turns | ucx | 2.0 (1.0, 3.0) | 1.0 (1.0, 1.0) | 0.50 | 1.00 |" in text
           and "| in turns | fuselink | 8.0 (8.0, 8.0) | 4.0 (4.0, 4.0) | 0.50 | 4.00 |"
           in text, text)


def endpoints(hosts):
    """Those with error handling have all NICs, too."""
    done = subprocess.run(
        [hosts.source / "contrib/bench/run", "watched", "--rounds", "1", "--ways",
         "tag", "--transports", "ucx,fuselink", "--rates", "200mbit,200mbit"],
        capture_output=True, text=True, timeout=120, check=False)
    rows = dict(re.findall(r"^\| tags.* \| (\w+) \|.* \| ([0-9.]+) \|$", done.stdout,
                           re.M))
    expect(done.returncode == 0 and rows.keys() == {"ucx", "fuselink"}
           and rows["ucx"] == "1.00" and float(rows["fuselink"]) > 1.5,
           *vars(done).values())
    for wrong in (["--rounds", "0"], ["--rates", "fast"], ["--ways", "none"]):
        done = subprocess.run(
            [hosts.source / "contrib/bench/run", "watched", *wrong],
            capture_output=True, text=True, timeout=60, check=False)
        expect(done.returncode == 2 and wrong[1] in done.stderr, wrong,
               *vars(done).values())


CASES = [what_it_says, endpoints]
