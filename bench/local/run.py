"""Frequency oracles beside pure-ldp and multi-freq-ldpy: the same oracle and the same ε, values of the same owners, and how far off the estimates are.

Like for like, in memory and in CPU seconds: the reports of all owners, and what the collector makes of them (ours with intervals, from reports as texts). Beside it the whole program,
`scumble local collect --csv` on a file of reports: start, reading, counting, intervals and writing. The reports that ours reads are drawn here with numpy, by the law that docs/how-to/local.md states: that is quicker than
10^7 calls of the program, and is no part of what is timed. `--small` divides owners and values by a hundred.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from program import child, scumble  # noqa: E402


def held(owners, values, rng):
    """Everybody's value, by a power law."""
    weights = 1.0 / np.arange(1, values + 1)
    return rng.choice(values, size=owners, p=weights / weights.sum())


def hadamard(value, values, epsilon, rng):
    rows = 1 << values.bit_length()
    mask = value + 1
    row = rng.integers(rows, size=value.size)
    outside = np.bitwise_count((row & mask).astype(np.uint64)) % 2 == 1
    lie = rng.random(value.size) < 1 / (math.exp(epsilon) + 1)
    return np.where(outside == lie, row, row ^ (mask & -mask))


def ours_hadamard(truth, values, epsilon, rng, folder):
    path = folder / "reports.txt"
    with open(path, "w") as file:
        file.write("\n".join(f"h{row}" for row in hadamard(truth, values, epsilon, rng).tolist()) + "\n")
    command = [str(scumble()), "local", "collect", str(path), "--values", str(values), "--epsilon", str(epsilon), "--oracle", "hadamard", "--csv"]
    seconds, memory, text = child(command)
    counts = np.array([float(line.split(",")[1]) for line in text.splitlines()[1:]])
    return seconds, memory, counts


def squared_error(counts, truth, values):
    true = np.bincount(truth, minlength=values)
    return float(np.mean((counts - true)[values // 2 :] ** 2)) / truth.size


def pure_ldp(truth, values, epsilon):
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer

    server = HadamardResponseServer(epsilon, values)
    client = HadamardResponseClient(epsilon, values, server.get_hash_funcs())
    start = time.process_time()
    reports = [client.privatise(int(value) + 1) for value in truth]
    reported = time.process_time() - start
    start = time.process_time()
    for report in reports:
        server.aggregate(report)
    counts = np.array(server.estimate_all(range(1, values + 1), suppress_warnings=True))
    return reported, time.process_time() - start, counts


def multi_freq(truth, values, epsilon):
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    start = time.process_time()
    reports = [UE_Client(int(value), values, epsilon, True) for value in truth]
    reported = time.process_time() - start
    start = time.process_time()
    UE_Aggregator_MI(reports, epsilon, True)
    seconds = time.process_time() - start
    # It raises what is below 0 and divides by the sum; the variance of the oracle is that of what it does so to.
    own, other = 1 / 2, 1 / (math.exp(epsilon) + 1)
    return reported, seconds, (sum(reports) - truth.size * other) / (own - other)


def ours_unary(truth, values, epsilon, rng, folder):
    ones = rng.random((truth.size, values)) < 1 / (math.exp(epsilon) + 1)
    ones[np.arange(truth.size), truth] = rng.random(truth.size) < 0.5
    padded = np.zeros((truth.size, -(-values // 4) * 4), dtype=np.uint8)
    padded[:, :values] = ones
    digits = np.packbits(padded.reshape(truth.size, -1, 4), axis=2, bitorder="little")[:, :, 0]
    letters = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)[digits]
    path = folder / "unary.txt"
    with open(path, "wb") as file:
        for line in letters:
            file.write(b"u" + line.tobytes() + b"\n")
    command = [str(scumble()), "local", "collect", str(path), "--values", str(values), "--epsilon", str(epsilon), "--oracle", "unary", "--csv"]
    seconds, memory, text = child(command)
    return seconds, memory, np.array([float(line.split(",")[1]) for line in text.splitlines()[1:]])


def ours_in_memory(oracle, truth, values, epsilon, folder):
    """The best of three: CPU seconds for all reports, for the collection, and the estimates."""
    path = folder / "held.txt"
    path.write_text("\n".join(map(str, truth.tolist())))
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", pathlib.Path(__file__).resolve().parent.parent / "target"))
    command = [target / "release" / "local", oracle, str(values), str(epsilon), path]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(3)]
    best = min(runs, key=lambda run: run["report"] + run["collect"])
    return best["report"], best["collect"], np.array(best["counts"])


def main():
    small = 100 if "--small" in sys.argv else 1
    epsilon, rng = 1.0, np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        print("| | owners | values | reports, s | collecting, s | × ours, both | variance per owner (theory) |")
        print("|---|---|---|---|---|---|---|")

        def line(who, truth, values, report, collect, ratio, counts, theory):
            report = "" if report is None else f"{report:.4f}"
            ratio = "" if ratio is None else f"{ratio[0]:.0f}, {ratio[1]:.0f}"
            print(f"| {who} | {truth.size} | {values} | {report} | {collect:.4f} | {ratio} | {squared_error(counts, truth, values):.2f} ({theory:.2f}) |", flush=True)

        hadamard = ((math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)) ** 2
        unary = 4 * math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2
        owners, values = 10_000_000 // small, 1_000_000 // small
        truth = held(owners, values, rng)
        seconds, memory, counts = ours_hadamard(truth, values, epsilon, rng, folder)
        line(f"ours, the whole program, Hadamard, {memory / 2**20:.0f} MiB", truth, values, None, seconds, None, counts, hadamard)
        owners, values = 100_000 // small, 1000 // min(small, 10)
        truth = held(owners, values, rng)
        for name, theory, whole, peer, theirs in (("hadamard", hadamard, ours_hadamard, "pure-ldp", pure_ldp), ("unary", unary, ours_unary, "multi-freq-ldpy", multi_freq)):
            report, collect, counts = ours_in_memory(name, truth, values, epsilon, folder)
            line(f"ours, {name}", truth, values, report, collect, None, counts, theory)
            seconds, _, counts = whole(truth, values, epsilon, rng, folder)
            line(f"ours, the whole program, {name}", truth, values, None, seconds, None, counts, theory)
            their_report, their_collect, counts = theirs(truth, values, epsilon)
            line(f"{peer}, {name}", truth, values, their_report, their_collect, (their_report / report, their_collect / collect), counts, theory)


if __name__ == "__main__":
    main()
