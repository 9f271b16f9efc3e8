"""The model that is pretrained: encoder, masked-LM head and a head for the two segments.

    {"input_ids": ..., "input_mask": ..., "segment_ids": ..., "masked_lm_positions": ...}
        -> {"masked_lm": logits [batch, predictions, V], "next_sentence": logits [batch, 2]}

Rows that hold several instances have "instance_ids", "position_ids" and "next_sentence_positions"
as well; then "next_sentence" is [batch, instances, 2]. With the objective "sop" the second output
is "sentence_order", with "none" there is no second one.

It trains in `loop` and with Keras' own loop, with the same losses:

    model = pretraining_model(BertConfig(vocab_size=4000, ...))
    model.compile(AdamWeightDecay(WarmupLinearDecay(1e-4, num_train_steps=1000)))
    data = read_batches(ReaderConfig(..., form="fit", shuffle=True, num_epochs=None))
    model.fit(data, steps_per_epoch=1000)
"""

from typing import Any

import keras
import tensorflow as tf
from absl import logging

from bert_data.checks import check_choice
from bert_data.records import fields
from bert_data.records.choices import DEFAULT
from bert_data.records.objectives import find_objective
from bert_data.training.bert_config import BertConfig
from bert_data.training.encoder import (
    ACTIVATION_FUNCTIONS,
    Dense,
    Encoder,
    Group,
    Layer,
    LayerNorm,
    WeightSeeds,
    gather_positions,
)
from bert_data.training.keras_model import PACKAGE, FeatureTensors, KerasModel, integers
from bert_data.training.losses import WeightedAccuracy, pretraining_losses

