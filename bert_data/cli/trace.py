r"""Trace a document to the steps of a run that read it, or a batch to its documents.

Where a document of a token store came from, by its id, by the row of its file, or by its text:

    bert-data trace --input_file=web --document='<urn:uuid:6b4a...>'
    bert-data trace --input_file=web --row=crawl.jsonl.gz:17
    bert-data trace --input_file=web --vocab_file=vocab.txt --text='a phrase of five words'

The steps of a training run that read it, with its rows and columns in their batches; many documents
are traced in one pass, by a file with an id in each line:

    bert-data trace --document='<urn:uuid:6b4a...>' --recipe=recipe.yaml
    bert-data trace --documents=ids.txt --recipe=recipe.yaml --json

The records of a set that hold it, if `create --recipe` made them:

    bert-data trace --document='<urn:uuid:6b4a...>' --recipe=recipe.yaml --input_file=train@8

What each step of a run of `curate` decided of a document, and changed in it:

    bert-data trace --input_file=clean.jsonl.gz@8 --document='<urn:uuid:6b4a...>'
    bert-data trace --input_file=clean.jsonl.gz@8 --row=crawl/a.jsonl.gz:17

The other way, the documents of a batch, or of a record, with their sources and licences:

    bert-data trace --recipe=recipe.yaml --step=1000
    bert-data trace --recipe=recipe.yaml --input_file=train@8 --record=train-00003-of-00008:17

Records that no recipe made, Google's too, by their tokens in the stores of the text:

    bert-data trace --input_file=train@8 --record=17 --stores=web

`tokenize` keeps where documents came from in PREFIX.provenance beside the store; stores that were
made elsewhere, or with --no_provenance, have none. Steps are found by arithmetic, not by reading
the run; only packed rows are counted from the beginning of their stage.
"""

from collections.abc import Sequence

from absl import flags

from bert_data.cli import entry
from bert_data.cli.looking_flags import output_section, show_result
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.inspection.configs import TraceConfig

FLAGS = flags.FLAGS

_COMMON = "input_file document documents row text recipe step record"  # for --help
SECTIONS = (
    Section("", settings(TraceConfig)),
    output_section("Write what is found as JSON."),
)


def main(_: Sequence[str]) -> None:
    """Trace what the flags name."""
    from bert_data.inspection.trace_shown import show_documents, show_step
    from bert_data.inspection.tracing import TracedDocument, trace_documents
    from bert_data.tokens.store_files import are_store_names

    config = from_flags(TraceConfig)
    reads = [each for each in (config.recipe, config.documents) if each is not None]
    if config.step is not None or config.record is not None:
        from bert_data.inspection.batch_tracing import TracedTokens, trace_record, trace_step

        is_step = config.step is not None
        title = f"Step {config.step:,}" if is_step else f"Record {config.record}"
        show_result(
            f"{title} of {config.recipe if is_step else config.input_file}",
            reads,
            lambda: trace_step(config) if is_step else trace_record(config),
            show_step,
            lambda found: list(map(TracedTokens.as_json, found)),
        )
        return
    title = f"Trace of {getattr(config, config.sought)}"
    if config.input_file is not None and not are_store_names(config.input_file.split(",")):
        from bert_data.inspection.decisions import CuratedDocument, open_curated
        from bert_data.inspection.trace_shown import show_decisions

        curated = open_curated(config.input_file)
        if curated is not None:
            show_result(
                title,
                reads,
                lambda: curated.trace(config),
                show_decisions,
                lambda found: list(map(CuratedDocument.as_json, found)),
            )
            return
    show_result(
        title,
        reads,
        lambda: trace_documents(config),
        show_documents,
        lambda found: list(map(TracedDocument.as_json, found)),
    )


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON}, is_filter=True)
