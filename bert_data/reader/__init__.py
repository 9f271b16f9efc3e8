"""Record shards in, tf.data batches out."""

from bert_data.reader.config import ReaderConfig
from bert_data.reader.corruption import explain
from bert_data.reader.dataset import iterate_batches, read_batches

__all__ = ["ReaderConfig", "explain", "iterate_batches", "read_batches"]
