"""One library on one frame, in a process of its own: `python frames.py WHO PARQUET` prints CPU seconds (all threads; imports and the reading of the file left out),
how many groups it published, and its peak memory.

Ours is all that a user writes: the session (which copies the rows and checks them), the plan and the release with its ledger and its files."""

import contextlib
import json
import os
import resource
import sys
import tempfile

QUERY = "SELECT key, COUNT(*) AS n FROM t GROUP BY key"


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def ours(frame):
    import scumble as sc

    start = cpu()
    session = sc.Session({"t": frame}, owner=None, columns={"key": sc.category()})
    answer = session.plan(QUERY, epsilon=1.0, delta=1e-7).release()
    return cpu() - start, len(answer)


def pandas(source):
    import pandas as pd

    return ours(pd.read_parquet(source))


def pandas_category(source):
    import pandas as pd

    return ours(pd.read_parquet(source).astype({"key": "category"}))


def polars(source):
    import polars as pl
    import pyarrow.ipc  # noqa: F401  what the session would import: imports are left out

    return ours(pl.read_parquet(source))


def polars_categorical(source):
    import polars as pl
    import pyarrow.ipc  # noqa: F401

    return ours(pl.read_parquet(source).with_columns(pl.col("key").cast(pl.Categorical)))


def arrow(source):
    import pyarrow.parquet as pq

    return ours(pq.read_table(source))


def path(source):
    return ours(source)


def opendp(source):
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    frame = pl.read_parquet(source)
    start = cpu()
    context = dp.Context.compositor(
        data=frame.lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-7),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["key"], max_groups=1000, max_length=10_000_000)],
    )
    answer = context.query().group_by("key").agg(dp.len()).release().collect()
    return cpu() - start, len(answer)


def pipeline_dp(source):
    import pipeline_dp as pdp
    import pyarrow.parquet as pq

    keys = pq.read_table(source)["key"].to_pylist()
    start = cpu()
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-7)
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    extractors = pdp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1], value_extractor=lambda row: 0
    )
    parameters = pdp.AggregateParams(metrics=[pdp.Metrics.COUNT], max_partitions_contributed=1, max_contributions_per_partition=1)
    result = engine.aggregate(list(enumerate(keys)), parameters, extractors)
    accountant.compute_budgets()
    # Nothing is computed before somebody looks at it.
    answer = list(result)
    return cpu() - start, len(answer)


def java():
    """CPU seconds of Spark's process, which is still alive when it is asked."""
    total = 0
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            text = open(f"/proc/{int(entry)}/stat").read()
            name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
            total += (int(rest[11]) + int(rest[12])) / os.sysconf("SC_CLK_TCK") if name == "java" else 0
    return total


def tumult(source):
    """Needs an environment of its own (bench/compare/requirements/tumult.txt) and Java 17."""
    import pandas as pd
    from pyspark.sql import SparkSession
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

    os.environ["PYSPARK_PYTHON"] = sys.executable
    opens = "--add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED"
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "6g")
    builder = builder.config("spark.sql.execution.arrow.pyspark.enabled", "true").config("spark.sql.shuffle.partitions", "2")
    spark = builder.config("spark.driver.extraJavaOptions", f"-Dio.netty.tryReflectionSetAccessible=true {opens}").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    frame = pd.read_parquet(source)
    keys = KeySet.from_dict({"key": sorted(set(frame["key"]))})
    spark.range(10).count()
    start = cpu() + java()
    session = Session.from_dataframe(PureDPBudget(1), "t", spark.createDataFrame(frame), protected_change=AddOneRow())
    answer = session.evaluate(QueryBuilder("t").groupby(keys).count(), PureDPBudget(1)).toPandas()
    return cpu() + java() - start, len(answer)


def main():
    who, source = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        seconds, groups = globals()[who](source)
    print(json.dumps({"seconds": seconds, "groups": groups}))


main()
