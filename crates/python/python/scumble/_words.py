"""The words of the ledger, a class for each. Written from the table in crates/core/src/event/vocabulary.rs by
``SCUMBLE_UPDATE=1 cargo test -p scumble-wire --test vocabulary``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._event import Event

__all__ = [
    "Gaussian",
    "DiscreteGaussian",
    "Laplace",
    "DiscreteLaplace",
    "SinhNormal",
    "RandomizedResponse",
    "Exponential",
    "Pure",
    "Approximate",
    "Zcdp",
    "Tcdp",
    "HeavyHitters",
    "NewKeys",
    "SmoothNoise",
    "Parity",
    "Pair",
]


class Gaussian(Event):
    """Continuous Gaussian noise of standard deviation σ."""

    __slots__ = ()
    _word = "gaussian"
    _parameters = ("sigma",)

    def __init__(
        self,
        sigma: float | None = None,
        sensitivity: float | None = 1.0,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            sigma=sigma,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class DiscreteGaussian(Event):
    """P[z] ∝ e^{−z²/2σ²} on the integers; moves are whole (one cell by 1.5 is one by 1, two of these are three
    by 1)."""

    __slots__ = ()
    _word = "discrete-gaussian"
    _parameters = ("sigma",)

    def __init__(
        self,
        sigma: float | None = None,
        sensitivity: float | None = 1.0,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            sigma=sigma,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class Laplace(Event):
    """Continuous Laplace noise, density ∝ e^{−|z|/scale}."""

    __slots__ = ()
    _word = "laplace"
    _parameters = ("scale",)

    def __init__(
        self,
        scale: float | None = None,
        sensitivity: float | None = 1.0,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            scale=scale,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class DiscreteLaplace(Event):
    """P[z] ∝ e^{−|z|/scale} on the integers."""

    __slots__ = ()
    _word = "discrete-laplace"
    _parameters = ("scale",)

    def __init__(
        self,
        scale: float | None = None,
        sensitivity: float | None = 1.0,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            scale=scale,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class SinhNormal(Event):
    """A·arsinh((σ/A)·N(0,1)) on the integers, as the integer-weight table that is sampled."""

    __slots__ = ()
    _word = "sinh-normal"
    _parameters = ("sigma", "a")

    def __init__(
        self,
        sigma: float | None = None,
        a: float | None = None,
        sensitivity: float | None = 1.0,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            sigma=sigma, a=a,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class RandomizedResponse(Event):
    """The truth with probability e^ε/(e^ε+k−1), else one of the other k−1 values."""

    __slots__ = ()
    _word = "randomized-response"
    _parameters = ("epsilon", "values")

    def __init__(
        self,
        epsilon: float | None = None,
        values: int = 2,
        sensitivity: float | None = None,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon, values=values,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class Exponential(Event):
    """A mechanism whose privacy loss has range at most ε (the exponential mechanism with weights
    e^{ε·score/2Δ})."""

    __slots__ = ()
    _word = "exponential"
    _parameters = ("epsilon",)

    def __init__(
        self,
        epsilon: float | None = None,
        sensitivity: float | None = None,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class Pure(Event):
    """Anything ε-private."""

    __slots__ = ()
    _word = "pure"
    _parameters = ("epsilon",)

    def __init__(
        self,
        epsilon: float | None = None,
        sensitivity: float | None = None,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class Approximate(Event):
    """Anything (ε, δ)-private."""

    __slots__ = ()
    _word = "approximate"
    _parameters = ("epsilon", "delta")

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 0.0,
        sensitivity: float | None = None,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon, delta=delta,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class Zcdp(Event):
    """Anything with D_α ≤ ρα for all α > 1."""

    __slots__ = ()
    _word = "zcdp"
    _parameters = ("rho",)

    def __init__(
        self,
        rho: float | None = None,
        sensitivity: float | None = None,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            rho=rho,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class Tcdp(Event):
    """Anything with D_α ≤ ρα for 1 < α < ω."""

    __slots__ = ()
    _word = "tcdp"
    _parameters = ("rho", "omega")

    def __init__(
        self,
        rho: float | None = None,
        omega: float = 2.0,
        sensitivity: float | None = None,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            rho=rho, omega=omega,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class HeavyHitters(Event):
    """One attribute's path through a heavy-hitters tree with discrete Laplace noise of that scale, counts
    clipped at ``clip``, thresholds rising by ``rise`` a level."""

    __slots__ = ()
    _word = "heavy-hitters"
    _parameters = ("scale", "clip", "rise", "levels")

    def __init__(
        self,
        scale: float | None = None,
        clip: int | None = None,
        rise: int | None = None,
        levels: int | None = None,
        sensitivity: float | None = None,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            scale=scale, clip=clip, rise=rise, levels=levels,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class NewKeys(Event):
    """Noisy numbers of keys that are not known beforehand, published where they reach a threshold."""

    __slots__ = ()
    _word = "new-keys"
    _parameters = ("noise", "delta", "keys")

    def __init__(
        self,
        noise: Event | Mapping[str, Any] | None = None,
        delta: float | None = None,
        keys: int | None = None,
        sensitivity: float | None = 1.0,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            noise=noise, delta=delta, keys=keys,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class SmoothNoise(Event):
    """Noise on one answer whose scale follows the data, by levels."""

    __slots__ = ()
    _word = "smooth-noise"
    _parameters = ("family", "gamma", "alpha", "levels")

    def __init__(
        self,
        family: str | None = None,
        gamma: str | None = None,
        alpha: str | None = None,
        levels: int | None = None,
        sensitivity: float | None = None,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            family=family, gamma=gamma, alpha=alpha, levels=levels,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class Parity(Event):
    """With probability ``give_up`` nothing, else a uniformly random parity that is right on a sample of the
    rows, each in it with probability ``keep``, or nothing if there is none; both are fractions as strings,
    ``"1/3"``."""

    __slots__ = ()
    _word = "parity"
    _parameters = ("keep", "give_up")

    def __init__(
        self,
        keep: str | None = None,
        give_up: str | None = None,
        sensitivity: float | None = None,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            keep=keep, give_up=give_up,
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )


class Pair(Event):
    """Two distributions over the same outcomes that dominate the mechanism: ``p`` with somebody, ``q`` without."""

    __slots__ = ()
    _word = "pair"
    _parameters = ("p", "q")

    def __init__(
        self,
        p: Sequence[float],
        q: Sequence[float],
        sensitivity: float | None = None,
        *,
        cells: int = 1,
        times: int = 1,
        sampling: Mapping[str, Any] | None = None,
        moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            p=list(p), q=list(q),
            sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves,
        )
