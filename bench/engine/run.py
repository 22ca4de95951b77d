"""The release engine beside OpenDP with Polars, and beside the same bounding without privacy on DataFusion and DuckDB. One run, CPU
seconds (user + system, all threads) and peak memory of one child process each.

Ours is the whole program: project file, private plan, ledger, noise, outputs and report. The peers' clock starts after their imports.

    bench/run engine            the tables of the page, except for 10^8 rows
    bench/run engine --large    these as well (2 GB on disk)
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

import data

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from program import child, scumble

PROJECT = """
[dataset.t]
source = "{source}"
{owner}
[dataset.t.columns]
key = {{ type = "category" }}
value = {{ type = "float", lower = 0, upper = 100, granularity = 0.01 }}
"""
OWNER = 'owner = "owner"\nmax_rows_per_owner = 3\nmax_groups_per_owner = 3\nmax_rows_per_group = 1'
RELEASE = """
[[release]]
name = "{name}"
sql = "{sql}"
cost = {{ epsilon = 1.0, delta = 1e-7 }}
"""


def ours(source, sql, owner=""):
    """The best of three runs of the program on a project of one release."""
    runs = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            text = PROJECT.format(source=source, owner=owner) + RELEASE.format(name="r", sql=sql)
            pathlib.Path(folder, "scumble.toml").write_text(text)
            seconds, memory, _ = child([scumble(), "release", "--quiet"], folder)
            runs.append((seconds, memory, len(pathlib.Path(folder, "out/r.csv").read_text().splitlines()) - 1))
    return min(runs)


def peer(name, source, runs=3):
    """The best of some runs of a peer: seconds by its own clock, peak memory of the whole child, rows of its answer."""
    results = []
    for _ in range(runs):
        _, memory, output = child([sys.executable, str(HERE / "peers.py"), name, str(source)])
        told = json.loads(output.splitlines()[-1])
        results.append((told["seconds"], memory, told["rows"]))
    return min(results)


def show(table, base):
    print("| | CPU seconds | × ours | peak memory, MB | groups |")
    print("|---|---|---|---|---|")
    for name, (seconds, memory, rows) in table:
        print(f"| {name} | {seconds:.2f} | {seconds / base:.2f} | {memory / 1e6:.0f} | {rows} |", flush=True)
    print()


def bounded(rows):
    print("COUNT(*) and SUM by unknown key, 10^7 rows of 2·10^6 owners, 200 Zipf keys, 3 groups per owner and 1 row in each\n")
    mine = ours(rows, "SELECT key, COUNT(*) AS n, SUM(value) AS s FROM t GROUP BY key", OWNER)
    show(
        [
            ("scumble, private", mine),
            ("OpenDP with Polars, private", peer("opendp", rows, runs=1)),
            ("DataFusion, not private: GROUP BY owner and key, then one window", peer("datafusion-grouped", rows)),
            ("DataFusion, not private: two windows over the rows", peer("datafusion-windows", rows, runs=1)),
            ("DuckDB, not private: GROUP BY owner and key, then one window", peer("duckdb-grouped", rows)),
            ("DuckDB, not private: two windows over the rows", peer("duckdb-windows", rows, runs=1)),
        ],
        mine[0],
    )


def one_row_each(source, title):
    print(f"COUNT(*) by unknown key, {title} rows, one row per owner\n")
    mine = ours(source, "SELECT key, COUNT(*) AS n FROM t GROUP BY key")
    show([("scumble, private", mine), ("DataFusion, plain query", peer("datafusion-count", source))], mine[0])


def planning(rows):
    releases = 100
    with tempfile.TemporaryDirectory() as folder:
        text = PROJECT.format(source=rows, owner=OWNER)
        for number in range(releases):
            sql = f"SELECT key, COUNT(*) AS n, SUM(value) AS s FROM t WHERE value > {number} GROUP BY key"
            text += RELEASE.format(name=f"r{number}", sql=sql)
        pathlib.Path(folder, "scumble.toml").write_text(text)
        start = time.monotonic()
        seconds, memory, _ = child([scumble(), "plan", "--json"], folder)
        wall = time.monotonic() - start
    print(f"planning a file of {releases} releases: {seconds:.2f} CPU seconds, {wall:.2f} s, {memory / 1e6:.0f} MB\n")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--large", action="store_true")
    arguments = arguments.parse_args()
    scumble()
    rows, single = data.rows(), data.single(1)
    bounded(rows)
    one_row_each(single, "10^7")
    planning(rows)
    if arguments.large:
        one_row_each(data.single(10), "10^8")


main()
