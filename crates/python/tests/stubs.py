"""Writes the types of the kinds' methods, `_kinds.pyi`, from their registry: `python tests/stubs.py`. A test compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import scumble
from scumble._kinds import COSTS, argument, schemas

TYPES = {"string": "str", "boolean": "bool", "integer": "int", "number": "float", "object": "Mapping[str, Any]"}


def type_of(schema: dict[str, Any]) -> str:
    kind = schema.get("type")
    if kind == "array":
        return f"Sequence[{type_of(schema['items'])}]"
    return TYPES.get(kind, "Any") if isinstance(kind, str) else "Any"


def method(schema: dict[str, Any]) -> str:
    properties = schema["properties"]
    fields = [field for field in properties if field not in ("name", "kind", "cost", "accuracy")]
    required = [field for field in fields if field in schema["required"]]
    arguments = [f"{argument(field)}: {type_of(properties[field])}" for field in required]
    arguments += [f"{argument(field)}: {type_of(properties[field])} | None = None" for field in fields if field not in required]
    arguments.append("name: str | None = None")
    if "cost" in properties:
        arguments += [f"{cost}: {'str' if cost == 'scope' else 'Number'} | None = None" for cost in COSTS]
    lines = "".join(f"        {one},\n" for one in arguments)
    name = schema["title"].replace("-", "_")
    return f"    def {name}(\n        self,\n        *,\n{lines}    ) -> Plan: ...\n"


def stubs() -> str:
    head = '"""Written from the registry of kinds by tests/stubs.py."""\n\nfrom collections.abc import Mapping, Sequence\nfrom typing import Any\n\n'
    head += "from .answers import Plan\nfrom .budget import Number\n\nCOSTS: tuple[str, ...]\n\n"
    head += "def request(kind: str, name: str | None, cost: Mapping[str, Any], fields: Mapping[str, Any]) -> str: ...\n"
    head += "def schemas() -> list[dict[str, Any]]: ...\ndef argument(field: str) -> str: ...\n"
    head += "def checked(kind: str, given: Mapping[str, Any]) -> dict[str, Any]: ...\n\n"
    return head + "class Kinds:\n    def _planned(self, asked: str, *, named: bool) -> Plan: ...\n" + "".join(map(method, schemas()))


PLACE = Path(scumble.__file__).with_name("_kinds.pyi")

if __name__ == "__main__":
    source = Path(__file__).parents[1] / "python/scumble/_kinds.pyi"
    source.write_text(stubs(), encoding="utf-8")
