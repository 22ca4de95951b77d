"""The mechanisms that are audited, each with its package's own claim for one pair of neighbours.

A pair is two values that differ by the sensitivity that the mechanism was made for, or two tables that differ in one row.
"""

import dataclasses
import math
import random
import typing
import warnings

import diffprivlib.mechanisms as ibm
import diffprivlib.tools
import numpy as np
import opendp.prelude as dp
import pydp.algorithms.laplacian as google_algorithms
import pydp.algorithms.numerical_mechanisms as google

dp.enable_features("contrib")
warnings.filterwarnings("ignore", category=DeprecationWarning)


@dataclasses.dataclass
class Mechanism:
    package: str
    name: str
    epsilon: float
    delta: float
    pair: tuple
    # From one of the pair to one output.
    run: typing.Callable
    # A slow one is run a fifth as often.
    slow: bool = False
    # The claim is known to be false: the audit has to say so.
    caught: bool = False
    # Words for an output, beside the output itself: post-processing, so that the claim holds for them too.
    words: typing.Callable | None = None


def naive_laplace(value):
    """What textbooks have: one uniform f64, one logarithm, one sum."""
    u = random.random() - 0.5
    return value - math.copysign(math.log(1.0 - 2.0 * abs(u)), u) if abs(u) < 0.5 else naive_laplace(value)


def reached(value, outputs):
    """Whether the naive sampler can print this output for this value at all: tries all u whose logarithm is near enough."""
    distance = np.abs(outputs - value)
    grid = 2.0**-52
    nearest = np.rint(np.exp(-distance) / grid)
    found = np.zeros(len(outputs), dtype=bool)
    for step in range(-6, 7):
        candidates = (nearest + step) * grid
        possible = (candidates > 0) & (candidates <= 1)
        noise = np.array([math.log(v) if ok else 0.0 for v, ok in zip(candidates, possible)])
        found |= possible & ((value - noise == outputs) | (value + noise == outputs))
    return found


def which_could(pair):
    """For each output: which of the two tables the naive sampler could have printed it for."""
    names = np.array(["neither", "table", "neighbour", "both"])

    def words(outputs):
        return names[reached(pair[0], outputs) + 2 * reached(pair[1], outputs).astype(int)]

    return words


def opendp_mechanisms():
    number = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace = dp.m.make_laplace(*number, scale=1.0)
    yield Mechanism("OpenDP", "make_laplace", laplace.map(1.0), 0, (0.0, 1.0), laplace, slow=True)
    too_small = dp.m.make_laplace(*number, scale=1 / 1.2)
    yield Mechanism("control", "OpenDP's make_laplace, claim divided by 1.2", too_small.map(1.0) / 1.2, 0, (0.0, 1.0), too_small, slow=True, caught=True)
    whole = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    integers = dp.m.make_laplace(*whole, scale=1.0)
    yield Mechanism("OpenDP", "make_laplace, integers", integers.map(1), 0, (0, 1), integers)
    gaussian = dp.m.make_gaussian(*number, scale=2.0)
    curve = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0)
    yield Mechanism("OpenDP", "make_gaussian, as (ε, δ)", curve.epsilon(0.01), 0.01, (0.0, 1.0), gaussian, slow=True)
    scores = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    choose = dp.m.make_noisy_max(*scores, dp.max_divergence(), scale=2.0)
    yield Mechanism("OpenDP", "make_noisy_max", choose.map(1.0), 0, UTILITIES, choose, slow=True)
    rows = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    quantile = dp.m.make_private_quantile(*rows, dp.max_divergence(), [i / 10 for i in range(11)], 0.5, 1.0)
    yield Mechanism("OpenDP", "make_private_quantile, median", quantile.map(1), 0, ONE_MORE, quantile, slow=True)


def diffprivlib_mechanisms():
    def added(mechanism, name, epsilon, delta=0.0, pair=(0.0, 1.0), **more):
        made = mechanism(epsilon=epsilon, sensitivity=1, **({"delta": delta} if delta else {}), **more)
        return Mechanism("diffprivlib", name, epsilon, delta, pair, made.randomise)

    yield added(ibm.Laplace, "Laplace", 1.0)
    yield added(ibm.LaplaceBoundedDomain, "LaplaceBoundedDomain on [0, 1]", 1.0, lower=0.0, upper=1.0)
    yield added(ibm.Staircase, "Staircase", 1.0)
    yield added(ibm.Snapping, "Snapping on [−10, 10]", 1.0, lower=-10.0, upper=10.0)
    yield added(ibm.Geometric, "Geometric", 1.0, pair=(0, 1))
    yield added(ibm.Gaussian, "Gaussian", 1.0, 0.01)
    yield added(ibm.GaussianAnalytic, "GaussianAnalytic", 1.0, 0.01)
    yield added(ibm.GaussianDiscrete, "GaussianDiscrete", 1.0, 0.01, pair=(0, 1))
    for mechanism in (ibm.Exponential, ibm.PermuteAndFlip):
        made = [mechanism(epsilon=1.0, sensitivity=1.0, utility=list(utility)) for utility in UTILITIES]
        yield Mechanism("diffprivlib", mechanism.__name__, 1.0, 0, tuple(made), lambda one: one.randomise())

    def median(rows):
        return float(diffprivlib.tools.quantile(rows, 0.5, epsilon=1.0, bounds=(0.0, 1.0)))

    pair = tuple(np.array(rows) for rows in ONE_OTHER)
    yield Mechanism("diffprivlib", "tools.quantile, median", 1.0, 0, pair, median, slow=True)


def google_mechanisms():
    laplace = google.LaplaceMechanism(1.0, 1.0)
    yield Mechanism("PyDP", "LaplaceMechanism", 1.0, 0, (0.0, 1.0), laplace.add_noise)
    yield Mechanism("PyDP", "LaplaceMechanism, integers", 1.0, 0, (0, 1), laplace.add_noise)
    gaussian = google.GaussianMechanism(1.0, 0.01, 1.0)
    yield Mechanism("PyDP", "GaussianMechanism", 1.0, 0.01, (0.0, 1.0), gaussian.add_noise)
    median = google_algorithms.Percentile(epsilon=1.0, percentile=0.5, lower_bound=0.0, upper_bound=1.0, dtype="float")
    yield Mechanism("PyDP", "Percentile, median", 1.0, 0, ([], [1.0]), median.quick_result, slow=True)


def naive_mechanisms():
    pair = (0.0, 1.0)
    yield Mechanism("control", "naive Laplace: one uniform f64, one logarithm", 1.0, 0, pair, naive_laplace, caught=True, words=which_could(pair))
    generator = np.random.default_rng()
    yield Mechanism("numpy", "value + Generator.laplace", 1.0, 0, pair, lambda value: value + generator.laplace(0.0, 1.0), caught=True)


# Scores of four candidates that one person can move by 1 each, in either direction.
UTILITIES = ([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0])
# One more row, above all others.
ONE_MORE = ([i / 10 for i in range(1, 10)], [i / 10 for i in range(1, 10)] + [1.0])
# One row has another value: the first.
ONE_OTHER = ([0.5] * 9, [0.375] + [0.5] * 8)


def all_of_them():
    for some in (naive_mechanisms, opendp_mechanisms, diffprivlib_mechanisms, google_mechanisms):
        yield from some()
