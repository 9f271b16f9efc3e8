"""Export a trained model and its vocabulary as SavedModels with the interfaces of TF Hub.

    vocab.txt ───────────────────────▶ preprocessing ─┐
    bert_config.json + checkpoint ───▶ encoding ──────┴─▶ exporting ─▶ preprocess/, encoder/

    words, tokenizing   strings to ids in a graph, exactly as `tokenization.py` defines them
    packing             segments to rows: one function, also for your own tf.data pipeline
    keras_layers        the SavedModels as layers of Keras 3

`hub.load`, `hub.KerasLayer` and `tf.saved_model.load` load the folders, also without bert_data.
"""

# First: it selects Keras's backend.
from bert_data.training import BertConfig  # noqa: F401, I001

from bert_data.hub.exporting import ExportConfig, ExportReport, export
from bert_data.hub.keras_layers import EncoderLayer, PreprocessingLayer
from bert_data.hub.packing import SpecialIds, pack, width_of_longest
from bert_data.hub.preprocessing import Preprocessing

__all__ = [
    "EncoderLayer",
    "ExportConfig",
    "ExportReport",
    "Preprocessing",
    "PreprocessingLayer",
    "SpecialIds",
    "export",
    "pack",
    "width_of_longest",
]
