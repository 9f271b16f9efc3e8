r"""Curate text: write the documents worth training on, and a ledger of the others.

    bert-data curate --input_file='crawl/*.jsonl.gz' --preset=gopher \
        --output_file=clean.jsonl.gz@8 --report=clean.html

    bert-data curate --input_file=wiki=wiki.jsonl,web='crawl/*.warc.gz' \
        --steps=extract --steps=language:languages=[en] \
        --steps=gopher_quality:min_words=30 --steps=near_duplicates \
        --output_file=corpus.txt@4 --split_sentences

    bert-data curate --pipeline=pipeline.yaml

The rejected documents, with the rules that rejected them, and a report with examples:

    bert-data curate --input_file='crawl/*.jsonl.gz' --preset=gopher \
        --output_file=clean.jsonl.gz@8 --rejected_file=rejected.jsonl.gz@8 \
        --report=clean.html

The available steps:

    bert-data curate --list_steps
    bert-data curate --explain=gopher_quality

A pipeline in a file has the keys inputs, preset (with parameters of its steps), steps and output:

    inputs:                             # the first has the highest priority
      - {name: wiki, files: wiki.jsonl, weight: 1}
      - {name: web, files: [crawl/*.warc.gz], format: warc, weight: 3}
    steps:
      - extract
      - gopher_quality: {min_words: 30}
      - mix                             # by those weights
    output: {files: corpus.txt@4, split_sentences: true}

Beside the output are ledger.NAME.parquet, with a row for each rule that measured a rejected
document, and curation.NAME.json, the summary, which is written last. If the output is N files, so
is the ledger: ledger.NAME.parquet@N names them for `bert-data inspect`. If a run was stopped, even
by SIGKILL or a full disk, the same command resumes it.
"""

import dataclasses
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":  # before NumPy is loaded: each worker is a thread of matrix products
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Workers are forks only of a process with one thread; jemalloc would have one that cleans up.
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")

from absl import flags, logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Repeated, Section, from_flags, settings
from bert_data.cli.shared_flags import (
    ENGINE,
    TOKENIZER_FILE,
    engine_of_flags,
    one_vocabulary,
    text_section,
)
from bert_data.curation.running.pipeline_settings import STORE, Output, PipelineSettings
from bert_data.storage import HTML, TEXT, refuse_other_endings
from bert_data.text.text_config import TextConfig
from bert_data.tokens.store_config import StoreSettings

if TYPE_CHECKING:
    from bert_data.curation.running.pipeline import Pipeline
    from bert_data.curation.step import Step

