"""A parity of 1000 attributes from 10^5 rows, ours beside elimination over GF(2) in numpy: the same rows, one run, one thread, CPU seconds.

    bench/run learning
    bench/run learning --attributes 100 --rows 5000      a small one, to see that it runs

Ours is private (a person's ε = 1: it looks at 46% of the rows). numpy is given as many rows, 64 bits in a word as ours has them, and solves twice: all rows
at once, as it is usually written, and cleverly, the first 2·attributes rows, of which the rest is checked with one pass.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

os.environ.update({name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")})

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


def ours(attributes, rows, file):
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    printed = subprocess.run([target / "release" / "learning", str(attributes), str(rows), str(file)], check=True, capture_output=True, text=True)
    return json.loads(printed.stdout)


def eliminated(words, labels, attributes):
    """The solution, by Gauss and Jordan: one pass over all rows for each unknown. None if there is none."""
    words, labels = words.copy(), labels.copy()
    pivots, top = [], 0
    for unknown in range(attributes):
        bit = np.uint64(1) << np.uint64(unknown % 64)
        holders = np.flatnonzero(words[:, unknown // 64] & bit)
        below = holders[holders >= top]
        if below.size == 0:
            continue
        first = below[0]
        words[[top, first]], labels[[top, first]] = words[[first, top]], labels[[first, top]]
        holders = np.flatnonzero(words[:, unknown // 64] & bit)
        others = holders[holders != top]
        words[others] ^= words[top]
        labels[others] ^= labels[top]
        pivots.append(unknown)
        top += 1
    if labels[top:].any():
        return None
    solution = np.zeros(attributes, dtype=np.uint8)
    solution[pivots] = labels[:top]
    return solution


def packed(solution, width):
    bits = np.zeros(64 * width, dtype=np.uint8)
    bits[: solution.size] = solution
    return np.packbits(bits, bitorder="little").view(np.uint64)


def predicted(words, solution):
    return (np.bitwise_count(words & packed(solution, words.shape[1])).sum(axis=1) % 2).astype(np.uint8)


def plainly(words, labels, attributes):
    return eliminated(words, labels, attributes)


def cleverly(words, labels, attributes):
    solution = eliminated(words[: 2 * attributes], labels[: 2 * attributes], attributes)
    return solution if solution is not None and (predicted(words, solution) == labels).all() else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--attributes", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "rows"
        found = ours(arguments.attributes, arguments.rows, file)
        words = np.fromfile(file, dtype=np.uint64).reshape(arguments.rows, -1)
        labels = np.fromfile(f"{file}.labels", dtype=np.uint8)
    kept = np.random.default_rng(1).random(arguments.rows) < found["keep"]
    words, labels = words[kept], labels[kept]
    print(f"{arguments.attributes} attributes, {arguments.rows} rows, of which {labels.size} are kept; the rule that ours published is wrong on {found['wrong']} rows")
    print("| | CPU seconds | × ours |")
    print("|---|---|---|")
    print(f"| scumble, private | {found['seconds']:.4f} | 1 |", flush=True)
    for name, solve in [("numpy, all rows at once", plainly), ("numpy, few rows and a check", cleverly)]:
        start = time.process_time()
        solution = solve(words, labels, arguments.attributes)
        seconds = time.process_time() - start
        assert solution is not None and (predicted(words, solution) == labels).all()
        print(f"| {name}, not private | {seconds:.4f} | {seconds / found['seconds']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
