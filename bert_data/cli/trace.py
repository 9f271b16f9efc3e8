r"""Trace a document to the steps of a run that read it, or a batch to its documents.

Where a document of a token store came from, by its id or by the row of its file:

    bert-data trace --input_file=web --document='<urn:uuid:6b4a...>'
    bert-data trace --input_file=web --row=crawl.jsonl.gz:17

The steps of a training run that read it, with its rows and columns in their batches:

    bert-data trace --document='<urn:uuid:6b4a...>' --recipe=recipe.yaml

The other way, the documents of a batch, with their sources and licences:

    bert-data trace --recipe=recipe.yaml --step=1000

`tokenize` keeps where documents came from in PREFIX.provenance beside the store; stores that were
made elsewhere, or with --no_provenance, have none. Steps are found by arithmetic, not by reading
the run; only packed rows are counted from the beginning of their stage.
"""

from collections.abc import Sequence

from absl import flags

from bert_data.cli import entry
from bert_data.cli.looking_flags import output_section, show_result
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.inspection.tracing import (
    TraceConfig,
    TracedDocument,
    TracedTokens,
    show_documents,
    show_step,
    trace_documents,
    trace_step,
)

FLAGS = flags.FLAGS

_COMMON = "input_file document row recipe step"  # for --help
SECTIONS = (
    Section("", settings(TraceConfig)),
    output_section("Write what is found as JSON."),
)


def main(_: Sequence[str]) -> None:
    """Trace what the flags name."""
    config = from_flags(TraceConfig)
    reads = [config.recipe] if config.recipe is not None else []
    if config.step is not None:
        show_result(
            f"Step {config.step:,} of {config.recipe}",
            reads,
            lambda: trace_step(config),
            show_step,
            lambda found: list(map(TracedTokens.as_json, found)),
        )
        return
    show_result(
        f"Trace of {config.document or config.row}",
        reads,
        lambda: trace_documents(config),
        show_documents,
        lambda found: list(map(TracedDocument.as_json, found)),
    )


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON}, is_filter=True)
