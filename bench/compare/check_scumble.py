"""This project, through its program: give the program's path as the argument."""

import csv
import io
import os
import sqlite3
import subprocess
import sys
import tempfile

from facts import ROWS, end, fact

program = os.path.abspath(sys.argv[1])
print(f"package: {subprocess.run([program, '--version'], capture_output=True, text=True).stdout.strip()}")
os.chdir(tempfile.mkdtemp())
with open("t.csv", "w") as file:
    csv.writer(file).writerows([("owner", "key", "value", "sex"), *((*row, "fm"[row[0] % 2]) for row in ROWS)])
with open("u.csv", "w") as file:
    csv.writer(file).writerows([("owner", "w"), *((owner, owner % 50) for owner in range(200))])
with open("scumble.toml", "w") as file:
    file.write(
        """
[dataset.t]
source = "t.csv"
owner = "owner"
max_rows_per_owner = 5
max_groups_per_owner = 3
max_rows_per_group = 1
[dataset.t.columns]
key = { type = "category" }
value = { type = "int", lower = 0, upper = 50 }
sex = { type = "category", values = ["f", "m"] }
[dataset.u]
source = "u.csv"
owner = "owner"
max_rows_per_owner = 1
[dataset.u.columns]
w = { type = "int", lower = 0, upper = 50 }
[budget]
person = { epsilon = 10, delta = 1e-6 }
"""
    )


def scumble(*arguments, status=0):
    """Each call is a process of its own: what is remembered is on disk."""
    run = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert run.returncode == status, f"exit status {run.returncode}: {run.stderr}"
    return run.stdout if status == 0 else run.stderr


def query(name, cost, sql, **options):
    answer = scumble("query", "--quiet", "--name", name, "--cost", cost, sql, **options)
    return list(csv.DictReader(io.StringIO(answer))) if options.get("status", 0) == 0 else answer.strip()


@fact("contribution bounding, private key selection, integer answers, and an error beside each of them")
def _():
    answer = query("by key", "epsilon=3,delta=1e-7", "SELECT key, COUNT(*) AS n FROM t GROUP BY key")
    assert {row["key"] for row in answer} <= {"a", "b", "c"} and answer
    assert all(int(row["n"]) and float(row["n_se"]) > 0 for row in answer)
    return answer


@fact("two private tables are joined on their owner")
def _():
    return query("joined", "epsilon=1", "SELECT COUNT(*) AS n FROM t JOIN u ON t.owner = u.owner WHERE w > 10")


@fact("AVG, VAR, MEDIAN, MIN and MAX are answered; a quantile comes with how many ranks it may be off")
def _():
    sql = "SELECT AVG(value) AS a, VAR(value) AS v, MEDIAN(value) AS m, MIN(value) AS lo, MAX(value) AS hi FROM t"
    answer = query("numbers", "epsilon=2", sql)[0]
    assert float(answer["m_rank_error"]) > 0 and answer["m_se"] == ""
    return answer


@fact("a ledger on disk: a later process knows what was spent, refuses what does not fit and still answers what does")
def _():
    count = "SELECT COUNT(*) AS n FROM t"
    message = query("too much", "epsilon=9", count, status=3)
    assert "nothing was charged" in message
    answer = query("small", "epsilon=0.1", count)
    return f"{message}; then {answer}"


@fact("accounts per attribute: sex was in no query and has no cost, value costs less than the person")
def _():
    shown = scumble("ledger", "show")
    cells = [line.split() for line in shown.splitlines() if line.strip() and line.split()[0] in ("person", "value", "sex")]
    costs = {cell[0]: float(cell[1]) for cell in cells}
    assert costs.get("sex", 0) == 0 and 0 < costs["value"] < costs["person"]
    return costs


@fact("a changed ledger is noticed")
def _():
    before = scumble("ledger", "verify").strip()
    ledger = sqlite3.connect("scumble.ledger")
    ledger.execute("UPDATE entry SET body = replace(body, 'joined', 'jointd')")
    ledger.commit()
    ledger.close()
    after = subprocess.run([program, "ledger", "verify"], capture_output=True, text=True)
    assert after.returncode != 0
    return f"{before}; after one letter was changed: {after.stderr.strip()}"


@fact("a cost of NaN is refused")
def _():
    return query("nonsense", "epsilon=NaN", "SELECT COUNT(*) AS n FROM t", status=2)


@fact("a server and an audit are among the program's commands")
def _():
    text = scumble("help") + scumble("help", "lab")
    commands = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line[2] not in " -"]
    assert {"serve", "audit"} <= set(commands)
    return commands


end()
