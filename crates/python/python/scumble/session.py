"""A session: tables, what is known about them, a budget and a ledger."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from . import _native
from ._errors import InputError
from ._event import dumped
from ._kinds import COSTS, Kinds, checked, request
from ._plain import described, plain, storable
from .answers import Answer, Plan
from .budget import Budget, Number
from .columns import Column
from .frames import rows_of
from .ledger import Ledger
from .report import Report

_UNSAID: Any = object()


class Table:
    """A frame (or the path of a file) with all that is publicly known about it. See :func:`table`."""

    __slots__ = ("columns", "declared", "frame")

    def __init__(self, frame: Any, columns: Mapping[str, Column], declared: Mapping[str, Any]) -> None:
        self.frame = frame
        self.columns = dict(columns)
        self.declared = {key: value for key, value in declared.items() if value is not None and value is not False}

    def __repr__(self) -> str:
        return f"Table({type(self.frame).__name__}, columns={list(self.columns)}, {self.declared})"


def table(
    frame: Any,
    *,
    owner: str | None = _UNSAID,
    columns: Mapping[str, Column],
    max_rows_per_owner: int | None = None,
    max_groups_per_owner: int | None = None,
    max_rows_per_group: int | None = None,
    public_owners: int | None = None,
    public: bool = False,
    graph: Mapping[str, Any] | None = None,
) -> Table:
    """One of several tables of a :class:`Session`. ``public=True`` is for a table that is about nobody, to join with."""
    if not isinstance(columns, Mapping):
        raise InputError(f"columns must say what each column holds, as in columns={{'age': int(0, 120)}}, and are of type {type(columns).__name__}")
    if owner is _UNSAID and not public:
        raise InputError(
            "say whose rows these are: owner='column', or owner=None where each row is one person (public=True where they are about nobody)"
        )
    declared = {
        "owner": None if owner is _UNSAID else owner, "public": public, "max_rows_per_owner": max_rows_per_owner,
        "max_groups_per_owner": max_groups_per_owner, "max_rows_per_group": max_rows_per_group,
        "public_owners": public_owners, "graph": graph,
    }
    return Table(frame, columns, declared)


class Session(Kinds):
    """Tables in memory, or a project file; what may be spent about the people in them; and the ledger of what was.

    ``Session({"people": frame}, owner=None, columns={…}, budget=Budget(…))`` takes frames of pandas, polars or Arrow. ``owner`` names the column that
    says whose row it is, and is ``None`` where each row is one person. The ledger is the file ``scumble.ledger`` in the working folder and the outputs
    are in ``out`` beside it, unless ``ledger`` and ``out`` name others: charges outlive the process, and what was released before is not paid for again.
    With ``cost_scope="presence"``, costs that name no ``scope`` bound what adding or removing one person changes, as in OpenDP and Tumult.

    ``Session("scumble.toml")`` opens a project file and shares its ledger with the program ``scumble``.
    """

    def __init__(
        self,
        tables: Mapping[str, Any] | str | os.PathLike[str] = "scumble.toml",
        *,
        owner: str | None = _UNSAID,
        columns: Mapping[str, Column] | None = None,
        budget: Budget | None = None,
        max_rows_per_owner: int | None = None,
        max_groups_per_owner: int | None = None,
        max_rows_per_group: int | None = None,
        public_owners: int | None = None,
        attacker: Mapping[str, Any] | None = None,
        cost_scope: str | None = None,
        ledger: str | os.PathLike[str] | None = None,
        out: str | os.PathLike[str] | None = None,
    ) -> None:
        about_tables = {
            "columns": columns, "max_rows_per_owner": max_rows_per_owner, "max_groups_per_owner": max_groups_per_owner,
            "max_rows_per_group": max_rows_per_group, "public_owners": public_owners,
        }
        if isinstance(tables, (str, os.PathLike)):
            about_project = {"budget": budget, "attacker": attacker, "cost_scope": cost_scope}
            said = [key for key, value in {**about_tables, **about_project}.items() if value is not None]
            said += ["owner"] if owner is not _UNSAID else []
            if said:
                raise InputError(f"{said[0]} stands in the project file: leave it out, or give frames in place of its path")
            self._project = _native.Project.open(os.path.abspath(os.fspath(tables)), ledger=_some(ledger), out=_some(out))
            return
        if not isinstance(tables, Mapping) or not tables:
            raise InputError("a session needs tables by name, as in Session({'people': frame}, …), or the path of a project file")
        if budget is not None and not isinstance(budget, Budget):
            raise InputError(f"budget must be a Budget, as in Budget(person=(1.0, 1e-9)), not a value of type {type(budget).__name__}")
        given = {str(name): self._table(str(name), value, len(tables), owner, about_tables) for name, value in tables.items()}
        _refuse_public_twins(given)
        self._project = _opened(given, budget, attacker, cost_scope, _some(ledger), _some(out))

    @staticmethod
    def _table(name: str, value: Any, number: int, owner: str | None, about: Mapping[str, Any]) -> Table:
        said = [key for key, given in about.items() if given is not None] + (["owner"] if owner is not _UNSAID else [])
        if isinstance(value, Table):
            if said:
                raise InputError(f"{said[0]} is given by table '{name}' itself: leave it out of the session")
            return value
        if number > 1:
            raise InputError(f"there are {number} tables: describe each of them, as in {{'{name}': table(frame, owner=…, columns={{…}})}}")
        columns = about["columns"]
        if not columns:
            raise InputError(f"table '{name}' needs columns: what is publicly known about each that is to be used, as in columns={{'age': int(0, 120)}}")
        return table(value, owner=owner, **{**about, "columns": columns})

    def plan(
        self,
        query: str | None = None,
        *,
        kind: str | None = None,
        name: str | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        within: Number | None = None,
        confidence: Number | None = None,
        scope: str | None = None,
        **fields: Any,
    ) -> Plan:
        """What a release would cost whom, and the errors to expect; it costs nothing and touches no data.

        A query in SQL, or another ``kind`` with its fields: ``plan("SELECT …", epsilon=0.5)``, ``plan(kind="quantiles", table="people", …, rho=0.1)``.
        ``within`` and ``confidence`` ask for an accuracy in the place of a cost. Without a ``name`` the release is called after what it asks, so that
        the same question twice is one release.
        """
        kind = kind or "sql"
        if query is not None:
            fields = {"sql": query, **fields}
        cost = dict(zip(COSTS, (epsilon, delta, rho, within, confidence, scope)))
        return self._planned(request(kind, name, cost, checked(kind, fields)), named=False)

    def release(self, name: str, *, again: bool = False) -> Answer:
        """A release of the project file, by its name: paid for, or kept where it is published already."""
        return self._planned(name, named=True).release(again=again)

    def planned(self, name: str) -> Plan:
        """What a release of the project file would cost, by its name."""
        return self._planned(name, named=True)

    def _planned(self, asked: str, *, named: bool) -> Plan:
        return Plan(self._project, asked, named, json.loads(self._project.plan(asked, named=named)))

    @property
    def ledger(self) -> Ledger:
        """What has been given away, about whom, and what is left."""
        return Ledger(self._project)

    @property
    def tables(self) -> dict[str, Any]:
        """The tables: owner, and the declared columns."""
        tables: dict[str, Any] = json.loads(self._project.described())["tables"]
        return tables

    @property
    def releases(self) -> list[str]:
        """The names of the project file's releases."""
        return [release["name"] for release in json.loads(self._project.described())["releases"]]

    def check(self) -> None:
        """Looks whether the tables are what is declared; an :class:`InputError` says where they are not."""
        self._project.check()

    def raise_budget(self, because: str) -> int:
        """Writes this session's budget into the ledger, in which a smaller one is in force, and why; gives the number of the entry."""
        return self._project.change_budget(because, True)

    def lower_budget(self, because: str) -> int:
        """The same where the ledger's budget is the larger one."""
        return self._project.change_budget(because, False)

    def report(self) -> Report:
        """The report of everything that the ledger holds, as a page."""
        return Report(self._project.report())

    def __repr__(self) -> str:
        described = json.loads(self._project.described())
        names = ", ".join(described["tables"])
        return f"Session(tables: {names}; ledger: {described['ledger']})"

    def __reduce__(self) -> Any:
        raise TypeError("a session is not pickled: it holds people's rows; make one where it is needed, with the same ledger")


