"""The nearest correlation matrix, ours beside numpy with the same method, on the same noisy matrix: one run, one thread, CPU seconds.

    bench/run psd                                500 columns, 2000 people, rho 0.1
    bench/run psd --columns 60 --people 300      a small one, to see that it runs
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


def ours(columns, people, file):
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    printed = subprocess.run([target / "release" / "psd", str(columns), str(people), str(file)], check=True, capture_output=True, text=True)
    return json.loads(printed.stdout)


class Point:
    """A point of the dual: minimise ½‖(A + Diag y)₊‖² − Σy."""

    def __init__(self, matrix, y):
        self.y = y
        self.values, self.vectors = np.linalg.eigh(matrix + np.diag(y))
        positive = np.maximum(self.values, 0)
        self.part = (self.vectors * positive) @ self.vectors.T
        self.theta = positive @ positive / 2 - y.sum()
        self.gradient = np.diag(self.part) - 1

    def feasible(self):
        scale = 1 / np.sqrt(np.diag(self.part))
        return self.part * scale[:, None] * scale[None, :]

    def curvature(self):
        """h ↦ diag(V(W∘(Vᵀ Diag(h) V))Vᵀ)."""
        above = self.values > 0
        weights = np.outer(above, above).astype(float)
        mixed = self.values[above][:, None] / (self.values[above][:, None] - self.values[~above][None, :])
        weights[np.ix_(above, ~above)] = mixed
        weights[np.ix_(~above, above)] = mixed.T

        def apply(h):
            inner = (self.vectors.T * h) @ self.vectors
            return np.einsum("ij,ij->i", self.vectors @ (weights * inner), self.vectors) + 1e-12 * h

        return apply


def conjugate_gradients(apply, right, enough):
    x, rest = np.zeros_like(right), right.copy()
    direction, squares = rest.copy(), rest @ rest
    for _ in range(200):
        if np.sqrt(squares) <= enough:
            break
        image = apply(direction)
        step = squares / (direction @ image)
        x += step * direction
        rest -= step * image
        before, squares = squares, rest @ rest
        direction = rest + squares / before * direction
    return x


def nearest(matrix):
    size = len(matrix)
    point = Point(matrix, np.zeros(size))
    for steps in range(60):
        found = point.feasible()
        gap = ((found - matrix) ** 2).sum() / 2 - ((matrix**2).sum() / 2 - point.theta)
        if gap <= 1e-9 * size**2:
            break
        slope = np.linalg.norm(point.gradient)
        direction = conjugate_gradients(point.curvature(), -point.gradient, 1e-2 * slope)
        length = 1.0
        while True:
            after = Point(matrix, point.y + length * direction)
            if after.theta <= point.theta + 1e-4 * length * (point.gradient @ direction) or length < 1e-10:
                break
            length /= 2
        point = after
    return found, gap, steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=500)
    parser.add_argument("--people", type=int, default=2000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "noisy")
        told = ours(given.columns, given.people, file)
        size = told["size"]
        noisy = np.fromfile(file, dtype="<f8").reshape(size, size)
        projected = np.fromfile(f"{file}.projected", dtype="<f8").reshape(size, size)
    begun = time.process_time()
    found, gap, steps = nearest(noisy)
    seconds = time.process_time() - begun
    print(f"{given.columns} columns, {given.people} people, rho 0.1: a matrix of {size} rows")
    print("| | CPU seconds | × numpy | Newton steps | gap |")
    print("|---|---|---|---|---|")
    print(f"| ours | {told['seconds']:.3f} | {told['seconds'] / seconds:.2f} | {told['steps']} | {told['gap']:.1e} |")
    print(f"| numpy | {seconds:.3f} | 1 | {steps} | {gap:.1e} |")
    print(f"\nthe two results differ by at most {np.abs(found - projected).max():.1e} in an entry")
    print(f"root mean square error of a correlation: noise {told['noise']:.4f}, projected {told['projected']:.4f}, promised {told['promised']:.4f}")
    if given.columns == 500:
        print("within twice numpy's time:", "yes" if told["seconds"] <= 2 * seconds else "NO")


if __name__ == "__main__":
    main()
