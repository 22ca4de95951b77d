"""The ten lines of the front page, and what must hold of them."""

import json
import math
import os
import pathlib
import subprocess

import pandas as pd
import pytest
import scumble as sc
from scumble._kinds import request

QUERY = "SELECT disease, COUNT(*) AS n FROM people GROUP BY disease"


def people(rows: int = 3000) -> pd.DataFrame:
    diseases = ["none", "none", "flu", "hiv", "none", "flu"]
    return pd.DataFrame({"age": [20 + i % 50 for i in range(rows)], "disease": [diseases[i % 6] for i in range(rows)]})


def session(frame: object = None, **more: object) -> sc.Session:
    columns = {"age": sc.int(0, 120), "disease": sc.category(["none", "flu", "hiv"], sensitive=True)}
    frame = people() if frame is None else frame
    given = {"owner": None, "budget": sc.Budget(person=(1.0, 1e-9)), "columns": columns, **more}
    return sc.Session({"people": frame}, **given)


def test_the_ten_lines(folder: pathlib.Path) -> None:
    ours = session()
    plan = ours.plan(QUERY, epsilon=0.5)
    assert plan.costs["person"] == 0.5 and plan.fits and not (folder / "scumble.ledger").exists()
    answer = plan.release()
    frame = answer.to_pandas()
    assert list(frame.columns) == ["disease", "n", "n_se", "n_low", "n_high"]
    truth = {"none": 1500, "flu": 1000, "hiv": 500}
    # A person moves two cells: scale 4, and P[|noise| > 120] < 2e-13 for each of three.
    assert all(abs(n - truth[disease]) <= 120 for disease, n in zip(frame["disease"], frame["n"]))
    assert math.isclose(ours.ledger.person.epsilon, 0.5) and ours.ledger.person.left["epsilon"] == 0.5
    assert "flu" in repr(answer) and "<svg" in answer._repr_html_() and "<table" in plan._repr_html_()


def test_a_session_says_whom_its_costs_are_about() -> None:
    ours = session(cost_scope="presence", budget=sc.Budget(person=(10.0, 1e-9)))
    costs = ours.plan(QUERY, epsilon=1).costs
    assert (costs["person"], costs["presence"]) == (2.0, 1.0)
    costs = ours.plan(QUERY, epsilon=1, scope="person").costs
    assert (costs["person"], costs["presence"]) == (1.0, 0.5)
    with pytest.raises(sc.InputError, match="cost_scope is 'person' or 'presence'"):
        session(cost_scope="attribute")


def test_every_form_of_an_answer() -> None:
    answer = session().plan(QUERY, epsilon=0.5).release()
    pandas, polars, arrow = answer.to_pandas(), answer.to_polars(), answer.to_arrow()
    assert pandas["n"].tolist() == polars["n"].to_list() == arrow["n"].to_pylist() == answer["n"]
    assert len(answer) == 3 and answer.noisy == ["n"] and len(answer.files) == 3


def test_the_same_question_is_paid_for_once() -> None:
    first = session().plan(QUERY, epsilon=0.5).release()
    again = session().plan(QUERY, epsilon=0.5)
    assert again.published
    second = again.release()
    assert second.kept and second.data_changed is False and second["n"] == first["n"]
    assert math.isclose(session().ledger.person.epsilon, 0.5)
    third = again.release(again=True)
    assert not third.kept and math.isclose(session().ledger.person.epsilon, 1.0)


def test_changed_rows_are_told() -> None:
    session().plan(QUERY, epsilon=0.5).release()
    other = session(people(2990)).plan(QUERY, epsilon=0.5).release()
    assert other.kept and other.data_changed is True and "rows changed" in repr(other)


def test_a_frame_that_changes_later_changes_nothing() -> None:
    frame = people()
    ours = session(frame)
    frame["disease"] = "hiv"
    answer = dict(zip(*[ours.plan(QUERY, epsilon=1.0).release()[column] for column in ("disease", "n")]))
    assert answer["none"] > 1000


