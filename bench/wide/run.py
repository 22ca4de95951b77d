#!/usr/bin/env python3
"""Made-up rows of wide tables: total variation distance of rows, CPU seconds and memory, mean of several releases.

    bench/run wide [RELEASES] [TABLE…]

No peer is run here: MST and AIM take minutes each, and their numbers on the first table were measured elsewhere (README.md). "Independent rows" are the table's own rows
with each column shuffled by itself: exact columns without noise, no links, and the error that any rows have which are no copy of the data's."""
import csv, itertools, json, os, pathlib, random, statistics, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
BINARY = TARGET / "release" / "wide"
FOLDER = HERE / ".tables"
RELEASES = int(sys.argv[1]) if len(sys.argv) > 1 else 5
# rho at delta = 1e-9 (largest_rho of the core)
RHO = {"0.3": 0.0014767, "1": 0.0149731, "10": 1.0907857}
sys.path.insert(0, str(HERE))
import made_up


def sets(sizes):
    """All pairs (780 at most), and 60 triples of at most 200,000 cells, the same ones always."""
    places = range(len(sizes))
    pairs = list(itertools.combinations(places, 2))
    rng = random.Random(1)
    rng.seed(1)
    triples = [t for t in itertools.combinations(places, 3) if sizes[t[0]] * sizes[t[1]] * sizes[t[2]] < 2e5]
    triples = rng.sample(triples, min(60, len(triples)))
    if len(pairs) > 780:
        pairs = rng.sample(pairs, 780)
    return pairs + triples


def independent(path, chosen):
    """The distance of each set of columns between the table and the same with every column shuffled by itself."""
    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    columns = [list(column) for column in zip(*rows)]
    rng = random.Random(2)
    shuffled = [rng.sample(column, len(column)) for column in columns]
    off = {2: [], 3: []}
    for one in chosen:
        counts = {}
        for cell in zip(*(columns[c] for c in one)):
            counts[cell] = counts.get(cell, 0) + 1
        for cell in zip(*(shuffled[c] for c in one)):
            counts[cell] = counts.get(cell, 0) - 1
        off[len(one)].append(sum(map(abs, counts.values())) / 2 / len(rows))
    return statistics.mean(off[2]), statistics.mean(off[3]) if off[3] else float("nan")


def measure(name, epsilons):
    path = FOLDER / f"{name}.csv"
    if not path.exists():
        if name == "wide":
            subprocess.run([sys.executable, HERE / "data.py", FOLDER], check=True)
        else:
            made_up.make(name, FOLDER)
    sizes = list(json.loads((FOLDER / f"{name}.json").read_text()).values())
    chosen = sets(sizes)
    (FOLDER / f"{name}.sets").write_text("\n".join(" ".join(map(str, one)) for one in chosen))
    alone = independent(path, chosen)
    for epsilon in epsilons:
        command = [BINARY, path, FOLDER / f"{name}.sets", ",".join(map(str, sizes)), str(RHO[epsilon]), str(RELEASES)]
        lines = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout.splitlines()
        runs = [json.loads(line) for line in lines]
        mean = lambda key: statistics.mean(run[key] for run in runs)
        print(
            f"| {name} | {len(sizes)} | {epsilon} | {mean('pairs'):.4f} | {max(run['worst'] for run in runs):.3f} | {mean('triples'):.4f} "
            f"| {alone[0]:.4f}/{alone[1]:.3f} | {mean('seconds'):.2f} | {max(run['megabytes'] for run in runs):.0f} |",
            flush=True,
        )


def main():
    print("| table | columns | ε | pairs | worst pair | triples | independent rows | CPU s | MB |\n|---|---|---|---|---|---|---|---|---|")
    wanted = sys.argv[2:] or ["wide", *made_up.TABLES]
    for name in wanted:
        measure(name, ["0.3", "1", "10"] if name == "wide" else ["1"])


main()
