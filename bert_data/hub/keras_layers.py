"""The exported SavedModels as layers of Keras 3, which `hub.KerasLayer` does not support.

    texts = keras.Input((), dtype="string")
    rows = PreprocessingLayer("hub/preprocess", max_seq_length=128)(texts)
    pooled = EncoderLayer("hub/encoder")(rows)["pooled_output"]
    model = keras.Model(texts, keras.layers.Dense(2)(pooled))
    model.compile(...); model.fit(...); model.save_weights(...)

`hub.KerasLayer` is a layer of tf_keras (Keras 2). These layers load the same folders. A layer's
configuration holds the folder's name, so loading a `.keras` file requires the folder, too; the
weights are in the file. Load only what you trust: a SavedModel is a program.
"""

from typing import Any

import keras
import tensorflow as tf
import tensorflow_text  # noqa: F401 - the preprocessing graph uses its ops

from bert_data.checks import check_choice
from bert_data.hub.export_config import DEFAULT_SEQ_LENGTH, INPUTS

_Tensors = dict[str, tf.Tensor]

WIDTHS = ("longest", "max")


@keras.saving.register_keras_serializable(package="bert_data")
class PreprocessingLayer(keras.layers.Layer):
    """Turns texts, or pairs of texts, into the encoder's inputs."""

    def __init__(
        self,
        folder: str,
        *,
        max_seq_length: int = DEFAULT_SEQ_LENGTH,
        width: str = "longest",
        **kwargs: Any,
    ) -> None:
        """Load a folder that `export_hub` wrote.

        Args:
          folder: the one named "preprocess".
          max_seq_length: width of the widest row, >= 3.
          width: "longest", as wide as the longest row of the batch, or "max", always
            `max_seq_length` (for XLA and TPUs).

        Raises:
          ValueError: `width` is another word.
        """
        check_choice("width", width, WIDTHS)
        super().__init__(**kwargs)
        self.folder, self.max_seq_length, self.width = folder, max_seq_length, width
        self._loaded = tf.saved_model.load(folder)

    def call(self, texts: tf.Tensor | list[tf.Tensor]) -> _Tensors:
        """Turn strings [batch], or a list of two such, into int32 tensors [batch, width]."""
        segments = [
            self._loaded.tokenize(segment)
            for segment in (texts if isinstance(texts, list | tuple) else [texts])
        ]
        if self.width == "max":
            return self._loaded.bert_pack_inputs(segments, seq_length=self.max_seq_length)
        return self._loaded.pack_to_longest(segments, max_seq_length=self.max_seq_length)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make the layer again."""
        own = {"folder": self.folder, "max_seq_length": self.max_seq_length, "width": self.width}
        return {**super().get_config(), **own}


@keras.saving.register_keras_serializable(package="bert_data")
class EncoderLayer(keras.layers.Layer):
    """Turns the encoder's inputs into its outputs; its weights train with the model."""

    def __init__(self, folder: str, *, trainable: bool = True, **kwargs: Any) -> None:
        """Load the folder "encoder" that `export_hub` wrote, or one with the same interface."""
        super().__init__(autocast=False, **kwargs)
        self.folder = folder
        self._loaded = tf.saved_model.load(folder)
        # Keras tracks a tf.Variable as its own, so training updates what the functions read.
        self.encoder_weights = [
            keras.Variable(
                variable,
                shape=variable.shape,
                dtype=variable.dtype.name,
                trainable=True,
                autocast=False,
                name=variable.name.partition(":")[0].replace("/", "."),
            )
            for variable in self._loaded.trainable_variables
        ]
        self.trainable = trainable
        self.built = True

    def call(self, inputs: _Tensors, training: bool = False) -> _Tensors:
        """Encode, with dropout if the layer is being trained; see `saving` for the outputs.

        Args:
          inputs: integers input_word_ids, input_mask and input_type_ids [batch, width].
        """
        features = {name: tf.cast(inputs[name], tf.int32) for name in INPUTS}
        return self._loaded(features, training=bool(training and self.trainable))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make the layer again."""
        return {**super().get_config(), "folder": self.folder}
