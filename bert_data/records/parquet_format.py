"""Shards as Parquet files: a row an instance, lists without padding.

     tokens               segment_ids   is_random_next   masked_positions   masked_labels
     [101 7592 102 ...]   [0 0 0 1 1]   false            [3]                [2003]

Chunks become columns in workers, row groups are compressed in the order of the rows by who writes.
Where whole words begin is not stored: the vocabulary tells which pieces continue a word, and its
checksum is in the file's metadata.
"""

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bert_data import features
from bert_data.objectives.rows import code_bits
from bert_data.records.instance_columns import new_columns, read_columns
from bert_data.records.manifest import Manifest
from bert_data.records.parquet_writer import ParquetShard, open_parquet_shard
from bert_data.storage import OutputSet
from bert_data.tokens.store import TokenStore
from bert_data.tokens.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pyarrow

RESERVED_BYTES = 180_000_000
"""What the library, a row group that is put together and its compressed pages take, measured."""

_CHUNK_BYTES = 1 << 20
_CHUNKS_OF_GROUP = 16


def instance_schema() -> "pyarrow.Schema":
    """The columns of instances, with their types."""
    import pyarrow as pa

    numbers = pa.list_(pa.int32())
    return pa.schema(
        [
            (features.TOKENS, numbers),
            (features.SEGMENT_IDS, pa.list_(pa.int8())),
            (features.IS_RANDOM_NEXT, pa.bool_()),
            (features.MASKED_POSITIONS, numbers),
            (features.MASKED_LABELS, numbers),
        ]
    )


class ParquetFormat:
    """Makes Parquet shards, see `bert_data.records.formats.ShardFormat`."""

    def __init__(self, store: TokenStore, vocabulary: Vocabulary, manifest: Manifest) -> None:
        """Prepares.

        Args:
          store, vocabulary: of the instances.
          manifest: what is known of the shards before they are written.
        """
        self._store = store
        self._vocabulary = vocabulary
        self._manifest = json.loads(dataclasses.replace(manifest, files=()).to_json())
        self._schema = instance_schema()
        self._max_tokens = manifest.max_seq_length
        self._max_predictions = min(manifest.max_seq_length, manifest.max_predictions_per_seq)
        row_bytes = 5 * self._max_tokens + 8 * self._max_predictions + 9
        self.chunk_size = max(1, _CHUNK_BYTES // row_bytes)

    def encode(self, rows: NDArray[np.uint32], order: NDArray[np.uint32]) -> "pyarrow.RecordBatch":
        """Makes the rows of a chunk; called by many threads at a time."""
        import pyarrow as pa

        columns = new_columns(order.size, self._max_tokens, self._max_predictions)
        read_columns(
            rows, order, self._store.ids, self._vocabulary.cls_id, self._vocabulary.sep_id,
            code_bits(self._vocabulary.size), columns,
        )  # fmt: skip
        token_splits = pa.array(columns.token_splits)
        prediction_splits = pa.array(columns.prediction_splits)
        num_tokens, num_predictions = columns.token_splits[-1], columns.prediction_splits[-1]
        arrays = [
            pa.ListArray.from_arrays(token_splits, pa.array(columns.tokens[:num_tokens])),
            pa.ListArray.from_arrays(token_splits, pa.array(columns.segments[:num_tokens])),
            pa.array(columns.is_random),
            *(
                pa.ListArray.from_arrays(prediction_splits, pa.array(values[:num_predictions]))
                for values in (columns.positions, columns.labels)
            ),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    @contextlib.contextmanager
    def open_shard(self, outputs: OutputSet, path: str, num_records: int) -> Iterator[ParquetShard]:
        """Begins a shard."""
        del num_records  # they are counted
        group_rows = self.chunk_size * _CHUNKS_OF_GROUP
        with (
            outputs.open(path) as file,
            open_parquet_shard(file, self._schema, self._manifest, group_rows=group_rows) as shard,
        ):
            yield shard
