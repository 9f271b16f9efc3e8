"""What pretraining minimizes: masked-LM loss + next-sentence loss, each a mean over the batch.

    masked LM      sum(weights * cross entropy) / (sum(weights) + 1e-5)
    next sentence  sum(cross entropy) / examples

Under several replicas the sums below the lines run over all of them: each replica's loss is its
share, the shares add up to the loss of the whole batch, and gradients are summed. So the result
does not depend on how the batch was divided.
"""

from typing import NamedTuple

import tensorflow as tf

_DENOMINATOR_EPSILON = 1e-5


class LossShares(NamedTuple):
    """This replica's shares of the losses, float32 scalars: the sum over replicas is the loss."""

    masked_lm: tf.Tensor
    next_sentence: tf.Tensor

    @property
    def total(self) -> tf.Tensor:
        """The share of what is minimized."""
        return self.masked_lm + self.next_sentence


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """-log softmax(logits)[label], float32 of the labels' shape."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(
        tf.cast(labels, tf.int32), tf.cast(logits, tf.float32)
    )


def sum_over_replicas(value: tf.Tensor) -> tf.Tensor:
    """Adds up a value of all replicas; outside of replicas, or with one, the value itself."""
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return value
    return context.all_reduce(tf.distribute.ReduceOp.SUM, value)


def pretraining_losses(
    masked_lm_logits: tf.Tensor,
    next_sentence_logits: tf.Tensor,
    masked_lm_ids: tf.Tensor,
    masked_lm_weights: tf.Tensor,
    next_sentence_labels: tf.Tensor,
) -> LossShares:
    """The losses, weighted as Google's program weighs them.

    Args:
      masked_lm_logits: float[batch, predictions, vocab_size].
      next_sentence_logits: float[batch, 2].
      masked_lm_ids: int32[batch, predictions], the right words.
      masked_lm_weights: float32[batch, predictions], 1 for a prediction, 0 for padding.
      next_sentence_labels: int32[batch, 1] or [batch], 1 for a random next sentence.
    """
    weights = tf.cast(masked_lm_weights, tf.float32)
    labels = tf.reshape(next_sentence_labels, [-1])
    num_examples = tf.cast(tf.size(labels), tf.float32)
    sums = sum_over_replicas(tf.stack([tf.reduce_sum(weights), num_examples]))
    masked_lm = tf.reduce_sum(weights * cross_entropy(masked_lm_logits, masked_lm_ids))
    next_sentence = tf.reduce_sum(cross_entropy(next_sentence_logits, labels))
    return LossShares(masked_lm / (sums[0] + _DENOMINATOR_EPSILON), next_sentence / sums[1])
