"""Every dtype that pandas, polars and Arrow have: it works, or one clear sentence says why not."""

import datetime
import decimal
import uuid
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scumble as sc

DAYS = [datetime.date(2013, 1, 1 + i % 28) for i in range(600)]
MOMENTS = [datetime.datetime(2013, 1, 1 + i % 28, 12) for i in range(600)]
WORDS = [["a", "b", None][i % 3] for i in range(600)]


def counted(frame: Any, column: sc.Column, name: str = "x") -> int:
    """How many rows have a value, to the nearest hundred."""
    ours = sc.Session({"t": frame}, owner=None, columns={name: column}, budget=sc.Budget(person=100), ledger=f"{np.random.rand()}.ledger")
    answer = ours.plan(f'SELECT COUNT("{name}") AS n FROM t', epsilon=50).release()
    return int(round(answer["n"][0], -2))


def refused(frame: Any, column: sc.Column) -> str:
    with pytest.raises(sc.InputError) as caught:
        counted(frame, column)
    assert "\n" not in str(caught.value)
    return str(caught.value)


INT, REAL, TEXT = sc.int(0, 100), sc.float(0, 100), sc.category(["a", "b"])
DAY, MOMENT = sc.date("2013-01-01", "2013-12-31"), sc.timestamp("2013-01-01T00:00:00", "2013-12-31T23:59:59")
NUMBERS = [i % 100 for i in range(600)]
WITH_NULLS = [None if i % 3 == 2 else i % 100 for i in range(600)]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_whole_numbers_of_every_width(dtype: str) -> None:
    assert counted(pd.DataFrame({"x": np.array(NUMBERS, dtype=dtype)}), INT) == 600
    of_polars = getattr(pl, dtype.replace("uint", "UInt").replace("int", "Int"))
    assert counted(pl.DataFrame({"x": pl.Series(NUMBERS, dtype=of_polars)}), INT) == 600
    assert counted(pa.table({"x": pa.array(NUMBERS, type=getattr(pa, dtype)())}), INT) == 600


PANDAS = [
    (pd.Series(NUMBERS, dtype="Int64"), INT, 600),
    (pd.Series(WITH_NULLS, dtype="Int64"), INT, 400),
    (pd.Series(WITH_NULLS, dtype="int64[pyarrow]"), INT, 400),
    (pd.Series(NUMBERS, dtype="float32"), REAL, 600),
    (pd.Series(WITH_NULLS, dtype="float64"), REAL, 400),
    (pd.Series(WITH_NULLS, dtype="Float64"), REAL, 400),
    (pd.Series(NUMBERS, dtype="int64"), REAL, 600),
    (pd.Series([decimal.Decimal(n) / 4 for n in NUMBERS]), REAL, 600),
    (pd.Series([True, False] * 300), sc.bool(), 600),
    (pd.Series([True, False, None] * 200, dtype="boolean"), sc.bool(), 400),
    (pd.Series([True, False, None] * 200, dtype="object"), sc.bool(), 400),
    (pd.Series(WORDS, dtype="object"), TEXT, 400),
    (pd.Series(WORDS, dtype="string"), TEXT, 400),
    (pd.Series(WORDS, dtype="string[pyarrow]"), TEXT, 400),
    (pd.Series(WORDS, dtype="category"), TEXT, 400),
    (pd.Series(NUMBERS, dtype="category"), INT, 600),
    (pd.Series(DAYS), DAY, 600),
    (pd.Series(MOMENTS), MOMENT, 600),
    (pd.Series(MOMENTS).astype("datetime64[s]"), MOMENT, 600),
    (pd.Series(MOMENTS).dt.tz_localize("Europe/Berlin"), MOMENT, 600),
    (pd.Series(MOMENTS), DAY, 600),
    (pd.Series([None] * 600, dtype="float64"), REAL, 0),
]


@pytest.mark.parametrize("place", range(len(PANDAS)))
def test_pandas(place: int) -> None:
    series, column, rows = PANDAS[place]
    assert counted(pd.DataFrame({"x": series}), column) == rows, series.dtype


