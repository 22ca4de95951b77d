"""Plans and answers."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from . import _html, _native
from ._errors import InputError
from .events import Event

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_SHOWN = 30


class Plan:
    """A release that has been checked and priced, and not paid for: what it costs whom, and how far off its numbers will be."""

    def __init__(self, project: _native.Project, asked: str, named: bool, told: dict[str, Any]) -> None:
        self._project, self._asked, self._named, self._told = project, asked, named, told

    @property
    def name(self) -> str:
        """The release's name in the ledger and of its files."""
        return str(self._told["name"])

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self._told["kind"])

    @property
    def costs(self) -> dict[str, Any]:
        """Epsilon at :attr:`delta` for ``person``, ``presence`` and each of ``attributes``; ``None`` where there is none at that delta."""
        return dict(self._told["costs"])

    @property
    def delta(self) -> float:
        """The delta at which the costs are shown."""
        return float(self._told["delta"])

    @property
    def errors(self) -> dict[str, float | None]:
        """The standard error to expect of each column; ``None`` where the data decides it."""
        return {error["column"]: error["standard_error"] for error in self._told["errors"]}

    @property
    def events(self) -> list[Event]:
        """What it does to the data: the charge."""
        return [Event.from_dict(event) for event in self._told["events"]]

    @property
    def notes(self) -> list[str]:
        """What else somebody should know before this is released."""
        return list(self._told["notes"])

    @property
    def fits(self) -> bool:
        """Whether it fits the budget, or is published already."""
        return self._told["refused"] is None

    @property
    def published(self) -> bool:
        """Whether it is published already as it is declared: it costs nothing more then."""
        return self._told["published"] is not None

    def to_dict(self) -> dict[str, Any]:
        """All of it, as ``scumble plan --json`` has it."""
        return dict(self._told)

    def release(self, *, again: bool = False) -> Answer:
        """Charges the ledger, reads the rows, draws the noise, publishes.

        What was published with the same declaration is kept, at no further cost; ``again=True`` pays for new numbers. Ctrl-C before the charge leaves nothing
        behind; after it, the charge stays in the ledger as interrupted, and the same release goes on with it if nothing of it was seen.
        """
        return Answer(json.loads(self._project.release(self._asked, named=self._named, again=again, planned=self._told["project"])))

    def ask(self, *questions: str) -> list[dict[str, Any]]:
        """Of an ``interactive`` release: the answers to conditions on its columns, one after the other, each with ``answer``, ``within`` and ``how``. A round is
        charged when it opens, and ends with the first answer that is measured."""
        told: list[dict[str, Any]] = json.loads(
            self._project.ask(self._asked, list(questions), named=self._named, planned=self._told["project"])
        )
        return told

    def _words(self) -> list[str]:
        words = [f"costs a person epsilon {_html.up(self.costs['person'])} at delta {self.delta:g}"]
        errors = [
            f"{column} {_html.number(error) if error is not None else '(depends on the data)'}"
            for column, error in self.errors.items()
        ]
        more = f", {len(errors) - 4} more" if len(errors) > 4 else ""
        words += [f"standard error: {', '.join(errors[:4])}{more}"] if errors else []
        if self.published:
            words.append("published already, at no further cost")
        elif not self.fits:
            words.append("does not fit the budget")
        return words

    def __repr__(self) -> str:
        return f"Plan '{self.name}': {'; '.join(self._words())}"

    def _repr_html_(self) -> str:
        costs = [("presence", self.costs["presence"]), ("person", self.costs["person"]), *self.costs["attributes"].items()]
        rows = [(scope, _html.up(epsilon)) for scope, epsilon in costs]
        errors = [
            (error["column"], "" if error["standard_error"] is None else _html.number(error["standard_error"]), error["about"])
            for error in self._told["errors"]
        ]
        said = [self._told["refused"]] if self._told["refused"] else []
        return (
            f"<p><b>{_html.escaped(self.name)}</b>: {_html.escaped('; '.join(self._words()))}</p>"
            + _html.table(["scope", f"epsilon at delta {self.delta:g}"], rows)
            + _html.table(["column", "standard error", ""], errors)
            + _html.notes([*said, *self.notes])
        )


