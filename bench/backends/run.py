"""The bounded group-by where the rows are: on PostgreSQL, on a cluster of Ballista, and as a job on DuckDB, DataFusion and Spark. One run, CPU seconds of all processes.

10^7 rows of 2·10^6 owners, 200 keys, at most 3 groups for each owner and one row in each: the query of `bench/run engine`.

    bench/run backends                 all parts
    bench/run backends postgres jobs   some of: postgres, cluster, jobs, spark
    --rows N                           fewer rows, in millions

`cluster` needs a program that was built with `--features cluster`: SCUMBLE_CLUSTER names it, or it is built. `postgres` needs the server's programs of the system's packages.
"""

import argparse
import contextlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "engine"))
import data  # noqa: E402
from program import ROOT, TARGET, child, scumble  # noqa: E402

PROJECT = """
{engine}
[dataset.t]
source = "{source}"
owner = "owner"
max_rows_per_owner = 3
max_groups_per_owner = 3
max_rows_per_group = 1
[dataset.t.columns]
key = {{ type = "category" }}
value = {{ type = "float", lower = 0, upper = 100, granularity = 0.01 }}
[[release]]
name = "r"
sql = "SELECT key, COUNT(*) AS n, SUM(value) AS s FROM t GROUP BY key"
cost = {{ epsilon = 1.0, delta = 1e-7 }}
"""

# The same bounding by hand, without privacy: grouped first, then one window; and two windows over the rows.
GROUPED = """
SELECT key, COUNT(*) AS n, SUM(value) AS s FROM (
  SELECT key, value, ROW_NUMBER() OVER (PARTITION BY owner ORDER BY random()) AS place FROM (
    SELECT owner, key, MIN(value) AS value FROM t GROUP BY owner, key) AS g) AS w WHERE place <= 3 GROUP BY key
"""
WINDOWS = """
SELECT key, COUNT(*) AS n, SUM(value) AS s FROM (
  SELECT key, value, ROW_NUMBER() OVER (PARTITION BY owner ORDER BY random()) AS place FROM (
    SELECT owner, key, value, ROW_NUMBER() OVER (PARTITION BY owner, key ORDER BY random()) AS place FROM t) AS g
  WHERE place = 1) AS w WHERE place <= 3 GROUP BY key
"""
# Which row of a group and which groups of an owner count is decided as ours decides it: by SHA-256.
HASHED = """
SELECT key, COUNT(*) AS n, SUM(value) AS s FROM (
  SELECT key, value, ROW_NUMBER() OVER (PARTITION BY owner ORDER BY sha256(('secret|' || owner || '|' || key)::bytea)) AS place FROM (
    SELECT owner, key, (MIN(ARRAY[sha256(('secret|' || owner || '|' || key || '|' || value)::bytea)::text, value::text]))[2]::float8 AS value FROM t GROUP BY owner, key) AS g) AS w
WHERE place <= 3 GROUP BY key
"""


def table(rows):
    """A million rows in each row group; all of them, or the first."""
    whole = data.rows()
    if rows == 10:
        return whole
    path = whole.with_name(f"rows-{rows}.parquet")
    if not path.exists():
        source = pq.ParquetFile(whole)
        with pq.ParquetWriter(path, source.schema_arrow) as writer:
            for group in range(rows):
                writer.write_table(source.read_row_group(group))
    return path


def line(name, seconds, base, wall, rows):
    ratio = "" if base is None else f"{seconds / base:.2f}"
    print(f"| {name} | {seconds:.2f} | {ratio} | {wall:.2f} | {rows} |", flush=True)


def head(title, other):
    print(f"\n{title}\n\n| | CPU seconds | × {other} | wall seconds | groups |\n|---|---|---|---|---|", flush=True)


def released(folder, program, project):
    """CPU and wall seconds of the program itself, and the rows of its answer."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "scumble.toml").write_text(project)
    began = time.monotonic()
    seconds, _, _ = child([program, "release", "--quiet"], folder)
    return seconds, time.monotonic() - began, len((folder / "out/r.csv").read_text().splitlines()) - 1


def of_process(pid, reaped=False):
    """CPU seconds of a process, or of the children that it has waited for."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    own, children = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return (children if reaped else own) / os.sysconf("SC_CLK_TCK")


