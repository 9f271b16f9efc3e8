"""Record shards in, tf.data batches out."""

from bert_data.reader.config import ReaderConfig
from bert_data.reader.dataset import block_diagonal_mask, iterate_batches, read_batches
from bert_data.reader.description import describe_order, limits_of_manifests
from bert_data.reader.files.corruption import explain
from bert_data.reader.labelled.batches import (
    LabelledReaderConfig,
    LabelledSource,
    read_labelled_batches,
)
from bert_data.reader.labelled.ragged import RaggedSpec, parse_ragged, ragged_tensor_features
from bert_data.reader.labelled.segments import pack_segments
from bert_data.reader.sources import can_be_planned

__all__ = [
    "LabelledReaderConfig",
    "LabelledSource",
    "RaggedSpec",
    "ReaderConfig",
    "block_diagonal_mask",
    "can_be_planned",
    "describe_order",
    "explain",
    "iterate_batches",
    "limits_of_manifests",
    "pack_segments",
    "parse_ragged",
    "ragged_tensor_features",
    "read_batches",
    "read_labelled_batches",
]
