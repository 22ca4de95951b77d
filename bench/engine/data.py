"""The tables, made once from a seed and kept under bench/target, or where CARGO_TARGET_DIR says."""

import os
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")) / "engine-data"
CHUNK = 1_000_000
KEYS = 200


def keys(rng, size):
    """Zipf over 200 keys: the k-th has a share in proportion to 1/k."""
    weights = 1.0 / np.arange(1, KEYS + 1)
    codes = rng.choice(KEYS, size=size, p=weights / weights.sum())
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array([f"key {k:03}" for k in range(KEYS)])).cast(pa.string())


def written(path, chunks, columns):
    """A Parquet file with a million rows in each row group, written whole or not at all."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    writer = None
    for chunk in range(chunks):
        table = pa.table(columns(chunk))
        writer = writer or pq.ParquetWriter(unfinished, table.schema)
        writer.write_table(table)
    writer.close()
    unfinished.rename(path)
    return path


def rows():
    """10^7 rows of 2·10^6 owners."""

    def columns(chunk):
        rng = np.random.default_rng([1, chunk])
        owner = pa.array(rng.integers(0, 2_000_000, CHUNK))
        return {"owner": owner, "key": keys(rng, CHUNK), "value": pa.array(rng.uniform(0, 100, CHUNK))}

    return written(FOLDER / "rows.parquet", 10, columns)


def single(files):
    """As many files of 10^7 rows, each row of another owner."""
    folder = FOLDER / f"single-{files}"
    for file in range(files):

        def columns(chunk):
            rng = np.random.default_rng([2, file, chunk])
            return {"key": keys(rng, CHUNK), "value": pa.array(rng.uniform(0, 100, CHUNK))}

        written(folder / f"part-{file}.parquet", 10, columns)
    return folder