def test_the_budget_refuses_and_charges_nothing() -> None:
    ours = session()
    plan = ours.plan(QUERY, epsilon=1.5)
    assert not plan.fits
    with pytest.raises(sc.BudgetError, match="the largest cost that would fit is epsilon 1"):
        plan.release()
    assert ours.ledger.person.epsilon == 0 and ours.ledger.verify() is None


def test_another_budget_needs_a_reason() -> None:
    session().plan(QUERY, epsilon=0.5).release()
    more = session(budget=sc.Budget(person=(2.0, 1e-9)))
    with pytest.raises(sc.InputError, match=r'^the budget of this session .* run session.raise_budget\("…"\)'):
        more.plan(QUERY, epsilon=1.2, name="more").release()
    with pytest.raises(sc.InputError, match="reason"):
        more.raise_budget(" ")
    more.raise_budget("the board agreed")
    assert len(more.plan(QUERY, epsilon=1.2, name="more").release()) == 3


def test_nothing_of_the_rows_is_left_on_the_disk(folder: pathlib.Path) -> None:
    frame = pd.DataFrame({"word": ["xylophagous-7f3a"] * 5 + ["a"] * 500})
    ours = sc.Session({"words": frame}, owner=None, columns={"word": sc.category(["a", "b"])}, budget=sc.Budget(person=9))
    ours.plan("SELECT word, COUNT(*) AS n FROM words GROUP BY word", epsilon=1).release()
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert len(written) >= 4 and all(b"xylophagous" not in path.read_bytes() for path in written)


