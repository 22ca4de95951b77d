"""The programs of docs/reference/python.md run, and so do the programs and each line of the tables in docs/coming-from."""

import pathlib
import re

import pandas as pd
import pytest
import scumble as sc

DOCS = pathlib.Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "reference/python.md").read_text(encoding="utf-8")
PEOPLE = pd.DataFrame({"age": [i % 100 for i in range(3000)], "disease": [["none", "flu", "hiv"][i % 3] for i in range(3000)]})


def programs(page: str = PAGE) -> list[str]:
    """The blocks of Python that are not marked with ``ignore``."""
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


def test_every_program_of_the_page_runs(folder: pathlib.Path) -> None:
    PEOPLE.to_csv("people.csv", index=False)
    found = programs()
    assert len(found) == 2
    names: dict[str, object] = {}
    for program in found:
        exec(program, names)
    assert len(names["answer"]) == 3  # type: ignore[arg-type]


def newcomers() -> list[pathlib.Path]:
    found = [path for path in sorted((DOCS / "coming-from").glob("*.md")) if programs(path.read_text(encoding="utf-8"))]
    assert len(found) >= 6, found
    return found


@pytest.mark.parametrize("path", newcomers(), ids=lambda path: path.stem)
def test_each_program_for_newcomers_runs(path: pathlib.Path, folder: pathlib.Path) -> None:
    found = programs(path.read_text(encoding="utf-8"))
    if any("to_polars" in program for program in found):
        pytest.importorskip("polars")
    # The first page makes the session of the pages that make none.
    if not any("sc.Session(" in program for program in found):
        found = programs((DOCS / "coming-from/index.md").read_text(encoding="utf-8")) + found
    names: dict[str, object] = {"sc": sc, "people": PEOPLE, "frame": PEOPLE}
    for program in found:
        exec(program, names)


def lines() -> list[str]:
    """The last column of the tables "Side by side" on the pages for those who come from another tool."""
    found = []
    for path in sorted((DOCS / "coming-from").glob("*.md")):
        table = path.read_text(encoding="utf-8").partition("## Side by side")[2].partition("\n## ")[0]
        rows = [line for line in table.splitlines() if line.startswith("|")][2:]
        found += [row.split(" | ")[2].strip(" |").strip("`") for row in rows]
    assert len(found) >= 10, found
    return found


@pytest.mark.parametrize("line", lines())
def test_each_line_for_newcomers_runs(line: str) -> None:
    columns = {"age": sc.int(0, 120), "disease": sc.category(["none", "flu", "hiv"], sensitive=True)}
    session = sc.Session({"people": PEOPLE}, owner=None, columns=columns, budget=sc.Budget(person=(100, 1e-9)))
    made = eval(line, {"session": session, "sc": sc})
    if isinstance(made, sc.Plan):
        assert len(made.release()) >= 1
    else:
        assert made is not None


def test_dp_accounting_says_the_same() -> None:
    accounting = pytest.importorskip("dp_accounting")
    event = accounting.SelfComposedDpEvent(accounting.PoissonSampledDpEvent(0.01, accounting.GaussianDpEvent(1.0)), 1000)
    theirs = accounting.pld.PLDAccountant().compose(event).get_epsilon(1e-5)
    ours = sc.account(sc.Event.from_dp_event(event), delta=1e-5)
    assert ours.epsilon_lower <= theirs * (1 + 1e-3) and ours.epsilon <= theirs * (1 + 1e-3)
    add_remove = accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    for event in (
        accounting.LaplaceDpEvent(2.0), accounting.dp_event.DiscreteLaplaceDpEvent(0.5, 1), accounting.dp_event.ZCDpEvent(0.1, 0.0),
        accounting.ComposedDpEvent([accounting.LaplaceDpEvent(2.0), accounting.GaussianDpEvent(3.0)]),
    ):
        accountant = accounting.rdp.RdpAccountant if "ZC" in repr(event) else accounting.pld.PLDAccountant
        theirs = accountant(neighboring_relation=add_remove).compose(event).get_epsilon(1e-6)
        assert sc.account(sc.Event.from_dp_event(event), delta=1e-6).epsilon_lower <= theirs * (1 + 1e-3), event
    response = accounting.dp_event.RandomizedResponseDpEvent(0.5, 4)
    assert abs(sc.account(sc.Event.from_dp_event(response), delta=0, neighbours="replace").epsilon - 1.6094379) < 1e-6
    sampled = accounting.dp_event.SampledWithoutReplacementDpEvent(1000, 10, accounting.GaussianDpEvent(1.0))
    assert sc.Event.from_dp_event(sampled)[0].to_dict()["sampling"]["rate"] >= 0.01
    assert sc.Event.from_dp_event(accounting.NoOpDpEvent()) == []
