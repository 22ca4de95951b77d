"""bench/run python: the Python package beside the Rust that it is made of, and beside its peers. CPU seconds, one run, ratios.

    bench/run python [ROWS]        10^7 rows, or fewer

The package is the one that is installed in the topic's environment; the first run installs it (`pip install ../crates/python`, in release)."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BENCH = HERE.parent
sys.path.insert(0, str(BENCH))
sys.path.insert(0, str(BENCH / "engine"))
from program import TARGET, child, scumble

try:
    import scumble as sc
except ImportError:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", str(BENCH.parent / "crates/python")], check=True)
    import scumble as sc

import numpy as np

DRAWS = 10**7
PROJECT = """[dataset.t]
source = "{source}"
[dataset.t.columns]
key = {{ type = "category" }}
[[release]]
name = "r"
sql = "SELECT key, COUNT(*) AS n FROM t GROUP BY key"
cost = {{ epsilon = 1.0, delta = 1e-7 }}
"""


def best(work, runs=5):
    """CPU seconds of the best of some runs."""
    found = []
    for _ in range(runs):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def noise():
    subprocess.run(["cargo", "build", "--release", "--quiet", "--bin", "noise", "--manifest-path", str(BENCH / "Cargo.toml")], check=True)
    lines = subprocess.run([(BENCH / "target" if "CARGO_TARGET_DIR" not in os.environ else TARGET) / "release" / "noise"], check=True, capture_output=True, text=True)
    rates = {(row["name"], row["scale"]): row["per_second"] for row in map(json.loads, lines.stdout.splitlines())}
    rng = np.random.default_rng()
    print(f"10^7 integers, CPU seconds, one thread\n\n| distribution | scale | scumble in Python | Rust sampler, into a new array | numpy, rounded (inexact) | × Rust | numpy × ours |")
    print("|---|---|---|---|---|---|---|")
    laws = {
        "discrete Laplace": (sc.noise.discrete_laplace, rng.laplace),
        "discrete Gaussian": (sc.noise.discrete_gaussian, rng.normal),
    }
    for law, (exact, inexact) in laws.items():
        for scale in (1.0, 1000.0):
            python = best(lambda: exact(scale, DRAWS))
            rust = DRAWS / rates[(f"array, {law}", scale)]
            numpy = best(lambda: np.rint(inexact(0.0, scale, DRAWS)).astype(np.int64), runs=3)
            print(f"| {law} | {scale:g} | {python:.3f} | {rust:.3f} | {numpy:.3f} | {python / rust:.2f} | {numpy / python:.1f} |", flush=True)
    print()


def program(source):
    """The program on the same file: best of three."""
    runs = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "scumble.toml").write_text(PROJECT.format(source=source))
            seconds, memory, _ = child([scumble(), "release", "--quiet"], folder)
            runs.append((seconds, memory, len(pathlib.Path(folder, "out/r.csv").read_text().splitlines()) - 1))
    return min(runs)


def frame(who, source, runs=3):
    found = []
    for _ in range(runs):
        _, memory, output = child([sys.executable, str(HERE / "frames.py"), who, str(source)])
        told = json.loads(output.splitlines()[-1])
        found.append((told["seconds"], memory, told["groups"]))
    return min(found)


def written(rows):
    """A Parquet file of that many rows of 200 Zipf keys."""
    import data
    import pyarrow as pa

    folder = data.FOLDER.parent / "python-data"
    columns = lambda chunk: {"key": data.keys(np.random.default_rng([3, chunk]), min(rows, data.CHUNK))}  # noqa: E731
    return data.written(folder / f"keys-{rows}.parquet", max(1, rows // data.CHUNK), columns)


def counts(rows):
    source = written(rows)
    print(f"COUNT(*) by unknown key, {rows:,} rows of 200 Zipf keys, one row for each owner\n")
    base = program(source)
    table = [("the program on the Parquet file", base)]
    for label, who in (
        ("scumble, path of the Parquet file", "path"), ("scumble, pandas, texts", "pandas"), ("scumble, pandas, category", "pandas_category"),
        ("scumble, polars, texts", "polars"), ("scumble, polars, Categorical", "polars_categorical"), ("scumble, pyarrow, texts", "arrow"),
        ("OpenDP with Polars, texts", "opendp"),
    ):
        table.append((label, frame(who, source, 1 if who == "opendp" else 3)))
    print("| | CPU seconds | × the program | peak memory, MB | groups |\n|---|---|---|---|---|")
    for label, (seconds, memory, groups) in table:
        print(f"| {label} | {seconds:.2f} | {seconds / base[0]:.2f} | {memory / 1e6:.0f} | {groups} |", flush=True)
    fewer = min(rows, 10**6)
    small = written(fewer)
    theirs, mine = frame("pipeline_dp", small, 1), frame("pandas", small)
    print(f"\nPipelineDP (local backend) on {fewer:,} of such rows: {theirs[0]:.1f} CPU s, {theirs[0] / mine[0]:.0f} × scumble with pandas ({mine[0]:.2f})\n")


def tumult(rows):
    """Tumult Analytics on Spark, on a million of such rows, where SCUMBLE_TUMULT names a Python that has it."""
    python = os.environ.get("SCUMBLE_TUMULT")
    if not python:
        print("Tumult Analytics was not run: SCUMBLE_TUMULT names a Python that has it (bench/compare/requirements/tumult.txt)\n")
        return
    fewer = min(rows, 10**6)
    small = written(fewer)
    _, _, output = child([python, str(HERE / "frames.py"), "tumult", str(small)])
    theirs, mine = json.loads(output.splitlines()[-1])["seconds"], frame("pandas", small)[0]
    print(f"Tumult Analytics on Spark, the keys given to it, on {fewer:,} of such rows: {theirs:.1f} CPU s, {theirs / mine:.0f} × scumble with pandas ({mine:.2f})\n")


def accounting():
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    times, sigma, rate, delta = 10**5, 1.0, 0.001, 1e-6
    event = dp_accounting.SelfComposedDpEvent(dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma)), times)
    told = {}

    def google():
        told["google"] = PLDAccountant().compose(event).get_epsilon(delta)

    def ours():
        told["ours"] = sc.account(sc.Gaussian(sigma, times=times, sampling=sc.poisson(rate)), delta=delta)

    def listed():
        one = sc.Gaussian(sigma, sampling=sc.poisson(rate))
        told["listed"] = sc.account([one] * times, delta=delta)

    theirs, mine, many = best(google, 1), best(ours, 3), best(listed, 1)
    print("10^5 Gaussians on samples of a thousandth (σ = 1, δ = 1e-6)\n\n| | CPU seconds | × ours | ε at most | ε at least |\n|---|---|---|---|---|")
    print(f"| scumble, one event with times=10^5 | {mine:.3f} | 1 | {told['ours'].epsilon:.6f} | {told['ours'].epsilon_lower:.6f} |")
    print(f"| scumble, a list of 10^5 events | {many:.3f} | {many / mine:.1f} | {told['listed'].epsilon:.6f} | {told['listed'].epsilon_lower:.6f} |")
    print(f"| dp_accounting, PLD | {theirs:.3f} | {theirs / mine:.1f} | {told['google']:.6f} | |\n")


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10**7
    noise()
    counts(rows)
    tumult(rows)
    accounting()


main()
