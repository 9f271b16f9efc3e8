"""The summary of a finished set, and example records, for people to read."""

from collections.abc import Iterator, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING

from bert_data.progress import how_many, size
from bert_data.records.choices import REFERENCE
from bert_data.records.formats.manifest_file import ManifestFile
from bert_data.records.formats.registry import PARQUET
from bert_data.tokens.special_tokens import describe_counts

if TYPE_CHECKING:  # so that a command loads only what makes its own kind of set
    from bert_data.records.instances.making import InstanceCounts
    from bert_data.records.instances.rows import Instance
    from bert_data.records.objectives import Objective
    from bert_data.records.sets.config import Dataset
    from bert_data.records.sets.plain import ProgramSet

_MAX_NAMED = 10
_MAX_WIDTH = 160  # of an example's lines


def describe_examples(dataset: "Dataset | ProgramSet") -> str:
    """Return the block of examples; without any, it is empty."""
    shown = [_describe(instance, dataset) for instance in dataset.examples]
    return "\n".join(["examples (bert-data inspect shows records whole)", *shown] if shown else [])


def _describe(instance: "Instance", dataset: "Dataset | ProgramSet") -> str:
    """Return an instance as lines: its tokens, what its segments are, and what is to be predicted.

    Example:
      tokens: [CLS] the [MASK] sat [SEP] on the mat [SEP]
      next sentence: it follows
      to predict: 2 cat (masked)
    """
    vocabulary, objective = dataset.vocabulary, dataset.manifest.objective
    tokens = [vocabulary.tokens[i] for i in instance.ids]
    predictions = []
    for position, original in zip(instance.masked_positions, instance.masked_ids, strict=True):
        changes = {original: "kept", vocabulary.mask_id: "masked"}
        change = changes.get(instance.ids[position], "replaced")
        predictions.append(f"{position} {vocabulary.tokens[original]} ({change})")
    lines = [f"tokens: {' '.join(tokens)}"]
    if objective.label is not None:
        meanings = ("it follows", "swapped" if objective.swaps else "random")
        lines.append(f"{objective.title}: {meanings[bool(instance.label)]}")
    lines.append(f"to predict: {', '.join(predictions) or 'nothing'}")
    return "\n".join(f"  {shorten(line, _MAX_WIDTH, placeholder=' ...')}" for line in lines)


def summarize_records(dataset: "Dataset") -> str:
    """Return the lines of the summary."""
    return "\n".join(_lines(dataset))


def _lines(dataset: "Dataset") -> Iterator[str]:
    tokens, counts, manifest = dataset.tokens, dataset.instances, dataset.manifest
    room = counts.num_instances * manifest.max_seq_length
    predicted = counts.num_masked + counts.num_kept + counts.num_replaced
    is_parquet = manifest.output_format == PARQUET
    rows = "padded rows of Parquet" if manifest.record_layout == REFERENCE else "rows of Parquet"
    kind = rows if is_parquet else f"{manifest.record_layout} records"
    yield f"{kind} in {how_many(len(dataset.paths), 'file')}"
    yield summary_row("text", f"{how_many(len(dataset.inputs), 'file')}, {size(tokens.num_bytes)}")
    yield summary_row("documents", f"{tokens.num_documents:,}")
    yield summary_row("sentences", f"{tokens.num_sentences:,}")
    unknown = f"{tokens.num_unknown:,} [UNK], {percent_of(tokens.num_unknown, tokens.num_tokens)}"
    yield summary_row("tokens", f"{tokens.num_tokens:,} ({unknown})")
    if tokens.special_tokens:
        yield summary_row("special", f"in the text: {describe_counts(tokens.special_tokens)}")
    if tokens.num_skipped:
        yield summary_row("skipped", f"{tokens.num_skipped:,} rows without a text")
    if tokens.num_replaced:
        yield summary_row(
            "undecodable",
            f"{tokens.num_replaced:,} invalid byte sequences were replaced or ignored",
        )
    yield summary_row(
        "instances",
        f"{counts.num_instances:,} of {counts.num_tokens / counts.num_instances:.1f} tokens",
    )
    padding = percent_of(room - counts.num_tokens, room)
    yield summary_row("padding", f"{padding} if every row is padded to {manifest.max_seq_length}")
    yield _segments_row(counts, manifest.objective)
    shares = (
        f"{percent_of(part, predicted)} {name}"
        for part, name in (
            (counts.num_masked, "[MASK]"),
            (counts.num_replaced, "random"),
            (counts.num_kept, "kept"),
        )
    )
    yield summary_row("to predict", f"{predicted:,} tokens: {', '.join(shares)}")
    for stage in dataset.stages:
        rate = stage.num_bytes / 1e6 / max(stage.seconds, 1e-9)
        yield summary_row(stage.name, f"{stage.seconds:.2f} s, {rate:.1f} MB/s")
    yield from describe_files(dataset.paths, dataset.manifest.files)


def _segments_row(counts: "InstanceCounts", objective: "Objective") -> str:
    if objective.label is None:
        return summary_row("next sentence", "none, one segment per instance")
    random = f"{percent_of(counts.num_random_next, counts.num_instances)} random"
    if counts.num_swapped is None:
        return summary_row(objective.title, random)
    swapped = f"{percent_of(counts.num_swapped, counts.num_instances)} swapped"
    return summary_row(objective.title, f"{swapped}, {random} after lone sentences")


def describe_files(paths: Sequence[str], files: Sequence[ManifestFile]) -> Iterator[str]:
    """Yield the lines of a summary about the files that were written."""
    for path, file in list(zip(paths, files, strict=True))[:_MAX_NAMED]:
        yield summary_row("wrote", f"{path}  {file.num_records:,} records, {size(file.num_bytes)}")
    if len(files) > _MAX_NAMED:
        num_records = sum(file.num_records for file in files)
        num_bytes = sum(file.num_bytes for file in files)
        yield summary_row("", f"and so on: {num_records:,} records, {size(num_bytes)} in all")


def summary_row(name: str, value: str) -> str:
    """Return a line of a summary."""
    return f"  {name:<14} {value}"


def percent_of(part: int, whole: int) -> str:
    """Return a share in words: "12.3%"."""
    return f"{100 * part / whole:.1f}%" if whole else "none"
