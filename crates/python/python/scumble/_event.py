"""What all events have in common."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from . import _native
from ._errors import InputError


def dumped(document: Any) -> str:
    """A question as JSON, which has no word for what is not a number."""
    try:
        return json.dumps(document, allow_nan=False, default=_plain)
    except ValueError:
        raise InputError("a number is infinite or not a number (NaN)") from None
    except TypeError as error:
        raise InputError(f"this cannot be written as JSON ({error})") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Event):
        return value.to_dict()
    if hasattr(value, "tolist"):
        return value.tolist()  # numpy
    raise TypeError(f"a value of type {type(value).__name__}")


class Event:
    """What one mechanism did: a word, its parameters, how far one owner moves what was noised, on which sample, how often.

    >>> from scumble.events import Gaussian
    >>> Gaussian(sigma=2.0, times=100)
    Gaussian(sigma=2.0, times=100)
    >>> Gaussian(sigma=2.0, times=100) == Event.from_dict({"mechanism": "gaussian", "sigma": 2, "sensitivity": 1, "times": 100})
    True
    """

    __slots__ = ("_document",)
    _word: ClassVar[str] = ""
    _parameters: ClassVar[tuple[str, ...]] = ()
    _known: ClassVar[dict[str, type[Event]]] = {}

    def __init_subclass__(cls) -> None:
        Event._known[cls._word] = cls

    def __init__(self, **said: Any) -> None:
        document: dict[str, Any] = {"mechanism": self._word}
        noise = {key: value._bare() for key, value in said.items() if isinstance(value, Event)}
        document.update({key: value for key, value in {**said, **noise}.items() if value is not None})
        moves = document.get("moves") is not None
        if moves and document.get("sensitivity") == 1:
            del document["sensitivity"]
        if document.get("cells") == 1:
            del document["cells"]
        self._document: dict[str, Any] = document
        if not self._open():
            self._document = json.loads(_native.event(dumped(document)))

    def _open(self) -> bool:
        """Whether something is left for calibration to find."""
        sampling = self._document.get("sampling")
        missing = sum(parameter not in self._document for parameter in self._parameters)
        return missing + (isinstance(sampling, Mapping) and "rate" not in sampling) == 1

    def _bare(self) -> dict[str, Any]:
        """The word and its parameters, as the noise within another word."""
        usual = {"mechanism": self.mechanism, "sensitivity": 1.0, "times": 1}
        document = {key: value for key, value in self.to_dict().items() if key in self._parameters or usual.get(key) != value}
        for key in document:
            if key not in self._parameters:
                raise InputError(f"noise within another word is a word and its parameters: give {key} to the event around it")
        return {"mechanism": self.mechanism, **document}

    @property
    def mechanism(self) -> str:
        """The word of the ledger."""
        return str(self._document["mechanism"])

    @property
    def times(self) -> int:
        """How many independent runs."""
        return int(self._document.get("times", 1))

    def to_dict(self) -> dict[str, Any]:
        """As the ledger has it."""
        copy: dict[str, Any] = json.loads(dumped(self._document))
        return copy

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Event:
        """From the ledger's form, as in docs/reference/events.md."""
        full: dict[str, Any] = json.loads(_native.event(dumped(dict(document))))
        event = object.__new__(Event._known.get(full["mechanism"], Event))
        event._document = full
        return event

    @staticmethod
    def from_dp_event(event: Any) -> list[Event]:
        """The events of one of Google's ``dp_accounting``: so that its users can check theirs. Neighbours are those of add-remove there and here."""
        from ._dp_event import events

        return [Event.from_dict(document) for document in events(event)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._document == other._document

    def __hash__(self) -> int:
        return hash(dumped(self._document))

    def __repr__(self) -> str:
        usual = {"mechanism": self.mechanism, "sensitivity": 1.0, "times": 1}
        said = [f"{key}={value!r}" for key, value in self._ordered() if usual.get(key) != value]
        missing = [f"{parameter}=?" for parameter in self._parameters if parameter not in self._document]
        return f"{type(self).__name__}({', '.join(missing + said)})"

    def _ordered(self) -> list[tuple[str, Any]]:
        names = [*self._parameters, "sensitivity", "cells", "times", "sampling", "moves"]
        names += [key for key in self._document if key not in names]
        return [(key, self._document[key]) for key in names if key in self._document]

    def __reduce__(self) -> Any:
        return (Event.from_dict, (self.to_dict(),))
