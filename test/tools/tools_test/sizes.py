# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The map of sizes of contrib/bench: real jobs of tiny settings, and what it says
of samples that are made up."""

import argparse
import re
import subprocess
import tempfile
import xml.etree.ElementTree
from pathlib import Path

from fuselink_bench import size_cases, size_report
from fuselink_bench.errors import BenchError
from fuselink_bench.size_files import Files
from fuselink_bench.size_plan import Plan

from .report import expect

_COLUMNS = ("ucx", "fuselink")
_CELLS = 2 * 2        # patterns and sizes of _command


def _command(hosts, folder, *more):
    """Two rounds of tiny jobs; (jobs that were run, stdout)."""
    done = subprocess.run(
        [hosts.source / "contrib/bench/run", "sizes", "--sizes", "8,64k",
         "--patterns", "latency,both-ways", "--wires", "shaped",
         "--transports", ",".join(_COLUMNS), "--rounds", "2",
         "--seconds", "0.01", "--folder", folder / "samples",
         "--table", folder / "table.md", "--chart", folder / "chart.svg",
         "--build-dir", hosts.programs, *more],
        capture_output=True, text=True, timeout=300, check=False)
    expect(done.returncode == 0, *vars(done).values())
    jobs = re.search(r"^jobs: (\d+), failed: 0;", done.stderr, re.M)
    return int(jobs[1]) if jobs else None, done.stdout


def _samples(folder):
    return {path: path.read_text(encoding="utf-8")
            for path in folder.glob("samples/*/*.jsonl")}


def measures_once(hosts):
    """A table with every cell and a picture with a line for each pattern; what
    is in the folder is not measured again, and what is not, alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs, out = _command(hosts, folder)
        # What is below the bar, if anything, comes on top.
        expect(jobs >= 2 * 2 * 2, jobs, out)
        rows = [line for line in out.splitlines()
                if re.match(r"\| (8 B|64 kB) \|", line)]
        expect(len(rows) == _CELLS, out)
        expect(all(len(re.findall(r" [\d.]+ ± \d+ %", row)) == len(_COLUMNS)
                   and re.search(r"\d+\.\d\d x ucx", row) for row in rows), out)
        expect((folder / "table.md").read_text(encoding="utf-8") + "\n" == out,
               "the table's file differs from", out)
        picture = xml.etree.ElementTree.parse(folder / "chart.svg").getroot()
        lines = picture.findall("{*}polyline")
        expect(len(lines) == 2 and all(
            len(line.get("points").split()) == 2 for line in lines),
            [line.attrib for line in lines])

        samples = _samples(folder)
        again, same = _command(hosts, folder)
        expect(again == 0 and same == out and _samples(folder) == samples,
               again, same)

        # One size of one job is gone.
        gone = next(path for path in samples
                    if path.name == "shaped.latency.ucx.1.jsonl")
        lines = samples[gone].splitlines(True)
        expect(len(lines) == 2, lines)
        gone.write_text(lines[0], encoding="utf-8")
        _, _ = _command(hosts, folder)
        now = _samples(folder)
        expect(now[gone].startswith(lines[0]) and
               len(now[gone].splitlines()) == 2, now[gone])
        first = {path: text for path, text in samples.items()
                 if "again" not in path.name and path != gone}
        expect(all(now[path] == text for path, text in first.items()), now)


