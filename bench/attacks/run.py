"""The attacks and the audit beside scipy on the same instances: one run, CPU seconds.

Ours is the whole program: start, reading text, solving, writing JSON. The peers' clock starts when their arrays are in memory, except for the
audit, where both read the same two text files. BLAS and HiGHS have one thread.

    bench/run attacks                                         the tables of the page
    bench/run attacks --people 60 --outputs 20000             small sizes, to see that it runs
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

os.environ.update({name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")})

import numpy as np
from scipy import sparse
from scipy.optimize import linprog, lsq_linear
from scipy.sparse.linalg import lsqr
from scipy.stats import beta

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from program import child, scumble

# The instances are the same in each run.
SEED = 20261116


def published(people, queries, spread):
    """A secret column of fair coins, random subsets of the people, and their counts with rounded Gaussian noise."""
    generator = np.random.default_rng(SEED)
    truth = generator.integers(0, 2, people)
    matrix = generator.integers(0, 2, (queries, people), dtype=np.int8)
    answers = matrix @ truth + np.rint(generator.normal(0, spread, queries))
    return matrix, answers, truth


def timed(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def reconstruct(folder, matrix, answers, truth, method):
    """Our program on CSV files: CPU seconds and its JSON."""
    names = {name: pathlib.Path(folder, f"{name}.csv") for name in ("queries", "answers", "truth")}
    np.savetxt(names["queries"], matrix, fmt="%d", delimiter=",")
    np.savetxt(names["answers"], answers, fmt="%d")
    np.savetxt(names["truth"], truth, fmt="%d")
    files = [part for name, path in names.items() for part in (f"--{name}", str(path))]
    seconds, _, printed = child([scumble(), "attack", "reconstruct", *files, "--method", method, "--json"])
    return seconds, json.loads(printed)


def highs(matrix, answers):
    """min Σ e⁺ + e⁻ with Qx − e⁺ + e⁻ = y, 0 ≤ x ≤ 1."""
    queries, people = matrix.shape
    one = sparse.identity(queries, format="csc")
    left = sparse.hstack([sparse.csc_matrix(matrix.astype(float)), -one, one], format="csc")
    cost = np.concatenate([np.zeros(people), np.ones(2 * queries)])
    bounds = [(0, 1)] * people + [(0, None)] * (2 * queries)
    return linprog(cost, A_eq=left, b_eq=answers, bounds=bounds, method="highs")


def right(estimate, truth):
    return int(((np.asarray(estimate) >= 0.5) == (truth == 1)).sum())


def show(rows, ours):
    print("| | CPU seconds | × ours | result |")
    print("|---|---|---|---|")
    for name, seconds, result in rows:
        print(f"| {name} | {seconds:.3f} | {seconds / ours:.2f} | {result} |", flush=True)
    print()


def linear(people):
    queries = 10 * people
    matrix, answers, truth = published(people, queries, spread=np.sqrt(people) / 4)
    print(f"linear programme, {people} people, {queries} queries: least total error, people that were found\n")
    with tempfile.TemporaryDirectory() as folder:
        ours, found = reconstruct(folder, matrix, answers, truth, "linear")
    theirs, solved = timed(lambda: highs(matrix, answers))
    least, estimate = (solved.fun, solved.x[:people]) if solved.success else (float("nan"), np.zeros(people))
    show(
        [
            ("scumble", ours, f"{found['total_error_at_least']:.3f} … {found['total_error']:.3f}, {found['recovered']['right']} found"),
            ("scipy, HiGHS", theirs, f"{least:.3f}, {right(estimate, truth)} found"),
        ],
        ours,
    )


def squares(people):
    queries = 2 * people
    matrix, answers, truth = published(people, queries, spread=1.0)
    print(f"least squares, {people} people, {queries} queries: people that were found\n")
    with tempfile.TemporaryDirectory() as folder:
        ours, found = reconstruct(folder, matrix, answers, truth, "least-squares")
    dense = matrix.astype(float)
    bounded, first = timed(lambda: lsq_linear(dense, answers, bounds=(0, 1), lsq_solver="lsmr"))
    iterated, second = timed(lambda: lsqr(dense, answers, atol=1e-12, btol=1e-12, iter_lim=20 + 4 * people))
    show(
        [
            ("scumble, conjugate gradients", ours, f"{found['recovered']['right']} found"),
            ("scipy lsqr", iterated, f"{right(second[0], truth)} found"),
            ("scipy lsq_linear on [0, 1]", bounded, f"{right(first.x, truth)} found"),
        ],
        ours,
    )


def clopper_pearson(files, share):
    """What one writes in Python: an event from the first tenth of the outputs, and two beta quantiles from the rest."""
    table, neighbour = (np.loadtxt(file) for file in files)
    a, b = len(table) // 10, len(neighbour) // 10
    best = (0.0, None)
    for threshold in np.quantile(np.concatenate([table[:a], neighbour[:b]]), np.linspace(0.005, 0.995, 199)):
        hits, others = (table[:a] >= threshold).sum(), (neighbour[:b] >= threshold).sum()
        for swapped, below, k, l in ((0, 0, hits, others), (0, 1, a - hits, b - others), (1, 0, others, hits), (1, 1, b - others, a - hits)):
            best = max(best, (lower(k, b if swapped else a, l, a if swapped else b, share), (swapped, below, threshold)), key=lambda one: one[0])
    swapped, below, threshold = best[1]
    first, second = (neighbour[b:], table[a:]) if swapped else (table[a:], neighbour[b:])
    count = lambda sample: int((sample < threshold).sum() if below else (sample >= threshold).sum())
    return lower(count(first), len(first), count(second), len(second), share)


def lower(hits, runs, others, neighbours, share):
    if hits == 0:
        return 0.0
    p = beta.ppf(share / 2, hits, runs - hits + 1)
    q = beta.ppf(1 - share / 2, others + 1, neighbours - others) if others < neighbours else 1.0
    return max(0.0, float(np.log(p / q)))


def audit(outputs):
    generator = np.random.default_rng(SEED)
    half = outputs // 2
    print(f"audit of {2 * half} outputs of Laplace noise with ε = 1: ε is at least\n")
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, name) for name in ("table", "neighbour")]
        for value, file in enumerate(files):
            # Rounded, so that the low bits say nothing and both look at the law.
            np.savetxt(file, np.rint((value + generator.laplace(0, 1, half)) * 2**20) / 2**20, fmt="%.17g")
        ours, _, printed = child([scumble(), "audit", "outputs", *map(str, files), "--epsilon", "1", "--beta", "0.05", "--json"])
        theirs, found = timed(lambda: clopper_pearson(files, 0.05))
    show([("scumble", ours, f"{json.loads(printed)['epsilon_lower']:.4f}"), ("numpy and scipy, Clopper–Pearson", theirs, f"{found:.4f}")], ours)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--people", type=int, default=400, help="of the linear programme; least squares has ten times as many")
    arguments.add_argument("--outputs", type=int, default=1_000_000)
    arguments = arguments.parse_args()
    scumble()
    linear(arguments.people)
    squares(10 * arguments.people)
    audit(arguments.outputs)


main()
