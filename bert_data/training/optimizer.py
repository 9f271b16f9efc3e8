"""Adam as BERT was trained with it, and its learning rate.

schedule   0 -> learning_rate in num_warmup_steps, then on the line that ends at 0 in the last step
update     m, v as Adam, no bias correction;  w -= lr * (m / (sqrt(v) + epsilon) + decay * w)
LAMB       r = m' / (sqrt(v') + epsilon), with bias correction;  u = r + decay * w;
           w -= lr * |w| / |u| * u of each variable

Gradients are summed over the replicas, then clipped by their global norm. Biases and LayerNorm do
not decay. With `loss_scaling` (float16), a step whose gradients are not finite changes no weight
and halves the scale. With `gradient_accumulation_steps`, an update takes several batches:

batch             1     2     3     4     5     6         gradient_accumulation_steps = 3
update by the     sum of 1, 2, 3 / 3      sum of 4, ...
iterations        0     0     1     1     1     2         and the schedule's step
"""

import re
from typing import Any

import keras
import tensorflow as tf

from bert_data.checks import check_integer

LOSS_SCALE, NUM_GOOD_STEPS = "global_step/loss_scale", "global_step/num_good_steps"
NUM_UPDATES = "global_step/num_updates"
"""Names in checkpoints of the state of scaling the loss, and of the updates of LAMB's moments."""

_NO_DECAY = re.compile("LayerNorm|layer_norm|bias")
GROWTH_STEPS = 2000
_FIRST_SCALE = 2.0**15
_MAX_SCALE = 2.0**24


@keras.saving.register_keras_serializable("bert_data")
class WarmupLinearDecay(keras.optimizers.schedules.LearningRateSchedule):
    """The learning rate of a step, counted from 0."""

    def __init__(
        self, learning_rate: float, num_train_steps: int, num_warmup_steps: int = 0
    ) -> None:
        self.learning_rate = learning_rate
        self.num_train_steps, self.num_warmup_steps = num_train_steps, num_warmup_steps

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """Number of a step, of any type -> its learning rate, float32."""
        now = tf.cast(step, tf.float32)
        last = tf.constant(float(self.num_train_steps))
        rate = self.learning_rate * (1.0 - tf.minimum(now, last) / last)
        if not self.num_warmup_steps:
            return rate
        warm = self.learning_rate * (now / float(self.num_warmup_steps))
        return tf.where(now < float(self.num_warmup_steps), warm, rate)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            "learning_rate": self.learning_rate,
            "num_train_steps": self.num_train_steps,
            "num_warmup_steps": self.num_warmup_steps,
        }


