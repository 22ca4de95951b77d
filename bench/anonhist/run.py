"""Anonymized histograms beside a numpy version of the same algorithm: same counts, same layout, same projection.

Both sides are measured in this run, in CPU seconds (numpy: the best of three; ours: the mean over a second of repeats); reading the counts is not part of it.
The numpy side draws its noise as a difference of two floating-point geometrics, which is not exact.
"""

import heapq
import json
import math
import pathlib
import subprocess
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
OURS = HERE.parent / "target" / "release" / "anonhist"


def power_law(users, values, seed):
    """Counts of `values` values that sum to `users`: everybody once, the rest by a power law, in random order."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, values + 1)
    counts = 1 + np.floor((users - values) * weights / weights.sum()).astype(np.uint64)
    counts[0] += np.uint64(users) - counts.sum()
    return rng.permutation(counts)


def geometric_noise(rng, epsilon, size):
    p = 1 - math.exp(-epsilon)
    return rng.geometric(p, size) - rng.geometric(p, size)


def least_absolute(values):
    heap, tops = [], []
    for value in reversed(values.tolist()):
        heapq.heappush(heap, -value)
        heapq.heappush(heap, -value)
        heapq.heappop(heap)
        tops.append(-heap[0])
    projected = np.minimum.accumulate(np.array(tops[::-1]))
    return np.maximum(projected, 0)


def least_squares(areas, widths):
    blocks = []
    for area, width in zip(areas.tolist(), widths.tolist()):
        members = 1
        while blocks and blocks[-1][0] * width < area * blocks[-1][1]:
            before = blocks.pop()
            area, width, members = area + before[0], width + before[1], members + before[2]
        blocks.append((area, width, members))
    rounded, position = [], 0
    for area, width, members in blocks:
        for g in widths[position : position + members].tolist():
            rounded.append((2 * max(area, 0) * g + width) // (2 * width))
        position += members
    return np.array(rounded)


def layout(users, epsilon):
    if epsilon >= 0.5:
        side = math.isqrt(users - 1) + 1
        return side, np.arange(side + 1)
    logarithm = 2 + math.log(2 + 4 / epsilon)
    d = max(1, round(math.sqrt(epsilon * users / (2 * logarithm)) / 0.6))
    rows = max(1, round(0.6 * d))
    last, bounds = users // (rows + 1), [0]
    while bounds[-1] < last:
        bounds.append(min(last, bounds[-1] + max(1, bounds[-1] // d)))
    return rows, np.array(bounds)


def numpy_side(counts, users, epsilon, rng):
    rows, bounds = layout(users, epsilon)
    start = time.process_time()
    ordered = np.sort(counts)[::-1].astype(np.int64)
    middle = time.process_time()
    top, rest = ordered[:rows], ordered[rows:]
    prevalence = np.cumsum(np.bincount(np.minimum(rest, bounds[-1]), minlength=bounds[-1] + 1)[::-1])[::-1][1:]
    areas = np.add.reduceat(prevalence, bounds[:-1])
    widths = np.diff(bounds)
    noisy_top = top + geometric_noise(rng, epsilon, len(top))
    noisy_areas = areas + geometric_noise(rng, epsilon, len(areas))
    if epsilon >= 1:
        high, columns = least_absolute(noisy_top), least_absolute(noisy_areas)
    else:
        high = least_squares(noisy_top, np.ones(len(top), dtype=np.int64))
        strips = least_squares(noisy_areas, widths)
        columns = np.repeat(strips // widths, widths)
        offsets = np.arange(bounds[-1]) - np.repeat(bounds[:-1], widths)
        columns = np.sort(columns + (offsets < np.repeat(strips % widths, widths)))[::-1]
    drops = columns - np.append(columns[1:], 0)
    low = np.stack([np.arange(1, len(drops) + 1)[drops > 0], drops[drops > 0]])
    counts_high, values_high = np.unique(high[high > 0], return_counts=True)
    end = time.process_time()
    return middle - start, end - middle, len(counts_high) + low.shape[1]


def best(runs):
    return tuple(min(column) for column in zip(*runs))


def main():
    rng = np.random.default_rng(1)
    print("| users | values | ε | numpy sort | numpy release | ours sort | ours release | our error | our rows | numpy / ours |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for users, values in [(10**7, 10**6), (10**8, 10**6), (10**8, 10**7)]:
        counts = power_law(users, values, 7)
        with tempfile.NamedTemporaryFile(suffix=".u64") as file:
            counts.astype("<u8").tofile(file.name)
            for epsilon in [1.0, 0.1]:
                theirs = best([numpy_side(counts, users, epsilon, rng) for _ in range(3)])
                printed = subprocess.run(
                    [OURS, file.name, str(epsilon)], check=True, capture_output=True, text=True
                ).stdout
                ours = json.loads(printed)
                ours_total = ours["sort_seconds"] + ours["release_seconds"]
                print(
                    f"| {users:.0e} | {values:.0e} | {epsilon} | {theirs[0]:.3f} s | {theirs[1]:.3f} s "
                    f"| {ours['sort_seconds']:.4f} s | {ours['release_seconds']:.4f} s "
                    f"| {ours['error']} | {ours['rows']} | {sum(theirs[:2]) / ours_total:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
