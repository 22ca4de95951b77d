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


def written(value: Any) -> str:
    """A value of any kind that a project file can hold.

    >>> written({"epsilon": 0.5, "at": [1, True, "x"]})
    '{ "epsilon" = 0.5, "at" = [1, true, "x"] }'
    """
    if hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:
        value = value.item()  # a number of numpy
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, decimal.Decimal):
        return text(str(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, datetime.datetime):
        return text(value.replace(tzinfo=None).isoformat())
    if isinstance(value, datetime.date):
        return text(value.isoformat())
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{text(str(key))} = {written(inner)}" for key, inner in value.items()) + " }"
    if hasattr(value, "__iter__"):
        return "[" + ", ".join(written(inner) for inner in value) + "]"
    raise InputError(f"a project file cannot hold a value of type {type(value).__name__}")
