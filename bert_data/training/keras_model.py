"""What the models have in common: Keras's own loop, files and exports.

    PretrainingModel, TextClassifier   compile, fit, evaluate, save, export, as any model of Keras

Their weights exist from the beginning, and their files make them again.
"""

import abc
import contextlib
import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any, Self

import keras
import numpy as np
import tensorflow as tf

from bert_data.quiet_tensorflow import quiet_end
from bert_data.reader.tensors import bounds_of
from bert_data.records.fields import INPUT_IDS, POSITION_IDS
from bert_data.training.bert_config import BertConfig
from bert_data.training.optimizer import AdamWeightDecay

PACKAGE = "bert_data"
"""Names of classes in Keras's files begin with it: bert_data>PretrainingModel."""

FeatureTensors = dict[str, tf.Tensor]

_REFUSED = re.compile(r"assertion failed: \[(a batch has .*)\]")


def step_seed(random_seed: int, step: tf.Tensor) -> tf.Tensor:
    """Return int32[2], the seed of a training step's dropout; each replica has its own."""
    seed = tf.stack([tf.constant(random_seed % 2**31, tf.int32), tf.cast(step, tf.int32)])
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return seed
    replica = tf.cast(context.replica_id_in_sync_group, tf.int32)
    return tf.random.experimental.stateless_fold_in(seed, replica)


