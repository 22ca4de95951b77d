"""One peer on one table, in a process of its own: prints its CPU seconds (all threads, imports left out) and the rows of its answer."""

import json
import pathlib
import resource
import sys


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


# At most 3 groups per owner and 1 row in each; CHOICE is the cheapest order that the engine allows for an arbitrary choice.
GROUPED = """
SELECT key, COUNT(*) AS n, SUM(value) AS s FROM (
  SELECT key, value, ROW_NUMBER() OVER (PARTITION BY owner ORDER BY CHOICE) AS place FROM (
    SELECT owner, key, MIN(value) AS value FROM t GROUP BY owner, key)) WHERE place <= 3 GROUP BY key
"""
WINDOWS = """
SELECT key, COUNT(*) AS n, SUM(value) AS s FROM (
  SELECT key, value, ROW_NUMBER() OVER (PARTITION BY owner ORDER BY CHOICE) AS place FROM (
    SELECT owner, key, value, ROW_NUMBER() OVER (PARTITION BY owner, key ORDER BY value) AS place FROM t)
  WHERE place = 1) WHERE place <= 3 GROUP BY key
"""
COUNT = "SELECT key, COUNT(*) AS n FROM t GROUP BY key"


def datafusion(source, query):
    from datafusion import SessionContext

    context = SessionContext()
    start = cpu()
    context.register_parquet("t", source)
    rows = sum(batch.num_rows for batch in context.sql(query.replace("CHOICE", "random()")).collect())
    return cpu() - start, rows


def duckdb(source, query):
    import duckdb

    connection = duckdb.connect()
    start = cpu()
    query = query.replace("CHOICE", "hash(owner, key)").replace(" FROM t", f" FROM read_parquet('{source}')")
    rows = len(connection.sql(query).fetchall())
    return cpu() - start, rows


def opendp(source):
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    start = cpu()
    context = dp.Context.compositor(
        data=pl.scan_parquet(source),
        privacy_unit=dp.unit_of(contributions=1, identifier="owner"),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-7),
        split_evenly_over=1,
        # What it needs to know for a sum of floats: public bounds on the rows of a group and on the groups.
        margins=[dp.polars.Margin(by=["key"], max_length=10_000_000, max_groups=1000)],
    )
    query = (
        context.query()
        .truncate_per_group(1, by=["key"])
        # Its default keep="sample" fails on one key in 0.16.0 ("multiple fields with name 'key'").
        .truncate_num_groups(3, by=["key"], keep="first")
        .group_by("key")
        .agg(dp.len(), pl.col("value").fill_null(0.0).fill_nan(0.0).dp.sum(bounds=(0.0, 100.0)))
    )
    rows = query.release().collect().height
    return cpu() - start, rows


PEERS = {
    "datafusion-grouped": lambda source: datafusion(source, GROUPED),
    "datafusion-windows": lambda source: datafusion(source, WINDOWS),
    "datafusion-count": lambda source: datafusion(source, COUNT),
    "duckdb-grouped": lambda source: duckdb(source, GROUPED),
    "duckdb-windows": lambda source: duckdb(source, WINDOWS),
    "opendp": opendp,
}

name, source = sys.argv[1:]
seconds, rows = PEERS[name](source if not pathlib.Path(source).is_dir() else f"{source}/")
print(json.dumps({"seconds": seconds, "rows": rows}))