class Postgres:
    """A server of the system's packages in a temporary folder."""

    def __init__(self, folder):
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        if not programs:
            sys.exit("there is no PostgreSQL here (apt-get install postgresql)")
        self.folder, self.programs = folder, programs[-1]
        folder.mkdir()
        folder.chmod(0o777)
        folder.parent.chmod(0o755)
        self.run = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        (folder / "password").write_text("bench")
        subprocess.run([*self.run, self.programs / "initdb", "-A", "scram-sha-256", "-U", "scumble", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync",
                        f"--pwfile={folder}/password", "-D", folder / "data"], check=True, stdout=subprocess.DEVNULL)
        settings = ["shared_buffers=2GB", "work_mem=1GB", "max_wal_size=8GB", "jit=off", "listen_addresses=", "autovacuum=off"]
        command = [*self.run, self.programs / "postgres", "-F", "-p", "5439", "-k", folder, "-D", folder / "data"]
        for setting in settings:
            command += ["-c", setting]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.environment = {**os.environ, "PGPASSWORD": "bench"}
        while subprocess.run([*self.psql(), "-c", "SELECT 1"], env=self.environment, capture_output=True).returncode != 0:
            time.sleep(0.2)
        self.postmaster = int((folder / "data/postmaster.pid").read_text().split()[0])

    def psql(self):
        return [self.programs / "psql", "-qAt", "-v", "ON_ERROR_STOP=1", "-p", "5439", "-U", "scumble", "-d", "postgres", "-h", self.folder]

    def ask(self, sql, **more):
        """CPU seconds of the server's own processes, wall seconds, and what it said. A process of the server counts when it has ended."""
        before, began = of_process(self.postmaster, True), time.monotonic()
        said = subprocess.run([*self.psql(), "-c", sql], env=self.environment, check=True, capture_output=True, text=True, **more).stdout
        wall = time.monotonic() - began
        return self.since(before), wall, len(said.splitlines())

    def since(self, before):
        time.sleep(0.5)
        return of_process(self.postmaster, True) - before

    def stop(self):
        subprocess.run([*self.run, self.programs / "pg_ctl", "stop", "-m", "immediate", "-D", self.folder / "data"], capture_output=True)
        self.process.wait()


def postgres(source, folder):
    server = Postgres(folder / "server")
    try:
        with open(folder / "rows.csv", "wb") as file:
            for batch in pq.ParquetFile(source).iter_batches(1_000_000):
                pa.csv.write_csv(pa.Table.from_batches([batch]), file, pa.csv.WriteOptions(include_header=False))
        server.ask("CREATE TABLE t (owner BIGINT, key TEXT, value DOUBLE PRECISION)")
        with open(folder / "rows.csv") as file:
            server.ask("COPY t FROM STDIN (FORMAT csv)", stdin=file)
        (folder / "rows.csv").unlink()
        server.ask("VACUUM ANALYZE t")
        by_hand = {name: min(server.ask(sql) for _ in range(2)) for name, sql in
                   (("grouped first, then one window", GROUPED), ("two windows over the rows", WINDOWS), ("grouped first, chosen by SHA-256 as ours", HASHED))}
        base = min(seconds for seconds, _, _ in by_hand.values())
        head("PostgreSQL", "the best by hand")
        for name, (seconds, wall, rows) in by_hand.items():
            line(f"by hand, not private: {name}", seconds, base, wall, rows)
        os.environ["PGPASSWORD"] = "bench"
        project = PROJECT.format(engine="", source=f"postgres://scumble@/postgres?host={server.folder}&port=5439&table=t")
        runs = []
        for _ in range(2):
            before = of_process(server.postmaster, True)
            seconds, wall, rows = released(folder / "project", scumble(), project)
            runs.append((server.since(before) + seconds, wall, rows))
        line("scumble, private", *min(runs)[:1], base, *min(runs)[1:])
    finally:
        server.stop()


def clustered():
    """The program with clusters in it."""
    given = os.environ.get("SCUMBLE_CLUSTER")
    if given:
        return pathlib.Path(given)
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "scumble-cli", "--features", "cluster"], cwd=ROOT, check=True)
    return TARGET / "release" / "scumble"


@contextlib.contextmanager
def node(*words):
    process = subprocess.Popen([clustered(), "setup", "cluster", *words, "--json"], stdout=subprocess.PIPE, text=True)
    try:
        yield process.pid, json.loads(process.stdout.readline())["address"]
    finally:
        process.kill()
        process.wait()


def cluster(source, folder):
    parts = folder / "parts"
    parts.mkdir()
    for group in range((whole := pq.ParquetFile(source)).num_row_groups):
        pq.write_table(whole.read_row_group(group), parts / f"{group}.parquet")
    # The same statement on one DataFusion, in one process.
    statements = job(folder / "job", source, "datafusion")
    head("Ballista, a scheduler and two executors", "DataFusion in one process")
    embedded = min(outside(folder / "embedded", "datafusion", parts, statements) for _ in range(2))
    line("DataFusion 55 in one process, the same statement", embedded[0], embedded[0], *embedded[1:])
    with node("scheduler", "--listen", "127.0.0.1:0") as (scheduler, address):
        executors = ("executor", "--scheduler", address, "--threads", "1")
        with node(*executors) as (one, _), node(*executors) as (two, _):
            runs = []
            project = PROJECT.format(engine=f'[engine]\ncluster = "ballista://{address}"', source=parts)
            for _ in range(2):
                before = [of_process(pid) for pid in (scheduler, one, two)]
                seconds, wall, rows = released(folder / "project", clustered(), project)
                after = [of_process(pid) for pid in (scheduler, one, two)]
                runs.append((seconds + sum(after) - sum(before), wall, rows))
    line("scumble on the cluster, private, all processes", *min(runs)[:1], embedded[0], *min(runs)[1:])


