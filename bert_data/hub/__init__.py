"""Hand a trained model and its vocabulary on: as SavedModels for TF Hub, or to Hugging Face.

    checkpoint, vocabulary ──▶ exporting ──▶ preprocess/ and encoder/ of TF Hub, by `saving`
                                        └──▶ model.safetensors, config.json, tokenizer.json, ...
    a trained model of any kind ─▶ opening ─▶ functions of rows of ids
    the manifest of a data set ──▶ dataset_card ─▶ README.md

    preprocessing   strings to rows in a graph, with the words of `tokenization.py` (words)
    keras_layers    the SavedModels as layers of Keras 3

`hub.load`, `hub.KerasLayer` and `tf.saved_model.load` load the SavedModels, also without bert_data.
Names but the configurations are imported when they are first used. Keras finds the layers by their
names as soon as this package is imported.
"""

import functools
import os
from typing import TYPE_CHECKING

from bert_data.hub.export_config import ExportConfig as ExportConfig
from bert_data.hub.export_config import HuggingFaceExportConfig as HuggingFaceExportConfig
from bert_data.packages import import_on_use
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.training.saved_classes import register_saved_classes

# Keras reads this when it is first imported; a user's own setting may name another backend.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

if TYPE_CHECKING:
    from bert_data.hub.exporting import ExportReport as ExportReport
    from bert_data.hub.exporting import HuggingFaceExportReport as HuggingFaceExportReport
    from bert_data.hub.exporting import export as export
    from bert_data.hub.exporting import export_hugging_face as export_hugging_face
    from bert_data.hub.keras_layers import EncoderLayer as EncoderLayer
    from bert_data.hub.keras_layers import PreprocessingLayer as PreprocessingLayer
    from bert_data.hub.preprocessing import Preprocessing as Preprocessing
    from bert_data.hub.preprocessing import SpecialIds as SpecialIds
    from bert_data.hub.preprocessing import pack_rows as pack_rows
    from bert_data.hub.preprocessing import width_of_longest as width_of_longest

__getattr__, __all__ = import_on_use(
    __name__,
    before=functools.partial(import_tensorflow, finds_devices=False),
    light="exporting",  # mistakes are answered before TensorFlow loads
)

register_saved_classes("bert_data.hub.keras_layers", ["EncoderLayer", "PreprocessingLayer"])
