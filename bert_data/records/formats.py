"""The formats of shards, by name.

    find_format("parquet").make(store, vocabulary, manifest)  ->  makes chunks of rows, and files

A format is one file beside this one and a line at the end of it.
"""

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bert_data import features
from bert_data.records import parquet_format
from bert_data.records.manifest import Manifest, ManifestFile
from bert_data.records.parquet_format import ParquetFormat
from bert_data.records.tfrecord_format import TFRecordFormat
from bert_data.storage import OutputSet
from bert_data.tokens.store import TokenStore
from bert_data.tokens.vocabulary import Vocabulary


class Shard(Protocol):
    """A file that is being written."""

    def add(self, encoded: Any, /) -> None:
        """Adds what `ShardFormat.encode` made, in the order of the records."""

    def finish(self) -> None:
        """Ends the file."""

    def describe(self, path: str) -> ManifestFile:
        """What the manifest says of it, when it is finished."""


class ShardFormat(Protocol):
    """Makes shards of one run.

    Attributes:
      chunk_size: records that are encoded at once, >= 1. It depends on the configuration alone, so
        that files do not depend on who does the work.
    """

    chunk_size: int

    def encode(self, rows: NDArray[np.uint32], order: NDArray[np.uint32]) -> Any:
        """Makes a chunk of records; called by many threads at a time.

        Args:
          rows: uint32[any, words], see `bert_data.objectives.rows`.
          order: uint32[records], the rows of the chunk.
        """

    def open_shard(
        self, outputs: OutputSet, path: str, num_records: int
    ) -> AbstractContextManager[Shard]:
        """Begins a shard that will have so many records."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputFormat:
    """A format.

    Attributes:
      make: prepares a run, with what its manifest says before files are there.
      has_index: whether an index lies beside each shard.
      compression: what files are always compressed by; None: what the configuration says.
      reserved_bytes: memory that writing takes beside what each worker has.
    """

    make: Callable[[TokenStore, Vocabulary, Manifest], ShardFormat]
    has_index: bool
    compression: str | None = None
    reserved_bytes: int = 0


_FORMATS: dict[str, OutputFormat] = {}


def register(name: str, output_format: OutputFormat) -> None:
    """Adds a format.

    Raises:
      ValueError: there is one of this name.
    """
    if name in _FORMATS:
        raise ValueError(f"there is an output format {name!r} already")
    _FORMATS[name] = output_format


def find_format(name: str) -> OutputFormat:
    """The format `name`, one of `features.OUTPUT_FORMATS`."""
    return _FORMATS[name]


register(features.TFRECORD, OutputFormat(make=TFRecordFormat, has_index=True))
register(
    features.PARQUET,
    OutputFormat(
        make=ParquetFormat,
        has_index=False,
        compression=features.ZSTD,
        reserved_bytes=parquet_format.RESERVED_BYTES,
    ),
)