def test_pandas_refused() -> None:
    assert "declared as int but holds" in (sentence := refused(pd.DataFrame({"x": WITH_NULLS}), INT)) and "declare it as float" in sentence
    assert "several types" in refused(pd.DataFrame({"x": [1, "a", 2.5] * 200}), INT)
    assert "quote" not in refused(pd.DataFrame({"x": [1, "quote", 2.5] * 200}), INT)
    assert "declared as int but holds" in refused(pd.DataFrame({"x": WORDS}), INT)
    assert "declared as category but holds" in refused(pd.DataFrame({"x": NUMBERS}), TEXT)
    assert "bytes have no known encoding" in refused(pd.DataFrame({"x": [b"a"] * 600}), TEXT)
    assert "holds Duration" in refused(pd.DataFrame({"x": pd.to_timedelta(NUMBERS, unit="s")}), INT)
    # As whole numbers, periods would be counted as months since 1970.
    assert "period" in refused(pd.DataFrame({"x": pd.period_range("2013-01", periods=600, freq="M")}), INT)
    assert "interval" in refused(pd.DataFrame({"x": pd.IntervalIndex.from_breaks(range(601))}), INT)
    assert "several types" in refused(pd.DataFrame({"x": [1j] * 600}), REAL)
    assert "which day that is depends on the zone" in refused(pd.DataFrame({"x": pd.Series(MOMENTS).dt.tz_localize("UTC")}), DAY)
    assert "2 columns 'x'" in refused(pd.DataFrame([[1, 2]] * 600, columns=["x", "x"]), INT)
    assert "to_frame" in refused(pd.Series(NUMBERS, name="x"), INT) and "to_frame" in refused(pl.Series("x", NUMBERS), INT)


POLARS = [
    (pl.Series(WITH_NULLS), INT, 400),
    (pl.Series(NUMBERS, dtype=pl.Float32), REAL, 600),
    (pl.Series([decimal.Decimal(n) / 4 for n in NUMBERS]), REAL, 600),
    (pl.Series([True, False, None] * 200), sc.bool(), 400),
    (pl.Series(WORDS), TEXT, 400),
    (pl.Series(WORDS, dtype=pl.Categorical), TEXT, 400),
    (pl.Series(WORDS, dtype=pl.Enum(["a", "b"])), TEXT, 400),
    (pl.Series(DAYS), DAY, 600),
    (pl.Series(MOMENTS), MOMENT, 600),
    (pl.Series(MOMENTS).dt.cast_time_unit("ns").dt.replace_time_zone("Europe/Berlin"), MOMENT, 600),
]


@pytest.mark.parametrize("place", range(len(POLARS)))
def test_polars(place: int) -> None:
    series, column, rows = POLARS[place]
    assert counted(pl.DataFrame({"x": series}), column) == rows, series.dtype
    assert counted(pl.LazyFrame({"x": series}), column) == rows, series.dtype


def test_polars_refused() -> None:
    for series in (
        pl.Series([datetime.timedelta(seconds=n) for n in NUMBERS]),
        pl.Series([datetime.time(n % 24) for n in NUMBERS]),
        pl.Series([[n] for n in NUMBERS]),
        pl.Series([{"a": n} for n in NUMBERS]),
        pl.Series(NUMBERS, dtype=pl.Int128),
        pl.Series([object() for _ in NUMBERS], dtype=pl.Object),
        pl.Series([None] * 600, dtype=pl.Null),
    ):
        assert "column 'x'" in refused(pl.DataFrame({"x": series}), INT), series.dtype


