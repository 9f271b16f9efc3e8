"""Parquet files: a column of strings, or of lists of strings, holds the texts.

     id | text         ->  TextDocument(row 1, "One. Two.")
      7 | One. Two.

A column of structs, such as meta: {text: "One. Two."}, has it as "meta.text".

Row groups are read one after the other, some rows at a time, and only the required columns.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bert_data.errors import CorruptDataError
from bert_data.storage import file_size, naming, open_input
from bert_data.text.documents import (
    DocumentBlock,
    RowError,
    Span,
    TextDocument,
    checked_text,
    decode_text,
)
from bert_data.text.file_kinds import HEAD_BYTES, binary_kind
from bert_data.text.template import fields_of_template, fill_template
from bert_data.text.text_config import TextConfig

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

_MAGIC = b"PAR1"
_ROWS_AT_A_TIME = 256
_NUM_COLUMNS_NAMED = 10


def read_parquet(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield the documents of files. The start and end of a span are row groups."""
    for span in spans:
        with open_parquet(span.path) as file:
            names = _check_columns(span.path, file.schema_arrow, config)
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            for group in range(len(sizes))[span.start : span.end]:
                yield from _read_group(span.path, file, group, sum(sizes[:group]), names, config)


@contextlib.contextmanager
def open_parquet(path: str) -> Iterator["pyarrow.parquet.ParquetFile"]:
    """Open a file for reading; CorruptDataError if it is not a Parquet file, or damaged."""
    import pyarrow
    from pyarrow import parquet

    with naming(path), open_input(path, buffering=0) as stream:
        head = stream.read(HEAD_BYTES)
        if not head.startswith(_MAGIC):
            kind = binary_kind(head)
            hint = f": it is {kind}" if kind else "; `input_format` names the format of other files"
            raise CorruptDataError(path, 0, f"not a Parquet file{hint}")
        stream.seek(0)
        try:
            with parquet.ParquetFile(stream, page_checksum_verification=True) as file:
                yield file
        except (pyarrow.ArrowException, UnicodeDecodeError) as error:  # names of columns are text
            raise CorruptDataError(path, 0, f"not a readable Parquet file ({error})") from error
        except OSError as error:
            if error.errno is not None:
                raise
            raise CorruptDataError(path, 0, f"not a readable Parquet file ({error})") from error


def find_row_group(path: str, position: int) -> int | None:
    """Return the first row group from a byte on, by groups' shares of the file, or None."""
    with open_parquet(path) as file:
        sizes = [file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups)]
    num_bytes = file_size(path)
    for group in range(1, len(sizes)):
        if sum(sizes[:group]) * num_bytes >= position * sum(sizes):
            return group
    return None


def _check_columns(path: str, schema: "pyarrow.Schema", config: TextConfig) -> list[str]:
    """Return the column of the text, and the names that lead to it where it holds structs.

    With a template, return all columns that it needs.
    """
    field = config.text_field
    reads_all = config.keep_fields and not config.needed_fields
    own = () if config.text_template is not None else (field,)
    for name in schema.names if reads_all else (*own, *config.needed_fields):
        if schema.names.count(name) > 1:
            raise ValueError(f"{path}: several columns are called {name!r}; one is allowed")
    if config.text_template is not None:
        columns = fields_of_template(config.text_template, schema.names)
        for column in columns:
            if schema.names.count(column) != 1:
                raise ValueError(_describe_absence(path, schema, column, "text_template"))
        return columns
    names, kind = _find_column(schema, field)
    if kind is None:
        raise ValueError(_describe_absence(path, schema, field, "text_field"))
    if not _is_text(kind) and not (_is_list(kind) and _is_text(kind.value_type)):
        raise ValueError(
            f"{path}: column {field!r} is of type {kind}; it must hold texts or lists of texts; the"
            f" columns are {', '.join(map(repr, schema.names[:_NUM_COLUMNS_NAMED]))}"
        )
    return names


def _describe_absence(path: str, schema: "pyarrow.Schema", column: str, setting: str) -> str:
    columns = ", ".join(map(repr, schema.names[:_NUM_COLUMNS_NAMED])) or "none"
    return f"{path}: no column {column!r} (`{setting}`); the columns are {columns}"


def _find_column(
    schema: "pyarrow.Schema", field: str
) -> tuple[list[str], "pyarrow.DataType | None"]:
    """Return the names of a column, and of fields of its structs, and the type; None: no such."""
    from pyarrow import types

    if schema.names.count(field) == 1:
        return [field], schema.field(field).type
    outer, dot, rest = field.partition(".")
    if not dot or schema.names.count(outer) != 1:
        return [], None
    names, kind = [outer], schema.field(outer).type
    while types.is_struct(kind):
        if kind.get_field_index(rest) >= 0:
            return [*names, rest], kind.field(rest).type
        outer, dot, rest = rest.partition(".")
        if not dot or kind.get_field_index(outer) < 0:
            break
        names, kind = [*names, outer], kind.field(outer).type
    return [], None


def _is_text(kind: "pyarrow.DataType") -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return True
    return types.is_null(kind)  # a column without values


