"""Curate documents, and train classifiers for it.

curate(["Hi.", "The miller went ..."], steps=["gopher_quality:min_words=5"])
->  kept      [KeptDocument(index=1, text="The miller went ...")]
rejected  [RejectedDocument(index=0, rule="min_words", value=1.0, threshold=5.0, ...)]
"""

import contextlib
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from bert_data.api.arguments import (
    Curated,
    KeptDocument,
    Options,
    RejectedDocument,
    list_of_names,
    takes,
)
from bert_data.api.documents import Documents, TextFiles, as_files
from bert_data.curation.running.data_sets import plan_all_shards, put_extract_first
from bert_data.curation.running.ledger import DAMAGED, with_case
from bert_data.curation.running.output_files import output_paths
from bert_data.curation.running.pipeline import DataSet, Pipeline, counting_vocabulary, label_steps
from bert_data.curation.running.pipeline_file import DEFAULT_NAME, parse_step_flags, parse_steps
from bert_data.curation.running.pipeline_settings import JSONL, STORE, Output, store_settings
from bert_data.curation.running.presets import preset_steps
from bert_data.curation.running.run import run_pipeline
from bert_data.curation.running.stages import NothingLeftError, Stages
from bert_data.curation.step import Step
from bert_data.settings import AUTO, convert
from bert_data.storage import expand_inputs, open_input, scratch_folder
from bert_data.storage.paths import Path
from bert_data.text.text_config import SKIP, TextConfig
from bert_data.tokens.store_config import StoreSettings
from bert_data.work import ENGINE_SETTINGS, Engine, open_executor

if TYPE_CHECKING:
    from bert_data.api.keywords import CurateOptions, TrainClassifierOptions
    from bert_data.curation.classifying.held_out import TrainedClassifier

StepEntry = str | Mapping[str, Mapping[str, Any] | None] | Step | type[Step]
"""A step: as of --steps, {name: parameters}, a step, or its class."""

_KEPT, _REJECTED = "kept.jsonl", "rejected.jsonl"
_OF_COUNTING = ("vocab_file", "do_lower_case")


