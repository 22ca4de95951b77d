"""What a declaration may be made of: texts, numbers, truths, lists and tables, as JSON has them."""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
from collections.abc import Mapping
from typing import Any

from ._errors import InputError


def storable(value: str) -> str:
    """The text, if a file can hold it."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError("a string holds half of a character (a lone surrogate), which no file can hold") from None
    return str(value)


def plain(value: Any) -> Any:
    """A value of any kind that a declaration can hold, as texts, numbers, truths, lists and tables alone.

    >>> plain({"at": (datetime.date(2026, 11, 19), decimal.Decimal("0.10"))})
    {'at': ['2026-11-19', '0.10']}
    """
    if hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:
        value = value.item()  # a number of numpy
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, numbers.Real):
        if not math.isfinite(value):
            raise InputError("a number is infinite or not a number (NaN)")
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return _table(value)
    if hasattr(value, "__iter__"):
        return [plain(inner) for inner in value]
    raise InputError(f"a project file cannot hold a value of type {type(value).__name__}")


def _table(value: Mapping[Any, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, inner in value.items():
        name = storable(str(key))
        if name in table:
            raise InputError(f"two keys are written '{name}': give them different names")
        table[name] = plain(inner)
    return table


def described(about: str, value: Any) -> Any:
    """The same, where a refusal begins with what the value is.

    >>> described("table 't', column 'x'", {"upper": float("nan")})
    Traceback (most recent call last):
    scumble.InputError: table 't', column 'x': a number is infinite or not a number (NaN)
    """
    try:
        return plain(value)
    except InputError as error:
        raise InputError(f"{about}: {error}") from None
