"""The tables, made once from a seed and kept under bench/target, or where CARGO_TARGET_DIR says: files of at most 10^7 rows."""

import os
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")) / "long-data"
CHUNK, FILE = 1_000_000, 10_000_000
KEYS = 200
NAMES = pa.array([f"key {k:03}" for k in range(KEYS)])
WEIGHTS = 1.0 / np.arange(1, KEYS + 1)
WEIGHTS /= WEIGHTS.sum()


def written(name, rows, columns):
    """A folder of Parquet files with a million rows in each row group, each file written whole or not at all."""
    folder = FOLDER / f"{name}-{rows}"
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, rows, FILE):
        path = folder / f"part-{start // FILE:04}.parquet"
        if path.exists():
            continue
        unfinished, writer = folder / "_unfinished", None
        for chunk in range(start // CHUNK, min(rows, start + FILE) // CHUNK):
            table = pa.table(columns(np.random.default_rng([rows, chunk]), chunk))
            writer = writer or pq.ParquetWriter(unfinished, table.schema)
            writer.write_table(table)
        writer.close()
        unfinished.rename(path)
    return folder


def visits(rows):
    """Five rows for each owner on average, 200 Zipf keys, a float, a day of the week."""

    def columns(rng, _):
        codes = pa.array(rng.choice(KEYS, size=CHUNK, p=WEIGHTS), pa.int32())
        return {
            "owner": pa.array(rng.integers(0, rows // 5, CHUNK)),
            "key": pa.DictionaryArray.from_arrays(codes, NAMES).cast(pa.string()),
            "value": pa.array(rng.uniform(0, 100, CHUNK)),
            "day": pa.array(rng.integers(0, 7, CHUNK), pa.int8()),
        }

    return written("visits", rows, columns)


def words(rows):
    """Texts, of which nearly all occur once: row i has the text of i, every tenth one of the first hundredth."""

    def columns(rng, chunk):
        numbers = np.arange(chunk * CHUNK, (chunk + 1) * CHUNK)
        again = rng.random(CHUNK) < 0.1
        numbers[again] = rng.integers(0, max(1, rows // 100), again.sum())
        return {"word": pa.array(numbers).cast(pa.string())}

    return written("words", rows, columns)
