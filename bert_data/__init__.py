"""Text to pretraining data for BERT-like models in TensorFlow, and batches to train with.

    files --text--> Document --tokens--> token store --instances--> MLM/NSP instances
      --records--> TFRecord shards, index, manifest --reader--> tf.data batches --training--> model

Each arrow is a package here, which imports only those before it; CONTRIBUTING.md has the table,
under "Which way imports point". The names below are what other programs may use (docs/python.md);
all else may change. They are loaded when they are first used, so `import bert_data` loads nothing:
TensorFlow and numba wait for a stage that needs them.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

if sys.platform == "win32":
    raise ImportError("bert_data needs Linux or macOS; on Windows, run it in WSL2 or in Docker")

if TYPE_CHECKING:
    from bert_data.api.classifying import train_classifier
    from bert_data.api.curating import Curated, KeptDocument, RejectedDocument, curate
    from bert_data.api.models import Trained, export_hf, export_hub, train
    from bert_data.api.reading import build_samples, iterate_arrays, read_batches
    from bert_data.api.text import (
        Records,
        Stores,
        Vocabulary,
        create_records,
        tokenize,
        train_vocab,
    )
    from bert_data.curation.classifying.held_out import TrainedClassifier
    from bert_data.curation.document import Document
    from bert_data.curation.step import DocumentStep
    from bert_data.curation.verdict import Measured, Verdict, measure
    from bert_data.errors import CorruptDataError
    from bert_data.training.config import BertConfig

__version__ = "0.1.0"

_MODULES = {
    "BertConfig": "training.config",
    "CorruptDataError": "errors",
    "Curated": "api.curating",
    "Document": "curation.document",
    "DocumentStep": "curation.step",
    "KeptDocument": "api.curating",
    "Measured": "curation.verdict",
    "Records": "api.text",
    "RejectedDocument": "api.curating",
    "Stores": "api.text",
    "Trained": "api.models",
    "TrainedClassifier": "curation.classifying.held_out",
    "Verdict": "curation.verdict",
    "Vocabulary": "api.text",
    "build_samples": "api.reading",
    "create_records": "api.text",
    "curate": "api.curating",
    "export_hf": "api.models",
    "export_hub": "api.models",
    "iterate_arrays": "api.reading",
    "measure": "curation.verdict",
    "read_batches": "api.reading",
    "tokenize": "api.text",
    "train": "api.models",
    "train_classifier": "api.classifying",
    "train_vocab": "api.text",
}
"""The module of each name."""

__all__ = [
    "BertConfig",
    "CorruptDataError",
    "Curated",
    "Document",
    "DocumentStep",
    "KeptDocument",
    "Measured",
    "Records",
    "RejectedDocument",
    "Stores",
    "Trained",
    "TrainedClassifier",
    "Verdict",
    "Vocabulary",
    "build_samples",
    "create_records",
    "curate",
    "export_hf",
    "export_hub",
    "iterate_arrays",
    "measure",
    "read_batches",
    "tokenize",
    "train",
    "train_classifier",
    "train_vocab",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return ["__version__", *__all__]
