"""What `scumble lab audit outputs` proves against mechanisms as they are installed from PyPI, each with its own claim.

Each mechanism is run many times on a pair of neighbours. Real outputs are audited twice: rounded to multiples of 2^-20 (does the law fit
the claim?) and with all their digits (do the low bits tell the tables apart?). Rounding is post-processing: a true claim holds for both.

    bench/run audit                     the table of the page
    bench/run audit --outputs 1000      fewer outputs (slow mechanisms: a fifth of them)
    bench/run audit --only PyDP         one package, or "control"
"""

import argparse
import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from mechanisms import all_of_them
from program import scumble

# Each audit says something false with at most this probability.
BETA = 1e-6
PACKAGES = ["opendp", "diffprivlib", "python-dp", "numpy"]


def sampled(mechanism, outputs):
    """The outputs on both tables, in the order of the runs; the two take turns."""
    both = ([], [])
    for _ in range(outputs):
        for table, kept in zip(mechanism.pair, both):
            kept.append(mechanism.run(table))
    return both


def views(mechanism, both):
    """Named pairs of samples: what is audited. All are functions of the outputs."""
    if isinstance(both[0][0], float):
        yield "rounded", [np.rint(np.array(side) * 2.0**20) / 2.0**20 for side in both]
    yield "all digits", both
    if mechanism.words:
        yield "which table could", [mechanism.words(np.array(side)) for side in both]


def audited(mechanism, samples):
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, name) for name in ("table", "neighbour")]
        for file, sample in zip(files, samples):
            # A Python float prints all its digits.
            file.write_text("".join(f"{output}\n" for output in (sample.tolist() if isinstance(sample, np.ndarray) else sample)))
        claim = ["--epsilon", repr(mechanism.epsilon), "--delta", repr(mechanism.delta), "--beta", repr(BETA), "--json", "--quiet"]
        told = subprocess.run([scumble(), "lab", "audit", "outputs", *files, *claim], capture_output=True, text=True)
    # 1 is: refuted.
    if told.returncode not in (0, 1):
        raise SystemExit(f"{mechanism.name}: {told.stderr}")
    return json.loads(told.stdout)


def shown(mechanism, view, outputs, found):
    claim = f"{mechanism.epsilon:.4g}" + (f", {mechanism.delta:g}" if mechanism.delta else "")
    hits = f"{found['hits']} of {found['runs']} against {found['neighbour_hits']} of {found['neighbour_runs']}"
    event = re.sub(r"\d+\.\d{5,}", lambda number: f"{float(number[0]):.5g}", found["event"])
    verdict = "**refuted**" if found["refuted"] else "no evidence"
    cells = [mechanism.package, mechanism.name, claim, view, str(outputs), f"{found['epsilon_lower']:.3f}", verdict, event, hits]
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--outputs", type=int, default=100_000)
    arguments.add_argument("--only")
    arguments = arguments.parse_args()
    scumble()
    print(", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES) + f"; β = {BETA:g} for each line\n")
    print("| package | mechanism | claimed ε, δ | outputs seen | per table | ε ≥ | the claim | event | seen |")
    print("|---|---|---|---|---|---|---|---|---|")
    missed = []
    for mechanism in all_of_them():
        if arguments.only not in (None, mechanism.package):
            continue
        outputs = arguments.outputs // 5 if mechanism.slow else arguments.outputs
        both = sampled(mechanism, outputs)
        refuted = False
        for view, samples in views(mechanism, both):
            found = audited(mechanism, samples)
            refuted |= found["refuted"]
            shown(mechanism, view, outputs, found)
        if mechanism.caught and not refuted:
            missed.append(mechanism.name)
    if missed:
        raise SystemExit(f"a claim that is known to be false was not refuted: {', '.join(missed)}")


main()