def test_owners_are_bounded() -> None:
    visits = pd.DataFrame({"who": [i // 10 for i in range(4000)], "urgent": [i % 2 == 0 for i in range(4000)]})
    ours = sc.Session({"visits": visits}, owner="who", max_rows_per_owner=2, columns={"urgent": sc.bool()}, budget=sc.Budget(person=100))
    answer = ours.plan("SELECT COUNT(*) AS n FROM visits", epsilon=20).release()
    assert abs(answer["n"][0] - 800) < 20, answer


def test_several_tables_and_a_public_one() -> None:
    people = pd.DataFrame({"id": range(1000), "state": ["OH"] * 300 + ["TX"] * 700})
    regions = pd.DataFrame({"state": ["OH", "TX"], "region": ["midwest", "south"]})
    tables = {
        "people": sc.table(people, owner="id", max_rows_per_owner=1, columns={"state": sc.category(["OH", "TX"])}),
        "regions": sc.table(regions, public=True, columns={"state": sc.category(["OH", "TX"]), "region": sc.category(["midwest", "south"])}),
    }
    ours = sc.Session(tables, budget=sc.Budget(person=50))
    query = "SELECT region, COUNT(*) AS n FROM people JOIN regions ON people.state = regions.state GROUP BY region"
    answer = ours.plan(query, epsilon=20).release()
    assert dict(zip(answer["region"], (round(n, -2) for n in answer["n"]))) == {"midwest": 300, "south": 700}
    twin = {**tables, "regions": sc.table(people, public=True, columns={"state": sc.category()})}
    with pytest.raises(sc.InputError, match="same frame"):
        sc.Session(twin)


def test_every_kind_is_a_method() -> None:
    ours = session(budget=sc.Budget(person=(100, 1e-6)))
    plans = {
        "histogram": ours.histogram(table="people", column="disease", epsilon=1),
        "cdf": ours.cdf(table="people", column="age", epsilon=1),
        "quantiles": ours.quantiles(table="people", column="age", quantiles=[0.5], epsilon=1),
        "marginals": ours.marginals(table="people", columns=["disease"], order=1, rho=0.1),
        "mode": ours.mode(table="people", column="disease", epsilon=1),
    }
    for kind, plan in plans.items():
        assert plan.kind == kind and plan.costs["person"] <= 10, plan
    median = plans["quantiles"].release()
    assert len(median) == 1
    with pytest.raises(sc.InputError, match=r"histogram has no field 'colum' \(did you mean 'column'\?\)"):
        ours.histogram(table="people", colum="disease", epsilon=1)
    with pytest.raises(sc.InputError, match="cdf needs column"):
        ours.cdf(table="people", epsilon=1)
    with pytest.raises(sc.InputError, match="needs 'cost' or 'accuracy'"):
        ours.plan(QUERY)
    with pytest.raises(sc.InputError, match="sql has no field 'cost'"):
        ours.plan(QUERY, epsilon=1, cost={"epsilon": 0.1})
    with pytest.raises(sc.InputError, match="sql needs sql"):
        ours.plan(epsilon=1)
    with pytest.raises(sc.InputError, match=r"there is no table 'persons' in this session"):
        ours.plan("SELECT COUNT(*) AS n FROM persons", epsilon=1)


def test_texts_from_the_data_do_nothing_to_a_terminal() -> None:
    frame = pd.DataFrame({"word": ["\x1b[2Jgone<script>"] * 5000})
    ours = sc.Session({"t": frame}, owner=None, columns={"word": sc.category()}, budget=sc.Budget(person=(5, 1e-6)))
    answer = ours.plan("SELECT word, COUNT(*) AS n FROM t GROUP BY word", epsilon=2, delta=1e-7).release()
    assert len(answer) == 1 and "\x1b" not in repr(answer) and "<script>" not in answer._repr_html_()
    assert answer["word"] == ["\x1b[2Jgone<script>"]


def test_questions_one_after_the_other() -> None:
    ours = session(people(20000), budget=sc.Budget(person=(20, 1e-6)))
    plan = ours.interactive(table="people", columns=["disease"], people=20000, updates=3, epsilon=5, delta=1e-7)
    with pytest.raises(sc.InputError, match="interactive"):
        plan.release()
    with pytest.raises(sc.InputError):
        plan.ask("disease = 'flu'", "colour = 'red'")
    assert ours.ledger.person.epsilon == 0
    first, second = plan.ask("disease = 'flu'", "disease <> 'flu'")
    # The promise holds except with probability 0.05 for all questions, and is far from what noise does here.
    assert abs(first["answer"] - 20000 / 3) <= first["within"] and second["how"] and ours.ledger.person.epsilon > 0


def test_an_accuracy_in_the_place_of_a_cost() -> None:
    plan = session().plan(QUERY, within=50, confidence=0.95)
    assert 0 < plan.costs["person"] < 1


def test_what_is_wrong_is_said_in_one_sentence() -> None:
    frame = people()
    columns = {"age": sc.int(0, 120)}

    def refused(*args: object, **kwargs: object) -> str:
        with pytest.raises(sc.InputError) as caught:
            sc.Session(*args, **kwargs)
        sentence = str(caught.value)
        assert "\n" not in sentence and not sentence.endswith("."), sentence
        return sentence

    assert "owner=None" in refused({"people": frame}, columns=columns)
    assert "needs columns" in refused({"people": frame}, owner=None)
    assert "did you mean 'age'?" in refused({"people": frame}, owner=None, columns={"agee": sc.int(0, 1)})
    inverted = refused({"people": frame}, owner=None, columns={"age": sc.int(9, 1)})
    assert inverted.startswith("table 'people', column 'age': the bounds are inverted"), inverted
    assert "max_rows_per_owner" in refused({"people": frame}, owner="disease", columns=columns)
    assert "the budget for person" in refused({"people": frame}, owner=None, columns=columns, budget=sc.Budget(person=-1))
    assert "Budget(person=" in refused({"people": frame}, owner=None, columns=columns, budget=1.0)
    assert "columns must say" in refused({"people": frame}, owner=None, columns=["age"])
    assert "lone surrogate" in refused({"people": frame}, owner=None, columns={"\ud800": sc.int(0, 1)})
    assert "type list" in refused({"people": [1, 2]}, owner=None, columns=columns)
    assert "there is no project file" in refused("nowhere.toml")
    assert "stands in the project file" in refused("nowhere.toml", owner="x")
    assert "say what it holds" in refused({"people": frame}, owner=None, columns={"age": "int"})
    assert "not a declared column" in refused({"people": frame}, owner=None, columns=columns, budget=sc.Budget(attributes={"x": 1}))


def test_what_is_wrong_is_said_of_what_it_is_about() -> None:
    def refused(column: sc.Column | None = None, **more: object) -> str:
        with pytest.raises(sc.InputError) as caught:
            session(columns={"age": column or sc.int(0, 120)}, **more)
        return str(caught.value).split(": ")[0]

    def table(**more: object) -> sc.Session:
        return sc.Session({"people": sc.table(people(), columns={"age": sc.int(0, 120)}, **more)})

    assert refused(sc.category(["a", "a"])) == "table 'people', column 'age'"
    assert refused(sc.float(0, math.nan)) == "table 'people', column 'age'"
    assert refused(sc.int(0, 2**80)) == "table 'people', column 'age'"
    assert refused(sc.Column(type="int", uper=3)) == "table 'people', column 'age'"
    assert refused(max_rows_per_owner=0, owner="disease") == "table 'people', max_rows_per_owner"
    assert refused(max_rows_per_owner="1", owner="disease") == "table 'people', max_rows_per_owner"
    assert refused(budget=sc.Budget(presence="x")) == "the budget for presence"
    assert refused(budget=sc.Budget(person=math.inf)) == "the budget for person"
    assert refused(budget=sc.Budget(attributes={"age": -1})) == "the budget for attribute 'age'"
    assert refused(budget=sc.Budget(attributes={"x": 1})) == "the budget for attributes"
    assert refused(attacker={"known_rows": 2}) == "attacker, known_rows"
    assert refused(attacker={"know_rows": 0.5}) == "attacker"
    with pytest.raises(sc.InputError, match="^table 'people', public_owners: "):
        table(owner=None, public_owners=0)
    with pytest.raises(sc.InputError, match="^table 'people', graph: "):
        table(owner=None, graph={"form": "age"})


def test_columns_stay_in_their_order() -> None:
    columns = {name: sc.int(0, 1) for name in ("z", "a", "m")}
    frame = pd.DataFrame({name: [0] for name in columns})
    ours = sc.Session({"t": frame}, owner=None, columns=columns)
    assert ours.tables["t"]["columns"] == ["z", "a", "m"]
    with pytest.raises(sc.InputError, match="two columns that are written '7'"):
        sc.Session({"t": pd.DataFrame({7: [0]})}, owner=None, columns={7: sc.int(0, 1), "7": sc.int(0, 1)})


def test_what_has_no_name_is_called_as_ever() -> None:
    """Under another name it would be paid for a second time."""
    cost = {"epsilon": 0.5, "delta": 1e-9, "within": 10, "confidence": 0.95}
    asked = json.loads(request("sql", None, cost, {"sql": 'SELECT "a\x7fä" FROM t'}))
    assert asked["name"] == "sql 483292cc"
    fields = {"table": "people", "column": "age", "points": [1, 2.5, True, "x"], "m": {"a": {"b": (1,)}}}
    assert json.loads(request("cdf", None, {}, fields))["name"] == "cdf d55f005b"


def test_a_project_file_and_its_ledger_are_shared(folder: pathlib.Path) -> None:
    (folder / "people.csv").write_text("age,sex\n" + "".join(f"{20 + i % 50},{'fm'[i % 2]}\n" for i in range(1000)))
    (folder / "scumble.toml").write_text(
        '[dataset.people]\nsource = "people.csv"\n[dataset.people.columns]\nage = { type = "int", lower = 0, upper = 120 }\n'
        'sex = { type = "category", values = ["f", "m"] }\n[budget]\nperson = { epsilon = 2 }\n'
        '[[release]]\nname = "by sex"\nsql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"\ncost = { epsilon = 1 }\n'
    )
    ours = sc.Session("scumble.toml")
    assert ours.releases == ["by sex"] and ours.planned("by sex").costs["person"] == 1
    answer = ours.release("by sex")
    assert not answer.kept and (folder / "out" / "by-sex.csv").exists()
    assert sc.Session("scumble.toml").release("by sex").kept
    with pytest.raises(sc.InputError, match="did you mean 'by sex'"):
        ours.release("by sx")
    with pytest.raises(sc.InputError, match="another name"):
        ours.plan("SELECT COUNT(*) AS n FROM people", epsilon=1, name="by sex")
    with pytest.raises(sc.BudgetError):
        ours.plan("SELECT COUNT(*) AS n FROM people", epsilon=1.01).release()
    # What was planned is what is paid for, or nothing.
    plan = ours.plan("SELECT COUNT(*) AS n FROM people", epsilon=0.1)
    text = (folder / "scumble.toml").read_text()
    (folder / "scumble.toml").write_text(text.replace("upper = 120", "upper = 110"))
    with pytest.raises(sc.InputError, match="has changed since this was planned"):
        plan.release()
    (folder / "scumble.toml").write_text(text)
    # A frame under the ledger of a project is another table, and is told so.
    with pytest.raises(sc.InputError, match="was read from"):
        columns = {"age": sc.int(0, 120)}
        frames = sc.Session({"people": pd.read_csv("people.csv")}, owner=None, columns=columns, budget=sc.Budget(person=2))
        frames.plan("SELECT COUNT(*) AS n FROM people", epsilon=0.1).release()


def test_the_program_and_the_package_share_one_budget(folder: pathlib.Path) -> None:
    program = os.environ.get("SCUMBLE", pathlib.Path(__file__).parents[3] / "target/debug/scumble")
    if not pathlib.Path(program).exists():
        pytest.skip("the program is not built")
    (folder / "people.csv").write_text("age\n" + "".join(f"{20 + i % 50}\n" for i in range(1000)))
    release = '[[release]]\nname = "{name}"\nsql = "SELECT COUNT(*) AS n FROM people"\ncost = {{ epsilon = 0.75 }}\n'
    (folder / "scumble.toml").write_text(
        '[dataset.people]\nsource = "people.csv"\n[dataset.people.columns]\nage = { type = "int", lower = 0, upper = 120 }\n'
        "[budget]\nperson = { epsilon = 2 }\n" + release.format(name="a") + release.format(name="b")
    )

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)

    ours = sc.Session("scumble.toml")
    first = ours.release("a")
    assert run("release", "--quiet").returncode == 0, "what Python has published is kept, and the other one is paid for"
    told = json.loads(run("ledger", "show", "--json").stdout)
    assert told["person"]["epsilon"] == ours.ledger.person.epsilon == 1.5 and len(ours.ledger.releases) == 2
    assert ours.release("a")["n"] == first["n"] and ours.release("b").kept
    with pytest.raises(sc.BudgetError):
        ours.plan("SELECT COUNT(*) AS n FROM people", epsilon=0.75).release()
    assert run("ledger", "verify").returncode == 0 and ours.ledger.verify()


def test_the_report_and_the_ledger_for_notebooks() -> None:
    ours = session()
    with pytest.raises(sc.InputError, match="nothing"):
        ours.report()
    ours.plan(QUERY, epsilon=0.5).release()
    report = ours.report()
    assert report.path.exists() and "<iframe" in report._repr_html_()
    ledger = ours.ledger
    assert "disease" in ledger.attributes and ledger.together("age", "disease").epsilon <= 0.5
    assert ledger.group(2).epsilon >= 0.5 and len(ledger.releases) == 1 and "person" in repr(ledger)
    assert "<table" in ledger._repr_html_() and len(ledger.verify() or "") == 64
