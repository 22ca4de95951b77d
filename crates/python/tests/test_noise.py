"""Noise as arrays: the right laws, nothing repeated, nothing accepted that has no meaning."""

import math
import os
import threading
import time

import numpy as np
import pytest
import scumble as sc

N = 200_000


def near(values: np.ndarray, mean: float, deviation: float) -> None:
    """The mean of N draws is within seven standard errors: a false alarm has probability below 1e-11."""
    assert abs(values.mean() - mean) < 7 * deviation / math.sqrt(values.size), (values.mean(), mean)


def test_means_and_deviations() -> None:
    laplace = sc.noise.discrete_laplace(3.0, N)
    q = math.exp(-1 / 3)
    deviation = math.sqrt(2 * q) / (1 - q)
    near(laplace, 0, deviation)
    near(np.abs(laplace), 2 * q / (1 - q * q), deviation)
    gaussian = sc.noise.discrete_gaussian(10.0, N)
    near(gaussian, 0, 10)
    near(gaussian**2, 100, 142)
    near(sc.noise.geometric(3.0, N), q / (1 - q), math.sqrt(q) / (1 - q))
    near(sc.noise.binomial(100, 0.3, N), 30, math.sqrt(21))
    near(sc.noise.uniform(10, N), 4.5, 2.9)
    near(sc.noise.bernoulli("1/3", N), 1 / 3, 0.48)
    near(sc.noise.negative_binomial(3.0, "1/2", N), q / (1 - q) / 2, math.sqrt(q / 2) / (1 - q))
    bounded = sc.noise.truncated_discrete_laplace(3.0, 5, N)
    assert bounded.min() == -5 and bounded.max() == 5
    near(sc.noise.sinh_normal(5.0, 20.0, N), 0, 5)


def test_shapes() -> None:
    assert sc.noise.discrete_laplace(1.0).shape == (1,)
    assert sc.noise.discrete_laplace(1.0, (3, 4)).shape == (3, 4)
    assert sc.noise.discrete_laplace(1.0, 0).shape == (0,)
    assert sc.noise.k_norm(2.0, 3, 5).shape == (5, 3)
    orders = sc.noise.permutation(7, 11)
    assert orders.shape == (11, 7) and all(sorted(order) == list(range(7)) for order in orders.tolist())
    sets = sc.noise.subset(100, 5, 1000)
    assert sets.shape == (1000, 5) and all(len(set(one)) == 5 and one == sorted(one) for one in sets.tolist())
    assert sc.noise.discrete_gaussian(1.0, 5).dtype == np.int64 and sc.noise.discrete_gaussian(1.0, 5).flags.writeable


def test_a_long_array_has_no_seam() -> None:
    """Draws are made in blocks; what one block leaves over must not be zeros at the end of another."""
    values = sc.noise.uniform(1 << 62, (1 << 20) + 12345)
    assert np.unique(values).size == values.size


@pytest.mark.parametrize("wrong", [-1.0, 0.0, math.nan, math.inf, "x", None])
def test_a_scale_that_is_none(wrong: object) -> None:
    with pytest.raises(sc.InputError):
        sc.noise.discrete_laplace(wrong, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [-1, 1.5, "3", True, (2, -1), 1 << 70])
def test_a_size_that_is_none(wrong: object) -> None:
    with pytest.raises(sc.InputError):
        sc.noise.discrete_laplace(1.0, wrong)  # type: ignore[arg-type]


def test_other_parameters_that_are_none() -> None:
    for draw in (
        lambda: sc.noise.bernoulli(1.5), lambda: sc.noise.uniform(0), lambda: sc.noise.uniform(1 << 64), lambda: sc.noise.subset(3, 4),
        lambda: sc.noise.k_norm(1.0, 0), lambda: sc.noise.negative_binomial(1.0, "1/0"), lambda: sc.noise.sinh_normal(5.0, 1.0),
        lambda: sc.noise.truncated_discrete_laplace(1.0, -3), lambda: sc.noise.binomial(-1, 0.5),
    ):
        with pytest.raises(sc.InputError):
            draw()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_repeats_nothing() -> None:
    sc.noise.uniform(1 << 62, 1000)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, sc.noise.uniform(1 << 62, 8).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(reader, 64), dtype=np.int64)
    ours = sc.noise.uniform(1 << 62, 8)
    assert theirs.size == 8 and not set(ours.tolist()) & set(theirs.tolist())


def test_other_threads_run_meanwhile() -> None:
    ticks, done = 0, threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    sc.noise.discrete_gaussian(100.0, 5_000_000)
    elapsed = time.perf_counter() - start
    done.set()
    thread.join()
    assert elapsed < 0.02 or ticks > 2, (ticks, elapsed)
