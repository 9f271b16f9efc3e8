"""Training steps as one graph: forward, backward, update, and the next step.

    run(iterator, 100)  ->  float32[100, 5]: of each step both losses, examples, tokens, and whether
                            to stop after it

Python and TensorFlow synchronize once per call, not once per step.
"""

import functools
from collections.abc import Callable

import tensorflow as tf

from bert_data.schema import fields
from bert_data.training.batches import LOSS_DIVISORS
from bert_data.training.keras_model import step_seed
from bert_data.training.losses import pretraining_losses
from bert_data.training.model import MASKED_LM, Features, PretrainingModel
from bert_data.training.optimizer import AdamWeightDecay

COLUMNS = ("masked_lm_loss", "segment_loss", "num_examples", "num_tokens", "num_stops")


def training_steps(
    strategy: tf.distribute.Strategy,
    model: PretrainingModel,
    optimizer: AdamWeightDecay,
    *,
    stop_flag: tf.Variable,
    jit_compile: bool,
) -> Callable[[tf.data.Iterator, tf.Tensor], tf.Tensor]:
    """Make the function that runs many steps in one call.

    Args:
      strategy: devices; model and optimizer were made in its scope.
      optimizer: built on the model's variables; if it accumulates gradients, a step takes several
        batches, which have `LOSS_DIVISORS`.
      stop_flag: float32 scalar of this host, not 0 to stop after a step.
      jit_compile: whether XLA compiles a step, once for each shape of batch.

    Returns:
      A function of (iterator, int32 number of steps >= 1) -> float32[steps, 5], see COLUMNS. It
      does fewer steps if one of the hosts is to stop: all stop after the same step.
    """
    batches_per_step = optimizer.gradient_accumulation_steps or 1
    take = functools.partial(_take_batch, model, optimizer)
    compiled = tf.function(take, jit_compile=True, autograph=False) if jit_compile else take

    def take_next(iterator: tf.data.Iterator) -> tf.Tensor:
        shares = strategy.run(compiled, args=(iterator.get_next(), stop_flag.read_value()))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, shares, axis=None)

    def step(iterator: tf.data.Iterator) -> tf.Tensor:
        if batches_per_step == 1:
            return take_next(iterator)
        return tf.while_loop(
            lambda number, _: number < batches_per_step,
            lambda number, row: (number + 1, row + take_next(iterator)),
            (tf.constant(0), tf.zeros([len(COLUMNS)])),
        )[1]

    # Autograph would write a file for each function that it converts.
    @tf.function(reduce_retracing=True, autograph=False)
    def run(iterator: tf.data.Iterator, num_steps: tf.Tensor) -> tf.Tensor:
        def next_step(
            num_done: tf.Tensor, _: tf.Tensor, rows: tf.TensorArray
        ) -> tuple[tf.Tensor, tf.Tensor, tf.TensorArray]:
            row = step(iterator)
            return num_done + 1, row[-1], rows.write(num_done, row)

        num_done, _, rows = tf.while_loop(
            lambda num_done, num_stops, _: (num_done < num_steps) & (num_stops == 0),
            next_step,
            (
                tf.constant(0),
                tf.constant(0.0),
                tf.TensorArray(tf.float32, num_steps, element_shape=[len(COLUMNS)]),
            ),
        )
        return rows.stack()[:num_done]

    return run


def _take_batch(
    model: PretrainingModel, optimizer: AdamWeightDecay, batch: Features, stop: tf.Tensor
) -> tf.Tensor:
    """Update by a batch, or accumulate its gradients; return its row of COLUMNS."""
    seed = step_seed(model.random_seed, optimizer.num_batches)
    with tf.GradientTape() as tape:
        logits = model(batch, training=True, seed=seed)
        losses = pretraining_losses(
            logits[MASKED_LM],
            batch[fields.MASKED_LM_IDS.name],
            batch[fields.MASKED_LM_WEIGHTS.name],
            *segment_answers(model, logits, batch),
            divisors=batch.get(LOSS_DIVISORS),
        )
        # The optimizer takes the mean of the gradients, and these losses are shares of a sum.
        scaled = optimizer.scale_loss(losses.total * (optimizer.gradient_accumulation_steps or 1))
    weights = model.trainable_variables
    optimizer.apply(tape.gradient(scaled, [weight.value for weight in weights]), weights)
    num_tokens = tf.cast(tf.reduce_sum(batch[fields.INPUT_MASK.name]), tf.float32)
    return tf.stack([losses.masked_lm, losses.segments, num_examples(batch), num_tokens, stop])


def segment_answers(
    model: PretrainingModel, logits: Features, batch: Features
) -> tuple[tf.Tensor | None, ...]:
    """Logits, labels and weights of the two segments; nothing if the model does not judge them.

    Raises:
      ValueError: the batch has no labels of them, though the model needs them.
    """
    task = model.objective.task
    if task is None:
        return ()
    if fields.NEXT_SENTENCE_LABELS.name not in batch:
        raise ValueError(
            f"the batches have no {fields.NEXT_SENTENCE_LABELS.name}, which the model needs for"
            f' {task}; one made with next_sentence="none" does without'
        )
    labels = batch[fields.NEXT_SENTENCE_LABELS.name]
    return logits[task], labels, batch.get(fields.NEXT_SENTENCE_WEIGHTS.name)


def num_examples(batch: Features) -> tf.Tensor:
    """Return the instances of a batch, float32: [CLS] of rows of one, or the rows' numbers."""
    if fields.INSTANCE_IDS.name in batch:
        counts = tf.reduce_max(batch[fields.INSTANCE_IDS.name], axis=1)
    else:
        counts = batch[fields.INPUT_MASK.name][:, 0]
    return tf.cast(tf.reduce_sum(counts), tf.float32)
