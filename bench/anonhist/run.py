"""Anonymized histograms beside a numpy version of the same algorithm: same counts, same layout, same projection.

Both sides are measured in this run, in CPU seconds (numpy: the best of three; ours: the mean over a second of repeats); reading the counts is not part of it.
The numpy side draws its noise as a difference of two floating-point geometrics, which is not exact.
"""

import heapq
import json
import math
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
OURS = TARGET / "release" / "anonhist"


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
    """The areas, rounded, and the heights in units of 2^-16."""
    blocks = []
    for area, width in zip(areas.tolist(), widths.tolist()):
        members = 1
        while blocks and blocks[-1][0] * width < area * blocks[-1][1]:
            before = blocks.pop()
            area, width, members = area + before[0], width + before[1], members + before[2]
        blocks.append((area, width, members))
    rounded, heights = [], []
    for area, width, members in blocks:
        for g in widths[len(rounded) : len(rounded) + members].tolist():
            rounded.append((2 * max(area, 0) * g + width) // (2 * width))
        heights += [(max(area, 0) << 16) // width] * members
    return np.array(rounded), np.array(heights)


def widening(d, last):
    bounds = [0]
    while bounds[-1] < last:
        bounds.append(min(last, bounds[-1] + max(1, math.floor(bounds[-1] / d))))
    return np.array(bounds)


def layout(users, epsilon, rng):
    if epsilon >= 0.5:
        side = math.isqrt(users - 1) + 1
        return np.arange(side + 1), np.arange(side + 1)
    logarithm = 2 + math.log(2 + 4 / epsilon)
    balanced = 0.75 * math.sqrt(epsilon / (2 * logarithm))
    d = max(1, math.sqrt(users) * min(balanced, 0.095) * (1 + (rng.integers(16) / 16 - 0.5) / 8))
    rows = max(1, round(0.6 * math.sqrt(users)))
    return widening(d, rows), widening(d, users // (rows + 1))


def spread(areas, heights, widths):
    """The heights of the columns of strips: level, on a slope, or a cliff."""
    strip = np.repeat(np.arange(len(widths)), widths)
    offset = np.arange(len(strip)) - np.repeat(np.cumsum(widths) - widths, widths)
    level = (areas // widths)[strip] + (offset < (areas % widths)[strip])
    drops = heights - np.append(heights[1:], 0)
    fall_in, fall_out = np.append(0, drops[:-1]), drops
    near = np.append(widths[0], widths[:-1]) + widths
    far = widths + np.append(widths[1:], widths[-1])
    before = fall_in * far <= fall_out * near
    drop, distance = np.where(before, fall_in, fall_out), np.where(before, near, far)
    line = (heights + (1 << 15)) * distance + drop * (widths - 1)
    sloped = (2 * drop * (widths - 1) >= distance << 16) & (widths > 1)
    line = (line[strip] - 2 * drop[strip] * offset) // (distance[strip] << 16)
    columns = np.where(sloped[strip], line, level)
    beyond = np.append([0, 0], drops[:-2]) + np.append(drops[1:], 0)
    cliffs = (fall_in + fall_out > 32 * (beyond + (1 << 16))) & (np.minimum(fall_in, fall_out) > beyond) & (widths > 1)
    ends = np.cumsum(widths)
    for k in np.flatnonzero(cliffs[2:]) + 2:
        high, low = (heights[k - 1] + (1 << 15)) >> 16, (heights[k] - drops[k] + (1 << 15)) >> 16
        full, rest = divmod(areas[k] - low * widths[k], high - low)
        if 0 <= full < widths[k]:
            columns[ends[k] - widths[k] : ends[k]] = [high] * full + [low + rest] + [low] * (widths[k] - full - 1)
    return np.sort(columns)[::-1]


def numpy_side(counts, users, epsilon, rng):
    row_bounds, bounds = layout(users, epsilon, rng)
    start = time.process_time()
    ordered = np.sort(counts)[::-1].astype(np.int64)
    middle = time.process_time()
    rows = row_bounds[-1]
    top, rest = np.append(ordered[:rows], np.zeros(max(0, rows - len(ordered)), dtype=np.int64)), ordered[rows:]
    prevalence = np.cumsum(np.bincount(np.minimum(rest, bounds[-1]), minlength=bounds[-1] + 1)[::-1])[::-1][1:]
    top_areas, areas = np.add.reduceat(top, row_bounds[:-1]), np.add.reduceat(prevalence, bounds[:-1])
    noisy_top = top_areas + geometric_noise(rng, epsilon, len(top_areas))
    noisy_areas = areas + geometric_noise(rng, epsilon, len(areas))
    if epsilon >= 1:
        high, columns = least_absolute(noisy_top), least_absolute(noisy_areas)
    else:
        high, columns = (
            spread(*least_squares(noisy, widths), widths)
            for noisy, widths in [(noisy_top, np.diff(row_bounds)), (noisy_areas, np.diff(bounds))]
        )
    drops = columns - np.append(columns[1:], 0)
    low = np.stack([np.arange(1, len(drops) + 1)[drops > 0], drops[drops > 0]])
    counts_high, values_high = np.unique(high[high > 0], return_counts=True)
    end = time.process_time()
    found = np.zeros(max(len(ordered), high.size + (columns[0] if len(columns) else 0)), dtype=np.int64)
    everything = np.sort(np.concatenate([high, np.repeat(low[0], low[1])]))[::-1]
    found[: len(everything)] = everything
    found[: len(ordered)] -= ordered
    return middle - start, end - middle, len(counts_high) + low.shape[1], np.abs(found).sum()


def best(runs):
    return tuple(min(column) for column in zip(*runs))


def main():
    rng = np.random.default_rng(1)
    print("| users | values | ε | numpy sort | numpy release | ours sort | ours release | numpy error | our error | our rows | numpy / ours |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
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
                    f"| {theirs[3]} | {ours['error']} | {ours['rows']} | {sum(theirs[:2]) / ours_total:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
