"""Train a classifier of documents, such as of their quality.

train_classifier({"hq": good, "cc": others}, "quality.bin").qualities[0].f1   ->  0.93
"""

import contextlib
import os
from collections.abc import Mapping

from bert_data.api.documents import Documents, as_files
from bert_data.api.options import Options
from bert_data.api.text import Path
from bert_data.curation.classifying.config import ClassFiles, ClassifierConfig
from bert_data.curation.classifying.held_out import TrainedClassifier
from bert_data.curation.classifying.training import train_classifier as train_model
from bert_data.storage import expand_inputs
from bert_data.text.documents import TextConfig


def train_classifier(
    documents: Mapping[str, Documents],
    model_file: Path,
    *,
    overwrite: bool = False,
    **options: object,
) -> TrainedClassifier:
    """Train fastText's supervised model on documents of two or more labels, and write its .bin.

    Args:
      documents: texts, lists of sentences, or names of files, by their label:
        {"hq": good, "cc": others}.
      model_file: file to write, for the step `classifier` and for fastText.
      overwrite: whether to replace it.
      options: epochs, learning_rate, dimension, word_ngrams, min_count, held_out and others, as the
        flags of `bert-data train-classifier`.

    Returns:
      How well the model does on the held-out documents; `print` shows it.
    """
    if not isinstance(documents, Mapping) or len(documents) < 2:
        raise ValueError("documents must name two or more labels, as in {'hq': good, 'cc': others}")
    path = os.fspath(model_file)
    given = Options("train_classifier", options, ClassifierConfig, TextConfig)
    with contextlib.ExitStack() as stack:
        classes = []
        for number, (label, texts) in enumerate(documents.items()):
            files = stack.enter_context(as_files(texts, f"{path}.{number}"))
            classes.append(ClassFiles(str(label), tuple(expand_inputs(files.names))))
        config = given.config(
            ClassifierConfig, classes=tuple(classes), text=given.config(TextConfig)
        )
        given.end()
        return train_model(config, path, overwrite=bool(overwrite))
