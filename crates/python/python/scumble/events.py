"""Events: what was done to the data, in the words of the ledger. They say nothing about costs; :func:`scumble.account` computes those."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from . import _native
from ._errors import InputError


def dumped(document: Any) -> str:
    """A question as JSON, which has no word for what is not a number."""
    try:
        return json.dumps(document, allow_nan=False, default=_plain)
    except ValueError:
        raise InputError("a number is infinite or not a number (NaN)") from None
    except TypeError as error:
        raise InputError(f"this cannot be written as JSON ({error})") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Event):
        return value.to_dict()
    if hasattr(value, "tolist"):
        return value.tolist()  # numpy
    raise TypeError(f"a value of type {type(value).__name__}")


def poisson(rate: float | None) -> dict[str, Any]:
    """A sample that has each owner with this probability; ``None`` for :func:`scumble.calibrate` to find."""
    return {"kind": "poisson"} if rate is None else {"kind": "poisson", "rate": rate}


def without_replacement(rate: float | None) -> dict[str, Any]:
    """A uniformly random sample of this fraction of the owners."""
    return {"kind": "without-replacement"} if rate is None else {"kind": "without-replacement", "rate": rate}


class Event:
    """What one mechanism did: a word, its parameters, how far one owner moves what was noised, on which sample, how often.

    >>> Gaussian(sigma=2.0, times=100)
    Gaussian(sigma=2.0, times=100)
    >>> Gaussian(sigma=2.0, times=100) == Event.from_dict({"mechanism": "gaussian", "sigma": 2, "sensitivity": 1, "times": 100})
    True
    """

    __slots__ = ("_document",)
    _word: ClassVar[str] = ""
    _known: ClassVar[dict[str, type[Event]]] = {}

    def __init_subclass__(cls) -> None:
        Event._known[cls._word] = cls

    def __init__(self, **said: Any) -> None:
        document: dict[str, Any] = {"mechanism": self._word}
        document.update({key: value for key, value in said.items() if value is not None})
        moves = document.get("moves") is not None
        if moves and document.get("sensitivity") == 1:
            del document["sensitivity"]
        if document.get("cells") == 1:
            del document["cells"]
        self._document: dict[str, Any] = document
        if not self._open():
            self._document = json.loads(_native.event(dumped(document)))

    def _open(self) -> bool:
        """Whether something is left for calibration to find."""
        sampling = self._document.get("sampling")
        missing = sum(parameter not in self._document for parameter in self._parameters())
        return missing + (isinstance(sampling, Mapping) and "rate" not in sampling) == 1

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        return ()

    @property
    def mechanism(self) -> str:
        """The word of the ledger."""
        return str(self._document["mechanism"])

    @property
    def times(self) -> int:
        """How many independent runs."""
        return int(self._document.get("times", 1))

    def to_dict(self) -> dict[str, Any]:
        """As the ledger has it."""
        copy: dict[str, Any] = json.loads(dumped(self._document))
        return copy

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Event:
        """From the ledger's form, as in docs/events.md."""
        full: dict[str, Any] = json.loads(_native.event(dumped(dict(document))))
        event = object.__new__(Event._known.get(full["mechanism"], Event))
        event._document = full
        return event

    @staticmethod
    def from_dp_event(event: Any) -> list[Event]:
        """The events of one of Google's ``dp_accounting``: so that its users can check theirs. Neighbours are those of add-remove there and here."""
        from ._dp_event import events

        return [Event.from_dict(document) for document in events(event)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._document == other._document

    def __hash__(self) -> int:
        return hash(dumped(self._document))

    def __repr__(self) -> str:
        usual = {"mechanism": self.mechanism, "sensitivity": 1.0, "times": 1}
        said = [f"{key}={value!r}" for key, value in self._ordered() if usual.get(key) != value]
        missing = [f"{parameter}=?" for parameter in self._parameters() if parameter not in self._document]
        return f"{type(self).__name__}({', '.join(missing + said)})"

    def _ordered(self) -> list[tuple[str, Any]]:
        names = [*self._parameters(), "sensitivity", "cells", "times", "sampling", "moves"]
        names += [key for key in self._document if key not in names]
        return [(key, self._document[key]) for key in names if key in self._document]

    def __reduce__(self) -> Any:
        return (Event.from_dict, (self.to_dict(),))


class Gaussian(Event):
    """Continuous Gaussian noise of standard deviation sigma."""

    __slots__ = ()
    _word = "gaussian"

    def __init__(
        self, sigma: float | None = None, sensitivity: float | None = 1.0, *, cells: int = 1, times: int = 1,
        sampling: Mapping[str, Any] | None = None, moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(sigma=sigma, sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves)

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        return ("sigma",)


class DiscreteGaussian(Gaussian):
    """Gaussian noise on the integers, as this package draws it."""

    __slots__ = ()
    _word = "discrete-gaussian"


class Laplace(Event):
    """Continuous Laplace noise."""

    __slots__ = ()
    _word = "laplace"

    def __init__(
        self, scale: float | None = None, sensitivity: float | None = 1.0, *, cells: int = 1, times: int = 1,
        sampling: Mapping[str, Any] | None = None, moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(scale=scale, sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves)

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        return ("scale",)


class DiscreteLaplace(Laplace):
    """Laplace noise on the integers, as this package draws it."""

    __slots__ = ()
    _word = "discrete-laplace"


class SinhNormal(Event):
    """A·arsinh((σ/A)·N(0,1)) on the integers: lighter tails than a Gaussian."""

    __slots__ = ()
    _word = "sinh-normal"

    def __init__(
        self, sigma: float | None = None, a: float | None = None, sensitivity: float | None = 1.0, *, cells: int = 1, times: int = 1,
        sampling: Mapping[str, Any] | None = None, moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(sigma=sigma, a=a, sensitivity=sensitivity, cells=cells, times=times, sampling=sampling, moves=moves)

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        return ("sigma", "a")


class _Epsilon(Event):
    """Events that an epsilon describes."""

    __slots__ = ()
    _word = "?epsilon"

    def __init__(
        self, epsilon: float | None = None, sensitivity: float | None = None, *, times: int = 1,
        sampling: Mapping[str, Any] | None = None, moves: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(epsilon=epsilon, sensitivity=sensitivity, times=times, sampling=sampling, moves=moves)

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        return ("epsilon",)


class Exponential(_Epsilon):
    """A mechanism whose privacy loss has a range of at most epsilon, as the exponential mechanism."""

    __slots__ = ()
    _word = "exponential"


class Pure(_Epsilon):
    """Anything that is epsilon-private."""

    __slots__ = ()
    _word = "pure"


class RandomizedResponse(Event):
    """The truth with probability e^ε/(e^ε+k−1), else one of the other k−1 values."""

    __slots__ = ()
    _word = "randomized-response"

    def __init__(self, epsilon: float | None = None, values: int = 2, *, times: int = 1) -> None:
        super().__init__(epsilon=epsilon, values=values, times=times)

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        return ("epsilon", "values")


class Approximate(Event):
    """Anything that is (epsilon, delta)-private."""

    __slots__ = ()
    _word = "approximate"

    def __init__(self, epsilon: float | None = None, delta: float = 0.0, *, times: int = 1, sampling: Mapping[str, Any] | None = None) -> None:
        super().__init__(epsilon=epsilon, delta=delta, times=times, sampling=sampling)

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        return ("epsilon", "delta")


class Zcdp(Event):
    """Anything with D_α ≤ ρα for all α > 1."""

    __slots__ = ()
    _word = "zcdp"

    def __init__(self, rho: float | None = None, *, times: int = 1) -> None:
        super().__init__(rho=rho, times=times)

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        return ("rho",)


class Tcdp(Event):
    """Anything with D_α ≤ ρα for 1 < α < ω."""

    __slots__ = ()
    _word = "tcdp"

    def __init__(self, rho: float | None = None, omega: float = 2.0, *, times: int = 1) -> None:
        super().__init__(rho=rho, omega=omega, times=times)

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        return ("rho", "omega")


class Pair(Event):
    """Two distributions over the same outcomes that dominate a mechanism: ``p`` with somebody, ``q`` without."""

    __slots__ = ()
    _word = "pair"

    def __init__(self, p: Sequence[float], q: Sequence[float], *, times: int = 1) -> None:
        super().__init__(p=list(p), q=list(q), times=times)

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        return ("p", "q")
