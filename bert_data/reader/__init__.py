"""Read record shards as batches of NumPy arrays, of tensors, or as a tf.data.Dataset.

    shards --files--> records --order, or planning--> which ones make a batch --examples--> batch

sources.py     batches of arrays, without TensorFlow: `iterate_arrays`
tensors.py     a dataset, or eager tensors, of any source: `read_batches`, `iterate_batches`
planned.py     planned batches; planning/: the batches of an epoch, before it is read
streamed.py    batches of a stream of records, and its order
files/         shards, their records, and damage to them
examples/      Examples to dense batches; layout.py: how these lie in memory
samples.py     GPT samples; labelled/: labelled texts

Names but `ReaderConfig` are imported when they are first used.
"""

from typing import TYPE_CHECKING

from bert_data.packages import import_on_use
from bert_data.reader.config import ReaderConfig

if TYPE_CHECKING:
    from bert_data.reader.files.record_source import explain
    from bert_data.reader.labelled.batches import (
        LabelledReaderConfig,
        LabelledSource,
        read_labelled_batches,
    )
    from bert_data.reader.labelled.ragged import (
        RaggedSpec,
        pack_segments,
        parse_ragged,
        ragged_tensor_features,
    )
    from bert_data.reader.sources import (
        can_be_planned,
        describe_order,
        iterate_arrays,
        limits_of_manifests,
        objective_of,
        vocab_size_of_manifests,
    )
    from bert_data.reader.tensors import block_diagonal_mask, iterate_batches, read_batches

__getattr__ = import_on_use(
    __name__,
    {
        "files.record_source": "explain",
        "labelled.batches": "LabelledReaderConfig LabelledSource read_labelled_batches",
        "labelled.ragged": "RaggedSpec pack_segments parse_ragged ragged_tensor_features",
        "sources": "can_be_planned describe_order iterate_arrays limits_of_manifests objective_of"
        " vocab_size_of_manifests",
        "tensors": "block_diagonal_mask iterate_batches read_batches",
    },
)

__all__ = [
    "LabelledReaderConfig",
    "LabelledSource",
    "RaggedSpec",
    "ReaderConfig",
    "block_diagonal_mask",
    "can_be_planned",
    "describe_order",
    "explain",
    "iterate_arrays",
    "iterate_batches",
    "limits_of_manifests",
    "objective_of",
    "pack_segments",
    "parse_ragged",
    "ragged_tensor_features",
    "read_batches",
    "read_labelled_batches",
    "vocab_size_of_manifests",
]
