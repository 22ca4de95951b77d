"""Truncated concentrated privacy: a million noisy cells, and selection over ten million scores.

All sides are measured in this run, in CPU seconds (the least of seven quarter seconds of repeats). The noise is exact and from the
secure source on all sides; the plain argmax has no privacy at all.
"""

import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
OURS = TARGET / "release" / "tcdp"


def main():
    found = json.loads(subprocess.run([OURS], check=True, capture_output=True, text=True).stdout)
    rows = [
        ("10^6-cell histogram, sinh-normal beside Gaussian", found["sinh_normal"], found["gaussian"], 1.5),
        ("10^6-cell histogram, sinh-normal beside Laplace", found["sinh_normal"], found["laplace"], None),
        ("obvious answer over 10^7 scores beside plain argmax", found["obvious"], found["argmax"], 1.2),
    ]
    print(f"{'what':55} {'ours, s':>10} {'beside, s':>10} {'ratio':>7} {'bar':>5}")
    for what, ours, beside, bar in rows:
        print(f"{what:55} {ours:10.5f} {beside:10.5f} {ours / beside:7.2f} {bar or '':>5}")
    print(f"{'private median of 10^6 keys of 128 bits':55} {found['median']:10.5f}")
    print(f"{'10^5 keys of a domain of 2^128, every key noised':55} {found['huge_domain']:10.5f}")


if __name__ == "__main__":
    main()