def settings_keep_apart(hosts):
    """Other settings are measured anew, and the old samples stay."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few = ("--sizes", "8", "--patterns", "latency", "--rounds", "1")
        jobs, _ = _command(hosts, folder, *few)
        expect(jobs >= 2, jobs)
        samples = _samples(folder)
        jobs, _ = _command(hosts, folder, *few, "--seconds", "0.02")
        now = _samples(folder)
        expect(jobs >= 2 and samples.items() < now.items() and
               len({path.parent for path in now}) == 2, jobs, list(now))


def _made_up(folder, speeds):
    """A plan of one case, latency, whose samples are made up: speeds[size] is
    that of fuselink as a factor of ucx; ob1 is half as fast as that."""
    options = argparse.Namespace(
        transports="ucx,ob1,fuselink", sizes=",".join(map(str, speeds)),
        rounds=3, wires="shaped", patterns="latency", seconds=0.1, before=None)
    files = Files(folder, {"made": "up"})
    plan = Plan(options, files, [])
    ((case, sizes, columns),) = plan.plan["shaped"]
    expect(sizes == sorted(speeds), sizes)
    for number in range(options.rounds):
        _add(files, case, columns, number, speeds)
    return plan, files, case, sizes, columns


def _add(files, case, columns, repetition, speeds):
    # One of three is an outlier, which a median does not see.
    odd = 10 if repetition in (1, "again1") else 1
    for column in columns:
        for size, speed in speeds.items():
            latency = {"ucx": 1e-5, "ob1": 2e-5,
                       "fuselink": 1e-5 / speed}[column.name]
            files.append(case, column, repetition,
                         [{"size": size, "latency_s": odd * latency,
                           "time": 0}])


def below_is_measured_again(_hosts):
    """What is below the bar is wanted three times as often, of fuselink and the
    faster peer alone; it is listed only if it is below again."""
    with tempfile.TemporaryDirectory() as folder:
        plan, files, case, sizes, columns = _made_up(
            folder, {8: 1.2, 64: 0.98, 512: 0.9, 4096: 0.5})
        cells = plan.cells(case, sizes, columns)
        expect([round(cell.best()[0], 3) for cell in cells] ==
               [1.2, 0.98, 0.9, 0.5] and
               {cell.best()[1] for cell in cells} == {"ucx"},
               [cell.best() for cell in cells])
        expect([cell.below(plan.rounds) for cell in cells] ==
               [False, False, None, None], "before it is measured again")

        wanted = list(plan.second_pass())
        expect([job[2] for job in wanted] ==
               [f"again{number}" for number in range(9)], wanted)
        for _, jobs, repetition in wanted:
            expect([(job[1].name, job[2]) for job in jobs] ==
                   [("ucx", [512, 4096]), ("fuselink", [512, 4096])], jobs)
            if repetition != "again8":
                _add(files, case, [job[1] for job in jobs], repetition,
                     {512: 0.99, 4096: 0.51})
        cells = plan.cells(case, sizes, columns)
        expect(cells[3].below(plan.rounds) is None, "one is missing")
        _add(files, case, [job[1] for job in wanted[0][1]], "again8",
             {512: 0.99, 4096: 0.51})
        cells = plan.cells(case, sizes, columns)
        expect([cell.below(plan.rounds) for cell in cells] ==
               [False, False, False, True], "after it is measured again")

        text = size_report.text([(cells, columns)], plan.rounds, 0.1, files)
        below, above = text.split("### Cells below")[1].split("Not below")
        expect("4 kB: 0.50 x ucx; with 9 samples 0.51 x ucx" in below and
               "512 B" not in below, text)
        expect("512 B: 0.90 x ucx; with 9 samples 0.99 x ucx" in above and
               "4 kB" not in above, text)


def sizes_that_are_asked_for(_hosts):
    for text, sizes in (("8,64k,4M", [8, 65536, 4194304]),
                        ("64k,8,8", [8, 65536]),
                        ("8:4k:4", [8, 16, 64, 256, 1024, 4096]),
                        ("0:4:2", [0, 1, 2, 4]), ("8:8:2", [8])):
        expect(size_cases.sizes_of(text) == sizes, text,
               size_cases.sizes_of(text))
    for text in ("", "8,", "x", "32M", "-1", "8:64", "8:64:1", "8:64:2:2"):
        try:
            found = size_cases.sizes_of(text)
        except BenchError as error:
            expect("accepted" in str(error), error)
        else:
            expect(False, f"'{text}' is taken for", found)


CASES = [sizes_that_are_asked_for, below_is_measured_again, measures_once,
         settings_keep_apart]