_COMMON = (  # for --help
    "input_file preset steps pipeline output_file split_sentences report rejected_file"
    " list_steps explain num_workers overwrite"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CurateFlags:
    """The flags of this command alone.

    Attributes:
      input_file: files or patterns, separated by commas. NAME= before one begins a data set of that
        name; all without a name form one data set. The first data set has the highest priority.
      id_field: field of the rows that identifies documents; by default, file and row do.
      pipeline: a YAML file with inputs, steps and output.
      allow_steps_from: modules and packages whose steps it may name (my_module.MyStep), separated
        by commas: their code runs. Those of `steps` are always allowed.
      preset: published steps: c4, gopher, fineweb, refinedweb, wikipedia, or one for a corpus
        (`list_steps`); the steps of `steps` follow them. llama has steps for each source: name the
        data sets commoncrawl, c4, github, wikipedia, books, arxiv or stackexchange. If web pages
        come in (html, warc), the step extract goes first.
      steps: a step: NAME or NAME:PARAMETER=VALUE,PARAMETER=[VALUE,VALUE]. Repeat the flag, or
        separate several steps by spaces; those in brackets or quotes belong to the value.
        my_module.MyStep is a step of your own.
      output_file: files to write: names separated by commas, or path@N for N files. The ending
        stays at the end: corpus.jsonl.gz@2 stands for corpus-00000-of-00002.jsonl.gz and so on.
        Documents keep their order.
      overwrite: replace existing files.
      report: write an HTML report to this file, with examples of what each rule rejects and keeps.
      list_steps: list the steps and presets.
      explain: describe a step (what it does, its parameters, examples) or a preset.
      num_workers: processes; 0 is all cores. The output does not depend on it. Each takes some 200
        MB of memory, and up to 30 times `max_document_bytes` for a document of that length. Memory
        does not grow with the texts; `max_memory_mb` bounds that of deciding over all of them.
      work_dir: folder or URI for unfinished work. It takes about 1.5 times the size of the texts,
        and up to 3.5 times with steps for near, contained or substring duplicates. By default, a
        hidden one beside the output, or among the temporary files if the output is remote and
        `engine=local`.
    """

    input_file: Repeated = dataclasses.field(default_factory=Repeated)
    id_field: str | None = None
    pipeline: str | None = None
    allow_steps_from: list[str] = dataclasses.field(default_factory=list)
    preset: str | None = None
    steps: Repeated = dataclasses.field(default_factory=Repeated)
    output_file: str | None = None
    overwrite: bool = False
    report: str | None = None
    list_steps: bool = False
    explain: str | None = None
    num_workers: int = 0
    work_dir: str | None = None


_OF_STORES = "output_format=store"
STORE_SETTINGS = tuple(
    dataclasses.replace(each, only_with=_OF_STORES)
    for each in settings(StoreSettings, without="vocab_file tokenizer_file do_lower_case id_field")
)

SECTIONS = (
    text_section(
        changes={
            "on_error": {
                "default": "skip",
                "more_help": " The same goes for the rest of a damaged file, and for documents at"
                " which a step fails: the ledger has all of them.",
            },
            "encoding_errors": {"default": "replace"},
        }
    ),
    ENGINE,
    Section(
        "",
        (
            *settings(CurateFlags, changes={"allow_steps_from": {"only_with": "pipeline"}}),
            TOKENIZER_FILE,
            *settings(Output, "output_format split_sentences rejected_file"),
            *settings(PipelineSettings, without="on_error with_examples"),
        ),
    ),
    Section("token stores, with `output_format=store`", STORE_SETTINGS),
)


def main(_: Sequence[str]) -> None:
    """Curate the files, or answer a question about steps, as the flags say."""
    given = from_flags(CurateFlags)
    if given.list_steps or given.explain is not None:
        from bert_data.cli.step_pages import explain_step, list_steps

        name = None if given.list_steps else given.explain
        text = list_steps() if name is None else explain_step(name)
        sys.stdout.write(f"{text}\n")
    else:
        logging.info("%s", _curate(given))


def _curate(given: CurateFlags) -> str:
    from bert_data.curation.reporting.run_summary import summarize
    from bert_data.curation.running.result import Curation
    from bert_data.curation.running.run import run_pipeline

    def make_report(done: Curation) -> str:
        from bert_data.curation.reporting import report

        return report.make_report(done)

    refuse_other_endings([given.report] if given.report else [], (HTML, TEXT))
    engine = engine_of_flags()
    done = run_pipeline(
        _pipeline(given),
        num_workers=engine.count_workers(given.num_workers),
        engine=engine,
        overwrite=given.overwrite,
        work_dir=given.work_dir,
        more_outputs={given.report: make_report} if given.report else {},
        reads=[given.pipeline] if given.pipeline else [],
    )
    for warning in done.warnings:
        logging.warning("%s", warning)
    return summarize(done)


def _pipeline(given: CurateFlags) -> "Pipeline":
    from bert_data.curation.running.pipeline import Pipeline, counting_vocabulary, label_steps
    from bert_data.curation.running.pipeline_file import (
        PipelineFile,
        parse_inputs,
        read_pipeline_file,
    )

    text = from_flags(TextConfig)
    pipeline_file = PipelineFile()
    if given.pipeline:
        if given.preset or given.steps:
            raise ValueError("--pipeline already defines the steps; drop --preset and --steps")
        pipeline_file = read_pipeline_file(
            given.pipeline, text, given.id_field, given.allow_steps_from
        )
    data_sets = pipeline_file.data_sets
    if given.input_file:
        data_sets = tuple(parse_inputs(given.input_file, text, given.id_field))
    if not data_sets:
        raise ValueError("--input_file is missing: name the texts to read")
    output = pipeline_file.output
    if given.output_file:
        output = from_flags(Output, files=given.output_file, rejected_file=None, store=_store())
    if output is None:
        raise ValueError("--output_file is missing: name the files to write")
    rejected_file = flags.FLAGS.rejected_file
    if rejected_file:
        output = dataclasses.replace(output, rejected_file=rejected_file)
    steps = pipeline_file.steps or _steps(given, [each.name for each in data_sets])
    vocabulary: dict[str, Any] = {
        "vocab_file": one_vocabulary(flags.FLAGS.vocab_file, flags.FLAGS.tokenizer_file)
    }
    if output.store is not None and (given.output_file or not vocabulary["vocab_file"]):
        vocabulary = counting_vocabulary(steps, output.store)
    return from_flags(
        Pipeline,
        data_sets=data_sets,
        steps=label_steps(steps),
        output=output,
        with_examples=bool(given.report),
        **vocabulary,
    )


def _store() -> StoreSettings | None:
    """Return the settings of the stores that the flags ask for, if they do."""
    if flags.FLAGS.output_format != STORE:
        return None
    return from_flags(StoreSettings, id_field="id")


def _steps(given: CurateFlags, data_sets: Sequence[str]) -> "list[Step]":
    """Return the steps of --preset, and then those of --steps."""
    from bert_data.curation.running.pipeline_file import parse_step_flags, parse_steps
    from bert_data.curation.running.presets import preset_steps

    steps = preset_steps(given.preset, data_sets) if given.preset else []
    return [*steps, *parse_steps(parse_step_flags(given.steps))]


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