class KerasModel(keras.Model, abc.ABC):
    """Keras's own loop, files and exports, for a model whose weights exist from the beginning.

    A subclass passes `input_names` and defines `arguments` and `check_batches`.
    """

    input_names: tuple[str, ...]

    def __init__(self, config: BertConfig, random_seed: int, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.config, self.random_seed = config, random_seed

    def build(self, _: object = None) -> None:
        """Create the weights."""
        for layer in self.layers:
            layer.build()

    @abc.abstractmethod
    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments besides those of this class; JSON."""

    @abc.abstractmethod
    def check_batches(self, spec: Any) -> None:
        """Raise ValueError for a dataset whose batches `fit` and `evaluate` cannot take."""

    def released_weights(self) -> dict[str, keras.Variable]:
        """Return the variables by their names in the released checkpoints."""
        return {weight.path.split("/", 1)[1]: weight for weight in self.weights}

    def released_values(self) -> dict[str, np.ndarray]:
        """Return the weights by their names in checkpoints of Google's programs."""
        return {name: weight.numpy() for name, weight in self.released_weights().items()}

    def check_features(self, features: Any) -> None:
        """Raise ValueError for features under other names than `input_names`."""
        missing = [name for name in self.input_names if name not in features]
        if missing:
            raise ValueError(
                f"the batches lack {', '.join(missing)}; the model reads"
                f' {", ".join(self.input_names)}, as feature_names="google" names them'
            )

    def inputs_of(self, features: FeatureTensors) -> list[tf.Tensor]:
        """Return the features named in `input_names`, int32."""
        self.check_features(features)
        return [integers(features, name) for name in self.input_names]

    def dropout_seed(self, training: bool, seed: tf.Tensor | None) -> tf.Tensor | None:
        """Return int32[2], the seed of dropout of a batch, or None for no dropout.

        Without a seed it follows from the number of batches that the compiled optimizer has seen,
        so that each has its own where several make one update.
        """
        if not training or seed is not None:
            return seed if training else None
        optimizer = getattr(self, "optimizer", None)
        if optimizer is None:
            raise ValueError("training without compile() needs seed=step_seed(seed, step)")
        if isinstance(optimizer, AdamWeightDecay):
            return step_seed(self.random_seed, optimizer.num_batches)
        # Keras's `iterations` counts updates; its variable of this name counts batches.
        counts = (each for each in optimizer.variables if each.name == "iteration")
        return step_seed(self.random_seed, next(counts).value)

    def compile(self, optimizer: keras.optimizers.Optimizer, **kwargs: Any) -> None:
        """Prepare `fit` and `evaluate`; XLA would compile each width of batch, so it is off."""
        kwargs.setdefault("jit_compile", False)
        # Keras would scale the loss of a float16 model a second time.
        kwargs.setdefault("auto_scale_loss", not getattr(optimizer, "loss_scaling", False))
        super().compile(optimizer=optimizer, **kwargs)

    def fit(self, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Run Keras's own loop, without its warnings that a dataset is not shuffled, or has ended.

        Raises:
          ValueError: the batches of a dataset lack features, labels or weights, there is no
            optimizer, batches that are made already are to have another size, or a batch has a
            sequence longer than the model's positions or an id outside its vocabulary. With
            `jit_compile`, ids of a generator's batches are not checked.
        """
        if self.compiled and self.optimizer is None:
            raise ValueError("fit needs an optimizer: compile(AdamWeightDecay(1e-4))")
        x = self._checked_dataset(x, kwargs)
        kwargs.setdefault("shuffle", False)
        with quiet_end(x, kwargs.get("steps_per_epoch")), _refusals():
            return super().fit(self._checked_before_xla(x), *args, **kwargs)

    def evaluate(self, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Run Keras's own evaluation; see `fit`."""
        x = self._checked_dataset(x, kwargs)
        with quiet_end(x, kwargs.get("steps")), _refusals():
            return super().evaluate(self._checked_before_xla(x), *args, **kwargs)

    def predict(self, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Run Keras's own prediction; a batch that does not fit the model is a ValueError."""
        with _refusals():
            return super().predict(self._checked_before_xla(x), *args, **kwargs)

    def train_step(self, data: Any) -> Any:
        """Train on a batch that fits the model."""
        with self._if_there(data):
            return super().train_step(self._checked_batch(data))

    def test_step(self, data: Any) -> Any:
        """Evaluate a batch that fits the model."""
        with self._if_there(data):
            return super().test_step(self._checked_batch(data))

    def predict_step(self, data: Any) -> Any:
        """Predict for a batch that fits the model."""
        return super().predict_step(self._checked_batch(data))

    def export(self, filepath: Any, *args: Any, **kwargs: Any) -> None:
        """Write a SavedModel, or what Keras's `format` says, for batches of any size and width."""
        spec = tf.TensorSpec([None, None], tf.int32)
        kwargs.setdefault("input_signature", [dict.fromkeys(self.input_names, spec)])
        super().export(filepath, *args, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return what `from_config` makes an equal model of, apart from its weights."""
        return {
            "config": dataclasses.asdict(self.config),
            "random_seed": self.random_seed,
            "dtype": self.dtype_policy.name,
            "frozen": [weight.path for weight in self.weights if not weight.trainable],
            **self.arguments(),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Make a model with new weights from what `get_config` returned."""
        arguments = {name: value for name, value in config.items() if name != "frozen"}
        model = cls(**{**arguments, "config": BertConfig(**config["config"])})
        model.build()
        for weight in model.weights:
            weight.trainable = weight.path not in config["frozen"]
        return model

    def get_build_config(self) -> dict[str, Any]:
        """Return nothing: `from_config` makes the weights."""
        return {}

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compile as the saved model was, with room for the optimizer's state."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        self.optimizer.build(self.trainable_variables)

    def _checked_dataset(self, x: Any, settings: Mapping[str, Any]) -> Any:
        """Check what is known of a dataset; return it."""
        spec = getattr(x, "element_spec", None)
        if spec is None:
            return x
        self.check_batches(spec)
        self.check_features(spec[0])
        if settings.get("batch_size") is not None:
            raise ValueError("batch_size is the reader's: a dataset has its batches already")
        if not isinstance(x, tf.data.Dataset):
            return x
        _check_bounds(x, self.config)
        return x

    def _checked_before_xla(self, x: Any) -> Any:
        """Check arrays, or a dataset's batches, before XLA's steps, which leave assertions out."""
        if self.compiled and self.jit_compile:
            if isinstance(x, tf.data.Dataset):
                return x.map(lambda *batch: self._checked_batch(batch))
            if isinstance(x, Mapping) and all(hasattr(each, "shape") for each in x.values()):
                self._checked_batch(x)
        return x

    def _if_there(self, data: Any) -> contextlib.AbstractContextManager[Any]:
        """Compute nothing, not even a sum of known numbers of rows, in the step that finds no data.

        XLA's steps are not called then, and may not wait where they make variables.
        """
        if self.jit_compile:
            return contextlib.nullcontext()
        parts = tf.nest.flatten(data, expand_composites=True)  # None: weights that are left out
        return tf.control_dependencies([each for each in parts if each is not None])

    def _checked_batch(self, batch: Any) -> Any:
        features = batch[0] if isinstance(batch, tuple) else batch
        self.check_features(features)
        features = {**features, **_checked_features(features, self.config)}
        return (features, *batch[1:]) if isinstance(batch, tuple) else features


def _check_bounds(data: tf.data.Dataset, config: BertConfig) -> None:
    """Raise ValueError where a reader's dataset has batches that are too wide, or other ids."""
    longest, vocab_size = bounds_of(data)
    if longest is not None and longest > config.max_position_embeddings:
        raise ValueError(
            f"the batches have sequences of up to {longest:,} tokens, {_reads(config)}"
        )
    if vocab_size is not None and vocab_size > config.vocab_size:
        raise ValueError(f"the batches have ids up to {vocab_size - 1:,} {_has(config)}")


def _checked_features(features: FeatureTensors, config: BertConfig) -> FeatureTensors:
    """Return the ids of a batch, and its positions; computing them fails where they do not fit.

    Raises:
      ValueError: the width is known to be too large.
    """
    names = (INPUT_IDS.name, POSITION_IDS.name)
    checked = {name: features[name] for name in names if name in features}
    width = checked[INPUT_IDS.name].shape[1]
    if len(checked) == 1 and width is not None and width > config.max_position_embeddings:
        raise ValueError(f"a batch has sequences of {width:,} tokens, {_reads(config)}")
    return _assert_fits(checked, config)


@tf.function(reduce_retracing=True, autograph=False)  # errors of a graph have one form
def _assert_fits(features: FeatureTensors, config: BertConfig) -> FeatureTensors:
    ids, positions = features[INPUT_IDS.name], features.get(POSITION_IDS.name)
    width = tf.shape(ids)[1] if positions is None else tf.reduce_max(positions) + 1
    largest = tf.reduce_max(ids)
    fits = [
        tf.debugging.Assert(
            width <= config.max_position_embeddings,
            ["a batch has sequences of", width, f"tokens, {_reads(config)}"],
        ),
        tf.debugging.Assert(
            largest < config.vocab_size, ["a batch has the id", largest, _has(config)]
        ),
    ]
    with tf.control_dependencies(fits):
        return {name: tf.identity(values) for name, values in features.items()}


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Raise ValueError with the sentence of `_assert_fits` where it fails."""
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        refused = _REFUSED.search(error.message)
        if refused is None:
            raise
        raise ValueError(refused[1].replace("] [", " ")) from None


def _reads(config: BertConfig) -> str:
    limit = config.max_position_embeddings
    return f"but the model reads up to max_position_embeddings = {limit:,}"


def _has(config: BertConfig) -> str:
    return f"but the model has vocab_size = {config.vocab_size:,}"


def integers(features: FeatureTensors, name: str) -> tf.Tensor:
    """Return a feature, int32."""
    # Keras builds a model under several replicas with the means of a batch, which are floats.
    return tf.cast(features[name], tf.int32)
