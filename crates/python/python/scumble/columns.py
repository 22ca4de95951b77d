"""What is publicly known about columns. Bounds and lists must come from public knowledge: taken from the data, they would give it away."""

from __future__ import annotations

import builtins
import datetime
from collections.abc import Iterable, Mapping
from typing import Any

_Day = datetime.date | str
_Moment = datetime.datetime | str


class Column:
    """One column of a table, as the project file declares it.

    >>> int(0, 120)
    Column(type='int', lower=0, upper=120)
    """

    __slots__ = ("declared",)

    def __init__(self, **declared: Any) -> None:
        self.declared: dict[str, Any] = {
            key: value for key, value in declared.items() if value is not None and value is not False
        }

    def __repr__(self) -> str:
        return f"Column({', '.join(f'{key}={value!r}' for key, value in self.declared.items())})"

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, Column) and self.declared == other.declared

    def __hash__(self) -> builtins.int:
        return hash(repr(self))


def int(
    lower: builtins.int | None = None,
    upper: builtins.int | None = None,
    *,
    bins: Iterable[builtins.int] | None = None,
    labels: Iterable[str] | None = None,
    sensitive: builtins.bool = False,
) -> Column:
    """Whole numbers. What is outside of the bounds counts as the bound; ``bins`` make a category of intervals."""
    return Column(type="int", lower=lower, upper=upper, bins=_listed(bins), labels=_listed(labels), sensitive=sensitive)


def float(
    lower: builtins.float | None = None,
    upper: builtins.float | None = None,
    *,
    granularity: builtins.float | None = None,
    bins: Iterable[builtins.float] | None = None,
    labels: Iterable[str] | None = None,
    sensitive: builtins.bool = False,
) -> Column:
    """Numbers. Sums are made on a grid, whose step ``granularity`` says."""
    return Column(
        type="float", lower=lower, upper=upper, granularity=granularity, bins=_listed(bins), labels=_listed(labels),
        sensitive=sensitive,
    )


real = float


def category(
    values: Iterable[str] | Listed | None = None,
    *,
    map: Mapping[str, str] | None = None,
    unlisted: str | None = None,
    sensitive: builtins.bool = False,
) -> Column:
    """Texts. With ``values``, a public domain: every one of them appears in answers, and no other text counts.

    >>> category(["f", "m"], sensitive=True)
    Column(type='category', values=['f', 'm'], sensitive=True)
    """
    listed = values.declared if isinstance(values, Listed) else _listed(values)
    return Column(type="category", values=listed, map=dict(map) if map else None, unlisted=unlisted, sensitive=sensitive)


def bool(*, sensitive: builtins.bool = False) -> Column:
    """True or false."""
    return Column(type="bool", sensitive=sensitive)


def date(
    lower: _Day | None = None,
    upper: _Day | None = None,
    *,
    bins: Iterable[_Day] | None = None,
    labels: Iterable[str] | None = None,
    sensitive: builtins.bool = False,
) -> Column:
    """Days, as in ``date("2013-01-01", "2013-12-31")``."""
    return Column(type="date", lower=lower, upper=upper, bins=_listed(bins), labels=_listed(labels), sensitive=sensitive)


def timestamp(
    lower: _Moment | None = None,
    upper: _Moment | None = None,
    *,
    zone: str | None = None,
    bins: Iterable[_Moment] | None = None,
    labels: Iterable[str] | None = None,
    sensitive: builtins.bool = False,
) -> Column:
    """Times, as the clock on the wall of a zone shows them (UTC where none is named)."""
    return Column(
        type="timestamp", lower=lower, upper=upper, zone=zone, bins=_listed(bins), labels=_listed(labels),
        sensitive=sensitive,
    )


class Listed:
    """The values of a category are those of a column of a public table: ``category(Listed("airlines", "name"))``."""

    __slots__ = ("declared",)

    def __init__(self, table: str, column: str) -> None:
        self.declared = {"table": table, "column": column}

    def __repr__(self) -> str:
        return f"Listed({self.declared['table']!r}, {self.declared['column']!r})"


def _listed(values: Iterable[Any] | None) -> list[Any] | None:
    if isinstance(values, str):
        return [values]
    return None if values is None else list(values)
