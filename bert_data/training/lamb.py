"""LAMB, which trains BERT with batches of up to 64k examples (You et al., 2020, arXiv 1904.00962).

moments    m, v as Adam, with bias correction:  r = m' / (sqrt(v') + epsilon)
update     u = r + decay * w of each variable;  w -= lr * |w| / |u| * u

The paper's algorithm 2 with phi(z) = z, as NVIDIA's implementation has it: gradients are clipped by
their global norm first, biases and LayerNorm do not decay, and a variable whose norm or whose
update's is 0 has the ratio 1.
"""

from typing import Any

import keras
import tensorflow as tf

from bert_data.training.optimizer import AdamWeightDecay, raw_variable

NUM_UPDATES = "global_step/num_updates"
"""Name in checkpoints of the number of updates that the moments have seen."""


@keras.saving.register_keras_serializable("bert_data")
class Lamb(AdamWeightDecay):
    """Adam's update of each variable, rescaled to the variable's own norm; arguments as for Adam.

    Attributes:
      num_updates: float32 scalar, number of updates that the moments have seen, which is less than
        `iterations` after overflows of float16 or where the moments came without their steps.
    """

    def __init__(self, *args: Any, name: str = "lamb", **kwargs: Any) -> None:
        super().__init__(*args, name=name, **kwargs)

    def build(self, variables: list[keras.Variable]) -> None:
        """Create the slots and the counter."""
        if self.built:
            return
        super().build(variables)
        self.num_updates = self.add_variable(
            (), "zeros", "float32", "only_first_replica", name="num_updates"
        )

    def named_slots(self, weights: dict[str, keras.Variable]) -> dict[str, keras.Variable]:
        """Return the optimizer's variables by their names in checkpoints."""
        return {**super().named_slots(weights), NUM_UPDATES: self.num_updates}

    def _update(
        self, variable: Any, gradient: tf.Tensor, rate: tf.Tensor, *betas: tf.Tensor
    ) -> None:
        index, weight = self._get_variable_index(variable), raw_variable(variable)
        old = weight.read_value()
        mean = self._next_moment(self.momentums[index], gradient, self._betas[0], betas[0])
        square = gradient * gradient
        variance = self._next_moment(self.velocities[index], square, self._betas[1], betas[1])
        change = mean / (tf.sqrt(variance) + self._epsilon)
        if self._decay and self._decays[index]:
            change += self._decay * old
        size, change_size = tf.norm(old), tf.norm(change)
        ratio = tf.where((size > 0) & (change_size > 0), size / change_size, 1.0)
        tf.raw_ops.AssignSubVariableOp(resource=weight.handle, value=rate * ratio * change)

    def _next_moment(
        self, slot: keras.Variable, value: tf.Tensor, beta: float, beta_now: tf.Tensor
    ) -> tf.Tensor:
        """Take a value into a moment; return the moment with its bias corrected.

        `beta_now` is 1 instead of `beta` in an update that overflowed.
        """
        moment = beta_now * slot.value.read_value() + (1.0 - beta_now) * value
        tf.raw_ops.AssignVariableOp(resource=slot.value.handle, value=moment)
        return moment / (1.0 - tf.pow(beta, self.num_updates.value + 1.0))

    def _note_update(self, norm: tf.Tensor, is_update: tf.Tensor) -> None:
        super()._note_update(norm, is_update)
        counts = is_update & (tf.math.is_finite(norm) if self._loss_scaling else True)
        self.num_updates.assign_add(tf.cast(counts, tf.float32))
