"""What nobody can beat at a guarantee, with explicit constants."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from . import _native
from .events import dumped


def _limit(name: str, **question: Any) -> dict[str, Any]:
    said = {key: value for key, value in question.items() if value is not None}
    told: dict[str, Any] = json.loads(_native.limit(name, dumped(said)))
    return told


def neighbours(epsilon: float, delta: float = 0.0) -> float:
    """How often an answer can be right on two neighbours.

    >>> round(neighbours(1.0), 6)
    0.731059
    """
    return float(_limit("neighbours", epsilon=epsilon, delta=delta)["success_at_most"])


def count(epsilon: float | None = None, delta: float = 0.0, *, rho: float | None = None) -> float:
    """The least standard error of a count, at an epsilon (and delta) or at a rho."""
    if rho is not None:
        return float(_limit("count", rho=rho)["standard_error_at_least"])
    return float(_limit("count", epsilon=epsilon, delta=delta)["standard_error_at_least"])


def packing(epsilon: float, delta: float = 0.0, *, universe: float, success: float) -> float | None:
    """The least error of counts that tell ``universe`` values apart and are right with probability ``success``; ``None`` where no number of people makes
    such counts possible."""
    error = _limit("packing", epsilon=epsilon, delta=delta, universe=universe, success=success)["count_error_at_least"]
    return None if error is None else float(error)


def information(epsilon: float, rows: int | None = None) -> float:
    """How much an output tells about one row at most, in nats, if rows are independent; with ``rows`` about all of them, whatever their joint law."""
    told = _limit("information", epsilon=epsilon, rows=rows)
    return float(told["nats_per_row"] if rows is None else told["nats_for_any_prior"])


def fingerprinting(attributes: int, epsilon: float, delta: float, rms_error: float) -> float | None:
    """How many people it takes at least to publish that many means with this error; ``None`` where the lemma says nothing."""
    told = _limit("fingerprinting", attributes=attributes, epsilon=epsilon, delta=delta, rms_error=rms_error)
    return None if told["people_at_least"] is None else float(told["people_at_least"])


def singular(queries: Sequence[Sequence[int]], epsilon: float, delta: float = 0.0, beta: float = 0.05) -> float:
    """The least error of counts by who is counted by which query: rows of 0 and 1."""
    rows = [[int(entry) for entry in row] for row in queries]
    return float(_limit("singular", queries=rows, epsilon=epsilon, delta=delta, beta=beta)["count_error_at_least"])
