"""A method for each kind of release, made from the registry that the project file's fields come from: a new kind appears by itself."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import json
import keyword
from collections.abc import Callable, Mapping
from typing import Any

from . import _native
from ._errors import InputError
from ._event import dumped
from ._plain import plain

COSTS = ("epsilon", "delta", "rho", "within", "confidence", "scope")
_COMMON = ("name", "kind", "cost", "accuracy")


def request(kind: str, name: str | None, cost: Mapping[str, Any], fields: Mapping[str, Any]) -> str:
    """A release with the fields that it would have in a project file, as JSON.

    >>> request("cdf", "ages", {"epsilon": 1}, {"table": "people", "column": "age"})
    '{"name": "ages", "kind": "cdf", "table": "people", "column": "age", "cost": {"epsilon": 1}}'
    """
    said = {key: value for key, value in cost.items() if value is not None}
    wish = {key: said.pop(key) for key in ("within", "confidence") if key in said}
    declared = {key: plain(value) for key, value in fields.items() if value is not None}
    priced: dict[str, Any] = {}
    if wish and said:
        priced["cost"] = plain({**said, "accuracy": wish})
    elif wish:
        priced["accuracy"] = plain(wish)
    elif said:
        priced["cost"] = plain(said)
    if name is None:
        name = f"{kind} {_digest(kind, declared, priced)}"
    return dumped({"name": plain(name), "kind": plain(kind), **declared, **priced})


def _digest(kind: str, declared: Mapping[str, Any], priced: Mapping[str, Any]) -> str:
    """A release without a name is called after what it asks, so that the same question twice is one release.

    How values are spelled here never changes: what was paid for under a name would be paid for again under another one.
    """
    lines = [f"kind = {_spelled(kind)}", *(f"{_spelled(key)} = {_spelled(value)}" for key, value in declared.items())]
    lines += [f"{key} = {_spelled(value)}" for key, value in priced.items()]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:8]


def _spelled(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_spelled(key)} = {_spelled(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_spelled, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def schemas() -> list[dict[str, Any]]:
    """The JSON schemas of all kinds, as ``scumble kinds --json`` prints them."""
    found: list[dict[str, Any]] = json.loads(_native.kinds())
    return found


def argument(field: str) -> str:
    """A field's name as an argument: ``for`` is a word of Python, and becomes ``for_``."""
    return f"{field}_" if keyword.iskeyword(field) else field


_SCHEMAS = {str(schema["title"]): schema for schema in schemas()}


class Kinds:
    """The methods of the kinds, each of which gives a plan."""

    def _planned(self, asked: str, *, named: bool) -> Any:
        raise NotImplementedError


def checked(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a kind by their names in a project file, of which all that it needs are there; an unknown kind is refused by whoever reads it.

    >>> checked("sql", {"sgl": "SELECT"})
    Traceback (most recent call last):
    scumble.InputError: sql has no field 'sgl' (did you mean 'sql'?)
    """
    schema = _SCHEMAS.get(kind)
    if schema is None:
        return dict(given)
    properties = schema["properties"]
    fields = {argument(field): field for field in properties if field not in _COMMON}
    costs = COSTS if "cost" in properties else ()
    for key in given:
        if key not in fields and key not in fields.values():
            near = difflib.get_close_matches(key, [*fields, *costs], n=1)
            hint = f" (did you mean '{near[0]}'?)" if near else f"; it has: {', '.join(['name', *fields, *costs])}"
            raise InputError(f"{kind} has no field '{key}'{hint}")
    found = {fields.get(key, key): value for key, value in given.items()}
    for name, field in fields.items():
        if field in schema["required"] and found.get(field) is None:
            raise InputError(f"{kind} needs {name}: {properties[field]['description']}")
    return found


def _method(schema: Mapping[str, Any]) -> Callable[..., Any]:
    kind = str(schema["title"])
    fields = {argument(field): field for field in schema["properties"] if field not in _COMMON}
    about = {name: schema["properties"][field]["description"] for name, field in fields.items()}
    required = [name for name, field in fields.items() if field in schema["required"]]
    costs = COSTS if "cost" in schema["properties"] else ()

    def method(self: Kinds, **given: Any) -> Any:
        name = given.pop("name", None)
        cost = {key: given.pop(key) for key in costs if key in given}
        return self._planned(request(kind, name, cost, checked(kind, given)), named=False)

    method.__name__ = kind.replace("-", "_")
    method.__qualname__ = f"Session.{method.__name__}"
    lines = [f"{name}: {sentence}" for name, sentence in about.items()]
    method.__doc__ = "\n\n".join([f"Publishes {schema['description']}.", *lines, "Gives a plan, which costs nothing until it is released."])
    only = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [inspect.Parameter(name, only) for name in required]
    optional = [name for name in fields if name not in required]
    parameters += [inspect.Parameter(name, only, default=None) for name in (*optional, "name", *costs)]
    method.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return method


for _schema in _SCHEMAS.values():
    _made = _method(_schema)
    setattr(Kinds, _made.__name__, _made)