ARROW = [
    (pa.array(WORDS, type=pa.large_string()), TEXT, 400),
    (pa.array(WORDS, type=pa.string_view()), TEXT, 400),
    (pa.array(WORDS).dictionary_encode(), TEXT, 400),
    (pa.array(NUMBERS, type=pa.float32()), REAL, 600),
    (pa.array([decimal.Decimal(n) for n in NUMBERS], type=pa.decimal128(10, 2)), REAL, 600),
    (pa.array([decimal.Decimal(n) for n in NUMBERS], type=pa.decimal256(50, 2)), REAL, 600),
    (pa.array(DAYS, type=pa.date64()), DAY, 600),
    (pa.array(MOMENTS, type=pa.timestamp("ms", tz="UTC")), MOMENT, 600),
    (pa.chunked_array([pa.array(["a", None]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()] * 100), TEXT, 300),
]


@pytest.mark.parametrize("place", range(len(ARROW)))
def test_arrow(place: int) -> None:
    values, column, rows = ARROW[place]
    assert counted(pa.table({"x": values}), column) == rows, values.type


def test_arrow_refused_and_other_holders() -> None:
    for values in (
        pa.array([[n] for n in NUMBERS]),
        pa.array(NUMBERS, type=pa.time32("s")),
        pa.array(NUMBERS, type=pa.duration("s")),
        pa.array([b"x"] * 600),
        pa.array([None] * 600),
        pa.RunEndEncodedArray.from_arrays(pa.array([300, 600], pa.int32()), pa.array([1, 2])),
    ):
        assert "column 'x'" in refused(pa.table({"x": values}), INT), values.type
    batch = pa.record_batch({"x": NUMBERS})
    assert counted(batch, INT) == 600
    assert counted(pa.RecordBatchReader.from_batches(batch.schema, [batch, batch]), INT) == 1200


def test_names_of_every_kind() -> None:
    assert counted(pd.DataFrame({7: NUMBERS}), INT, "7") == 600
    assert counted(pd.DataFrame({"größe": NUMBERS}), INT, "größe") == 600


def test_only_declared_columns_are_read() -> None:
    frame = pd.DataFrame({"x": NUMBERS, "secret": [object() for _ in NUMBERS]})
    assert counted(frame, INT) == 600


def test_an_empty_frame() -> None:
    assert counted(pd.DataFrame({"x": pd.Series([], dtype="int64")}), INT) == 0


def test_rows_are_those_of_when_the_session_was_made() -> None:
    """Arrow's and pandas' arrays may lie in memory of numpy, which anybody can write into; polars writes into its own."""

    def summed(frame: Any, change: Any) -> int:
        ours = sc.Session({"t": frame}, owner=None, columns={"x": INT}, budget=sc.Budget(person=100), ledger=f"{np.random.rand()}.ledger")
        change(frame)
        return int(round(ours.plan("SELECT SUM(x) AS s FROM t", epsilon=50).release()["s"][0], -2))

    def of_pandas(frame: Any) -> None:
        frame.loc[:, "x"] = 100

    def of_polars(frame: Any) -> None:
        frame[0, "x"] = 100

    below = np.full(600, 1)
    assert summed(pd.DataFrame({"x": np.full(600, 1)}), of_pandas) == 600
    assert summed(pd.DataFrame({"x": below}, copy=False), lambda _: below.fill(100)) == 600
    below = np.full(600, 1)
    table = pa.table({"x": below})
    assert summed(table, lambda _: below.fill(100)) == 600 and table["x"][0].as_py() == 100
    assert summed(pl.DataFrame({"x": [1] * 600}), of_polars) == 600


def test_owners_of_every_type() -> None:
    """Ten rows each, of which two count: whole numbers and texts, as in files."""
    people = [i // 10 for i in range(4000)]

    def owned(who: Any) -> int:
        frame = pd.DataFrame({"who": who, "x": [1] * 4000})
        ours = sc.Session(
            {"t": frame}, owner="who", max_rows_per_owner=2, columns={"x": INT}, budget=sc.Budget(person=100), ledger=f"{np.random.rand()}.ledger"
        )
        return int(round(ours.plan("SELECT COUNT(*) AS n FROM t", epsilon=50).release()["n"][0], -2))

    texts = [f"p{number}" for number in people]
    holes = [None if i % 10 == 0 else number for i, number in enumerate(people)]
    of_64_bits = np.array([2**63 + number for number in people], dtype="uint64")
    for who in (people, texts, pd.Categorical(texts), pd.array(holes, dtype="Int64"), of_64_bits, [None if n is None else f"p{n}" for n in holes]):
        assert owned(who) == 800, type(who)
    for wrong in ([float(n) for n in people], [n % 2 == 0 for n in people], [uuid.UUID(int=n) for n in people], [b"a"] * 4000):
        with pytest.raises(sc.InputError, match="who"):
            owned(wrong)
