"""Read record shards as batches of NumPy arrays, of tensors, or as a tf.data.Dataset.

    shards --files--> records --order, or planning--> which ones make a batch --examples--> batch

In tf.data's words, a stream is `list_files`, `interleave`, `shuffle`, `batch`, `parse_example`,
`prefetch`; docs/guides/reading.md has it with TensorFlow alone.

sources.py     batches of arrays, without TensorFlow: `iterate_arrays`
tensors.py     a dataset, or eager tensors, of any source: `read_batches`, `iterate_batches`
planned.py     planned batches; planning/: the batches of an epoch, before it is read
streamed.py    batches of a stream of records, and its order
shard_batches.py   what both share: checked shards, and groups of decoded batches
files/         shards, their records, and damage to them
examples/      Examples to dense batches; layout.py: how these lie in memory

Names but `ReaderConfig` are imported when they are first used.
"""

import functools
from typing import TYPE_CHECKING

from bert_data.packages import import_on_use
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.reader.config import ReaderConfig as ReaderConfig

if TYPE_CHECKING:
    from bert_data.reader.files.record_source import explain as explain
    from bert_data.reader.sources import can_be_planned as can_be_planned
    from bert_data.reader.sources import describe_order as describe_order
    from bert_data.reader.sources import iterate_arrays as iterate_arrays
    from bert_data.reader.sources import limits_of_manifests as limits_of_manifests
    from bert_data.reader.sources import objective_of as objective_of
    from bert_data.reader.sources import vocab_size_of_manifests as vocab_size_of_manifests
    from bert_data.reader.tensors import block_diagonal_mask as block_diagonal_mask
    from bert_data.reader.tensors import iterate_batches as iterate_batches
    from bert_data.reader.tensors import read_batches as read_batches

__getattr__, __all__ = import_on_use(
    __name__,
    before=functools.partial(import_tensorflow, finds_devices=False),
    light="sources files.record_source",
)
