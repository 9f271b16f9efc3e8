"""Curate documents, and train classifiers for it.

curate(["Hi.", "The miller went ..."], steps=["gopher_quality:min_words=5"])
->  kept      [KeptDocument(index=1, text="The miller went ...")]
rejected  [RejectedDocument(index=0, rule="min_words", value=1.0, threshold=5.0, ...)]
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from bert_data.api.arguments import Curated, Options, checked, list_of_names, takes
from bert_data.api.documents import Documents, as_files
from bert_data.api.text import Path
from bert_data.settings import plain
from bert_data.storage import expand_inputs, scratch_folder
from bert_data.text.documents import TextConfig
from bert_data.work import ENGINE_SETTINGS

if TYPE_CHECKING:
    from bert_data.api.curation_run import StepEntry
    from bert_data.api.keywords import CurateOptions, TrainClassifierOptions
    from bert_data.curation.classifying.held_out import TrainedClassifier


@takes(
    "bert_data.curation.running.pipeline.Pipeline",
    "bert_data.curation.running.pipeline.Output",
    TextConfig,
    others=("work_dir", "engine", *ENGINE_SETTINGS),
)
def curate(
    documents: Documents,
    *,
    steps: "StepEntry | Sequence[StepEntry]" = (),
    preset: str | None = None,
    output_file: Path | None = None,
    rejected_file: Path | None = None,
    overwrite: bool = False,
    num_workers: int = 0,
    **options: "Unpack[CurateOptions]",
) -> Curated:
    """Select the documents worth training on.

    Args:
      documents: texts, lists of sentences, or names of files.
      steps: in their order: "gopher_quality:min_words=30" as of --steps, or {"gopher_quality":
        {"min_words": 30}}, or a step or its class, such as one of your own (`DocumentStep`).
      preset: published steps, which come first: c4, gopher, fineweb, refinedweb or wikipedia.
      output_file: files to write, "path@N" means N; None: all documents are returned, so they must
        fit in memory.
      rejected_file: with output_file: file, or path@N, for the rejected documents, JSON Lines.
      overwrite: whether to replace existing files.
      num_workers: processes; 0: all cores. Steps of a script or a notebook itself run in this one.
      options: split_sentences, max_document_bytes and others, as the flags of `bert-data curate`.
    """
    from bert_data.api.curation_run import CurationRun, make_steps

    chosen = make_steps(steps, preset)
    run = CurationRun(Options("curate", options), chosen, plain(num_workers))
    target, rejected = list_of_names(output_file), list_of_names(rejected_file)
    overwrite = checked("overwrite", overwrite, bool)
    if target is None and rejected is not None:
        raise ValueError(
            "rejected_file needs output_file; without it, the result has the documents"
        )
    with as_files(documents, target) as files:
        if target is not None:
            return run.to_files(files, target, rejected, overwrite=overwrite)
        with scratch_folder() as folder:
            return run.in_memory(files, folder)


@takes("bert_data.curation.classifying.classifier_config.ClassifierConfig", TextConfig)
def train_classifier(
    documents: Mapping[str, Documents],
    model_file: Path,
    *,
    overwrite: bool = False,
    **options: "Unpack[TrainClassifierOptions]",
) -> "TrainedClassifier":
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
    from bert_data.curation.classifying.classifier_config import ClassFiles, ClassifierConfig
    from bert_data.curation.classifying.training import train_classifier as train_model

    if not isinstance(documents, Mapping) or len(documents) < 2:
        raise ValueError("documents must name two or more labels, as in {'hq': good, 'cc': others}")
    path = checked("model_file", model_file, str)
    given = Options("train_classifier", options)
    with contextlib.ExitStack() as stack:
        classes = []
        for number, (label, texts) in enumerate(documents.items()):
            files = stack.enter_context(
                as_files(texts, f"{path}.{number}", f"documents[{label!r}]")
            )
            classes.append(ClassFiles(str(label), tuple(expand_inputs(files.names))))
        config = given.config(
            ClassifierConfig, classes=tuple(classes), text=given.config(TextConfig)
        )
        given.end()
        return train_model(config, path, overwrite=checked("overwrite", overwrite, bool))
