"""Data frames as bytes of Arrow, with the declared columns alone: what is not declared never leaves the frame."""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterable, Sequence
from typing import Any

from . import _native
from ._errors import InputError
from ._plain import storable


def rows_of(name: str, frame: Any, columns: Sequence[str]) -> _native.Frame:
    """The rows of a table for the engine: one copy, made here and of which there is no second, so that later changes of the frame change nothing."""
    kind = _module(frame)
    if kind == "polars":
        stream = _of_polars(name, frame, columns)
    elif kind == "pandas":
        stream = _of_pandas(name, frame, columns)
    elif kind == "pyarrow" or hasattr(frame, "__arrow_c_stream__"):
        stream = _of_arrow(name, frame, columns)
    else:
        raise InputError(
            f"table '{name}' must be a data frame of pandas, polars or Arrow, or the path of a file, "
            f"not a value of type {type(frame).__name__}"
        )
    return _native.Frame(stream)


def _module(frame: Any) -> str:
    return type(frame).__module__.split(".")[0]


def _arrow(name: str) -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise InputError(f"table '{name}' needs pyarrow, which is not installed: pip install pyarrow") from None
    return pyarrow


def _present(name: str, there: Iterable[Any], columns: Sequence[str]) -> None:
    """Each declared column is there once, under a name that a file can hold."""
    for column in columns:
        storable(column)
    found = [str(column) for column in there]
    for column in columns:
        number = found.count(column)
        if number > 1:
            raise InputError(f"table '{name}' has {number} columns '{column}': give them different names")
        if number == 0:
            near = difflib.get_close_matches(column, found, n=1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            raise InputError(f"table '{name}' has no column '{column}'{hint}")


def _culprit(name: str, columns: Sequence[str], tried: Any) -> InputError:
    """Which column cannot be read. What the libraries say of it is not shown, because it quotes values."""
    for column in columns:
        try:
            tried([column])
        except Exception:
            return InputError(
                f"table '{name}': column '{column}' holds several types, or one that Arrow lacks; "
                "convert it to one type (numbers, strings, dates …), or do not declare it"
            )
    return InputError(f"table '{name}' cannot be read as a table of Arrow")


def _of_polars(name: str, frame: Any, columns: Sequence[str]) -> bytes:
    if not hasattr(frame, "columns"):
        raise _no_frame(name, frame, "polars")
    there = frame.collect_schema().names() if hasattr(frame, "collect_schema") else frame.columns
    _present(name, there, columns)

    def stream(chosen: Sequence[str]) -> bytes:
        part = frame.select(list(chosen))
        part = part.collect() if hasattr(part, "collect") else part
        for column, dtype in part.schema.items():
            # What Arrow has no type for would be written as something else: an object as its address.
            if type(dtype).__name__ in ("Object", "Int128", "UInt128") or str(dtype) in ("Object", "Int128", "UInt128"):
                raise _foreign(name, column, dtype)
        return _sliced(part) or _at_once(part)

    try:
        return stream(columns)
    except InputError:
        raise
    except Exception:
        raise _culprit(name, columns, stream) from None


# As many rows of a frame are brought into Arrow's older form at a time, so that they stay in the processor's cache.
_SLICE = 1 << 14


def _at_once(part: Any) -> bytes:
    """A frame of polars, written by polars alone. Texts are written one after the other, which are checked three times as quickly as polars' own."""
    import polars

    sink = io.BytesIO()
    part.write_ipc_stream(sink, compression="uncompressed", compat_level=polars.CompatLevel.oldest())
    return sink.getvalue()


def _sliced(part: Any) -> bytes | None:
    """The same through pyarrow, slice by slice, where it is installed and no slice has a dictionary of its own."""
    import polars

    try:
        import pyarrow.ipc
    except ImportError:
        return None
    named = (polars.Categorical, polars.Enum)
    if any(dtype in named for dtype in part.dtypes) and all(dtype in named or _is_plain(polars, dtype) for dtype in part.dtypes):
        return _written(pyarrow, "", part.to_arrow(compat_level=polars.CompatLevel.oldest()))
    if part.is_empty() or not all(_is_plain(polars, dtype) for dtype in part.dtypes):
        return None
    sink = io.BytesIO()
    oldest = polars.CompatLevel.oldest()
    schema = _narrow(pyarrow, part.head(0).to_arrow(compat_level=oldest).schema)
    with pyarrow.ipc.new_stream(sink, schema) as writer:
        for piece in part.iter_slices(_SLICE):
            writer.write_table(piece.to_arrow(compat_level=oldest).cast(schema))
    return sink.getvalue()


def _is_plain(polars: Any, dtype: Any) -> bool:
    return dtype in (polars.String, polars.Boolean, polars.Date) or bool(dtype.is_numeric())


def _narrow(pyarrow: Any, schema: Any) -> Any:
    """Texts with places of 32 bits, as the engine computes with: half of the bytes beside the letters, and nothing to convert for each query. A piece of a frame has less
    than two billion letters, or stays as it is."""
    wide = pyarrow.large_string()
    return pyarrow.schema([field.with_type(pyarrow.string()) if field.type == wide else field for field in schema])


def _of_pandas(name: str, frame: Any, columns: Sequence[str]) -> bytes:
    if not hasattr(frame, "columns"):
        raise _no_frame(name, frame, "pandas")
    _present(name, frame.columns, columns)
    pyarrow = _arrow(name)
    # Names may be numbers: those are found by how they are written.
    by_name = {str(column): column for column in frame.columns}

    def table(chosen: Sequence[str]) -> Any:
        part = frame[[by_name[column] for column in chosen]]
        made = pyarrow.Table.from_pandas(part, preserve_index=False)
        return made.rename_columns(list(chosen)).replace_schema_metadata(None)

    try:
        made = table(columns)
    except Exception:
        raise _culprit(name, columns, table) from None
    return _written(pyarrow, name, made)


def _of_arrow(name: str, frame: Any, columns: Sequence[str]) -> bytes:
    pyarrow = _arrow(name)
    try:
        if isinstance(frame, pyarrow.RecordBatch):
            frame = pyarrow.Table.from_batches([frame])
        elif isinstance(frame, pyarrow.RecordBatchReader):
            frame = frame.read_all()
        elif not isinstance(frame, pyarrow.Table):
            frame = pyarrow.RecordBatchReader.from_stream(frame).read_all()
    except Exception:
        raise InputError(f"table '{name}' cannot be read as a table of Arrow") from None
    _present(name, frame.column_names, columns)
    return _written(pyarrow, name, frame.select(list(columns)).replace_schema_metadata(None))


def _no_frame(name: str, frame: Any, library: str) -> InputError:
    return InputError(f"table '{name}' is a {type(frame).__name__} of {library}: make it a DataFrame first, as in .to_frame()")


def _foreign(name: str, column: str, kind: Any) -> InputError:
    return InputError(
        f"table '{name}': column '{column}' holds {kind}, which is not known here; make it numbers, strings (.astype(str)) or dates first, or do not declare it"
    )


def _written(pyarrow: Any, name: str, table: Any) -> bytes:
    for field in table.schema:
        # Only its bytes would arrive: a period as the number of months since 1970.
        if isinstance(field.type, pyarrow.BaseExtensionType):
            raise _foreign(name, field.name, field.type)
    table = table.unify_dictionaries()
    if all(chunk.nbytes < 1 << 31 for column in table.columns for chunk in column.chunks):
        table = table.cast(_narrow(pyarrow, table.schema))
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
