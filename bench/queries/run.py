"""One question to a model of ten million cells, ours beside numpy doing the same passes: medians, CPU seconds, one run, one thread.

Ours is the library in a release build: the fused pass over model and counts, the test and its noise (`ask`), and the pass that updates the model. numpy's is the
plain way: a dot product of the condition with the model and one with the counts, and exp, multiply and normalise for the update.

    bench/run queries                            ten million cells
    bench/run queries --cells 100000             a small one, to see that it runs
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

os.environ.update({name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")})

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


def ours(cells, questions):
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    printed = subprocess.run(
        [target / "release" / "queries", str(cells), str(questions)], check=True, capture_output=True, text=True
    )
    return json.loads(printed.stdout)


def numpy_passes(cells, questions):
    generator = np.random.default_rng(20261116)
    counts = (np.arange(cells) % 3 == 0).astype(np.int64)
    model = np.full(cells, 1.0 / cells)
    asks, updates = [], []
    for _ in range(questions):
        question = generator.integers(0, 2, cells).astype(bool)
        begun = time.process_time()
        count, share = int(counts[question].sum()), float(model[question].sum())
        expected = round(share * counts.sum())
        asks.append(time.process_time() - begun)
        begun = time.process_time()
        model[question] *= np.exp(0.1 if count > expected else -0.1)
        model /= model.sum()
        updates.append(time.process_time() - begun)
    return statistics.median(asks), statistics.median(updates)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=10_000_000)
    parser.add_argument("--questions", type=int, default=20)
    given = parser.parse_args()
    found = ours(given.cells, given.questions)
    ask, update = numpy_passes(given.cells, given.questions)
    print(f"{given.cells} cells, median of {given.questions} questions, CPU seconds")
    print("| | ours | numpy | numpy / ours |")
    print("|---|---|---|---|")
    for name, mine, theirs in (
        ("one question", found["ask_seconds"], ask),
        ("one update", found["update_seconds"], update),
    ):
        print(f"| {name} | {mine:.4f} | {theirs:.4f} | {theirs / mine:.1f} |")
    if given.cells == 10_000_000:
        print("within the goal of 0.1 s per question:", "yes" if found["ask_seconds"] <= 0.1 else "NO")


if __name__ == "__main__":
    main()
