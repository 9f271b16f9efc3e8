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
    from bert_data.api.arguments import Curated as Curated
    from bert_data.api.arguments import KeptDocument as KeptDocument
    from bert_data.api.arguments import RejectedDocument as RejectedDocument
    from bert_data.api.curating import curate as curate
    from bert_data.api.curating import train_classifier as train_classifier
    from bert_data.api.models import Trained as Trained
    from bert_data.api.models import export_hf as export_hf
    from bert_data.api.models import export_hub as export_hub
    from bert_data.api.models import train as train
    from bert_data.api.reading import build_samples as build_samples
    from bert_data.api.reading import iterate_arrays as iterate_arrays
    from bert_data.api.reading import read_batches as read_batches
    from bert_data.api.text import Records as Records
    from bert_data.api.text import Stores as Stores
    from bert_data.api.text import Vocabulary as Vocabulary
    from bert_data.api.text import create_records as create_records
    from bert_data.api.text import tokenize as tokenize
    from bert_data.api.text import train_vocab as train_vocab
    from bert_data.curation.classifying.held_out import TrainedClassifier as TrainedClassifier
    from bert_data.curation.document import Document as Document
    from bert_data.curation.document import Measured as Measured
    from bert_data.curation.document import Verdict as Verdict
    from bert_data.curation.document import measure as measure
    from bert_data.curation.step import DocumentStep as DocumentStep
    from bert_data.errors import CorruptDataError as CorruptDataError
    from bert_data.recipes.recipe import Recipe as Recipe
    from bert_data.recipes.recipe import Stage as Stage
    from bert_data.recipes.stage_masking import Ramp as Ramp
    from bert_data.recipes.stage_masking import StageMasking as StageMasking
    from bert_data.training.bert_config import BertConfig as BertConfig

__version__ = "0.1.0"

__getattr__, __all__ = import_on_use(__name__)


def __dir__() -> list[str]:
    return ["__version__", *__all__]
