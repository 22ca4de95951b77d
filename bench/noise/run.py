"""Exact noise beside OpenDP (exact) and numpy (floating point: fast, but not private). CPU seconds of one thread, one run.

Ours fills a slice of 10^6 integers from the secure source; OpenDP noises a vector of integers; numpy rounds its samples.
"""

import json
import os
import pathlib
import subprocess
import time

import numpy as np
import opendp.prelude as dp

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
OURS = TARGET / "release" / "noise"
SCALES = [1.0, 10.0, 1000.0]
OPENDP_DRAWS = 20_000
NUMPY_DRAWS = 1_000_000

dp.enable_features("contrib")


def ours():
    lines = subprocess.run([OURS], check=True, capture_output=True, text=True).stdout.splitlines()
    return {(row["name"], row["scale"]): row["per_second"] for row in map(json.loads, lines)}


def best_rate(draws, work):
    work()
    best = 0.0
    for _ in range(3):
        start = time.process_time()
        work()
        best = max(best, draws / (time.process_time() - start))
    return best


def opendp_rate(make, metric, scale):
    space = dp.vector_domain(dp.atom_domain(T=int)), metric
    measurement = make(*space, scale=scale)
    zeros = [0] * OPENDP_DRAWS
    return best_rate(OPENDP_DRAWS, lambda: measurement(zeros))


def million(rate):
    return f"{rate / 1e6:.3g}" if rate < 1e8 else f"{rate / 1e6:.0f}"


def main():
    rates = ours()
    rng = np.random.default_rng()
    peers = {
        "discrete Laplace": (
            lambda scale: opendp_rate(dp.m.make_laplace, dp.l1_distance(T=int), scale),
            lambda scale: best_rate(NUMPY_DRAWS, lambda: np.rint(rng.laplace(0.0, scale, NUMPY_DRAWS)).astype(np.int64)),
        ),
        "discrete Gaussian": (
            lambda scale: opendp_rate(dp.m.make_gaussian, dp.l2_distance(T=float), scale),
            lambda scale: best_rate(NUMPY_DRAWS, lambda: np.rint(rng.normal(0.0, scale, NUMPY_DRAWS)).astype(np.int64)),
        ),
    }
    print("million draws per CPU second, one thread")
    print("| distribution | scale | scumble, slice | OpenDP | numpy (inexact) | × OpenDP | × numpy |")
    print("|---|---|---|---|---|---|---|")
    for name, (opendp, numpy) in peers.items():
        for scale in SCALES:
            our = rates[(f"slice, {name}", scale)]
            theirs, floats = opendp(scale), numpy(scale)
            cells = [name, f"{scale:g}", million(our), million(theirs), million(floats)]
            print("| " + " | ".join(cells + [f"{our / theirs:,.0f}", f"{our / floats:.1f}"]) + " |", flush=True)
    print()
    print("| scumble alone | scale | million per CPU second |")
    print("|---|---|---|")
    for (name, scale), rate in rates.items():
        if name.startswith("table"):
            continue
        print(f"| {name} | {'' if scale == 0 else f'{scale:g}'} | {million(rate)} |")
    print()
    print("| making the table | scale | milliseconds, once |")
    print("|---|---|---|")
    for (name, scale), rate in rates.items():
        if name.startswith("table"):
            print(f"| {name.removeprefix('table, ')} | {scale:g} | {1000 / rate:.2f} |")


main()
