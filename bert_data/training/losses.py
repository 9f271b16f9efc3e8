"""The loss of pretraining: masked-LM loss + loss of the two segments, means over the batch.

    masked LM      sum(weights * cross entropy) / (sum(weights) + 1e-5)
    two segments   sum(cross entropy) / examples       next sentence or sentence order, if there are

Where rows hold several instances or none, the segments have weights, too: 1 for an instance, 0 for
an empty place; their sum is the number of examples. So the losses of the same instances are the
same however they stand in rows.

Under several replicas the sums below the lines run over all of them: each replica's loss is its
share, the shares add up to the loss of the whole batch, and gradients are summed. So the result
does not depend on how the batch was divided. The same holds for the batches of one update: their
sums below the lines are those of all of them, `loss_divisors` of each added up.
"""

from typing import NamedTuple

import keras
import tensorflow as tf

_DENOMINATOR_EPSILON = 1e-5


class LossShares(NamedTuple):
    """This replica's shares of the losses, float32 scalars: the sum over replicas is the loss."""

    masked_lm: tf.Tensor
    segments: tf.Tensor

    @property
    def total(self) -> tf.Tensor:
        """The sum, which training minimizes."""
        return self.masked_lm + self.segments


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Return -log softmax(logits)[label], float32 of the labels' shape."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(
        tf.cast(labels, tf.int32), tf.cast(logits, tf.float32)
    )


def sum_over_replicas(value: tf.Tensor) -> tf.Tensor:
    """Return the sum over all replicas, if there are several."""
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return value
    return context.all_reduce(tf.distribute.ReduceOp.SUM, value)


def pretraining_losses(
    masked_lm_logits: tf.Tensor,
    masked_lm_ids: tf.Tensor,
    masked_lm_weights: tf.Tensor,
    segment_logits: tf.Tensor | None = None,
    segment_labels: tf.Tensor | None = None,
    segment_weights: tf.Tensor | None = None,
    *,
    divisors: tf.Tensor | None = None,
) -> LossShares:
    """Return the losses, weighted as Google's program weighs them.

    Args:
      masked_lm_logits: float[batch, predictions, vocab_size].
      masked_lm_ids: int32[batch, predictions], the right words.
      masked_lm_weights: float32[batch, predictions], 1 for a prediction, 0 for padding.
      segment_logits: float[batch, 2] or [batch, instances, 2]; None: the loss of segments is 0.
      segment_labels: int32[batch, 1], [batch] or [batch, instances], 1 where B does not follow A.
      segment_weights: float32 of as many numbers, 1 for an instance, 0 for an empty place; by
        default, all are 1.
      divisors: this replica's share of the sums below the lines; by default, `loss_divisors`.
    """
    weights = tf.cast(masked_lm_weights, tf.float32)
    masked_lm = tf.reduce_sum(weights * cross_entropy(masked_lm_logits, masked_lm_ids))
    labels = tf.zeros([0], tf.int32) if segment_labels is None else tf.reshape(segment_labels, [-1])
    examples = example_weights(labels, segment_weights)
    if divisors is None:
        divisors = loss_divisors(masked_lm_weights, segment_labels, segment_weights)
    # A batch's feature has no device where a worker has one, and all-reduce needs one.
    sums = sum_over_replicas(tf.identity(divisors))
    segments = tf.constant(0.0)
    if segment_logits is not None:
        answers = cross_entropy(tf.reshape(segment_logits, [-1, 2]), labels)
        segments = tf.math.divide_no_nan(tf.reduce_sum(examples * answers), sums[1])
    return LossShares(masked_lm / (sums[0] + _DENOMINATOR_EPSILON), segments)


def loss_divisors(
    masked_lm_weights: tf.Tensor,
    segment_labels: tf.Tensor | None,
    segment_weights: tf.Tensor | None = None,
) -> tf.Tensor:
    """Return float32[2], the sums of a batch's weights that divide its two losses."""
    labels = tf.zeros([0]) if segment_labels is None else tf.reshape(segment_labels, [-1])
    examples = example_weights(labels, segment_weights)
    masked = tf.cast(masked_lm_weights, tf.float32)
    return tf.stack([tf.reduce_sum(masked), tf.reduce_sum(examples)])


def example_weights(labels: tf.Tensor, weights: tf.Tensor | None) -> tf.Tensor:
    """Return float32[any], what each of the labels counts: `weights` in one row, or ones."""
    if weights is None:
        return tf.ones([tf.size(labels)], tf.float32)
    return tf.reshape(tf.cast(weights, tf.float32), [-1])


@keras.saving.register_keras_serializable("bert_data")
class WeightedAccuracy(keras.metrics.SparseCategoricalAccuracy):
    """A mean over all predictions, each with its weight, however many a batch has.

    Keras's own metric first averages a row's weights, so predictions in a batch with few of them
    per row would count more than others.
    """

    def update_state(
        self, y_true: tf.Tensor, y_pred: tf.Tensor, sample_weight: tf.Tensor | None = None
    ) -> None:
        """Add a batch: integers, float[..., answers], and as many weights as integers."""
        if sample_weight is not None:
            sample_weight = tf.reshape(sample_weight, [-1])
        scores = tf.reshape(y_pred, [-1, y_pred.shape[-1]])
        super().update_state(tf.reshape(y_true, [-1]), scores, sample_weight)
