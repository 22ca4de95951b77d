"""How cost grows with the rows: CPU seconds (user + system, all threads), wall seconds and peak memory of the whole program, by rows, memory limit and
processors.

    bench/run long              10^6 and 10^7 rows
    bench/run long --large      10^8 as well (2.5 GB on disk, some minutes; an idle machine)
    bench/run long --kinds      the page of the other kinds too
    bench/run long --before     10^7 rows, turn by turn with the program of before that SCUMBLE_BEFORE names, and nothing else

Each number is the best of three runs. "One processor" is the same program bound to one of them."""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import data

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from program import scumble

VISITS = """
memory = "{memory}"
[dataset.t]
source = "{source}"
owner = "owner"
max_rows_per_owner = 3
max_groups_per_owner = 3
max_rows_per_group = 1
[dataset.t.columns]
key = {{ type = "category" }}
value = {{ type = "float", lower = 0, upper = 100, granularity = 0.01 }}
day = {{ type = "int", lower = 0, upper = 6 }}
"""
WORDS = """
memory = "{memory}"
[dataset.t]
source = "{source}"
[dataset.t.columns]
word = {{ type = "category" }}
"""
RELEASE = """
[[release]]
name = "r"
{release}
cost = {{ epsilon = 1.0, delta = 1e-7 }}
"""
BOUNDED = 'sql = "SELECT key, COUNT(*) AS n, SUM(value) AS s FROM t GROUP BY key"'
KINDS = [
    ("histogram", "visits", 'kind = "histogram"\ntable = "t"\ncolumn = "key"'),
    ("cdf", "visits", 'kind = "cdf"\ntable = "t"\ncolumn = "value"'),
    ("quantiles", "visits", 'kind = "quantiles"\ntable = "t"\ncolumn = "value"\nquantiles = [0.1, 0.5, 0.9]'),
    ("heavy-hitters", "visits", 'kind = "heavy-hitters"\ntable = "t"\ncolumns = ["key", "day"]'),
    ("anonymized-histogram", "words", 'kind = "anonymized-histogram"\ntable = "t"\ncolumn = "word"'),
]
LARGE = "1 TB"


def started(text, folder, processors, program=None):
    pathlib.Path(folder, "scumble.toml").write_text(text)
    bind = None if processors is None else (lambda: os.sched_setaffinity(0, processors))
    return subprocess.Popen([program or scumble(), "release", "--quiet"], cwd=folder, preexec_fn=bind)


def side_by_side(text):
    """One release on each processor, at once, which share nothing: wall seconds until the last one is done."""
    with contextlib.ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory(dir=data.FOLDER)) for _ in os.sched_getaffinity(0)]
        start = time.monotonic()
        releases = [started(text, folder, {processor}) for folder, processor in zip(folders, sorted(os.sched_getaffinity(0)))]
        if any([release.wait() for release in releases]):
            raise SystemExit("a release failed")
        return time.monotonic() - start


def once(text, processors, program=None):
    """One release: CPU seconds, wall seconds, peak bytes. No temporary file is left."""
    with tempfile.TemporaryDirectory(dir=data.FOLDER) as folder:
        start = time.monotonic()
        process = started(text, folder, processors, program)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"the release failed with status {process.returncode}")
        left = [name for name in os.listdir(folder) if name.startswith(".scumble")]
        assert not left, left
        return usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss * 1024


def best(text, processors=None):
    runs = [once(text, processors) for _ in range(3)]
    return tuple(min(run[part] for run in runs) for part in range(3))


def project(table, source, release, memory):
    return (VISITS if table == "visits" else WORDS).format(source=source, memory=memory) + RELEASE.format(release=release)


def goal(words, value, limit, at_most=True):
    holds = value <= limit if at_most else value >= limit
    print(f"{words}: {value:.2f} (goal {'at most' if at_most else 'at least'} {limit}): {'holds' if holds else 'does NOT hold'}", flush=True)


