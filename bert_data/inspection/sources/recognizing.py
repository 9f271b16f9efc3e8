"""What kind of files a list names: shards or texts; by their names and beginnings.

"train@2,manifest.b.json"  ->  train-00000-of-00002, train-00001-of-00002, the shards of b
"""

import gzip
import zlib
from collections.abc import Sequence

from bert_data import storage
from bert_data.datasets.manifest import is_sidecar, listed_shards
from bert_data.inspection.sources.shards import parquet_of
from bert_data.reader.files.parquet_rows import MAGIC
from bert_data.reader.files.shards import HEADER_BYTES, is_frame
from bert_data.text.formats import LINES, find_format
from bert_data.tokens.store_names import expand_store, is_store_name

_GZIP = b"\x1f\x8b"


def expand_names(names: str) -> list[str]:
    """Return the files of a list; a manifest stands for the shards that it lists.

    Args:
      names: paths and patterns, separated by commas; path@N names N shards.

    Raises:
      ValueError: a pattern matches nothing, the list names no shard, or one is a pipe or a device.
    """
    paths: list[str] = []
    for entry in names.split(","):
        if "@" in entry and not storage.exists(entry):
            matches = _named_shards(entry)
        else:
            matches = storage.expand_inputs(entry)
        for path in matches:
            if is_sidecar(path) and matches == [path]:
                paths += _shards_of_manifest(path)
            elif not is_sidecar(path):
                paths.append(path)
    if not paths:
        raise ValueError(f"{names!r} names no shard, only indexes or manifests")
    for path in paths:
        is_known = storage.is_file(path) or storage.is_folder(path) or not storage.exists(path)
        if not is_known:
            raise ValueError(f"{path} is not a regular file, and can be read only once")
    return list(dict.fromkeys(paths))


def _named_shards(entry: str) -> list[str]:
    """Return all shards of "path@N", which need not all be there, by the naming of those that are.

    Raises:
      ValueError: there is none, or N is out of range.
    """
    paths = list(storage.expand_outputs(entry).paths)
    existing = storage.find_files(entry)
    if not existing:
        raise ValueError(storage.describe_absence(entry))
    return paths if existing[0] in paths else [*map(storage.with_ending_last, paths)]


def expand_records(names: str) -> list[str]:
    """Return the files of a list of shards of records, as `expand_names` does.

    Raises:
      ValueError: as there, or a name of the list is that of token stores.
    """
    for name in filter(is_store_name, names.split(",")):
        prefix = expand_store(name)[0]
        if storage.exists(f"{prefix}.idx"):
            raise ValueError(
                f"{name!r} names a token store, not shards of records; for a store, use"
                f" bert_data.cli.tokenize --verify={prefix}"
            )
    return expand_names(names)


def _shards_of_manifest(path: str) -> list[str]:
    shards = listed_shards(path)
    if not shards:
        raise ValueError(f"{path} is not a manifest that lists shards; name the shards")
    return shards


def has_ending_of_text(paths: Sequence[str]) -> bool:
    """Whether the files are text by their endings; Parquet files are looked into."""
    text_format = find_format(paths[:1])
    return text_format.name != "parquet" and text_format is not LINES


def is_record_file(path: str) -> bool:
    """Whether a file begins as TFRecord, compressed or not, or Parquet; or is empty."""
    with storage.open_input(path) as file:
        head = file.read(HEADER_BYTES)
        if head.startswith(_GZIP):
            file.seek(0)
            try:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    head = unpacked.read(HEADER_BYTES)
            except (OSError, EOFError, zlib.error):
                return True  # the reader says what is wrong
    if not head:
        return not path.endswith(".txt")
    return head.startswith(MAGIC) or is_frame(head)


def columns_of(path: str) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    with parquet_of(path) as file:
        return list(file.schema_arrow.names)
