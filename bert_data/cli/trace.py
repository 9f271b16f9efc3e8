r"""Trace a document to the steps of a run that read it, or a batch to its documents.

Where a document of a token store came from, by its id, by the row of its file, or by its text:

    bert-data trace --input_file=web --document='<urn:uuid:6b4a...>'
    bert-data trace --input_file=web --row=crawl.jsonl.gz:17
    bert-data trace --input_file=web --vocab_file=vocab.txt --text='a phrase of five words'

The steps of a training run that read it, with its rows and columns in their batches; many documents
are traced in one pass, by a file with an id in each line:

    bert-data trace --document='<urn:uuid:6b4a...>' --recipe=recipe.yaml
    bert-data trace --documents=ids.txt --recipe=recipe.yaml --json

The records of a set that hold it; those that `create --recipe` made need the recipe:

    bert-data trace --document='<urn:uuid:6b4a...>' --input_file=train@8
    bert-data trace --document='<urn:uuid:6b4a...>' --recipe=recipe.yaml --input_file=train@8

What each step of a run of `curate` decided of a document, and changed in it:

    bert-data trace --input_file=clean.jsonl.gz@8 --document='<urn:uuid:6b4a...>'
    bert-data trace --input_file=clean.jsonl.gz@8 --row=crawl/a.jsonl.gz:17

The other way, the documents of a batch, or of a record, with their sources and licences:

    bert-data trace --recipe=recipe.yaml --step=1000
    bert-data trace --input_file=train@8 --record=train-00003-of-00008:17

Records that do not say it, Google's too, by their tokens in the stores of the text:

    bert-data trace --input_file=train@8 --record=17 --stores=web

`tokenize` keeps where documents came from in PREFIX.provenance beside the store, and `create`
beside its shards; what was made elsewhere, or with --no_provenance, says nothing. Steps are found
by arithmetic, not by reading the run; only packed rows are counted from their stage's beginning.
"""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from absl import flags

from bert_data.cli import entry
from bert_data.cli.looking_flags import SAMPLES, output_section, sample_config, show_result
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.inspection.configs import TraceConfig

if TYPE_CHECKING:
    from bert_data.inspection.tracing.traced_samples import TracedSamples

FLAGS = flags.FLAGS

_COMMON = "input_file document documents row text recipe step record"  # for --help
SECTIONS = (
    Section("", settings(TraceConfig)),
    Section("of GPT samples", SAMPLES),
    output_section("Write what is found as JSON."),
)


def main(_: Sequence[str]) -> None:
    """Trace what the flags name."""
    config = from_flags(TraceConfig, samples=sample_config())
    find, show = _way(config)
    reads = [each for each in (config.recipe, config.documents) if each is not None]
    if config.step is not None:
        title = f"Step {config.step:,} of {config.recipe}"
    elif config.record is not None:
        title = f"Record {config.record} of {config.input_file}"
    else:
        title = f"Trace of {getattr(config, config.sought)}"
    show_result(title, reads, find, show, lambda found: [each.as_json() for each in found])


def _way(config: TraceConfig) -> tuple[Callable[[], Any], Callable[..., None]]:
    """Return what finds, and what shows it."""
    from bert_data.inspection.tracing.shown import show_decisions, show_documents, show_step
    from bert_data.tokens.store_files import are_store_names

    if config.samples is not None:
        from bert_data.inspection.tracing.traced_samples import TracedSamples

        samples = TracedSamples.of_stores(str(config.input_file), config.samples)
        return _way_of_samples(samples, config)
    if config.step is not None or config.recipe is not None or config.stores is not None:
        if config.step is not None or config.record is not None:
            from bert_data.inspection.tracing.traced_batches import trace_record, trace_step

            is_step = config.step is not None
            return functools.partial(trace_step if is_step else trace_record, config), show_step
    elif not are_store_names(str(config.input_file).split(",")):
        from bert_data.inspection.tracing.decisions import open_curated
        from bert_data.inspection.tracing.traced_records import trace_record, trace_to_records
        from bert_data.inspection.tracing.traced_samples import TracedSamples

        written = TracedSamples.of_shards(str(config.input_file))
        if written is not None:
            return _way_of_samples(written, config)
        if config.record is not None:
            return functools.partial(trace_record, config), show_step
        curated = open_curated(str(config.input_file))
        if curated is not None:
            return functools.partial(curated.trace, config), show_decisions
        return functools.partial(trace_to_records, config), show_documents
    from bert_data.inspection.tracing.traced_documents import trace_documents

    return functools.partial(trace_documents, config), show_documents


def _way_of_samples(
    samples: "TracedSamples", config: TraceConfig
) -> tuple[Callable[[], Any], Callable[..., None]]:
    from bert_data.inspection.tracing.shown import show_documents, show_step

    if config.record is not None:
        return functools.partial(samples.trace_record, config), show_step
    return functools.partial(samples.trace, config), show_documents


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON}, is_filter=True)
