"""Exact noise as numpy arrays of whole numbers, from a cryptographic source that is made anew for each call: a forked process repeats nothing.

Noise is the smaller half of privacy: what is added to what, and how far one person moves it, decides what it is worth. A session does both.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Union

from . import _native
from ._errors import InputError
from .events import dumped

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Integers = NDArray[numpy.int64]

# As many integers are drawn at a time, so that they stay in the processor's cache; between two pieces a signal is looked for.
_PIECE = 1 << 15

Size = Union[int, "tuple[int, ...]"]
Rational = Union[int, float, str, Decimal, Fraction]


def _drawn(law: str, size: Size, length: int | None = None, **parameters: Any) -> Integers:
    try:
        import numpy
    except ImportError:
        raise InputError("arrays of noise need numpy, which is not installed: pip install numpy") from None
    shape = size if isinstance(size, tuple) else (size,)
    count = 1
    for side in shape:
        if isinstance(side, bool) or not hasattr(side, "__index__") or side < 0:
            raise InputError(f"size must be a whole number that is not negative, or several of them, not {size!r}")
        count *= int(side)
    if count >= 1 << 60:
        raise InputError(f"size {size!r} is more than fits into memory")
    drawn = _native.Noise(law, dumped(parameters))
    numbers = numpy.empty(drawn.integers(count), dtype=numpy.int64)
    piece = drawn.whole(_PIECE)
    for start in range(0, len(numbers), piece):
        drawn.into(numbers[start : start + piece])
    return numbers.reshape(shape if length is None else (*shape, length))


def _text(value: Rational) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def discrete_gaussian(sigma: float, size: Size = 1) -> Integers:
    """P[z] ∝ e^(−z²/2σ²) on the integers.

    >>> discrete_gaussian(3.0, size=5).shape
    (5,)
    """
    return _drawn("discrete-gaussian", size, sigma=sigma)


def discrete_laplace(scale: float, size: Size = 1) -> Integers:
    """P[z] ∝ e^(−|z|/scale) on the integers."""
    return _drawn("discrete-laplace", size, scale=scale)


def geometric(scale: float, size: Size = 1) -> Integers:
    """P[n] ∝ e^(−n/scale) on 0, 1, 2, …"""
    return _drawn("geometric", size, scale=scale)


def truncated_discrete_laplace(scale: float, bound: int, size: Size = 1) -> Integers:
    """Discrete Laplace noise that is never further from zero than the bound."""
    return _drawn("truncated-discrete-laplace", size, scale=scale, bound=bound)


def sinh_normal(sigma: float, a: float, size: Size = 1) -> Integers:
    """A·arsinh((σ/A)·N(0,1)) on the integers: lighter tails than a Gaussian."""
    return _drawn("sinh-normal", size, sigma=sigma, a=a)


def negative_binomial(scale: float, shape: Rational, size: Size = 1) -> Integers:
    """Noise in shares: shapes add up, and shape 1 is geometric. The shape is the rational that it looks like (``"1/3"``)."""
    return _drawn("negative-binomial", size, scale=scale, shape=_text(shape))


def binomial(trials: int, probability: float, size: Size = 1) -> Integers:
    """How many of many trials succeed."""
    return _drawn("binomial", size, trials=trials, probability=probability)


def uniform(below: int, size: Size = 1) -> Integers:
    """Uniform integers 0, …, below − 1."""
    return _drawn("uniform", size, below=below)


def bernoulli(probability: Rational, size: Size = 1) -> Integers:
    """Coins: 1 with this probability, which is the rational that it looks like (0.1 is a tenth), else 0."""
    return _drawn("bernoulli", size, probability=_text(probability))


def k_norm(scale: float, dimension: int, size: Size = 1) -> Integers:
    """P[z] ∝ e^(−max|z_i|/scale) for several integers at once: the last axis has them."""
    return _drawn("k-norm", size, length=dimension, scale=scale, dimension=dimension)


def permutation(of: int, size: Size = 1) -> Integers:
    """Uniformly random orders of 0, …, of − 1: the last axis has them."""
    return _drawn("permutation", size, length=of, of=of)


def subset(universe: int, members: int, size: Size = 1) -> Integers:
    """Uniformly random sets of this many of 0, …, universe − 1, in order: the last axis has them."""
    return _drawn("subset", size, length=members, universe=universe, members=members)
