"""Self-attention, and which positions of a row attend to which.

input_mask [1 1 1 0]               every position attends to the first three
instance_ids [1 1 2 0]             a position attends to those with its own number

keys  1 1 2 0
queries  1       0 0 - -           - stands for -10,000, which softmax turns into 0
1       0 0 - -
2       - - 0 -
0       - - - 0
"""

import math
from typing import Any

import tensorflow as tf

from bert_data.training.config import BertConfig
from bert_data.training.layers import Dense, Layer, WeightSeeds, dropout

_MASKED_SCORE = -10_000.0


def attention_adder(input_mask: tf.Tensor, instance_ids: tf.Tensor | None = None) -> tf.Tensor:
    """Return what to add to attention scores: 0, or a large negative number to mask a position.

    Args:
      input_mask: int32[batch, width], 1 for tokens and 0 for padding.
      instance_ids: int32[batch, width], 1, 2, ... for the instances of a row, 0 for padding; or
        None if each row is one instance.

    Returns:
      float32[batch, 1, 1, width] for the keys of a row, the same for all queries; with instances
      float32[batch, 1, width, width], queries by keys. Padding then attends to padding: nothing
      reads the result, but an empty sum would not be a number.
    """
    if instance_ids is None:
        unseen = 1.0 - tf.cast(input_mask, tf.float32)
        return (unseen * _MASKED_SCORE)[:, tf.newaxis, tf.newaxis, :]
    unseen = instance_ids[:, tf.newaxis, :, tf.newaxis] != instance_ids[:, tf.newaxis, tf.newaxis]
    return tf.cast(unseen, tf.float32) * _MASKED_SCORE


class SelfAttention(Layer):
    """Attention of every position to those that `attention_adder` allows."""

    def __init__(self, config: BertConfig, seeds: WeightSeeds, **kwargs: Any) -> None:
        super().__init__(name="self", **kwargs)
        self._config = config
        self.query, self.key, self.value = (
            Dense(config.hidden_size, seeds, name=name, dtype=self.dtype_policy)
            for name in ("query", "key", "value")
        )

    def build(self, width: int) -> None:
        """Create the weights."""
        for part in (self.query, self.key, self.value):
            part.build(width)

    def call(
        self, x: tf.Tensor, adder: tf.Tensor, seed: tf.Tensor | None = None, place: int = 0
    ) -> tf.Tensor:
        """Mix each position of `x` with the positions it attends to.

        Args:
          x: [batch, width, hidden_size].
          adder: float32[batch, 1, 1 or width, width], see `attention_adder`.
          seed: int32[2] for dropout, or None.
          place: number of this dropout within the model.
        """
        heads = self._config.num_attention_heads
        size = self._config.hidden_size // heads

        def split(y: tf.Tensor) -> tf.Tensor:  # [batch, heads, width, size]
            shape = tf.shape(y)
            return tf.transpose(tf.reshape(y, [shape[0], shape[1], heads, size]), [0, 2, 1, 3])

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = tf.matmul(query * (1.0 / math.sqrt(size)), key, transpose_b=True)
        probabilities = tf.nn.softmax(tf.cast(scores, tf.float32) + adder)
        probabilities = tf.cast(probabilities, x.dtype)
        rate = self._config.attention_probs_dropout_prob
        context = tf.matmul(dropout(probabilities, rate, seed, place), value)
        return tf.reshape(tf.transpose(context, [0, 2, 1, 3]), tf.shape(x))
