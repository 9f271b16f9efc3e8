"""Training steps as one graph: forward, backward, update, and the next step.

    run(iterator, 100)  ->  float32[100, 5]: of each step both losses, examples, tokens, and whether
                            to stop after it

Python and TensorFlow synchronize once per call, not once per step.
"""

from collections.abc import Callable, Iterator

import tensorflow as tf

from bert_data.schema import fields
from bert_data.training.losses import pretraining_losses
from bert_data.training.model import MASKED_LM, Features, PretrainingModel, step_seed
from bert_data.training.optimizer import AdamWeightDecay

COLUMNS = ("masked_lm_loss", "segment_loss", "num_examples", "num_tokens", "num_stops")


def training_steps(
    strategy: tf.distribute.Strategy,
    model: PretrainingModel,
    optimizer: AdamWeightDecay,
    *,
    stop_flag: tf.Variable,
    jit_compile: bool,
) -> Callable[[Iterator, tf.Tensor], tf.Tensor]:
    """Make the function that runs many steps in one call.

    Args:
      strategy: devices; model and optimizer were made in its scope.
      model: to train.
      optimizer: built on the model's variables.
      stop_flag: float32 scalar of this host, not 0 to stop after a step.
      jit_compile: whether XLA compiles a step, once for each shape of batch.

    Returns:
      A function of (iterator, int32 number of steps >= 1) -> float32[steps, 5], see COLUMNS. It
        does
      fewer steps if one of the hosts is to stop: all stop after the same step.
    """

    def step(batch: Features, stop: tf.Tensor) -> tf.Tensor:
        seed = step_seed(model.random_seed, optimizer.iterations.value)
        with tf.GradientTape() as tape:
            logits = model(batch, training=True, seed=seed)
            losses = pretraining_losses(
                logits[MASKED_LM],
                batch[fields.MASKED_LM_IDS.name],
                batch[fields.MASKED_LM_WEIGHTS.name],
                *segment_answers(model, logits, batch),
            )
            scaled = optimizer.scale_loss(losses.total)
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(scaled, [weight.value for weight in weights]), weights)
        num_tokens = tf.cast(tf.reduce_sum(batch[fields.INPUT_MASK.name]), tf.float32)
        counts = (num_examples(batch), num_tokens, stop)
        return tf.stack([losses.masked_lm, losses.segments, *counts])

    compiled = tf.function(step, jit_compile=True) if jit_compile else step

    @tf.function(reduce_retracing=True)
    def run(iterator: Iterator, num_steps: tf.Tensor) -> tf.Tensor:
        rows = tf.TensorArray(tf.float32, num_steps, element_shape=[len(COLUMNS)])
        num_done, num_stops = tf.constant(0), tf.constant(0.0)
        while num_done < num_steps and num_stops == 0:
            shares = strategy.run(compiled, args=(next(iterator), stop_flag.read_value()))
            row = strategy.reduce(tf.distribute.ReduceOp.SUM, shares, axis=None)
            rows = rows.write(num_done, row)
            num_done, num_stops = num_done + 1, row[-1]
        return rows.stack()[:num_done]

    return run


def segment_answers(
    model: PretrainingModel, logits: Features, batch: Features
) -> tuple[tf.Tensor | None, ...]:
    """Logits, labels and weights of the two segments; nothing if the model does not judge them.

    Raises:
      ValueError: the batch has no labels of them, though the model needs them.
    """
    task = model.sentence_task
    if task is None:
        return ()
    if fields.NEXT_SENTENCE_LABELS.name not in batch:
        raise ValueError(
            f"the batches have no {fields.NEXT_SENTENCE_LABELS.name}, which the model needs for"
            f" {task};"
            ' one made with next_sentence="none" does without'
        )
    labels = batch[fields.NEXT_SENTENCE_LABELS.name]
    return logits[task], labels, batch.get(fields.NEXT_SENTENCE_WEIGHTS.name)


def num_examples(batch: Features) -> tf.Tensor:
    """float32 scalar, instances of a batch: [CLS] of rows that hold one, or the rows' numbers."""
    if fields.INSTANCE_IDS.name in batch:
        counts = tf.reduce_max(batch[fields.INSTANCE_IDS.name], axis=1)
    else:
        counts = batch[fields.INPUT_MASK.name][:, 0]
    return tf.cast(tf.reduce_sum(counts), tf.float32)
