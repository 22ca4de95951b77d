"""Events: what was done to the data, in the words of the ledger. They say nothing about costs; :func:`scumble.account` computes those."""

from __future__ import annotations

from typing import Any

from . import _words
from ._event import Event, dumped
from ._words import *

__all__ = ["Event", "dumped", "poisson", "without_replacement"]
__all__ += _words.__all__


def poisson(rate: float | None) -> dict[str, Any]:
    """A sample that has each owner with this probability; ``None`` for :func:`scumble.calibrate` to find."""
    return {"kind": "poisson"} if rate is None else {"kind": "poisson", "rate": rate}


def without_replacement(rate: float | None) -> dict[str, Any]:
    """A uniformly random sample of this fraction of the owners."""
    return {"kind": "without-replacement"} if rate is None else {"kind": "without-replacement", "rate": rate}
