"""The exported SavedModels as layers of Keras 3, which `hub.KerasLayer` does not support.

    texts = keras.Input((), dtype="string")
    rows = PreprocessingLayer("hub/preprocess")(texts)
    pooled = EncoderLayer("hub/encoder")(rows)["pooled_output"]
    model = keras.Model(texts, keras.layers.Dense(2)(pooled))
    model.compile(...); model.fit(...); model.save("model.keras")

`hub.KerasLayer` is a layer of tf_keras (Keras 2). These layers load the same folders. A `.keras`
file has the weights and the folders' absolute paths: it loads while the folders are there. Where
they are elsewhere, make the model anew with their new paths, and call `load_weights`. Load only
what you trust: a SavedModel is a program.
"""

import os
from typing import Any, Self

import keras
import tensorflow as tf
import tensorflow_text  # noqa: F401 - the preprocessing graph uses its ops

from bert_data.checks import check_choice, check_integer
from bert_data.hub.export_config import INPUTS, MAX_ROW_LENGTH, MIN_ROW_LENGTH, check_fits
from bert_data.storage import is_remote

_Tensors = dict[str, tf.Tensor]

WIDTHS = ("longest", "max")


class _SavedModelLayer(keras.layers.Layer):
    def __init__(self, folder: str | os.PathLike[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        path = os.fspath(folder)
        if not is_remote(path):
            path = os.path.abspath(path)
        if not tf.saved_model.contains_saved_model(path):
            raise FileNotFoundError(
                f"there is no SavedModel in {path}; if it has moved, build the model again with its"
                " new path, and call load_weights with the .keras file"
            )
        self.folder = path
        self._loaded = tf.saved_model.load(path)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make the layer again, with the folder's absolute path."""
        return {**super().get_config(), "folder": self.folder}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Make the layer from what `get_config` returned; Keras's own wraps errors in pages."""
        return cls(**config)


@keras.saving.register_keras_serializable(package="bert_data")
class PreprocessingLayer(_SavedModelLayer):
    """Turns texts, or pairs of texts, into the encoder's inputs."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        seq_length: int | None = None,
        width: str = "longest",
        **kwargs: Any,
    ) -> None:
        """Load a folder that `export_hub` wrote.

        Args:
          folder: the one named "preprocess".
          seq_length: width of the widest row, >= 3; None: as the folder was exported.
          width: "longest", as wide as the longest row of the batch, or "max", always
            `seq_length` (for XLA and TPUs).

        Raises:
          ValueError: `width` is another word, or `seq_length` is more than the model reads that was
            exported with the folder.
          FileNotFoundError: there is no SavedModel.
        """
        check_choice("width", width, WIDTHS)
        if seq_length is not None:
            seq_length = check_integer("seq_length", seq_length, MIN_ROW_LENGTH, MAX_ROW_LENGTH)
        super().__init__(folder, **kwargs)
        self.seq_length, self.width = seq_length, width
        most = getattr(self._loaded, "max_position_embeddings", None)
        if seq_length is not None and most is not None:
            check_fits(seq_length, int(most.numpy()))

    def call(self, texts: tf.Tensor | list[tf.Tensor]) -> _Tensors:
        """Turn strings [batch], or a list of two such, into int32 tensors [batch, width]."""
        of_segments = texts if isinstance(texts, list | tuple) else [texts]
        for each in of_segments:
            if each.shape.rank != 1:
                shape = tuple(each.shape)
                raise ValueError(f'texts are {shape}, not [batch]: keras.Input((), dtype="string")')
        segments = [self._loaded.tokenize(each) for each in of_segments]
        longest = self.width == "longest"
        pack = self._loaded.pack_to_longest if longest else self._loaded.bert_pack_inputs
        return pack(segments, self.seq_length)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make the layer again."""
        return {**super().get_config(), "seq_length": self.seq_length, "width": self.width}


@keras.saving.register_keras_serializable(package="bert_data")
class EncoderLayer(_SavedModelLayer):
    """Turns the encoder's inputs into its outputs; its weights train with the model."""

    def __init__(
        self, folder: str | os.PathLike[str], *, trainable: bool = True, **kwargs: Any
    ) -> None:
        """Load the folder "encoder" that `export_hub` wrote, or one with the same interface.

        Raises:
          FileNotFoundError: there is no SavedModel.
        """
        super().__init__(folder, autocast=False, **kwargs)
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