MASKED_LM = "masked_lm"
POLICIES = {"none": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


class MaskedLM(Layer):
    """Scores of every word at the masked positions: products with the table of word embeddings."""

    def __init__(self, config: BertConfig, seeds: WeightSeeds, **kwargs: Any) -> None:
        super().__init__(name="predictions", **kwargs)
        self._width, self._vocab_size = config.hidden_size, config.vocab_size
        self._activation = ACTIVATION_FUNCTIONS[config.hidden_act]
        policy = self.dtype_policy
        parts = {
            "dense": Dense(self._width, self._width, seeds, name="dense", dtype=policy),
            "LayerNorm": LayerNorm(config, dtype=policy),
        }
        self.transform = Group("transform", parts)

    def build(self, _: object = None) -> None:
        """Create the weights."""
        super().build()
        self.output_bias = self.add_weight("output_bias", (self._vocab_size,), "zeros")

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
        shape = (2, self._width)
        self.output_weights = self.add_weight("output_weights", shape, self._initializer)
        self.output_bias = self.add_weight("output_bias", (2,), "zeros")

    def call(self, pooled: tf.Tensor) -> tf.Tensor:
        """[..., hidden_size] -> float32[..., 2]."""
        flat = tf.reshape(pooled, [-1, self._width])
        logits = tf.matmul(flat, tf.cast(self.output_weights.value, flat.dtype), transpose_b=True)
        logits = tf.cast(logits, tf.float32) + self.output_bias.value
        return tf.reshape(logits, tf.concat([tf.shape(pooled)[:-1], [2]], 0))


@keras.saving.register_keras_serializable(PACKAGE)
class PretrainingModel(KerasModel):
    """BERT with both heads. Make it with `pretraining_model`.

    Attributes:
      objective: what the records ask about the segments. The weights of its head are there in any
        case, so that checkpoints have all variables of released ones, but where nothing is asked
        they are not trained.
    """

    input_names = (
        fields.INPUT_IDS.name,
        fields.INPUT_MASK.name,
        fields.SEGMENT_IDS.name,
        fields.MASKED_LM_POSITIONS.name,
    )

    def __init__(
        self, config: BertConfig, random_seed: int, next_sentence: str = DEFAULT, **kwargs: Any
    ) -> None:
        super().__init__(config, random_seed, name="pretraining", **kwargs)
        self.objective = find_objective(next_sentence)
        policy = self.dtype_policy
        seeds = WeightSeeds(config.initializer_range, random_seed + 1)
        self.encoder = Encoder(config, random_seed, dtype=policy)
        heads = {
            "predictions": MaskedLM(config, seeds, dtype=policy),
            "seq_relationship": NextSentence(config, seeds, dtype=policy),
        }
        self.heads = Group("cls", heads)

    def build(self, _: object = None) -> None:
        """Create the weights."""
        super().build()
        if self.objective.task is None:
            self.encoder.pooler.trainable = False
            self.heads.parts["seq_relationship"].trainable = False

    def call(
        self, features: FeatureTensors, training: bool = False, seed: tf.Tensor | None = None
    ) -> FeatureTensors:
        """Score the words at the masked positions and the two answers about the segments.

        Args:
          features: integers input_ids, input_mask, segment_ids [batch, width] and
            masked_lm_positions [batch, predictions], places in the row; for rows of several
            instances, instance_ids and position_ids [batch, width] and next_sentence_positions
            [batch, instances], too. Others are ignored.
          training: whether to drop out.
          seed: int32[2] for dropout; by default that of the compiled optimizer's step.
        """
        seed = self.dropout_seed(training, seed)
        ids, mask, segments, positions = self.inputs_of(features)
        instances = self._instances_of_rows(features)
        hidden, pooled = self.encoder(ids, mask, segments, seed=seed, **instances)
        table = self.encoder.embeddings.word_embeddings.value
        scores = {MASKED_LM: self.heads.parts["predictions"](hidden, positions, table)}
        if self.objective.task is not None:
            scores[self.objective.task] = self.heads.parts["seq_relationship"](pooled)
        return scores

    def compile(self, optimizer: keras.optimizers.Optimizer, **kwargs: Any) -> None:
        """Prepare `fit` and `evaluate` with the model's own losses and the tasks' accuracies.

        Raises:
          ValueError: `loss` or `loss_weights` is given.
        """
        for name in ("loss", "loss_weights"):
            if kwargs.get(name) is not None:
                raise ValueError(
                    f"{name} is given, but the pretraining model has its own losses"
                    f" ({' + '.join(self.tasks)}): leave it out"
                )
        # Keras puts the name of the output before it where there are several.
        name = "accuracy" if len(self.tasks) > 1 else f"{MASKED_LM}_accuracy"
        kwargs.setdefault(
            "weighted_metrics", {task: [WeightedAccuracy(name=name)] for task in self.tasks}
        )
        super().compile(optimizer, **kwargs)

    def compute_loss(
        self,
        x: FeatureTensors | None = None,
        y: FeatureTensors | None = None,
        y_pred: FeatureTensors | None = None,
        sample_weight: FeatureTensors | None = None,
        training: bool = True,
    ) -> tf.Tensor:
        """Return this replica's share of the loss, for Keras's loop, of what the reader gives."""
        del x, training
        self.check_batches((None, y, sample_weight))
        assert y is not None and y_pred is not None and sample_weight is not None
        task = self.objective.task
        return pretraining_losses(
            y_pred[MASKED_LM],
            y[MASKED_LM],
            sample_weight[MASKED_LM],
            *(part[task] for part in (y_pred, y, sample_weight) if task is not None),
        ).total

    def check_batches(self, spec: Any) -> None:
        """Raise ValueError for batches without labels of each task and their weights."""
        is_triple = isinstance(spec, tuple) and len(spec) == 3
        if not is_triple or not all(isinstance(part, dict) for part in spec[1:]):
            raise ValueError(
                'fit and evaluate need (features, labels, weights): read with form="fit"'
            )
        labels = spec[1]
        if set(labels) != set(self.tasks):
            raise ValueError(
                f"the batches have labels for {' and '.join(labels)}, but the model predicts"
                f" {' and '.join(self.tasks)}; pretraining_model(next_sentence=...) decides"
            )

    def arguments(self) -> dict[str, Any]:
        """Return `next_sentence`."""
        return {"next_sentence": self.objective.name}

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return (MASKED_LM,) if self.objective.task is None else (MASKED_LM, self.objective.task)

    def _instances_of_rows(self, features: FeatureTensors) -> dict[str, tf.Tensor]:
        """Return the encoder's arguments about instances; none where a row is one."""
        arguments = {
            "instance_ids": fields.INSTANCE_IDS.name,
            "position_ids": fields.POSITION_IDS.name,
        }
        if self.objective.task is not None:
            arguments["first_positions"] = fields.NEXT_SENTENCE_POSITIONS.name
        missing = [name for name in arguments.values() if name not in features]
        if len(missing) == len(arguments):
            return {}
        if missing:
            raise ValueError(f"rows of several instances need {', '.join(missing)}, too")
        return {argument: integers(features, name) for argument, name in arguments.items()}


def pretraining_model(
    config: BertConfig,
    *,
    random_seed: int = 12345,
    mixed_precision: str = "none",
    next_sentence: str = DEFAULT,
) -> PretrainingModel:
    """Make the model with new weights, which depend on nothing but the configuration and seed.

    Args:
      config: sizes and settings.
      random_seed: of the weights and of dropout.
      mixed_precision: "none", "bfloat16" or "float16": what products are computed in; weights,
        LayerNorm, softmax and losses stay float32.
      next_sentence: what the records ask about the two segments, "nsp", "sop" or "none".

    Raises:
      ValueError: `mixed_precision` or `next_sentence` is another word.
    """
    check_choice("mixed_precision", mixed_precision, POLICIES)
    policy = POLICIES[mixed_precision]
    everywhere = keras.config.dtype_policy().name
    if everywhere not in ("float32", policy):
        logging.warning(
            "Keras's global policy is %s, but mixed_precision is %s: the model computes in %s",
            *(everywhere, mixed_precision, policy),
        )
    if find_objective(next_sentence).num_segments > config.type_vocab_size:
        logging.warning(
            "type_vocab_size is %d, but next_sentence is %s, of two segments: the second has no"
            " embedding, and only [SEP] tells them apart",
            *(config.type_vocab_size, next_sentence),
        )
    model = PretrainingModel(config, random_seed, next_sentence, dtype=policy)
    model.build()
    return model
