"""What events cost, what noise a target needs, what attackers learn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from . import _html, _native
from ._errors import InputError
from .events import Event, dumped


class Loss:
    """What events cost together: certified upper bounds, with certified lower bounds beside them."""

    __slots__ = ("_question", "delta", "delta_lower", "direction", "epsilon", "epsilon_lower", "method")

    def __init__(self, question: str, told: Mapping[str, Any]) -> None:
        self._question = question
        infinite = float("inf")
        #: Epsilon is at most this.
        self.epsilon: float = infinite if told["epsilon"] is None else float(told["epsilon"])
        #: Epsilon is at least this: no accounting could claim less.
        self.epsilon_lower: float = infinite if told["epsilon_lower"] is None else float(told["epsilon_lower"])
        #: Delta is at most this.
        self.delta: float = float(told["delta"])
        #: Delta is at least this.
        self.delta_lower: float = float(told.get("delta_lower", told["delta"]))
        #: How it was computed.
        self.method: str = str(told["method"])
        #: The worse direction.
        self.direction: str = str(told["direction"])

    def curve(self, epsilons: Iterable[float]) -> list[tuple[float, float]]:
        """Upper and lower bounds of delta at each epsilon."""
        return _native.curve(self._question, [float(epsilon) for epsilon in epsilons])

    def __repr__(self) -> str:
        lower = f"not below {_html.down(self.epsilon_lower)}"
        return f"Loss(epsilon ≤ {_html.up(self.epsilon)} at delta {_html.up(self.delta)}; {lower}; by {self.method})"

    def _repr_html_(self) -> str:
        if not 0.0 < self.epsilon < float("inf"):
            return f"<p>{_html.escaped(repr(self))}</p>"
        steps = [self.epsilon * 1.5 * step / 30 for step in range(31)]
        points = [(epsilon, upper) for epsilon, (upper, _) in zip(steps, self.curve(steps)) if upper > 1e-14]
        picture = _native.lines("What the events cost together", "ε", "δ(ε)", [("all events", points)])
        return f"<p>{_html.escaped(repr(self))}</p>{picture}"


_Events = Event | Iterable[Event | Mapping[str, Any]]


def account(
    events: _Events,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    neighbours: str = "add-remove",
    attributes: Iterable[str] | None = None,
    group: int | None = None,
) -> Loss:
    """What events cost together: epsilon at a delta, or delta at an epsilon.

    >>> from scumble.events import Gaussian, poisson
    >>> loss = account(Gaussian(sigma=1.0, times=1000, sampling=poisson(0.01)), delta=1e-5)
    >>> 1.8281 < loss.epsilon_lower <= loss.epsilon < 1.8283
    True
    """
    question: dict[str, Any] = {"events": _listed(events)}
    if attributes is not None:
        question["attributes"] = [attributes] if isinstance(attributes, str) else list(attributes)
    else:
        question["neighbours"] = neighbours
    question.update({key: value for key, value in (("delta", delta), ("epsilon", epsilon), ("group", group)) if value is not None})
    document = dumped(question)
    return Loss(document, json.loads(_native.account(document)))


def calibrate(
    event: Event | Mapping[str, Any],
    *,
    epsilon: float,
    delta: float,
    free: str | None = None,
    neighbours: str = "add-remove",
    attributes: Iterable[str] | None = None,
    group: int | None = None,
) -> Event:
    """The event with what it leaves open: the least noise (or the largest sample, or with ``free="times"`` the most runs) within a target.

    >>> from scumble.events import DiscreteGaussian
    >>> event = calibrate(DiscreteGaussian(times=10), epsilon=1.0, delta=1e-6)
    >>> account(event, delta=1e-6).epsilon <= 1.0
    True
    """
    question: dict[str, Any] = {"events": _listed([event]), "epsilon": epsilon, "delta": delta}
    if attributes is not None:
        question["attributes"] = [attributes] if isinstance(attributes, str) else list(attributes)
    else:
        question["neighbours"] = neighbours
    question.update({key: value for key, value in (("free", free), ("group", group)) if value is not None})
    return Event.from_dict(json.loads(_native.calibrate(dumped(question)))["event"])


def _listed(events: _Events) -> list[Any]:
    if isinstance(events, (Event, Mapping)):
        events = [events]
    if isinstance(events, str) or not hasattr(events, "__iter__"):
        raise InputError("events are a list of events, as in [Gaussian(sigma=1.0)]")
    return [event.to_dict() if isinstance(event, Event) else dict(event) for event in events]


def attacker(
    *,
    release: Mapping[str, Any],
    uncertainty: Mapping[str, Any],
    query: Mapping[str, Any],
    population: Mapping[str, Any] | None = None,
    knowledge: Mapping[str, Any] | None = None,
    noise: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What an attacker who knows only part of the records learns, under declared assumptions: the sections of ``scumble lab attacker``
    (``knowledge`` is its section ``attacker``), and its verdict. It stands beside the guarantee without assumptions and never takes its place."""
    sections = {
        "release": release, "uncertainty": uncertainty, "query": query, "population": population, "attacker": knowledge, "noise": noise,
    }
    document = dumped({name: dict(section) for name, section in sections.items() if section is not None})
    verdict: dict[str, Any] = json.loads(_native.attacker(document))
    return verdict