def bounded(sizes):
    print("COUNT(*) and SUM by 200 unknown keys, at most 3 groups per owner and 1 row in each, five rows for each owner on average\n")
    print("| rows | memory | processors | CPU s | wall s | CPU ns per row | peak MB |\n|---|---|---|---|---|---|---|")
    found, one = {}, {min(os.sched_getaffinity(0))}
    for rows in sizes:
        source = data.visits(rows)
        cases = [(LARGE, None), ("500 MB", None), (LARGE, one)]
        for memory, processors in cases:
            run = best(project("visits", source, BOUNDED, memory), processors)
            found[rows, memory, processors is None] = run
            shown = "no limit" if memory == LARGE else memory
            print(
                f"| {rows:.0e} | {shown} | {'all' if processors is None else 1} | {run[0]:.2f} | {run[1]:.2f} | {run[0] / rows * 1e9:.0f} | {run[2] / 1e6:.0f} |",
                flush=True,
            )
    print()
    most, processors = sizes[-1], len(os.sched_getaffinity(0))
    if most >= 10**8:
        goal("CPU per row at 10^8 over 10^7", found[most, LARGE, True][0] / found[10**7, LARGE, True][0] / 10, 1.15)
        goal("CPU at 10^8 with 500 MB over no limit", found[most, "500 MB", True][0] / found[most, LARGE, True][0], 1.6)
        goal("MB at 10^8 with 500 MB", found[most, "500 MB", True][2] / 1e6, 500)
    if processors == 2:
        alone = found[most, LARGE, False][1]
        goal("two processors over one, wall time", alone / found[most, LARGE, True][1], 1.85, at_most=False)
        beside = min(side_by_side(project("visits", data.visits(most), BOUNDED, LARGE)) for _ in range(2))
        print(f"the same of two releases that share nothing, side by side, one on each: {2 * alone / beside:.2f}", flush=True)
    if 10**7 in sizes:
        goal("CPU seconds at 10^7", found[10**7, LARGE, True][0], 2.0)
    print()


def before(program):
    """The same 10^7 rows by two programs, turn by turn, so that both meet the same machine."""
    text = project("visits", data.visits(10**7), BOUNDED, LARGE)
    # A program of before limits did not know the first line.
    texts = {None: text, program: text.replace(f'memory = "{LARGE}"', "")}
    runs = [{which: once(texts[which], None, which) for which in (program, None)} for _ in range(9)]
    for which, name in ((program, "before"), (None, "now")):
        cpu = sorted(run[which][0] for run in runs)
        print(f"{name}: CPU seconds {cpu[0]:.2f} to {cpu[-1]:.2f}, median {cpu[4]:.2f}; peak MB {max(run[which][2] for run in runs) / 1e6:.0f}", flush=True)
    ratios = sorted(run[None][0] / run[program][0] for run in runs)
    goal("CPU now over before at 10^7, median of nine pairs", ratios[4], 1.0)


def kinds(sizes):
    print("The other kinds, with a limit of 4 GB\n")
    print("| kind | rows | CPU s | wall s | CPU ns per row | peak MB |\n|---|---|---|---|---|---|")
    for name, table, release in KINDS:
        for rows in sizes:
            source = data.visits(rows) if table == "visits" else data.words(rows)
            cpu, wall, memory = best(project(table, source, release, "4 GB"))
            print(f"| {name} | {rows:.0e} | {cpu:.2f} | {wall:.2f} | {cpu / rows * 1e9:.0f} | {memory / 1e6:.0f} |", flush=True)
    print()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--large", action="store_true")
    arguments.add_argument("--kinds", action="store_true")
    arguments.add_argument("--before", action="store_true")
    arguments = arguments.parse_args()
    scumble()
    data.FOLDER.mkdir(parents=True, exist_ok=True)
    if arguments.before:
        before(os.environ["SCUMBLE_BEFORE"])
        return
    sizes = [10**6, 10**7] + ([10**8] if arguments.large else [])
    bounded(sizes)
    if arguments.kinds:
        kinds(sizes)


main()
