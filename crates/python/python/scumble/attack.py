"""What published numbers alone give away. No private table is read: these are attacks on what everybody can see."""

from __future__ import annotations

import math
from collections.abc import Sequence

from . import _native
from ._errors import InputError


def reconstruct(queries: Sequence[Sequence[int]], answers: Sequence[float], *, method: str | None = None) -> list[bool]:
    """The secret column that explains the answers best: a row of 0 and 1 for each query says who is counted by it.

    ``method`` is ``"exhaustive"`` (up to 24 people), ``"linear"``, ``"min-max"`` or ``"least-squares"``; by the number of people where it is left out.

    >>> reconstruct([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1, 1, 2])
    [True, False, True]
    """
    rows = [[int(entry) for entry in row] for row in queries]
    people = len(rows[0]) if rows else 0
    if any(len(row) != people or set(row) - {0, 1} for row in rows):
        raise InputError("queries are rows of 0 and 1, all of the same length: one entry for each person")
    members = [[person for person, entry in enumerate(row) if entry] for row in rows]
    return _native.reconstruct(people, members, [float(answer) for answer in answers], method)


class Membership:
    """Who is accused of being in a table, by the score of each person and a threshold that bounds false accusations."""

    __slots__ = ("accused", "scores", "threshold")

    def __init__(self, threshold: float, scores: list[float]) -> None:
        #: Infinite where nobody can be accused at that rate.
        self.threshold = threshold
        self.scores = scores
        #: The places of those whose score reaches the threshold.
        self.accused = [place for place, score in enumerate(scores) if score >= threshold]

    def __repr__(self) -> str:
        return f"Membership(accused={self.accused} of {len(self.scores)})"


def membership(
    published: Sequence[float], population: Sequence[float], persons: Sequence[Sequence[int]], *, false_positive: float
) -> Membership:
    """Who is in a table whose frequencies of attributes were published, beside those of the population. Somebody who is not is accused with probability at
    most ``false_positive``, if attributes are independent in the population."""
    rows = [[bool(entry) for entry in person] for person in persons]
    numbers = [[float(number) for number in list_] for list_ in (published, population)]
    if not all(math.isfinite(number) for list_ in numbers for number in list_):
        raise InputError("a frequency is infinite or not a number (NaN)")
    threshold, scores = _native.membership(numbers[0], numbers[1], rows, float(false_positive))
    return Membership(threshold, scores)
