#!/usr/bin/env python3
"""Marginals and heavy hitters, ours beside what a careful Python user would write, both measured in this run (CPU seconds).

Marginals: the example table (50,000 people, 8 attributes, 15,360 cells), all 2- and 3-way marginals at epsilon 1, delta 1e-9, presence.
The peer is the residual planner (Xiao, He, Zhang, Kifer 2023) in numpy with continuous Gaussian noise at the exact Gaussian sigma,
unbiased answers, no fitted model: what it releases is neither non-negative nor rows. Ours is whole rows, calibrated by zCDP.
Heavy hitters: ours only (we know of no other implementation). Large universes: ours only (no peer here projects onto a million cells)."""
import itertools, json, os, subprocess, sys, time
import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(HERE, "..", "target"))
BINARY = os.path.join(TARGET, "release", "per-attribute")
SIZES = [8, 6, 2, 5, 4, 2, 2, 2]
RELEASES = int(sys.argv[1]) if len(sys.argv) > 1 else 20


def ours(*arguments):
    out = subprocess.run([BINARY, *map(str, arguments)], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def table():
    """The same table, from the binary, so that both sides see the same people."""
    cells = ours("table")[0]["cells"]
    return np.array(cells, dtype=float).reshape(SIZES)


def peer(x, rng):
    d, n_cells = len(SIZES), x.size
    delta = lambda mu: norm.cdf(mu / 2 - 1 / mu) - np.e * norm.cdf(-mu / 2 - 1 / mu)
    mu2 = brentq(lambda mu: delta(mu) - 1e-9, 0.01, 1) ** 2
    moved = lambda a: np.prod([1 - 1 / SIZES[j] for j in a]) if a else 1.0
    weights = {}
    for order in (2, 3):
        for b in itertools.combinations(range(d), order):
            for size in range(order + 1):
                for a in itertools.combinations(b, size):
                    spread = np.prod([SIZES[j] ** -2.0 for j in b if j not in a])
                    cells = np.prod([SIZES[j] for j in b])
                    weights[a] = weights.get(a, 0) + cells * moved(a) * spread
    factor = sum(np.sqrt(moved(a) * w) for a, w in weights.items()) / mu2
    residual = {}
    for a, w in weights.items():
        sigma = np.sqrt(np.sqrt(moved(a) / w) * factor)
        m = x.sum(tuple(j for j in range(d) if j not in a))
        m = m + rng.normal(0, sigma, m.shape)
        for axis in range(m.ndim):
            m = m - m.mean(axis, keepdims=True)
        residual[a] = m
    answers = {}
    for order in (2, 3):
        for b in itertools.combinations(range(d), order):
            total = np.zeros([SIZES[j] for j in b])
            for size in range(order + 1):
                for a in itertools.combinations(b, size):
                    shape = [SIZES[j] if j in a else 1 for j in b]
                    rest = np.prod([SIZES[j] for j in b if j not in a])
                    total = total + residual[a].reshape(shape) / rest
            answers[b] = total
    return answers


def errors(x, answers):
    n = x.sum()
    result = []
    for order in (2, 3):
        off = []
        for b in itertools.combinations(range(len(SIZES)), order):
            exact = x.sum(tuple(j for j in range(len(SIZES)) if j not in b)) / n
            off.append(np.abs(exact - answers[b] / answers[b].sum()).sum() / 2)
        result += [np.mean(off), np.max(off)]
    return result[0], result[2], result[3]


def main():
    x = table()
    rng = np.random.default_rng()
    rows = []
    for _ in range(RELEASES):
        before = time.process_time()
        answers = peer(x, rng)
        rows.append((*errors(x, answers), time.process_time() - before))
    theirs = np.mean(rows, axis=0)
    runs = ours("marginals", RELEASES)
    mine = np.mean([[run[key] for key in ("pairs", "triples", "worst", "seconds")] for run in runs], axis=0)
    print(f"marginals, mean of {RELEASES} releases, (1, 1e-9) presence")
    print(f"{'':34}{'2-way':>9}{'3-way':>9}{'worst':>9}{'CPU s':>9}")
    print(f"{'residual planner (numpy, raw)':34}" + "".join(f"{v:9.4f}" for v in theirs[:3]) + f"{theirs[3]:9.2f}")
    print(f"{'scumble (whole rows)':34}" + "".join(f"{v:9.4f}" for v in mine[:3]) + f"{mine[3]:9.2f}")
    print(f"{'ratio of errors (peer / ours)':34}" + "".join(f"{a / b:9.2f}" for a, b in zip(theirs[:3], mine[:3])))
    run = runs[0]
    print(f"cost of the same release: rho presence {run['rho_presence']:.5f}, person {run['rho_person']:.5f}, one attribute "
          f"{min(run['rho_attributes']):.5f} to {max(run['rho_attributes']):.5f}")
    heavy = ours("heavy-hitters")[0]
    print(f"heavy hitters, {heavy['people']} people x {heavy['attributes']} attributes: {heavy['seconds']:.2f} CPU s, "
          f"{heavy['right']} of 10 strings found, {heavy['found'] - heavy['right']} others; epsilon {heavy['epsilon_attribute']:.3f} per "
          f"attribute, {heavy['epsilon_person']:.2f} per person, {heavy['epsilon_presence']:.2f} presence")
    large()


def large():
    """Up to 10^7 cells: 100,000 people at rho 0.05 for a person; a universe 2x20 is twenty attributes of two values."""
    print("large universes: error of a count (root mean square), CPU seconds of one release, peak memory of the process")
    print(f"{'universe':10}{'cells':>10}{'order':>6}{'counts':>8}  {'method':26}{'noise':>8}{'promised':>9}{'error':>9}{'gap':>8}{'CPU s':>8}{'rows s':>8}{'MB':>6}")
    for universe, order, rounds in (("2x14", 2, 10), ("2x20", 2, 10), ("4x10", 2, 10), ("2x23", 2, 10), ("5x10", 2, 10), ("5x10", 2, 64), ("10x7", 2, 10), ("2x20", 3, 10), ("10x7", 3, 10)):
        for run in ours("large", universe, order, 100_000, rounds):
            head = f"{universe:10}{run['cells']:10d}{order:6d}{run['queries']:8d}  "
            if run["method"] == "projection":
                # The gap as a share of the squared noise along the dimensions of the answers: at most 0.01 is wanted.
                print(head + f"{'projection':26}{run['noise']:8.1f}{run['promised']:9.1f}{run['error']:9.1f}{run['gap_share']:8.4f}"
                      f"{run['seconds']:8.2f}{run['seconds_rows']:8.2f}{run['peak_megabytes']:6d}")
            elif run["method"] == "residual":
                print(head + f"{'residual':26}{'':8}{'':9}{run['error']:9.1f}{'':8}{run['seconds']:8.2f}{'':8}{run['peak_megabytes']:6d}")
            else:
                method = f"mwem, {run['rounds']} rounds of {run['queries_per_round']}"
                print(head + f"{method:26}{'':8}{'':9}{run['error']:9.1f}{'':8}{run['seconds']:8.2f}{'':8}{run['peak_megabytes']:6d}")


main()
