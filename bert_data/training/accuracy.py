"""The share of correct answers, for Keras's own loop.

labels [[3 7 0] [5 0 0]]   guesses [[3 1 9] [5 2 0]]   weights [[1 1 0] [1 0 0]]   ->  2 of 3
"""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable("bert_data")
class WeightedAccuracy(keras.metrics.SparseCategoricalAccuracy):
    """A mean over all predictions, each with its weight, however many a batch has.

    Keras's own metric first averages a row's weights, so predictions in a batch with few of them
    per row would count more than others.
    """

    def update_state(
        self, y_true: tf.Tensor, y_pred: tf.Tensor, sample_weight: tf.Tensor | None = None
    ) -> None:
        """Add a batch.

        Args:
          y_true: integers of any shape, the correct answers.
          y_pred: float[..., answers], scores.
          sample_weight: as many numbers as answers; by default, 1 each.
        """
        if sample_weight is not None:
            sample_weight = tf.reshape(sample_weight, [-1])
        scores = tf.reshape(y_pred, [-1, y_pred.shape[-1]])
        super().update_state(tf.reshape(y_true, [-1]), scores, sample_weight)
