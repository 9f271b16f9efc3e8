"""The model that is pretrained: encoder, masked-LM head and a head for the two segments.

    {"input_ids": ..., "input_mask": ..., "segment_ids": ..., "masked_lm_positions": ...}
        -> {"masked_lm": logits [batch, predictions, V], "next_sentence": logits [batch, 2]}

Rows that hold several instances have "instance_ids", "position_ids" and "next_sentence_positions"
as well, see `bert_data.features`; then "next_sentence" is [batch, instances, 2]. With the objective
"sop" the second output is "sentence_order", with "none" there is no second one; see
`bert_data.objectives.next_sentence`.

It trains in `loop` and with Keras' own loop, with the same losses:

    model = pretraining_model(BertConfig(vocab_size=4000, ...))
    model.compile(AdamWeightDecay(WarmupLinearDecay(1e-4, num_train_steps=1000)))
    data = read_batches(ReaderConfig(..., form="fit", shuffle=True, num_epochs=None))
    model.fit(data, steps_per_epoch=1000)
"""

from typing import Any

import keras
import tensorflow as tf

from bert_data.objectives.next_sentence import NSP, TASKS, check_next_sentence
from bert_data.schema import fields
from bert_data.training.accuracy import WeightedAccuracy
from bert_data.training.config import BertConfig
from bert_data.training.encoder import Encoder
from bert_data.training.heads import MaskedLM, NextSentence
from bert_data.training.layers import Group, WeightSeeds
from bert_data.training.losses import pretraining_losses
from bert_data.training.optimizer import AdamWeightDecay

MASKED_LM = "masked_lm"
POLICIES = {"none": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}

Features = dict[str, tf.Tensor]


def step_seed(random_seed: int, step: tf.Tensor) -> tf.Tensor:
    """int32[2], the seed of a training step's dropout; each replica has its own."""
    seed = tf.stack([tf.constant(random_seed % 2**31, tf.int32), tf.cast(step, tf.int32)])
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return seed
    replica = tf.cast(context.replica_id_in_sync_group, tf.int32)
    return tf.random.experimental.stateless_fold_in(seed, replica)


def fit_seed(model: keras.Model, random_seed: int) -> tf.Tensor:
    """int32[2], the seed of dropout of a batch in Keras's own loop.

    It follows from the number of batches that the compiled optimizer has seen, so that each has its
    own where several make one update.

    Raises:
      ValueError: the model is not compiled.
    """
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        raise ValueError("training without compile() needs seed=step_seed(seed, step)")
    if isinstance(optimizer, AdamWeightDecay):
        return step_seed(random_seed, optimizer.num_batches)
    # Keras's `iterations` counts updates; its variable of this name counts batches.
    counts = (each for each in optimizer.variables if each.name == "iteration")
    return step_seed(random_seed, next(counts).value)


