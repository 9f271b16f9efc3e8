"""Hand a trained model and its vocabulary on: as SavedModels for TF Hub, or to Hugging Face.

    checkpoint, vocabulary ──▶ exporting ──▶ preprocess/ and encoder/ of TF Hub, by `saving`
                                        └──▶ model.safetensors, config.json, tokenizer.json, ...
    the same, and new tokens ─▶ extending ─▶ a vocabulary and a checkpoint that have them
    a trained model of any kind ─▶ opening ─▶ functions of rows of ids

    preprocessing   strings to rows in a graph, with the words of `tokenization.py` (words)
    keras_layers    the SavedModels as layers of Keras 3

`hub.load`, `hub.KerasLayer` and `tf.saved_model.load` load the SavedModels, also without bert_data.
Names but the configurations are imported when they are first used.
"""

import functools
import os
from typing import TYPE_CHECKING, Any

from bert_data.hub.config import ExportConfig, ExtensionConfig, HuggingFaceExportConfig
from bert_data.packages import import_on_use
from bert_data.quiet_tensorflow import import_tensorflow

# Keras reads this when it is first imported; a user's own setting may name another backend.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

if TYPE_CHECKING:
    from bert_data.hub.exporting import (
        ExportReport,
        HuggingFaceExportReport,
        export,
        export_hugging_face,
    )
    from bert_data.hub.extending import ExtensionReport, extend_vocabulary
    from bert_data.hub.keras_layers import EncoderLayer, PreprocessingLayer
    from bert_data.hub.preprocessing import Preprocessing, SpecialIds, pack, width_of_longest

_LIGHT = {  # mistakes are answered before TensorFlow loads
    "exporting": "ExportReport HuggingFaceExportReport export export_hugging_face",
    "extending": "ExtensionReport extend_vocabulary",
}
_import_light = import_on_use(__name__, _LIGHT)
_import_with_tensorflow = import_on_use(
    __name__,
    {
        "keras_layers": "EncoderLayer PreprocessingLayer",
        "preprocessing": "Preprocessing SpecialIds pack width_of_longest",
    },
    before=functools.partial(import_tensorflow, finds_devices=False),
)


def __getattr__(name: str) -> Any:
    is_light = name in " ".join(_LIGHT.values()).split()
    return (_import_light if is_light else _import_with_tensorflow)(name)


__all__ = [
    "EncoderLayer",
    "ExportConfig",
    "ExportReport",
    "ExtensionConfig",
    "ExtensionReport",
    "HuggingFaceExportConfig",
    "HuggingFaceExportReport",
    "Preprocessing",
    "PreprocessingLayer",
    "SpecialIds",
    "export",
    "export_hugging_face",
    "extend_vocabulary",
    "pack",
    "width_of_longest",
]
