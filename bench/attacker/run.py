"""Attackers with partial knowledge beside numpy/scipy versions of the same quantities.

Both sides are measured in this run, in CPU seconds. The reference uses FFT convolutions (scipy.signal) and log-gamma pmfs
(scipy.stats.binom), which is what one writes without worrying about tails; its numbers agree with ours as long as δ is well above
1e-12, and it certifies nothing. Its search over the box is stopped
after 20 CPU seconds (the ratio is then a lower bound, and its value a loose one).
"""

import heapq
import json
import os
import pathlib
import subprocess
import time

import numpy as np
from scipy.signal import fftconvolve
from scipy.stats import binom

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
OURS = TARGET / "release" / "attacker"
LAMBDA = 0.05


def spread(n):
    return 0.05 + 0.9 * (np.arange(n) + 0.5) / n


def trimmed(first, f):
    keep = np.flatnonzero(f > 1e-19)
    return first + keep[0], f[keep[0] : keep[-1] + 1]


def convolve(a, b):
    (i, f), (j, g) = a, b
    h = np.convolve(f, g) if min(len(f), len(g)) < 300 else np.maximum(fftconvolve(f, g), 0)
    return trimmed(i + j, h)


def poisson_binomial(p):
    """All leaves of 64 coins at once, then pairs of windows."""
    leaves = np.array_split(p, max(1, len(p) // 64))
    windows = []
    width = max(len(leaf) for leaf in leaves)
    padded = np.array([np.pad(leaf, (0, width - len(leaf))) for leaf in leaves])
    f = np.zeros((len(leaves), width + 1))
    f[:, 0] = 1
    for column in range(width):
        q = padded[:, column : column + 1]
        f[:, 1:] = f[:, 1:] * (1 - q) + f[:, :-1] * q
        f[:, :1] *= 1 - q
    windows = [trimmed(0, row) for row in f]
    while len(windows) > 1:
        windows = [convolve(*windows[i : i + 2]) if i + 1 < len(windows) else windows[i] for i in range(0, len(windows), 2)]
    return windows[0][1]


def d10(f, epsilon):
    before, here = np.append(f, 0), np.append(0, f)
    return np.maximum(here - np.exp(epsilon) * before, 0).sum()


def d01(f, epsilon):
    return d10(f[::-1], epsilon)


def delta(f, epsilon):
    return max(d10(f, epsilon), d01(f, epsilon))


def window(n, p):
    if n == 0:
        return 0, np.ones(1)
    middle, reach = n * p, 9.5 * np.sqrt(n * p * (1 - p)) + 30
    k = np.arange(max(0, int(middle - reach)), min(n, int(middle + reach)) + 1)
    return trimmed(k[0], binom.pmf(k, n, p))


def vertex(low, high, epsilon):
    return d10(convolve(window(low, LAMBDA), window(high, 1 - LAMBDA))[1], epsilon)


def worst(m, epsilon, tolerance, seconds=20.0):
    """Branch and bound by dropping records; stops after `seconds` of CPU with the bound it has by then."""
    start = time.process_time()
    best = max(vertex(a, m - a, epsilon) for a in (0, 1, 2, 3, m // 2, m))
    heap = [(-1.0, 0, m)]
    while heap and -heap[0][0] > best * (1 + tolerance) and time.process_time() - start < seconds:
        _, x, y = heapq.heappop(heap)
        middle = (x + y) // 2
        for u, v in ((x, middle), (middle + 1, y)):
            if u > v:
                continue
            best = max(best, vertex((u + v) // 2, m - (u + v) // 2, epsilon))
            if u < v:
                upper = vertex(u, m - v, epsilon)
                if upper > best * (1 + tolerance):
                    heapq.heappush(heap, (-upper, u, v))
    return max(best * (1 + tolerance), -heap[0][0] if heap else 0)


def blanket(m, epsilon):
    """E_N[P[Bin(N,1/2) >= k0-1] - e^eps P[Bin(N,1/2) >= k0]] over a window of N."""
    first, weights = window(m, 2 * LAMBDA)
    n = first + np.arange(len(weights))
    k0 = np.ceil(np.exp(epsilon) * (n + 1) / (1 + np.exp(epsilon)))
    each = binom.sf(k0 - 2, n, 0.5) - np.exp(epsilon) * binom.sf(k0 - 1, n, 0.5)
    return float(weights @ np.maximum(each, 0))


def reference(name):
    million, hundred_thousand = spread(10**6), spread(10**5)
    if name.startswith("exact"):
        return lambda: delta(poisson_binomial(million), 0.01)
    if name.startswith("worst"):
        epsilon = float(name.split()[-1])
        return lambda: worst(10**6, epsilon, 1e-3)
    if name.startswith("blanket"):
        return lambda: blanket(10**6, 0.02)

    def curve():
        f = poisson_binomial(hundred_thousand)
        return [delta(f, 0.05 * i / 199) for i in range(200)][100]

    return curve


def main():
    ours = json.loads(subprocess.run([OURS], check=True, capture_output=True, text=True).stdout)
    print(f"{'quantity':52} {'numpy s':>9} {'ours s':>9} {'ratio':>7}  {'numpy value':>13} {'ours, certified':>27}")
    for row in ours:
        run = reference(row["name"])
        start = time.process_time()
        value = run()
        seconds = time.process_time() - start
        lower, upper = row["value"]
        print(
            f"{row['name']:52} {seconds:9.3f} {row['seconds']:9.4f} {seconds / row['seconds']:7.1f}  {value:13.6e} "
            f"{lower:13.6e} {upper:13.6e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
