"""SmartNoise SQL, on SQLite."""

import sqlite3
import warnings

import snsql
from snsql import Privacy, from_connection

from facts import ROWS, end, fact, package, refusal, words

warnings.filterwarnings("ignore")
package("smartnoise-sql")
package("opendp")
connection = sqlite3.connect(":memory:")
connection.execute("CREATE TABLE t (owner INT, k TEXT, value INT)")
connection.execute("CREATE TABLE u (owner INT, w INT)")
connection.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
connection.executemany("INSERT INTO u VALUES (?, ?)", [(owner, owner % 50) for owner in range(200)])
OWNER = {"type": "int", "private_id": True}
TABLES = {
    "t": {"max_ids": 5, "owner": OWNER, "k": {"type": "string"}, "value": {"type": "int", "lower": 0, "upper": 50}},
    "u": {"max_ids": 1, "owner": OWNER, "w": {"type": "int", "lower": 0, "upper": 50}},
}


def reader(epsilon=0.5):
    privacy = Privacy(epsilon=epsilon, delta=1e-5)
    return from_connection(connection, privacy=privacy, metadata={"": {"": TABLES}}, engine="sqlite")


BY_KEY = "SELECT k, COUNT(*) AS n, SUM(value) AS s FROM t GROUP BY k"


@fact("SQL with bounded contributions and private key selection; counts and integer sums get integer noise")
def _():
    one = reader()
    answer = one.execute(BY_KEY)
    assert all(isinstance(cell, int) for row in answer[1:] for cell in row[1:])
    assert {row[0] for row in answer[1:]} <= {"a", "b", "c"}
    kinds = {str(stat): str(kind) for stat, kind in one.privacy.mechanisms.map.items()}
    assert kinds["Stat.count"] == "Mechanism.discrete_laplace"
    return f"{answer}; {kinds}"


@fact("answers have no error columns; an accuracy can be asked for with a second call, execute_with_accuracy is removed")
def _():
    one = reader()
    assert one.execute(BY_KEY)[0] == ["k", "n", "s"]
    bound = one.get_simple_accuracy("SELECT COUNT(*) AS n FROM t", alpha=0.05)
    return f"{bound}; " + refusal(lambda: one.execute_with_accuracy(BY_KEY), "removed")


@fact("an odometer counts what was spent, without a limit: 30 queries at epsilon 0.5 are all answered")
def _():
    one = reader()
    for _ in range(30):
        one.execute("SELECT COUNT(*) AS n FROM t")
    assert one.odometer.spent[0] > 5
    return f"spent {one.odometer.spent}"


@fact("the odometer lives in memory: a new reader starts at zero, and reset() sets it to zero")
def _():
    one = reader()
    one.execute("SELECT COUNT(*) AS n FROM t")
    assert one.odometer.spent[0] > 0 and reader().odometer.spent == (0.0, 0.0)
    one.odometer.reset()
    assert one.odometer.spent == (0.0, 0.0)
    return one.odometer.spent


@fact("joins and subqueries that cross tables are disabled")
def _():
    join = refusal(lambda: reader().execute("SELECT COUNT(*) AS n FROM t INNER JOIN u USING(owner)"), "disabled")
    inner = "SELECT t.owner AS owner FROM t JOIN u ON t.owner = u.owner"
    return join + "; " + refusal(lambda: reader().execute(f"SELECT COUNT(*) AS n FROM ({inner}) AS q"), "disabled")


@fact("AVG, VARIANCE and STDDEV are answered; MAX and MEDIAN are refused")
def _():
    answer = reader().execute("SELECT AVG(value) AS a, VARIANCE(value) AS v, STDDEV(value) AS d FROM t")
    most = refusal(lambda: reader().execute("SELECT MAX(value) AS m FROM t"), "MAX")
    return f"{answer}; {most}; " + refusal(lambda: reader().execute("SELECT MEDIAN(value) AS m FROM t"))


@fact("an epsilon of NaN is refused")
def _():
    return refusal(lambda: reader(float("nan")).execute("SELECT COUNT(*) AS n FROM t"), "nan")


@fact("it reads from databases: PostgreSQL, SQL Server, MySQL, BigQuery, Presto, Spark, SQLite, pandas")
def _():
    import pkgutil

    import snsql.sql.reader

    names = {module.name for module in pkgutil.iter_modules(snsql.sql.reader.__path__)}
    assert {"postgres", "sql_server", "mysql", "bigquery", "presto", "spark", "sqlite", "pandas"} <= names
    return f"modules of snsql.sql.reader (files were read, only SQLite was run): {sorted(names)}"


@fact("no accounts per attribute, loss distributions, synthetic rows, models, audit or server among the names that the package offers")
def _():
    wanted = ["attribute", "ledger", "pld", "loss_dist", "synth", "model", "audit", "server"]
    found = words([snsql, snsql.sql, type(reader())], wanted, "smartnoise-sql")
    assert found == ["sql_server"], found
    return f"{found}: the database, which it reads from"


end()
