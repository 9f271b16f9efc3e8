"""A text classifier: the encoder and one layer on its pooled first position.

    {"input_ids": ..., "input_mask": ..., "segment_ids": ...}  ->  logits [batch, num_labels]

It trains with Keras's own loop, on the batches of `read_labelled_batches`, of any width:

    model = text_classifier(BertConfig(vocab_size=30522, ...), num_labels=2)
    model.compile(AdamWeightDecay(WarmupLinearDecay(1e-4, num_train_steps=1000)))
    model.fit(read_labelled_batches(config), steps_per_epoch=1000)
"""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from bert_data.records import fields
from bert_data.training.bert_config import BertConfig
from bert_data.training.encoder import Dense, Encoder, WeightSeeds, dropout
from bert_data.training.keras_model import PACKAGE, FeatureTensors, KerasModel
from bert_data.training.model_vocabulary import ModelVocabulary, check_vocabulary
from bert_data.training.state import assign_weights, open_weights


@keras.saving.register_keras_serializable(PACKAGE)
class TextClassifier(KerasModel):
    """A BERT with a layer of logits, as in section 4.1 of Devlin et al., 2018, arXiv 1810.04805.

    Use `text_classifier` to make one. `labels` are the names of the `num_labels` logits, or ().
    """

    input_names = (fields.INPUT_IDS.name, fields.INPUT_MASK.name, fields.SEGMENT_IDS.name)

    def __init__(
        self,
        config: BertConfig,
        random_seed: int,
        num_labels: int,
        labels: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(config, random_seed, name="classifier", **kwargs)
        self.num_labels = num_labels
        self.labels = tuple(labels)
        self.encoder = Encoder(config, random_seed, dtype=self.dtype_policy)
        seeds = WeightSeeds(config.initializer_range, random_seed + 1)
        self.output_layer = Dense(
            config.hidden_size, num_labels, seeds, name="output", dtype=self.dtype_policy
        )

    def call(
        self, features: FeatureTensors, training: bool = False, seed: tf.Tensor | None = None
    ) -> tf.Tensor:
        """Score each label, float32[batch, num_labels].

        Args:
          features: integers input_ids, input_mask, segment_ids [batch, width]; others are ignored.
          seed: int32[2] for dropout; by default that of the compiled optimizer's step.
        """
        seed = self.dropout_seed(training, seed)
        _, pooled = self.encoder(*self.inputs_of(features), seed=seed)
        place = 1 + 3 * self.config.num_hidden_layers  # after the encoder's
        pooled = dropout(pooled, self.config.hidden_dropout_prob, seed, place)
        return tf.cast(self.output_layer(pooled), tf.float32)

    def compile(self, optimizer: keras.optimizers.Optimizer, **kwargs: Any) -> None:
        """Prepare `fit` and `evaluate`: cross-entropy of the logits, and the accuracy."""
        kwargs.setdefault("loss", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        accuracy = keras.metrics.SparseCategoricalAccuracy(name="accuracy")
        kwargs.setdefault("weighted_metrics", [accuracy])
        super().compile(optimizer, **kwargs)

    def check_batches(self, spec: Any) -> None:
        """Raise ValueError for batches without a label of each text."""
        if not isinstance(spec, tuple) or len(spec) < 2 or isinstance(spec[1], dict):
            raise ValueError(
                "fit and evaluate need (features, labels), as read_labelled_batches makes them"
            )

    def released_weights(self) -> dict[str, keras.Variable]:
        """Return the encoder's variables by their names in the released checkpoints."""
        weights = super().released_weights()
        return {name: weight for name, weight in weights.items() if name.startswith("bert/")}

    def released_values(self) -> dict[str, np.ndarray]:
        """Return the weights by the names of Google's run_classifier.py."""
        return {
            **super().released_values(),
            "output_weights": self.output_layer.kernel.numpy().T,
            "output_bias": self.output_layer.bias.numpy(),
        }

    def arguments(self) -> dict[str, Any]:
        """Return what `text_classifier` takes."""
        return {"num_labels": self.num_labels, "labels": list(self.labels)}


def text_classifier(
    config: BertConfig, *, num_labels: int, random_seed: int = 12345, labels: Sequence[str] = ()
) -> TextClassifier:
    """Make a model with new weights, which depend only on the configuration and the seed.

    Args:
      config: sizes and settings.
      num_labels: >= 2.
      random_seed: of the weights and of dropout.
      labels: their names, in their order, which the model's files keep; (): none.

    Raises:
      ValueError: num_labels is less than 2, or not that of the names.
    """
    if num_labels < 2:
        raise ValueError(f"num_labels is {num_labels}; 2 or more is allowed")
    if labels and len(labels) != num_labels:
        raise ValueError(f"there are {len(labels)} names of labels; num_labels is {num_labels}")
    model = TextClassifier(config, random_seed, num_labels, labels)
    model.build()
    return model


def load_encoder(
    model: TextClassifier,
    path: str,
    *,
    vocab_file: str | None = None,
    allow_other_vocabulary: bool = False,
) -> None:
    """Assign all weights of the encoder, or none; the layer of logits is left as it is.

    Args:
      path: of the weights, as for `state.open_weights`.
      vocab_file: of the texts' ids, which is compared with that of the weights' training.
      allow_other_vocabulary: whether it may be another one.

    Raises:
      ValueError: there is no checkpoint, it lacks a variable or has it in another shape, or the
        vocabulary is another one.
    """
    if vocab_file is not None:
        check_vocabulary(
            ModelVocabulary.read(vocab_file),
            path,
            vocab_size=model.config.vocab_size,
            allow_other=allow_other_vocabulary,
        )
    checkpoint = open_weights(path)
    weights = model.released_weights()
    assign_weights(checkpoint, weights)
    logging.info("%d variables initialized from %s", len(weights), checkpoint.prefix)
