"""What may be spent, about whom."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Union

from ._errors import InputError

Number = Union[int, float, str, Decimal]
Limit = Union[Number, "tuple[Number, Number]", "Mapping[str, Number]"]


class Budget:
    """Limits for a whole person, for somebody's presence, and for single attributes (``"*"`` for each of the others).

    A limit is an epsilon, a pair of epsilon and delta, or a mapping as in the project file (``{"rho": 0.5, "delta": 1e-9}``).

    >>> Budget(person=(1.0, 1e-9), attributes={"disease": 0.2})
    Budget(person={'epsilon': 1.0, 'delta': 1e-09}, attributes={'disease': {'epsilon': 0.2}})
    """

    __slots__ = ("limits",)

    def __init__(
        self,
        *,
        person: Limit | None = None,
        presence: Limit | None = None,
        attributes: Mapping[str, Limit] | None = None,
    ) -> None:
        limits: dict[str, Any] = {}
        if presence is not None:
            limits["presence"] = _limit("presence", presence)
        if person is not None:
            limits["person"] = _limit("person", person)
        if attributes:
            limits["attributes"] = {name: _limit(name, limit) for name, limit in attributes.items()}
        self.limits = limits

    def __repr__(self) -> str:
        return f"Budget({', '.join(f'{key}={value!r}' for key, value in self.limits.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Budget) and self.limits == other.limits

    def __hash__(self) -> int:
        return hash(repr(self))


def _limit(about: str, limit: Limit) -> dict[str, Any]:
    if isinstance(limit, Mapping):
        return dict(limit)
    if isinstance(limit, (tuple, list)):
        if len(limit) != 2:
            raise InputError(f"the budget for {about} must be an epsilon, a pair (epsilon, delta) or a mapping")
        return {"epsilon": limit[0], "delta": limit[1]}
    return {"epsilon": limit}
