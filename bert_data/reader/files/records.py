"""The records of TFRecord shards, local or remote, by number.

a.tfrecord (3 records)  b.tfrecord (2)   ->   records 0 1 2 | 3 4
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data import storage
from bert_data.reader.config import REMOTE_CACHE_BYTES
from bert_data.reader.files.gathering import TFRecords
from bert_data.reader.files.local_records import ShardRecords
from bert_data.reader.files.remote_records import RemoteRecords
from bert_data.reader.files.shards import Shard


def records_of_shards(
    shards: Sequence[Shard],
    *,
    in_order: bool,
    skip_corrupt: bool,
    remote_cache_bytes: int = REMOTE_CACHE_BYTES,
    keeps: bool = False,
    indexes: Sequence[NDArray[np.void]] | None = None,
) -> TFRecords:
    """Return the records of shards that are not compressed, numbered in their order.

    Args:
      in_order: whether records will mostly be read in order.
      keeps: whether to keep the records of a small local set in memory, from the second epoch on.
      indexes: of each shard, see `read_index`; None: they are read.
    """
    if not any(storage.is_remote(shard.path) for shard in shards):
        return ShardRecords(
            shards, in_order=in_order, skip_corrupt=skip_corrupt, keeps=keeps, indexes=indexes
        )
    return RemoteRecords(
        shards,
        in_order=in_order,
        skip_corrupt=skip_corrupt,
        cache_bytes=remote_cache_bytes,
        indexes=indexes,
    )