def _is_list(kind: "pyarrow.DataType") -> bool:
    from pyarrow import types

    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def _read_group(
    path: str,
    file: "pyarrow.parquet.ParquetFile",
    group: int,
    rows_before: int,
    names: Sequence[str],
    config: TextConfig,
) -> Iterator[DocumentBlock]:
    """Yield the documents of a row group; the bytes of its column are shared among its rows."""
    metadata = file.metadata.row_group(group)
    num_bytes, done, reported = metadata.total_byte_size, 0, 0
    columns = None
    if config.needed_fields or not config.keep_fields:  # no matter if a column is missing
        of_text = [".".join(names)] if config.text_template is None else names
        columns = [*of_text, *config.needed_fields]
    for batch in file.iter_batches(_ROWS_AT_A_TIME, [group], columns):
        block = DocumentBlock(path=path, num_rows=batch.num_rows)
        add = _add_documents if config.text_template is None else _add_by_template
        add(block, batch, rows_before + done, names, config)
        done += batch.num_rows
        share = num_bytes * done // max(1, metadata.num_rows)
        block.num_file_bytes, reported = share - reported, share
        yield block


def _add_documents(
    block: DocumentBlock,
    batch: "pyarrow.RecordBatch",
    rows_before: int,
    names: Sequence[str],
    config: TextConfig,
) -> None:
    from pyarrow import compute

    column, *inner = names
    texts = batch.column(column)
    if inner:
        texts = compute.struct_field(texts, inner)
    kept = [name for name in batch.schema.names if inner or name != column]
    others = [_values(batch.column(name)) for name in kept]
    _count_foreign(block, batch, kept if config.keep_fields else ())
    for i, value in enumerate(_values(texts)):
        row = rows_before + i + 1
        try:
            value, marks = _plain(value, config.encoding_errors)
            block.num_replaced += marks
            text = checked_text(value, config.text_field)
            fields = None
            if config.keep_fields:
                values = (_plain(column[i], config.encoding_errors)[0] for column in others)
                fields = dict(zip(kept, values, strict=True))
                if inner:
                    _remove(fields, names)
            block.documents.append(TextDocument(row, text, fields))
        except RowError as error:
            block.skip(row, error, config)


def _count_foreign(block: DocumentBlock, batch: "pyarrow.RecordBatch", kept: Iterable[str]) -> None:
    for name in kept:
        kind = batch.schema.field(name).type
        if _is_foreign(kind):
            num_values = batch.num_rows - batch.column(name).null_count
            block.left_out[f"type {kind} of {name}"] += num_values


def _is_foreign(kind: "pyarrow.DataType") -> bool:
    """Whether JSON has no such values: they become texts, or lists of pairs."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_foreign(kind.value_type)
    if types.is_struct(kind) or _is_list(kind):
        return any(_is_foreign(kind.field(i).type) for i in range(kind.num_fields))
    is_number = types.is_integer(kind) or types.is_floating(kind)
    is_plain = is_number or types.is_boolean(kind) or _is_text(kind)
    return not is_plain or types.is_uint64(kind)


def _add_by_template(
    block: DocumentBlock,
    batch: "pyarrow.RecordBatch",
    rows_before: int,
    names: Sequence[str],
    config: TextConfig,
) -> None:
    """Add the documents of rows whose columns `names` a template puts together."""
    assert config.text_template is not None
    columns = {name: _values(batch.column(name)) for name in batch.schema.names}
    others = [name for name in columns if name not in names]
    _count_foreign(block, batch, others if config.keep_fields else ())
    for i in range(batch.num_rows):
        row, num_replaced = {}, 0
        try:
            for name, values in columns.items():
                row[name], marks = _plain(values[i], config.encoding_errors)
                num_replaced += marks * (name in names)
            text = fill_template(config.text_template, row)
        except RowError as error:
            block.skip(rows_before + i + 1, error, config)
            continue
        block.num_replaced += num_replaced
        fields = {name: value for name, value in row.items() if name not in names}
        kept = fields if config.keep_fields else None
        block.documents.append(TextDocument(rows_before + i + 1, text, kept))


def _remove(fields: dict[str, Any], names: Sequence[str]) -> None:
    """Remove a value from objects within objects."""
    for name in names[:-1]:
        fields = fields[name]
    del fields[names[-1]]


def _values(column: "pyarrow.Array") -> list[Any]:
    """Return Python values, or scalars to decode one by one if one of them is not UTF-8."""
    try:
        # pyarrow returns pandas' times for nanoseconds, but only if pandas is installed.
        if getattr(column.type, "unit", None) == "ns":
            column = column.cast(_in_microseconds(column.type))
        return column.to_pylist()
    except (UnicodeDecodeError, ValueError):  # ValueError: a time that Python cannot represent
        return list(column)


def _in_microseconds(kind: "pyarrow.DataType") -> "pyarrow.DataType":
    """Return the type of times or durations that Python can hold, for one of nanoseconds."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.duration("us") if pa.types.is_duration(kind) else pa.time64("us")


def _plain(value: Any, errors: str) -> tuple[Any, int]:
    return _decode(value, errors) if hasattr(value, "as_py") else (value, 0)


def _decode(scalar: "pyarrow.Scalar", errors: str) -> tuple[Any, int]:
    """Return the value of a scalar that may not be UTF-8, and the number of such places."""
    if not scalar.is_valid:
        return None, 0
    if hasattr(scalar, "dictionary"):
        return _decode(scalar.value, errors)
    if hasattr(scalar, "as_buffer"):
        return decode_text(scalar.as_buffer().to_pybytes(), errors)
    if not hasattr(scalar, "values") or hasattr(scalar, "keys"):
        try:
            if getattr(scalar.type, "unit", None) == "ns":
                scalar = scalar.cast(_in_microseconds(scalar.type))
            return scalar.as_py(), 0
        except ValueError:  # pyarrow's errors are ValueErrors, too
            return scalar.cast("string").as_py(), 0
    decoded = [_decode(each, errors) for each in scalar.values]
    return [value for value, _ in decoded], sum(marks for _, marks in decoded)
