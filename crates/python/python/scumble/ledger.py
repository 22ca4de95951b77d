"""What has been given away, about whom."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from . import _html, _native
from .budget import Number


class Spent:
    """What was given away about somebody: epsilon at a delta, and what is left of the budget (``None``: no limit)."""

    __slots__ = ("delta", "epsilon", "left")

    def __init__(self, cost: dict[str, Any], left: dict[str, Any] | None) -> None:
        #: An upper bound; infinite where there is none at this delta.
        self.epsilon: float = float("inf") if cost["epsilon"] is None else float(cost["epsilon"])
        self.delta: float = float(cost["delta"])
        #: What is left, in the budget's own unit.
        self.left: dict[str, Any] | None = left

    def __repr__(self) -> str:
        left = "no limit" if self.left is None else f"{self._left()} left"
        return f"epsilon {_html.up(self.epsilon)} at delta {self.delta:g} ({left})"

    def _left(self) -> str:
        left = self.left or {}
        return ", ".join(f"{word} {_html.down(left[word])}" for word in ("epsilon", "rho") if word in left)


class Ledger:
    """The ledger of a session: read anew each time it is asked, since other processes may have charged it."""

    def __init__(self, project: _native.Project) -> None:
        self._project = project

    def to_dict(self, *, delta: Number | None = None, sets: Iterable[Iterable[str]] = (), group: int | None = None) -> dict[str, Any]:
        """All of it, as ``scumble ledger show --json`` has it."""
        asked = None if delta is None else str(delta)
        told: dict[str, Any] = json.loads(self._project.ledger(asked, [list(names) for names in sets], group))
        return told

    @property
    def person(self) -> Spent:
        """About a whole person: one owner replaced by another."""
        return self._spent("person")

    @property
    def presence(self) -> Spent:
        """About whether somebody is there at all."""
        return self._spent("presence")

    @property
    def attributes(self) -> dict[str, Spent]:
        """About each attribute of a person."""
        told = self.to_dict()
        left = told["remaining"]["attributes"]
        return {name: Spent(cost, left.get(name)) for name, cost in told["attributes"].items()}

    def together(self, *names: str) -> Spent:
        """About several attributes of a person together."""
        told = self.to_dict(sets=[names])
        key = ",".join(sorted(names))
        return Spent(told["attributes"][key], told["remaining"]["attributes"].get(key))

    def group(self, size: int) -> Spent:
        """About this many people at once, replaced by others."""
        return Spent(self.to_dict(group=size)["groups"]["person"], None)

    @property
    def releases(self) -> list[dict[str, Any]]:
        """Every charge, in order."""
        return list(self.to_dict()["releases"])

    @property
    def path(self) -> str:
        """Where it is."""
        return str(self.to_dict()["path"])

    def verify(self) -> str | None:
        """Checks that no entry was edited, removed or moved; gives the head, which can be kept elsewhere (``None``: nothing was released yet)."""
        head = self._project.verify()
        return None if head is None else head[1]

    def _spent(self, scope: str) -> Spent:
        told = self.to_dict()
        return Spent(told[scope], told["remaining"].get(scope))

    def _lines(self) -> list[tuple[str, Spent]]:
        return [("presence", self.presence), ("person", self.person), *self.attributes.items()]

    def __repr__(self) -> str:
        return "\n".join(f"{scope}: {spent}" for scope, spent in self._lines())

    def _repr_html_(self) -> str:
        rows = [
            (scope, _html.up(spent.epsilon), f"{spent.delta:g}", "no limit" if spent.left is None else spent._left())
            for scope, spent in self._lines()
        ]
        releases = [
            (release["sequence"], release["time"], release["release"], release["state"], _html.up(release["person"]["epsilon"]))
            for release in self.releases
        ]
        return _html.table(["scope", "epsilon", "delta", "left"], rows) + _html.table(
            ["entry", "time", "release", "state", "epsilon (person)"], releases
        )