def _some(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.path.abspath(os.fspath(path))


def _refuse_public_twins(tables: Mapping[str, Table]) -> None:
    """A frame that is given as private is not public under another name."""
    for name, one in tables.items():
        for other, two in tables.items():
            if one.declared.get("public") and not two.declared.get("public") and one.frame is two.frame:
                raise InputError(
                    f"table '{name}' is declared public and is the same frame as table '{other}', which is private: its values are not public"
                )


def _opened(
    tables: Mapping[str, Table],
    budget: Budget | None,
    attacker: Mapping[str, Any] | None,
    cost_scope: str | None,
    ledger: str | None,
    out: str | None,
) -> _native.Project:
    """The project of tables in memory: what a project file would say, as JSON."""
    dataset: dict[str, Any] = {}
    frames: dict[str, _native.Frame] = {}
    for name, one in tables.items():
        about = f"table '{storable(name)}'"
        is_file = isinstance(one.frame, (str, os.PathLike))
        source = _some(one.frame) if is_file else f"{name} (in memory)"
        said = {key: described(f"{about}, {key}", value) for key, value in one.declared.items()}
        dataset[name] = {"source": plain(source), **said, "columns": _columns(about, one.columns)}
        if not is_file:
            owner = [one.declared["owner"]] if "owner" in one.declared else []
            ends = [str(one.declared["graph"][end]) for end in ("from", "to") if end in one.declared.get("graph", {})]
            names = list(dict.fromkeys(owner + ends + [str(column) for column in one.columns]))
            frames[name] = rows_of(name, one.frame, names)
    project: dict[str, Any] = {"dataset": dataset}
    if budget is not None and budget.limits:
        limits = budget.limits.items()
        project["budget"] = {scope: described(f"the budget for {scope}", limit) for scope, limit in limits}
    if attacker:
        project["attacker"] = {str(key): described(f"attacker, {key}", value) for key, value in attacker.items()}
    if cost_scope is not None:
        project["cost_scope"] = plain(cost_scope)
    folder = os.path.dirname(ledger) if ledger else os.getcwd()
    path = os.path.join(folder, "session.toml")
    return _native.Project.in_memory(path, dumped(project), frames, ledger=ledger, out=out)


def _columns(about: str, columns: Mapping[str, Column]) -> dict[str, Any]:
    declared: dict[str, Any] = {}
    for name, domain in columns.items():
        column = storable(str(name))
        if not isinstance(domain, Column):
            raise InputError(
                f"{about}, column '{column}': say what it holds, as in int(0, 120) or category(['f', 'm']), "
                f"not {type(domain).__name__}"
            )
        if column in declared:
            raise InputError(f"{about} has two columns that are written '{column}': give them different names")
        declared[column] = described(f"{about}, column '{column}'", domain.declared)
    return declared