@takes(
    Pipeline,
    Output,
    StoreSettings,
    TextConfig,
    others=("work_dir", "engine", *ENGINE_SETTINGS),
    fixed=("store", "id_field"),
)
def curate(
    documents: Documents,
    *,
    steps: StepEntry | Sequence[StepEntry] = (),
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
      output_file: files to write, "path@N" means N; the prefix of token stores, with
        output_format="store". None: all documents are returned, so they must fit in memory.
      rejected_file: with output_file: file, or path@N, for the rejected documents, JSON Lines.
      overwrite: whether to replace existing files.
      num_workers: processes; 0: all cores. Steps of a script or a notebook itself run in this one.
      options: split_sentences, max_document_bytes, append_eod of stores and others, as the flags
        of `bert-data curate`.
    """
    chosen = _make_steps(steps, preset)
    arguments = Options("curate", options)
    engine = arguments.engine()
    # Other processes cannot import a script, nor a notebook.
    is_local = any(type(step).__module__ == "__main__" for step in chosen)
    is_alone = is_local and not engine.is_cluster
    workers = 1 if is_alone else engine.count_workers(num_workers)
    target = convert("output_file", str | None, list_of_names(output_file))
    rejected = convert("rejected_file", str | None, list_of_names(rejected_file))
    overwrite = convert("overwrite", bool, overwrite)
    if target is None and rejected is not None:
        raise ValueError(
            "rejected_file needs output_file; without it, the result has the documents"
        )
    if target is None and arguments.look("output_format", AUTO) == STORE:
        raise ValueError(f"output_format={STORE} needs output_file, the prefix of the stores")
    on_error = arguments.take("on_error", SKIP)
    encoding_errors = arguments.take("encoding_errors", "replace")
    text = arguments.config(TextConfig, on_error=on_error, encoding_errors=encoding_errors)
    with as_files(documents, target, text) as files:
        data_set = DataSet(name=DEFAULT_NAME, files=files.names, text=text)
        if target is None:
            pipeline = _pipeline(arguments, chosen, data_set, _KEPT, _REJECTED)
            arguments.end()
            return _curate_in_memory(pipeline, files, engine, workers)
        pipeline = _pipeline(arguments, chosen, data_set, target, rejected)
        work_dir = arguments.take("work_dir", None)
        arguments.end()
        done = run_pipeline(
            pipeline, num_workers=workers, engine=engine, overwrite=overwrite, work_dir=work_dir
        )
    return Curated(
        num_documents=done.num_documents,
        num_kept=done.counts[-1].num_documents,
        num_rejected=sum(counts.num_rejected for counts in done.counts),
        files=tuple(file.name for file in done.files),
        ledger=done.ledger[0],
        ledger_files=tuple(output_paths(done.ledger[0])[1]),
    )


def _make_steps(steps: StepEntry | Sequence[StepEntry], preset: str | None) -> list[Step]:
    """Return the steps of a preset, and then those of entries."""
    all_steps = [] if preset is None else preset_steps(preset, [DEFAULT_NAME])
    entries = [steps] if isinstance(steps, str | Mapping | Step | type) else steps
    if not isinstance(entries, Iterable):
        raise ValueError(f"steps is {steps!r}; a step or a list of them is allowed")
    for entry in entries:
        if isinstance(entry, Step):
            all_steps.append(entry)
        elif isinstance(entry, type) and issubclass(entry, Step):
            all_steps.append(entry())
        else:
            all_steps += parse_steps(
                parse_step_flags([entry]) if isinstance(entry, str) else [entry]
            )
    return all_steps


def _pipeline(
    arguments: Options,
    steps: Sequence[Step],
    data_set: DataSet,
    output_file: str,
    rejected_file: str | None,
) -> Pipeline:
    is_store = arguments.look("output_format", AUTO) == STORE
    given = dataclasses.asdict(arguments.config(StoreSettings, id_field="id"))
    vocabulary = {} if is_store else {name: given.pop(name) for name in _OF_COUNTING}
    store = store_settings(STORE if is_store else AUTO, given)
    if store is not None:
        vocabulary = counting_vocabulary(steps, store)
    return arguments.config(
        Pipeline,
        data_sets=(data_set,),
        steps=label_steps(steps),
        output=arguments.config(
            Output, files=output_file, rejected_file=rejected_file, store=store
        ),
        on_error=data_set.text.on_error,
        **vocabulary,
    )


def _curate_in_memory(
    pipeline: Pipeline, files: TextFiles, engine: Engine, num_workers: int
) -> Curated:
    """Curate in a temporary folder, and read what is kept and what is rejected."""
    shards = plan_all_shards(pipeline.data_sets, pipeline.shard_bytes)
    pipeline = with_case(put_extract_first(pipeline, shards))
    with (
        scratch_folder() as folder,
        open_executor(num_workers, engine=engine, folder=folder) as executor,
    ):
        run = Stages(pipeline, shards, folder, executor)
        kept: list[KeptDocument] = []
        with contextlib.suppress(NothingLeftError):
            run.run_passes()
            kept = [_kept(row, files) for row in _rows(run.write(run.documents(JSONL, [_KEPT])))]
        rejected = [_rejected(row, files) for row in _rows(run.write(run.rejected([_REJECTED])))]
    read = run.counts[0]
    return Curated(
        num_documents=read.num_documents + read.num_rejected - read.rejected[DAMAGED],
        num_kept=len(kept),
        num_rejected=len(rejected),
        kept=kept,
        rejected=rejected,
    )


def _rows(written: Iterable[tuple[Any, str]]) -> Iterator[dict[str, Any]]:
    for _, path in written:
        with open_input(path) as file:
            yield from map(json.loads, file)


def _index(row: Mapping[str, Any], files: TextFiles) -> int | None:
    """Return the place of a document that was written to a file here, one a row."""
    place = row.get("input_row", row["id"])  # a row's own id comes before its place
    return int(place.rpartition(":")[2]) - 1 if files.are_spooled else None


def _kept(row: Mapping[str, Any], files: TextFiles) -> KeptDocument:
    fields = {name: value for name, value in row.items() if name not in ("id", "source", "text")}
    return KeptDocument(index=_index(row, files), id=row["id"], text=row["text"], fields=fields)


def _rejected(row: Mapping[str, Any], files: TextFiles) -> RejectedDocument:
    return RejectedDocument(
        index=_index(row, files),
        measured={each["rule"]: each["value"] for each in row["measured"]},
        **{name: row[name] for name in ("id", "text", "step", "rule", "value", "threshold")},
    )


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
    from bert_data.curation.classifying.training import train_and_measure

    if not isinstance(documents, Mapping) or len(documents) < 2:
        raise ValueError("documents must name two or more labels, as in {'hq': good, 'cc': others}")
    path = convert("model_file", str, model_file)
    given = Options("train_classifier", options)
    text = given.config(TextConfig)
    with contextlib.ExitStack() as stack:
        classes = []
        for number, (label, texts) in enumerate(documents.items()):
            files = stack.enter_context(
                as_files(texts, f"{path}.{number}", text, f"documents[{label!r}]")
            )
            classes.append(ClassFiles(str(label), tuple(expand_inputs(files.names))))
        config = given.last_config(ClassifierConfig, classes=tuple(classes), text=text)
        return train_and_measure(config, path, overwrite=convert("overwrite", bool, overwrite))
