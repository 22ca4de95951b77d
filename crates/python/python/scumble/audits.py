"""What outputs prove against a claim. An audit proves lower bounds and refutes; it never says "private"."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from . import _html, _native
from ._errors import InputError
from .events import Event, dumped

Data = TypeVar("Data")
Claim = float | tuple[float, float] | Event | Iterable[Event] | Mapping[str, Any]


class Audit:
    """What was proven: epsilon is at least :attr:`epsilon_lower` at delta, with confidence 1 − beta; and whether the claim is refuted."""

    __slots__ = ("_told", "beta", "delta", "epsilon_lower", "event", "mu_lower", "refuted")

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._told = dict(told)
        self.epsilon_lower: float = float(told["epsilon_lower"])
        self.mu_lower: float = float(told["mu_lower"])
        self.delta: float = float(told["delta"])
        self.beta: float = float(told["beta"])
        #: The event that was looked at, in words.
        self.event: str = str(told["event"])
        #: ``None`` where nothing was claimed.
        self.refuted: bool | None = told["refuted"]

    def to_dict(self) -> dict[str, Any]:
        """All numbers of it."""
        return dict(self._told)

    def __repr__(self) -> str:
        words = {None: "no claim was given", True: "REFUTED: the claim is false", False: "no evidence against the claim"}
        confidence = f"with confidence {1 - self.beta:g}"
        return f"Audit({words[self.refuted]}; epsilon ≥ {_html.down(self.epsilon_lower)} at delta {self.delta:g}, {confidence})"


def audit(
    mechanism: Callable[[Data], Any],
    table: Data,
    neighbour: Data,
    *,
    runs: int = 10_000,
    claim: Claim | None = None,
    delta: float = 0.0,
    beta: float = 0.05,
    progress: bool = False,
) -> Audit:
    """Runs a mechanism many times on two neighbouring tables, looks for an event that tells them apart, and says what it proves.

    ``mechanism`` is any callable whose output is a number, a text or several numbers. ``claim`` is an epsilon, a pair (epsilon, delta), or the events that
    are said to describe it. ``progress`` shows a bar, where tqdm is installed.

    >>> from scumble import noise
    >>> audit(lambda n: n + int(noise.discrete_laplace(1.0)[0]), 5, 6, runs=2000, claim=1.0).refuted
    False
    """
    if isinstance(runs, bool) or not hasattr(runs, "__index__") or not 1 <= runs <= 100_000_000:
        raise InputError(f"runs must be a whole number from 1 to 100000000, not {runs!r}")
    outputs = [_lines(mechanism, data, int(runs), progress) for data in (table, neighbour)]
    claimed = None if claim is None else dumped(_claimed(claim))
    return Audit(json.loads(_native.audit_outputs(outputs[0], outputs[1], claimed, float(delta), float(beta))))


def audit_counts(
    hits: int, runs: int, neighbour_hits: int, neighbour_runs: int, *, claim: Claim | None = None, delta: float = 0.0, beta: float = 0.05
) -> Audit:
    """The same from counts of one event that was fixed before the runs.

    >>> round(audit_counts(731, 1000, 269, 1000).epsilon_lower, 4)
    0.8586
    """
    claimed = None if claim is None else dumped(_claimed(claim))
    return Audit(json.loads(_native.audit_counts(hits, runs, neighbour_hits, neighbour_runs, claimed, float(delta), float(beta))))


def audit_one_run(canaries: int, guesses: int, right: int, *, delta: float = 0.0, beta: float = 0.05) -> float:
    """From one run with canaries: epsilon is at least this, if this many of the guesses which of them were in were right."""
    return _native.audit_one_run(canaries, guesses, right, float(delta), float(beta))


def _lines(mechanism: Callable[[Data], Any], data: Data, runs: int, progress: bool) -> str:
    numbers: Iterable[int] = range(runs)
    if progress:
        try:
            from tqdm.auto import tqdm

            numbers = tqdm(numbers, desc="audit")
        except ImportError:
            pass
    return "".join(f"{_line(mechanism(data))}\n" for _ in numbers)


def _line(output: Any) -> str:
    if hasattr(output, "tolist"):
        output = output.tolist()
    if isinstance(output, (list, tuple)):
        return ",".join(_line(one) for one in output)
    if isinstance(output, bool):
        return str(int(output))
    if isinstance(output, float):
        return repr(output)
    if isinstance(output, int):
        return str(output)
    words = str(output)
    if "\n" in words or "\r" in words:
        raise InputError("an output of the mechanism is a string with several lines: give numbers, or strings of one line")
    return words


def _claimed(claim: Claim) -> Any:
    if isinstance(claim, Event):
        return [claim.to_dict()]
    if isinstance(claim, Mapping):
        return dict(claim)
    if isinstance(claim, tuple) and len(claim) == 2 and not isinstance(claim[0], Event):
        return {"epsilon": claim[0], "delta": claim[1]}
    if hasattr(claim, "__iter__"):
        return [event.to_dict() if isinstance(event, Event) else event for event in claim]
    return {"epsilon": claim}
