"""Open Parquet files of records: their columns, what made them, and the errors of damage."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from bert_data import storage
from bert_data.datasets.manifest import Manifest, is_manifest, parse_manifest
from bert_data.formats.parquet_files import METADATA_KEY

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

MAGIC = b"PAR1"
_BUFFER_BYTES = 1 << 18  # of a column, read at once


class Inside(NamedTuple):
    """The metadata of a file: its manifest, which lists no files, and its rows."""

    manifest: Manifest | None
    num_rows: int


@contextlib.contextmanager
def open_parquet(path: str) -> Iterator["pyarrow.parquet.ParquetFile"]:
    """Open a local or remote Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    is_remote = storage.is_remote(path)
    opened = storage.open_input(path, buffering=0) if is_remote else pa.OSFile(path)
    # A local file in parts, so that no whole row group is in memory; and read, not mapped: a mapped
    # file that is truncated kills the process. Of a remote one the needed ranges, joined.
    with (
        opened,
        parquet.ParquetFile(
            opened,
            page_checksum_verification=True,
            pre_buffer=is_remote,
            buffer_size=0 if is_remote else _BUFFER_BYTES,
        ) as file,
    ):
        yield file


def rows_of_group(file: "pyarrow.parquet.ParquetFile", group: int) -> int:
    """Return how many rows a row group has by the footer, at most as many as the file."""
    import pyarrow as pa

    num_rows = int(file.metadata.row_group(group).num_rows)
    if not 0 <= num_rows <= file.metadata.num_rows:
        of_all = f"of {file.metadata.num_rows} rows in all"
        raise pa.ArrowInvalid(f"its footer says that row group {group} has {num_rows} {of_all}")
    return num_rows


def is_damage(error: BaseException) -> bool:
    """Return whether an error of pyarrow is about the bytes rather than about reading them."""
    import pyarrow as pa

    if isinstance(error, pa.ArrowException | UnicodeDecodeError):  # a column's name is text
        return True
    return isinstance(error, OSError) and error.errno is None


def what_is_wrong(error: BaseException) -> str:
    """Describe damage in words."""
    return f"is not a readable Parquet file ({' '.join(str(error).split())})"


def look_inside(path: str) -> Inside | None:
    """Return what a file says about itself, or None if it is damaged."""
    try:
        with open_parquet(path) as file:
            text = (file.schema_arrow.metadata or {}).get(METADATA_KEY.encode(), b"")
            num_rows = file.metadata.num_rows
    except Exception as error:
        if is_damage(error):
            return None
        raise
    return Inside(parse_manifest(text, path) if is_manifest(text) else None, num_rows)


def check_columns(schema: "pyarrow.Schema", expected: "pyarrow.Schema", path: str) -> None:
    """Check that a file has the columns of `expected`."""
    for field in expected:
        if schema.names.count(field.name) != 1:
            raise ValueError(
                f"{path} has no column {field.name!r}; instances have {', '.join(expected.names)}"
            )
        actual = schema.field(field.name).type
        if not _fits(actual, field.type):
            raise ValueError(f"{path}: column {field.name!r} is of type {actual}, not {field.type}")


def _fits(actual: "pyarrow.DataType", needed: "pyarrow.DataType") -> bool:
    """Return whether values of a type may be cast to another: of lists, integers or floats."""
    from pyarrow import types

    if types.is_list(needed):
        is_list = types.is_list(actual) or types.is_large_list(actual)
        is_list |= types.is_fixed_size_list(actual)
        return is_list and _fits(actual.value_type, needed.value_type)
    if types.is_floating(needed):
        return types.is_floating(actual)
    return types.is_integer(actual) or (types.is_boolean(needed) and types.is_boolean(actual))
