"""Export a trained model and its vocabulary as SavedModels with the interfaces of TF Hub.

    vocab.txt ───────────────────────▶ preprocessing ─┐
    bert_config.json + checkpoint ───▶ encoding ──────┴─▶ exporting ─▶ preprocess/, encoder/

    words, tokenizing   strings to ids in a graph, exactly as `tokenization.py` defines them
    packing             segments to rows: one function, also for your own tf.data pipeline
    keras_layers        the SavedModels as layers of Keras 3

    checkpoint, vocabulary ──▶ hugging_face ──▶ model.safetensors, config.json, tokenizer.json, ...
    the same, and new tokens ──▶ extending ──▶ a vocabulary and a checkpoint that have them

    a trained model of any kind ──▶ opening ──▶ functions of rows of ids

`hub.load`, `hub.KerasLayer` and `tf.saved_model.load` load the folders, also without bert_data.

Names but `ExportConfig` are imported when they are first used.
"""

import functools
import os
from typing import TYPE_CHECKING, Any

from bert_data.hub.config import ExportConfig
from bert_data.packages import import_on_use
from bert_data.quiet_tensorflow import import_tensorflow

# Keras reads this when it is first imported; a user's own setting may name another backend.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

if TYPE_CHECKING:
    from bert_data.hub.exporting import ExportReport, export
    from bert_data.hub.extending import ExtensionConfig, ExtensionReport, extend_vocabulary
    from bert_data.hub.hugging_face import (
        HuggingFaceExportConfig,
        HuggingFaceExportReport,
        export_hugging_face,
    )
    from bert_data.hub.keras_layers import EncoderLayer, PreprocessingLayer
    from bert_data.hub.packing import SpecialIds, pack, width_of_longest
    from bert_data.hub.preprocessing import Preprocessing

_import_light = import_on_use(__name__, {"exporting": "ExportReport export"})
_import_with_tensorflow = import_on_use(
    __name__,
    {
        "extending": "ExtensionConfig ExtensionReport extend_vocabulary",
        "hugging_face": "HuggingFaceExportConfig HuggingFaceExportReport export_hugging_face",
        "keras_layers": "EncoderLayer PreprocessingLayer",
        "packing": "SpecialIds pack width_of_longest",
        "preprocessing": "Preprocessing",
    },
    before=functools.partial(import_tensorflow, finds_devices=False),
)


def __getattr__(name: str) -> Any:
    is_light = name in ("ExportReport", "export")  # mistakes are answered before TensorFlow loads
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
