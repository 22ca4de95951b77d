"""Events of Google's dp_accounting in the words of our ledger. Read by their class names, so that the package need not be installed."""

from __future__ import annotations

import math
from typing import Any

from ._errors import InputError

_SUPPORTED = (
    "Gaussian, Laplace, DiscreteLaplace, RandomizedResponse, ZC (with xi 0), Composed, SelfComposed, PoissonSampled, "
    "SampledWithoutReplacement, NoOp"
)


def events(event: Any) -> list[dict[str, Any]]:
    """The documents of an event; an event that costs nothing has none."""
    return _read(event, 1, None)


def _read(event: Any, times: int, sampling: dict[str, Any] | None) -> list[dict[str, Any]]:
    name = type(event).__name__
    if name == "NoOpDpEvent":
        return []
    if name == "ComposedDpEvent":
        if sampling is not None and len(event.events) > 1:
            raise InputError("several mechanisms on one sample are one event, whose cost is not known here: account for each on a sample of its own")
        return [document for inner in event.events for document in _read(inner, times, sampling)]
    if name == "SelfComposedDpEvent":
        if sampling is not None and int(event.count) > 1:
            raise InputError("several runs on one sample are one event, whose cost is not known here: account for each on a sample of its own")
        return _read(event.event, times * int(event.count), sampling)
    if name == "PoissonSampledDpEvent":
        _once(sampling)
        return _read(event.event, times, {"kind": "poisson", "rate": float(event.sampling_probability)})
    if name == "SampledWithoutReplacementDpEvent":
        _once(sampling)
        # A quotient of floats is rounded against us: upwards.
        rate = min(1.0, math.nextafter(int(event.sample_size) / int(event.source_dataset_size), 2.0))
        return _read(event.event, times, {"kind": "without-replacement", "rate": rate})
    document = {**_word(name, event), "times": times}
    return [document if sampling is None else {**document, "sampling": sampling}]


def _once(sampling: dict[str, Any] | None) -> None:
    if sampling is not None:
        raise InputError("a sample of a sample is not known here: write it as one sample")


def _word(name: str, event: Any) -> dict[str, Any]:
    if name == "GaussianDpEvent":
        return {"mechanism": "gaussian", "sigma": float(event.noise_multiplier), "sensitivity": 1.0}
    if name == "LaplaceDpEvent":
        return {"mechanism": "laplace", "scale": float(event.noise_multiplier), "sensitivity": 1.0}
    if name == "DiscreteLaplaceDpEvent":
        # Less noise than there is, if anything.
        scale = math.nextafter(1.0 / float(event.noise_parameter), 0.0)
        return {"mechanism": "discrete-laplace", "scale": scale, "sensitivity": float(event.sensitivity)}
    if name == "RandomizedResponseDpEvent" and 0.0 < float(event.noise_parameter) <= 1.0:
        # With probability p one of k values at random, else the truth: a ratio of 1 + k(1 − p)/p, rounded up.
        noise, values = float(event.noise_parameter), int(event.num_buckets)
        epsilon = math.log1p(values * (1.0 - noise) / noise) * (1 + 1e-14)
        return {"mechanism": "randomized-response", "epsilon": epsilon, "values": values}
    if name == "ZCDpEvent" and float(getattr(event, "xi", 0.0)) == 0.0:
        return {"mechanism": "zcdp", "rho": float(event.rho)}
    raise InputError(f"{name} of dp_accounting is not supported; expected one of {_SUPPORTED}")