class Answer:
    """A published table. Each noisy column has ``COLUMN_se``, its standard error, and a 95% interval from ``COLUMN_low`` to ``COLUMN_high``. Where a column
    has such a name already, that of ours ends with ``_``."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told
        rows = told["answers"]["rows"]
        self._columns: dict[str, list[Any]] = {}
        self._beside: dict[str, tuple[str, str, str]] = _beside(told["columns"])
        for column in told["columns"]:
            name = column["name"]
            self._columns[name] = [row[name] for row in rows]
            if column["noisy"]:
                # Where no interval is known there is none.
                intervals = [row[f"{name}_interval"] or [None, None] for row in rows]
                error, low, high = self._beside[name]
                self._columns[error] = [_end(row[f"{name}_error"], math.inf) for row in rows]
                self._columns[low] = [_end(interval[0], -math.inf) for interval in intervals]
                self._columns[high] = [_end(interval[1], math.inf) for interval in intervals]

    @property
    def name(self) -> str:
        """The release's name."""
        return str(self._told["name"])

    @property
    def columns(self) -> list[str]:
        """The names of all columns."""
        return list(self._columns)

    @property
    def noisy(self) -> list[str]:
        """The columns that have noise, and an error beside them."""
        return list(self._beside)

    @property
    def notes(self) -> list[str]:
        """What a reader should know."""
        return list(self._told["answers"]["notes"])

    @property
    def kept(self) -> bool:
        """Whether it had been published before, and nothing was charged now."""
        return self._told["kept"] is not None

    @property
    def data_changed(self) -> bool | None:
        """Of an answer that is kept: whether the rows have changed since; ``None`` where that cannot be told."""
        kept = self._told["kept"]
        return None if kept is None else kept["data_changed"]

    @property
    def sequence(self) -> int:
        """Its place in the ledger."""
        return int(self._told["sequence"])

    @property
    def files(self) -> list[str]:
        """The files that were published: CSV, Parquet and JSON."""
        return list(self._told["files"])

    def __len__(self) -> int:
        return int(self._told["answers"].get("row_count", self._held))

    @property
    def _held(self) -> int:
        return len(self._told["answers"]["rows"])

    def _all(self) -> dict[str, list[Any]]:
        if self._held < len(self):
            raise InputError(f"'{self.name}' has {len(self)} rows, which are in its files: read {self.files[1]}, a Parquet file")
        return self._columns

    def __getitem__(self, column: str) -> list[Any]:
        if column not in self._columns:
            raise KeyError(column)
        return list(self._all()[column])

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists. A table of more than half a million rows is in its files alone."""
        return {name: list(values) for name, values in self._all().items()}

    def to_pandas(self) -> pandas.DataFrame:
        """As a data frame of pandas."""
        import pandas

        return pandas.DataFrame(self.to_dict())

    def to_polars(self) -> polars.DataFrame:
        """As a data frame of polars."""
        import polars

        return polars.DataFrame(self.to_dict(), strict=False)

    def to_arrow(self) -> pyarrow.Table:
        """As a table of Arrow."""
        import pyarrow

        return pyarrow.table(self.to_dict())

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _said(self) -> list[str]:
        if not self.kept:
            return self.notes
        since = "; the rows changed since" if self.data_changed else ""
        return [f"kept: published before (entry {self.sequence}), at no further cost{since}; release(again=True) pays for new numbers", *self.notes]

    def _shown(self) -> list[str]:
        hidden = {name for beside in self._beside.values() for name in beside}
        return [name for name in self._columns if name not in hidden]

    def _cell(self, name: str, row: int) -> str:
        value = self._columns[name][row]
        if name in self._beside and isinstance(value, int | float) and not isinstance(value, bool):
            _, low, high = self._beside[name]
            return _native.with_margin(float(value), isinstance(value, int), self._columns[low][row], self._columns[high][row])
        return "" if value is None else _html.visible(_html.number(value))

    def __repr__(self) -> str:
        shown = self._shown()
        cells = [shown] + [[self._cell(name, row) for name in shown] for row in range(min(self._held, _SHOWN))]
        widths = [max(len(line[place]) for line in cells) for place in range(len(shown))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells]
        lines += [f"… and {len(self) - _SHOWN} more rows"] if len(self) > _SHOWN else []
        return "\n".join([*lines, *self._said()])

    def _repr_html_(self) -> str:
        shown = self._shown()
        rows = [[self._cell(name, row) for name in shown] for row in range(min(self._held, _SHOWN))]
        known = [name for name, (_, low, _) in self._beside.items() if any(end is not None for end in self._columns[low])]
        pictures = "".join(self.chart(name) for name in known[:4]) if len(self) > 1 else ""
        return _html.table(shown, rows, max(0, len(self) - _SHOWN)) + pictures + _html.notes(self._said())

    def chart(self, column: str) -> str:
        """Bars with 95% intervals of a noisy column, as SVG."""
        if column not in self._beside:
            raise InputError(f"'{column}' is not a noisy column of this answer; those are: {', '.join(self._beside)}")
        labels = [name for name in self._shown() if name not in self._beside]
        _, lows, highs = self._beside[column]
        bars = []
        for row in range(min(self._held, _SHOWN)):
            value = self._columns[column][row]
            low, high = self._columns[lows][row], self._columns[highs][row]
            if value is None or not math.isfinite(value):
                continue
            bounded = low is not None and high is not None and math.isfinite(low) and math.isfinite(high)
            label = ", ".join("" if self._columns[name][row] is None else str(self._columns[name][row]) for name in labels)
            bars.append((label or str(row + 1), float(value), (low, high) if bounded else None))
        return _native.bars(f"{column} with 95% intervals", column, bars)


def _beside(columns: list[dict[str, Any]]) -> dict[str, tuple[str, str, str]]:
    """The names of what stands beside each noisy column, as in CSV and Parquet files."""
    taken = {column["name"] for column in columns}

    def free(name: str) -> str:
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    noisy = [column["name"] for column in columns if column["noisy"]]
    return {name: (free(f"{name}_se"), free(f"{name}_low"), free(f"{name}_high")) for name in noisy}


def _end(value: Any, unbounded: float) -> float | None:
    """A number of an answer; ``"unbounded"`` where nothing is known."""
    if value == "unbounded":
        return unbounded
    return None if value is None else float(value)
