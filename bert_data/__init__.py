"""Text to pretraining data for BERT-like models in TensorFlow, and batches to train with.

    files --text--> Document --tokens--> token store --instances--> MLM/NSP instances
      --records--> TFRecord shards, index, manifest --reader--> tf.data batches --training--> model

Each arrow is a package here, which imports only those before it; CONTRIBUTING.md has the table,
under "Which way imports point". The names below are what other programs may use (docs/python.md);
all else may change. They are loaded when they are first used, so `import bert_data` loads nothing:
TensorFlow and numba wait for a stage that needs them.
"""

import sys
from typing import TYPE_CHECKING

from bert_data.packages import import_on_use

if sys.platform == "win32":
    raise ImportError("bert_data needs Linux or macOS; on Windows, run it in WSL2 or in Docker")

if TYPE_CHECKING:
    from bert_data.api.arguments import Curated, KeptDocument, RejectedDocument
    from bert_data.api.curating import curate, train_classifier
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

__getattr__ = import_on_use(
    __name__,
    {
        "api.arguments": "Curated KeptDocument RejectedDocument",
        "api.curating": "curate train_classifier",
        "api.models": "Trained export_hf export_hub train",
        "api.reading": "build_samples iterate_arrays read_batches",
        "api.text": "Records Stores Vocabulary create_records tokenize train_vocab",
        "curation.classifying.held_out": "TrainedClassifier",
        "curation.document": "Document",
        "curation.step": "DocumentStep",
        "curation.verdict": "Measured Verdict measure",
        "errors": "CorruptDataError",
        "training.config": "BertConfig",
    },
)

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


def __dir__() -> list[str]:
    return ["__version__", *__all__]