def job(folder, source, dialect):
    """The statements of a release for an engine."""
    if not folder.exists():
        folder.mkdir()
        (folder / "scumble.toml").write_text(PROJECT.format(engine="", source=source))
    said = json.loads(child([scumble(), "setup", "integers", "r", "--dialect", dialect, "--json"], folder)[2])["sql"]
    text = "\n".join(row for row in said.splitlines() if not row.startswith("--"))
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def outside(folder, engine, source, statements):
    """An engine in a process of its own: CPU and wall seconds without imports, and how many rows its files have."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.with_suffix(".json").write_text(json.dumps(statements))
    _, _, said = child([sys.executable, str(HERE / "run.py"), "--engine", engine, str(source), str(folder)])
    told = json.loads(said.splitlines()[-1])
    return told["seconds"], told["wall"], told["rows"]


def jobs(source, folder, engines=("duckdb", "datafusion")):
    """The integers of one job from several engines: they must be equal, and are given back to the program."""
    head("`scumble setup integers`: the job on other engines", "the first")
    base, results = None, {}
    for engine in engines:
        statements = job(folder / "job", source, engine)
        seconds, wall, rows = min(outside(folder / engine, engine, source, statements) for _ in range(1))
        base = base or seconds
        line(engine, seconds, base, wall, rows)
        cells = [row for file in sorted((folder / engine).iterdir()) for row in pq.read_table(file).to_pylist()]
        results[engine] = sorted(tuple(str(row[name]) for name in sorted(row) if not name.startswith("scumble_job_")) for row in cells)
    first = results[engines[0]]
    for engine in engines[1:]:
        print(f"\n{engine}: {'equal integers' if results[engine] == first else 'OTHER INTEGERS'} in {len(first)} cells, beside {engines[0]}")
    seconds, memory, _ = child([scumble(), "release", "--only", "r", "--integers", str(folder / engines[-1]), "--quiet"], folder / "job")
    print(f"\nscumble release --integers: {seconds:.2f} CPU seconds, {len((folder / 'job/out/r.csv').read_text().splitlines()) - 1} groups")


def used():
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in usage)


def run_engine(engine, source, folder):
    """In a process of its own: runs the statements over the table t, and writes their results."""
    statements = json.loads(folder.with_suffix(".json").read_text())
    files = f"{source}/*.parquet" if pathlib.Path(source).is_dir() else source
    if engine == "duckdb":
        import duckdb

        connection = duckdb.connect()
        connection.sql(f"CREATE VIEW t AS SELECT * FROM read_parquet('{files}')")
        run = lambda statement: connection.sql(statement).to_arrow_table()
    elif engine == "datafusion":
        from datafusion import SessionContext

        context = SessionContext()
        context.register_parquet("t", source)
        run = lambda statement: context.sql(statement).to_arrow_table()
    else:
        from pyspark.sql import SparkSession

        settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8", "spark.driver.memory": "8g", "spark.sql.session.timeZone": "UTC"}
        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        spark.read.parquet(source).createOrReplaceTempView("t")
        run = lambda statement: pa.Table.from_pylist([row.asDict() for row in spark.sql(statement).collect()])
    before, began = (used(), time.monotonic())
    rows = 0
    for number, statement in enumerate(statements):
        found = run(statement)
        found = found if isinstance(found, pa.Table) else pa.Table.from_batches(found)
        rows += found.num_rows
        pq.write_table(found, folder / f"{number}.parquet")
    wall = time.monotonic() - began
    if engine == "spark":
        # The work is done by a child, which counts when it has ended.
        spark.stop()
        from pyspark import SparkContext

        SparkContext._gateway.shutdown()
        SparkContext._gateway.proc.stdin.close()
        SparkContext._gateway.proc.wait()
    print(json.dumps({"seconds": used() - before, "wall": wall, "rows": rows}))


def main():
    if sys.argv[1:2] == ["--engine"]:
        return run_engine(sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4]))
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=[], choices=[[], "postgres", "cluster", "jobs", "spark"])
    parser.add_argument("--rows", type=int, default=10, help="in millions")
    arguments = parser.parse_args()
    parts = arguments.parts or ["postgres", "cluster", "jobs", "spark"]
    source = table(arguments.rows)
    print(f"{arguments.rows}·10^6 rows of 2·10^6 owners, COUNT(*) and SUM by 200 unknown keys, at most 3 groups for each owner and 1 row in each", flush=True)
    for part in parts:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            if part == "postgres":
                postgres(source, folder)
            elif part == "cluster":
                cluster(source, folder)
            elif part == "jobs":
                jobs(source, folder)
            else:
                jobs(source, folder, ("duckdb", "spark"))


if __name__ == "__main__":
    main()