@keras.saving.register_keras_serializable("bert_data")
class AdamWeightDecay(keras.optimizers.Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2017, arXiv 1711.05101).

    Args:
      learning_rate: a number or a schedule.
      weight_decay: share of a weight that decays in a step, times the learning rate.
      beta_1: decay of the mean of gradients.
      beta_2: decay of the mean of squared gradients.
      epsilon: added to the root of the latter.
      clip_norm: largest allowed norm of all gradients together; 0: any is allowed.
      loss_scaling: whether to scale losses so that float16 gradients do not vanish.
      gradient_accumulation_steps: number of batches whose mean gradient makes one update, >= 2;
        None: each batch makes one. Unlike in Keras's optimizers, `iterations` and the schedule
        count updates, so that both mean the same with and without it.

    Attributes:
      gradient_norm: float32 scalar, the norm of the last update's gradients before clipping.
    """

    def __init__(
        self,
        learning_rate: float | keras.optimizers.schedules.LearningRateSchedule,
        *,
        weight_decay: float = 0.01,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-6,
        clip_norm: float = 1.0,
        loss_scaling: bool = False,
        gradient_accumulation_steps: int | None = None,
        name: str = "adam_weight_decay",
    ) -> None:
        if gradient_accumulation_steps is not None:
            gradient_accumulation_steps = check_integer(
                "gradient_accumulation_steps", gradient_accumulation_steps, 2
            )
        super().__init__(
            learning_rate=learning_rate,
            gradient_accumulation_steps=gradient_accumulation_steps,
            name=name,
        )
        self._decay, self._epsilon, self._clip_norm = weight_decay, epsilon, clip_norm
        self._betas = (beta_1, beta_2)
        self.loss_scaling = loss_scaling

    @property
    def iterations(self) -> keras.Variable:
        """Number of updates; Keras's own is a tensor where gradients are accumulated."""
        return self._iterations

    @property
    def num_batches(self) -> tf.Tensor:
        """int64 scalar, number of batches whose gradients `apply` has taken."""
        if not self.gradient_accumulation_steps or not self.built:
            return self.iterations.value
        return self.iterations.value * self.gradient_accumulation_steps + self.num_pending.value

    def build(self, variables: list[keras.Variable]) -> None:
        """Create the slots, zero, one pair per variable, and what is accumulated."""
        if self.built:
            return
        super().build(variables)
        self.momentums, self.velocities = self.add_optimizer_variables(
            variables, ["adam_m", "adam_v"]
        )
        self._decays = [_NO_DECAY.search(variable.path) is None for variable in variables]
        self.gradient_norm = self._add_scalar("gradient_norm")
        if self.gradient_accumulation_steps:
            self.num_pending = self._add_scalar("num_pending", dtype="int64")
        if self.loss_scaling:
            first_scale = keras.initializers.Constant(_FIRST_SCALE)
            self.loss_scale = self._add_scalar("loss_scale", first_scale)
            self.num_good_steps = self._add_scalar("num_good_steps")

    def _add_scalar(
        self, name: str, initial: Any = "zeros", dtype: str = "float32"
    ) -> keras.Variable:
        return self.add_variable((), initial, dtype, "only_first_replica", name=name)

    def named_slots(self, weights: dict[str, keras.Variable]) -> dict[str, keras.Variable]:
        """Return its variables by the names of `weights`, as they are in Google's checkpoints."""
        slots = {}
        for name, variable in weights.items():
            index = self._get_variable_index(variable)
            slots[f"{name}/adam_m"] = self.momentums[index]
            slots[f"{name}/adam_v"] = self.velocities[index]
        if self.loss_scaling:
            slots[LOSS_SCALE] = self.loss_scale
            slots[NUM_GOOD_STEPS] = self.num_good_steps
        return slots

    def scale_loss(self, loss: tf.Tensor) -> tf.Tensor:
        """Multiply a loss before its gradients are taken, where float16 needs that."""
        if not self.loss_scaling:
            return loss
        return loss * (self.loss_scale.value if self.built else _FIRST_SCALE)

    def _backend_apply_gradients(self, grads: list[Any], trainable_variables: list[Any]) -> None:
        """Update this replica's copy of each variable; called by `apply`, in each replica.

        All replicas hold the same sum of gradients, so their copies stay equal.
        """
        # Embeddings have IndexedSlices. They become dense before the norm, because a word that
        # comes twice in a batch has two slices.
        dense = [tf.convert_to_tensor(gradient) for gradient in grads]
        context = tf.distribute.get_replica_context()
        if context.num_replicas_in_sync > 1:
            dense = context.all_reduce(tf.distribute.ReduceOp.SUM, dense)
        if not self.gradient_accumulation_steps:
            norm, is_update = self._update_all(dense, trainable_variables), tf.constant(True)
        else:
            num_pending = self.num_pending.value + 1
            is_update = num_pending == self.gradient_accumulation_steps
            norm = tf.cond(
                is_update,
                lambda: self._update_by_sums(dense, trainable_variables),
                lambda: self._accumulate(dense, trainable_variables),
            )
        # What follows is of all replicas, so it cannot be within the condition. In Keras's loop the
        # step that finds no more data must not count: counting waits for the gradients.
        with tf.control_dependencies(dense):
            self._note_update(norm, is_update)
            if self.gradient_accumulation_steps:
                self.num_pending.assign(num_pending % self.gradient_accumulation_steps)
            # `apply` adds 1 after each batch.
            self.iterations.assign_sub(tf.cast(~is_update, self.iterations.dtype))

    def _sums(self, variables: list[Any]) -> list[tf.Variable]:
        indices = map(self._get_variable_index, variables)
        return [self._accumulated_gradients[index].value for index in indices]

    def _accumulate(self, dense: list[tf.Tensor], variables: list[Any]) -> tf.Tensor:
        """Add the gradients of a batch; return 0 in place of their norm."""
        for total, gradient in zip(self._sums(variables), dense, strict=True):
            tf.raw_ops.AssignAddVariableOp(resource=total.handle, value=gradient)
        return tf.constant(0.0)

    def _update_by_sums(self, dense: list[tf.Tensor], variables: list[Any]) -> tf.Tensor:
        """Update by the mean of the accumulated gradients and these, and start again at zero."""
        share = 1.0 / self.gradient_accumulation_steps
        sums = self._sums(variables)
        pairs = zip(sums, dense, strict=True)
        norm = self._update_all([(s.read_value() + g) * share for s, g in pairs], variables)
        for total in sums:
            tf.raw_ops.AssignVariableOp(
                resource=total.handle, value=tf.zeros(total.shape, total.dtype)
            )
        return norm

    def _update_all(self, dense: list[tf.Tensor], variables: list[Any]) -> tf.Tensor:
        """Update all variables; return the norm of their gradients before clipping."""
        scale = self.loss_scale.value if self.loss_scaling else tf.constant(1.0)
        norm = tf.linalg.global_norm(dense) / scale
        excess = tf.maximum(norm / self._clip_norm, 1.0) if self._clip_norm else 1.0
        factor = 1.0 / (scale * excess)
        rate = tf.cast(self.learning_rate, tf.float32)
        beta_1, beta_2 = (tf.constant(beta, tf.float32) for beta in self._betas)
        if self.loss_scaling:
            # With these values the update leaves weights and slots unchanged.
            good = tf.math.is_finite(norm)
            dense = [tf.where(good, gradient, 0.0) for gradient in dense]
            factor, rate = tf.where(good, factor, 0.0), tf.where(good, rate, 0.0)
            beta_1, beta_2 = tf.where(good, beta_1, 1.0), tf.where(good, beta_2, 1.0)
        for gradient, variable in zip(dense, variables, strict=True):
            self._update(variable, gradient * factor, rate, beta_1, beta_2)
        return norm

    def _update(
        self, variable: Any, gradient: tf.Tensor, rate: tf.Tensor, *betas: tf.Tensor
    ) -> None:
        index, weight = self._get_variable_index(variable), raw_variable(variable)
        if self._decay and self._decays[index]:
            tf.raw_ops.AssignSubVariableOp(
                resource=weight.handle, value=weight.read_value() * (rate * self._decay)
            )
        # Powers of 0 stand for "no bias correction". One operation instead of ten, each of which
        # would go through the whole variable.
        tf.raw_ops.ResourceApplyAdam(
            var=weight.handle,
            m=self.momentums[index].value.handle,
            v=self.velocities[index].value.handle,
            beta1_power=0.0,
            beta2_power=0.0,
            lr=rate,
            beta1=betas[0],
            beta2=betas[1],
            epsilon=self._epsilon,
            grad=gradient,
        )

    def _note_update(self, norm: tf.Tensor, is_update: tf.Tensor) -> None:
        """Keep the norm; halve the loss scale after an overflow, double it after many updates."""
        self.gradient_norm.assign(tf.where(is_update, norm, self.gradient_norm.value))
        if not self.loss_scaling:
            return
        good = tf.math.is_finite(norm)
        count = tf.where(good, self.num_good_steps.value + 1.0, 0.0)
        grow = count >= GROWTH_STEPS
        change = tf.where(good, tf.where(grow, 2.0, 1.0), 0.5)
        scale = tf.clip_by_value(self.loss_scale.value * change, 1.0, _MAX_SCALE)
        count = tf.where(grow, 0.0, count)
        self.loss_scale.assign(tf.where(is_update, scale, self.loss_scale.value))
        self.num_good_steps.assign(tf.where(is_update, count, self.num_good_steps.value))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        base = super().get_config()
        return {
            "learning_rate": base["learning_rate"],
            "name": base["name"],
            "weight_decay": self._decay,
            "beta_1": self._betas[0],
            "beta_2": self._betas[1],
            "epsilon": self._epsilon,
            "clip_norm": self._clip_norm,
            "loss_scaling": self.loss_scaling,
            "gradient_accumulation_steps": self.gradient_accumulation_steps,
        }


def raw_variable(variable: Any) -> tf.Variable:
    """Return TensorFlow's variable of a Keras one; in a replica, its handle is the replica's."""
    value = getattr(variable, "value", variable)
    return value if hasattr(value, "handle") else variable


@keras.saving.register_keras_serializable("bert_data")
class Lamb(AdamWeightDecay):
    """Adam's update of each variable, rescaled to the variable's own norm; arguments as for Adam.

    For batches of up to 64k examples: algorithm 2 of You et al., 2020, arXiv 1904.00962, with
    phi(z) = z, as NVIDIA's implementation has it. Gradients are clipped by their global norm first,
    biases and LayerNorm do not decay, and a variable whose norm or whose update's is 0 has the
    ratio 1.

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
        self.num_updates = self._add_scalar("num_updates")

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
        counts = is_update & (tf.math.is_finite(norm) if self.loss_scaling else True)
        self.num_updates.assign_add(tf.cast(counts, tf.float32))
