"""What a guest owes the house: quick to import, typed, interruptible, never pickled with people's rows."""

import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pandas as pd
import pytest
import scumble as sc

TESTS = pathlib.Path(__file__).parent


def run(program: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False, **more)


def test_import_is_quick_and_brings_nothing_along() -> None:
    program = """
        import sys, time
        start = time.process_time()
        import scumble
        print(time.process_time() - start, [name for name in ("numpy", "pandas", "polars", "pyarrow") if name in sys.modules])
    """
    # Of the processor: on a busy machine the clock on the wall says how busy it is.
    best = 9.0
    for _ in range(3):
        seconds, _, loaded = run(program).stdout.partition(" ")
        assert loaded.strip() == "[]"
        best = min(best, float(seconds))
    assert best < 0.2, best


def test_the_types_of_the_kinds_are_those_of_the_registry() -> None:
    sys.path.insert(0, str(TESTS))
    from stubs import PLACE, stubs

    assert PLACE.read_text(encoding="utf-8") == stubs(), "run python tests/stubs.py"


def test_types_are_strict() -> None:
    mypy = pytest.importorskip("mypy.api")
    out, err, status = mypy.run(["--strict", "--ignore-missing-imports", "--no-error-summary", "-p", "scumble"])
    assert status == 0, out + err


def examples(folder: pathlib.Path) -> list[pathlib.Path]:
    """The programs of users: the one beside this file, and the cells of the notebooks."""
    shutil.copy(TESTS / "typed_example.py", folder)
    for path in sorted((TESTS.parents[2] / "examples").glob("*.ipynb")):
        cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
        (folder / f"{path.stem.replace('-', '_')}.py").write_text("\n".join("".join(cell["source"]) for cell in cells))
    return sorted(folder.glob("*.py"))


def test_examples_are_strict_for_mypy(folder: pathlib.Path) -> None:
    mypy = pytest.importorskip("mypy.api")
    programs = examples(folder)
    assert len(programs) == 3
    out, err, status = mypy.run(["--strict", "--ignore-missing-imports", "--no-error-summary", *map(str, programs)])
    assert status == 0, out + err


def test_examples_are_strict_for_pyright(folder: pathlib.Path) -> None:
    pytest.importorskip("pyright")
    examples(folder)
    # A cell ends with what it shows; pandas has no types of its own.
    settings = {"typeCheckingMode": "strict", "reportUnusedExpression": False, "reportMissingTypeStubs": False, "reportUnknownMemberType": False}
    (folder / "pyrightconfig.json").write_text(json.dumps({"include": ["."], **settings}))
    command = [sys.executable, "-m", "pyright", "-p", str(folder), "--pythonpath", sys.executable]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    if "errors," not in checked.stdout:
        pytest.skip("pyright needs node, which it could not get")
    assert checked.returncode == 0, checked.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_session_works_on_in_forked_processes() -> None:
    ours = sc.Session({"t": pd.DataFrame({"x": [1] * 500})}, owner=None, columns={"x": sc.int(0, 1)}, budget=sc.Budget(person=3))
    ours.plan("SELECT COUNT(*) AS n FROM t", epsilon=1, name="before").release()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        answer = ours.plan("SELECT COUNT(*) AS n FROM t", epsilon=1, name="child").release()
        os.write(writer, str(answer["n"][0]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert abs(int(os.read(reader, 64)) - 500) < 60
    ours.plan("SELECT COUNT(*) AS n FROM t", epsilon=1, name="parent").release()
    assert ours.ledger.person.epsilon == 3


def test_sessions_are_not_pickled_and_events_are() -> None:
    ours = sc.Session({"t": pd.DataFrame({"x": [1]})}, owner=None, columns={"x": sc.int(0, 9)})
    with pytest.raises(TypeError, match="people's rows"):
        pickle.dumps(ours)
    event = sc.Gaussian(2.0, times=3)
    assert pickle.loads(pickle.dumps(event)) == event


def test_every_name_has_words() -> None:
    for name in sc.__all__:
        if name != "__version__":
            assert (getattr(sc, name).__doc__ or "").strip(), name
    for name, member in vars(sc.Session).items():
        if not name.startswith("_"):
            assert (member.__doc__ or "").strip(), name


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_is_heard_while_computing() -> None:
    program = """
        import scumble as sc
        print("begun", flush=True)
        try:
            sc.noise.discrete_gaussian(1e6, 10**8)
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted")
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        time.sleep(0.5)
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.perf_counter() - start < 20


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_after_an_interrupt_the_ledger_says_what_happened() -> None:
    """Ctrl-C during a release: whatever moment it comes at, a charge that is there is one of one release, and the ledger is whole."""
    program = """
        import pandas as pd, scumble as sc
        frame = pd.DataFrame({"x": list(range(200000))})
        ours = sc.Session({"t": frame}, owner=None, columns={"x": sc.int(0, 100)}, budget=sc.Budget(person=10))
        print("begun", flush=True)
        try:
            for i in range(10000):
                ours.plan("SELECT SUM(x) AS s FROM t", epsilon=0.0005, name=f"r{i}").release()
        except KeyboardInterrupt:
            print(len(ours.ledger.releases), ours.ledger.verify() is None)
    """
    for wait in (0.05, 0.3):
        with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stdout.readline() == "begun\n"
            time.sleep(wait)
            process.send_signal(signal.SIGINT)
            told = process.stdout.readline().split()
        assert len(told) == 2 and process.wait() == 0, told


def test_two_processes_share_one_budget(folder: pathlib.Path) -> None:
    program = """
        import sys, pandas as pd, scumble as sc
        frame = pd.DataFrame({"x": [1] * 500})
        ours = sc.Session({"t": frame}, owner=None, columns={"x": sc.int(0, 1)}, budget=sc.Budget(person=1))
        paid = 0
        for i in range(8):
            try:
                ours.plan("SELECT COUNT(*) AS n FROM t", epsilon=0.125, name=f"{sys.argv[1]} {i}").release()
                paid += 1
            except sc.BudgetError:
                pass
        print(paid)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    processes = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in "ab"]
    paid = [int(process.communicate()[0]) for process in processes]
    assert sum(paid) == 8, paid


def test_a_table_that_is_not_held_is_in_its_files():
    """Of a table of very many rows the first are shown, and nobody takes these for all."""
    told = {
        "name": "pairs",
        "kept": None,
        "sequence": 3,
        "files": ["out/pairs.csv", "out/pairs.parquet", "out/pairs.json"],
        "columns": [{"name": "n", "noisy": False}],
        "answers": {"rows": [{"n": 1}, {"n": 2}], "row_count": 700_000, "notes": []},
    }
    answer = sc.Answer(told)
    assert len(answer) == 700_000 and "699970 more rows" in repr(answer)
    for asked in (answer.to_dict, answer.to_pandas, answer.to_arrow, lambda: answer["n"]):
        with pytest.raises(sc.InputError, match="700000 rows, which are in its files: read out/pairs.parquet"):
            asked()
