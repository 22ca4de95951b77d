"""What notebooks show: tables and pictures without scripts, fonts or requests."""

from __future__ import annotations

import decimal
import html
from collections.abc import Iterable, Sequence
from typing import Any


def escaped(value: Any) -> str:
    """A value as HTML shows it."""
    return html.escape(str(value))


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], more: int = 0) -> str:
    """A table; ``more`` rows are not in it.

    >>> table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escaped(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    rest = f"<p>… and {more} more rows</p>" if more else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def notes(sentences: Iterable[str]) -> str:
    """Sentences below a table."""
    return "".join(f"<p><small>{escaped(sentence)}</small></p>" for sentence in sentences)


def visible(text: str) -> str:
    """A text that comes from the data, without what a terminal would obey.

    >>> visible("a\\x1b[2J")
    'a�[2J'
    """
    turned = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    return "".join("�" if letter < " " or "\x7f" <= letter <= "\x9f" or letter in turned else letter for letter in text)


def number(value: Any) -> str:
    """A number with six digits, to the nearest: for what is no bound.

    >>> number(0.5), number(123456.7), number(7)
    ('0.5', '123457', '7')
    """
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def up(value: float | None) -> str:
    """An upper bound with six digits, rounded up: what is printed is a bound as well.

    >>> up(0.5), up(0.12345601), up(None)
    ('0.5', '0.123457', '∞')
    """
    return _rounded(value, decimal.ROUND_CEILING)


def down(value: float | None) -> str:
    """A lower bound with six digits, rounded down.

    >>> down(0.1234569)
    '0.123456'
    """
    return _rounded(value, decimal.ROUND_FLOOR)


def _rounded(value: float | None, way: str) -> str:
    if value is None or value == float("inf"):
        return "∞"
    exact = decimal.Decimal(repr(value))
    if not exact:
        return "0"
    digits = decimal.Context(prec=6, rounding=way).plus(exact).normalize()
    return f"{digits:f}" if -6 <= digits.adjusted() <= 15 else f"{digits:e}"
