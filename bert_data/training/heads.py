"""The two tasks of pretraining on top of the encoder.

    hidden states, positions [batch, predictions] -> MaskedLM     -> logits [batch, predictions, V]
    pooled [batch, hidden_size]                   -> NextSentence -> logits [batch, 2]
           [batch, instances, hidden_size]                           [batch, instances, 2]

Logits are float32, whatever the encoder computes in.
"""

from typing import Any

import tensorflow as tf

from bert_data.training.activations import activation
from bert_data.training.config import BertConfig
from bert_data.training.layers import Dense, Group, Layer, LayerNorm, WeightSeeds, gather_positions


class MaskedLM(Layer):
    """Scores of every word of the vocabulary at the masked positions, and only there.

    The matrix from hidden states to words is the table of word embeddings; a bias is its own.
    """

    def __init__(self, config: BertConfig, seeds: WeightSeeds, **kwargs: Any) -> None:
        super().__init__(name="predictions", **kwargs)
        self._width, self._vocab_size = config.hidden_size, config.vocab_size
        self._activation = activation(config.hidden_act)
        policy = self.dtype_policy
        parts = {
            "dense": Dense(config.hidden_size, seeds, name="dense", dtype=policy),
            "LayerNorm": LayerNorm(config.layer_norm_eps, dtype=policy),
        }
        self.transform = Group("transform", parts)

    def build(self, _: object = None) -> None:
        """Create the weights."""
        self.transform.build(self._width)
        self.output_bias = self.add_weight(
            name="output_bias", shape=(self._vocab_size,), initializer="zeros"
        )

    def call(self, hidden: tf.Tensor, positions: tf.Tensor, table: tf.Tensor) -> tf.Tensor:
        """Return float32[batch, predictions, vocab_size].

        Args:
          hidden: [batch, width, hidden_size].
          positions: int32[batch, predictions], each < width.
          table: float32[vocab_size, hidden_size], the word embeddings.
        """
        x = tf.reshape(gather_positions(hidden, positions), [-1, self._width])
        x = self._activation(self.transform.parts["dense"](x))
        x = self.transform.parts["LayerNorm"](x)
        logits = tf.matmul(x, tf.cast(table, x.dtype), transpose_b=True)
        logits = tf.nn.bias_add(tf.cast(logits, tf.float32), self.output_bias.value)
        return tf.reshape(logits, tf.concat([tf.shape(positions), [self._vocab_size]], 0))


class NextSentence(Layer):
    """Scores of the two answers: 0, B follows A; 1, B is from elsewhere."""

    def __init__(self, config: BertConfig, seeds: WeightSeeds, **kwargs: Any) -> None:
        super().__init__(name="seq_relationship", **kwargs)
        self._width, self._initializer = config.hidden_size, seeds.initializer()

    def build(self, _: object = None) -> None:
        """Create the weights."""
        self.output_weights = self.add_weight(
            name="output_weights", shape=(2, self._width), initializer=self._initializer
        )
        self.output_bias = self.add_weight(name="output_bias", shape=(2,), initializer="zeros")

    def call(self, pooled: tf.Tensor) -> tf.Tensor:
        """[..., hidden_size] -> float32[..., 2]."""
        flat = tf.reshape(pooled, [-1, self._width])
        logits = tf.matmul(flat, tf.cast(self.output_weights.value, flat.dtype), transpose_b=True)
        logits = tf.cast(logits, tf.float32) + self.output_bias.value
        return tf.reshape(logits, tf.concat([tf.shape(pooled)[:-1], [2]], 0))
