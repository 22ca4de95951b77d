"""Tumult Analytics. Needs Java 17 for Spark; takes minutes, as each query is a Spark job."""

import os
import pickle
import sys
import warnings

os.environ["PYSPARK_PYTHON"] = sys.executable
warnings.filterwarnings("ignore")

import tmlt.analytics
from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

from facts import ROWS, end, fact, package, refusal, words

package("tmlt.analytics")
package("tmlt.core")
package("pyspark")
OPENS = "--add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED"
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.driver.extraJavaOptions", f"-Dio.netty.tryReflectionSetAccessible=true {OPENS}")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
session = (
    Session.Builder()
    .with_privacy_budget(ApproxDPBudget(10, 1e-6))
    .with_id_space("people")
    .with_private_dataframe(
        "t", spark.createDataFrame(ROWS, ["owner", "key", "value"]), AddRowsWithID("owner", id_space="people")
    )
    .with_private_dataframe(
        "u",
        spark.createDataFrame([(owner, owner % 50) for owner in range(200)], ["owner", "w"]),
        AddRowsWithID("owner", id_space="people"),
    )
    .build()
)
COUNT = QueryBuilder("t").enforce(MaxRowsPerID(5)).count()


@fact("the budget is enforced in the session, and costs may be chosen query by query")
def _():
    answer = session.evaluate(COUNT, PureDPBudget(1)).collect()
    assert answer[0].asDict().keys() == {"count"} and isinstance(answer[0]["count"], int)
    return f"{answer}, left: {session.remaining_privacy_budget}"


@fact("after a refused query, smaller ones are still answered")
def _():
    message = refusal(lambda: session.evaluate(COUNT, ApproxDPBudget(20, 0)), "budget")
    answer = session.evaluate(COUNT, PureDPBudget(1)).collect()
    return f"{message}; then {answer}"


@fact("the session lives in memory: it cannot be pickled")
def _():
    return refusal(lambda: pickle.dumps(session))


@fact("private tables can be joined on the owner")
def _():
    joined = QueryBuilder("t").join_private("u").enforce(MaxRowsPerID(5)).count()
    return session.evaluate(joined, PureDPBudget(1)).collect()


@fact("contribution bounding by rows, by groups and by rows per group; private key selection by get_groups")
def _():
    bounded = QueryBuilder("t").enforce(MaxGroupsPerID("key", 3)).enforce(MaxRowsPerGroupPerID("key", 1))
    keys = session.evaluate(bounded.get_groups(["key"]), ApproxDPBudget(3, 1e-7)).collect()
    assert {row["key"] for row in keys} <= {"a", "b", "c"}
    return keys


@fact("released tables have no error columns")
def _():
    keys = KeySet.from_dict({"key": ["a", "b", "z"]})
    query = QueryBuilder("t").enforce(MaxRowsPerID(5)).groupby(keys).sum("value", 0, 50)
    answer = session.evaluate(query, PureDPBudget(1))
    assert answer.columns == ["key", "value_sum"]
    return answer.collect()


@fact("counts get integer (geometric) noise")
def _():
    noise = session._noise_info(COUNT, PureDPBudget(0.1))
    assert "GEOMETRIC" in str(noise)
    return noise


@fact("no accounts per attribute, loss distributions, synthetic rows, models, audit or server among the names that the package offers")
def _():
    wanted = ["attribute", "ledger", "pld", "loss_dist", "synth", "model", "audit", "server", "save", "load"]
    found = words([tmlt.analytics, Session, QueryBuilder], wanted, "tmlt.analytics")
    assert not found, found
    return found


spark.stop()
end()