class PretrainingModel(keras.Model):
    """BERT with both heads. Make it with `pretraining_model`.

    Attributes:
      config: sizes and settings.
      random_seed: of the initial weights and of dropout.
      sentence_task: the output about the two segments; None: there is none. The weights that it
        needs are there in any case, so that checkpoints have all variables of released ones, but
        without it they are not trained.
    """

    def __init__(
        self, config: BertConfig, random_seed: int, next_sentence: str = NSP, **kwargs: Any
    ) -> None:
        super().__init__(name="pretraining", autocast=False, **kwargs)
        check_next_sentence(next_sentence)
        self.config, self.random_seed = config, random_seed
        self.sentence_task = TASKS.get(next_sentence)
        policy = self.dtype_policy
        seeds = WeightSeeds(config.initializer_range, random_seed + 1)
        self.encoder = Encoder(config, random_seed, dtype=policy)
        heads = {
            "predictions": MaskedLM(config, seeds, dtype=policy),
            "seq_relationship": NextSentence(config, seeds, dtype=policy),
        }
        self.heads = Group("cls", heads)

    def build(self, _: object = None) -> None:
        """Makes the weights."""
        self.encoder.build()
        self.heads.build(self.config.hidden_size)
        if self.sentence_task is None:
            self.encoder.pooler.trainable = False
            self.heads.parts["seq_relationship"].trainable = False

    def call(
        self, features: Features, training: bool = False, seed: tf.Tensor | None = None
    ) -> Features:
        """Scores the words at the masked positions and the two answers about the segments.

        Args:
          features: integers input_ids, input_mask, segment_ids [batch, width] and
            masked_lm_positions [batch, predictions], places in the row; for rows of several
            instances, instance_ids and position_ids [batch, width] and next_sentence_positions
            [batch, instances], too. Others are ignored.
          training: whether to drop out.
          seed: int32[2] for dropout; by default that of the compiled optimizer's step.
        """
        if training and seed is None:
            seed = fit_seed(self, self.random_seed)
        ids, mask, segments, positions = (
            _integers(features, name)
            for name in (
                fields.INPUT_IDS.name,
                fields.INPUT_MASK.name,
                fields.SEGMENT_IDS.name,
                fields.MASKED_LM_POSITIONS.name,
            )
        )
        hidden, pooled = self.encoder(
            ids,
            mask,
            segments,
            seed=seed if training else None,
            **self._instances_of_rows(features),
        )
        table = self.encoder.embeddings.word_embeddings.value
        scores = {MASKED_LM: self.heads.parts["predictions"](hidden, positions, table)}
        if self.sentence_task is not None:
            scores[self.sentence_task] = self.heads.parts["seq_relationship"](pooled)
        return scores

    def compile(self, optimizer: keras.optimizers.Optimizer, **kwargs: Any) -> None:
        """Prepares `fit` and `evaluate`; the losses are the model's own.

        By default the tasks' accuracies are shown, and XLA, which would compile each width of batch
        anew, is off.
        """
        kwargs.setdefault("jit_compile", False)
        # Keras would scale the loss of a float16 model a second time.
        kwargs.setdefault("auto_scale_loss", not getattr(optimizer, "loss_scaling", False))
        # Keras puts the name of the output before it where there are several.
        name = "accuracy" if len(self.tasks) > 1 else f"{MASKED_LM}_accuracy"
        kwargs.setdefault(
            "weighted_metrics",
            {task: [WeightedAccuracy(name=name)] for task in self.tasks},
        )
        super().compile(optimizer=optimizer, **kwargs)

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """Keras' own loop; it would warn that it does not shuffle what the reader has shuffled."""
        kwargs.setdefault("shuffle", False)
        return super().fit(*args, **kwargs)

    def compute_loss(
        self,
        x: Features | None = None,
        y: Features | None = None,
        y_pred: Features | None = None,
        sample_weight: Features | None = None,
        training: bool = True,
    ) -> tf.Tensor:
        """This replica's share of the loss, for Keras' loop; arguments as the reader gives them."""
        del x, training
        assert y is not None and y_pred is not None
        if sample_weight is None:
            raise ValueError('fit needs (features, labels, weights): read with form="fit"')
        if set(y) != set(self.tasks):
            raise ValueError(
                f"the batches have labels for {' and '.join(y)}, but the model predicts"
                f" {' and '.join(self.tasks)}; pretraining_model(next_sentence=...) decides"
            )
        task = self.sentence_task
        return pretraining_losses(
            y_pred[MASKED_LM],
            y[MASKED_LM],
            sample_weight[MASKED_LM],
            *(part[task] for part in (y_pred, y, sample_weight) if task is not None),
        ).total

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return (MASKED_LM,) if self.sentence_task is None else (MASKED_LM, self.sentence_task)

    def _instances_of_rows(self, features: Features) -> dict[str, tf.Tensor]:
        """The encoder's arguments about rows of several instances; none where a row is one."""
        arguments = {
            "instance_ids": fields.INSTANCE_IDS.name,
            "position_ids": fields.POSITION_IDS.name,
        }
        if self.sentence_task is not None:
            arguments["first_positions"] = fields.NEXT_SENTENCE_POSITIONS.name
        missing = [name for name in arguments.values() if name not in features]
        if len(missing) == len(arguments):
            return {}
        if missing:
            raise ValueError(f"rows of several instances need {', '.join(missing)}, too")
        return {argument: _integers(features, name) for argument, name in arguments.items()}


def _integers(features: Features, name: str) -> tf.Tensor:
    # Keras builds a model under several replicas with the means of a batch, which are floats.
    return tf.cast(features[name], tf.int32)


def pretraining_model(
    config: BertConfig,
    *,
    random_seed: int = 12345,
    mixed_precision: str = "none",
    next_sentence: str = NSP,
) -> PretrainingModel:
    """Makes the model with fresh weights, which depend on nothing but the configuration and seed.

    Args:
      config: sizes and settings.
      random_seed: of the weights and of dropout.
      mixed_precision: "none", "bfloat16" or "float16": what products are computed in; weights,
        LayerNorm, softmax and losses stay float32.
      next_sentence: what the records ask about the two segments, "nsp", "sop" or "none".

    Raises:
      ValueError: `mixed_precision` or `next_sentence` is another word.
    """
    if mixed_precision not in POLICIES:
        raise ValueError(
            f"mixed_precision is {mixed_precision!r}; allowed are {', '.join(POLICIES)}"
        )
    policy = POLICIES[mixed_precision]
    model = PretrainingModel(config, random_seed, next_sentence, dtype=policy)
    model.build()
    return model


def named_weights(model: PretrainingModel) -> dict[str, keras.Variable]:
    """The model's variables by their names in the released checkpoints."""
    return {variable.path.split("/", 1)[1]: variable for variable in model.weights}
