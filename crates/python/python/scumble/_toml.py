"""Python values as TOML writes them, the language of project files."""

from __future__ import annotations

import datetime
import decimal
import json
import numbers
from collections.abc import Mapping
from typing import Any

from ._errors import InputError


def text(value: str) -> str:
    """A text in quotation marks.

    >>> print(text('a "b"'))
    "a \\"b\\""
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError("a text holds half of a letter (a lone surrogate), which no file can hold") from None
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def plain(value: Any) -> Any:
    """A value of any kind that a project file can hold, as texts, numbers, truths, lists and tables alone.

    >>> plain({"at": (datetime.date(2026, 11, 19), decimal.Decimal("0.10"))})
    {'at': ['2026-11-19', '0.10']}
    """
    if hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:
        value = value.item()  # a number of numpy
    if isinstance(value, str):
        text(value)
        return str(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if hasattr(value, "__iter__"):
        return [plain(inner) for inner in value]
    raise InputError(f"a project file cannot hold a value of type {type(value).__name__}")


def written(value: Any) -> str:
    """The same as TOML.

    >>> written({"epsilon": 0.5, "at": [1, True, "x"]})
    '{ "epsilon" = 0.5, "at" = [1, true, "x"] }'
    """
    return _written(plain(value))


def _written(value: Any) -> str:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{text(key)} = {_written(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return repr(value)
