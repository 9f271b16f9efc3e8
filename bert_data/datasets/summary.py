"""Summaries of finished sets, and example records, for people to read."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bert_data.formats.registry import PARQUET
from bert_data.progress import how_many, size
from bert_data.schema.fields import REFERENCE
from bert_data.tokens.special_tokens import describe_counts

if TYPE_CHECKING:  # so that a command loads only what makes its own kind of set
    from bert_data.datasets.dataset_config import Dataset
    from bert_data.datasets.labelled_set import LabelledDataset
    from bert_data.objectives.making import InstanceCounts
    from bert_data.objectives.objective import Objective
    from bert_data.objectives.rows import Instance

_MAX_NAMED = 10
_MAX_LETTERS = 40


def describe_example(instance: "Instance", dataset: "Dataset") -> str:
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
        lines.append(f"{objective.title}: {objective.short_meanings[bool(instance.label)]}")
    lines.append(f"to predict: {', '.join(predictions) or 'nothing'}")
    return "\n  ".join(lines)


def summarize(dataset: "Dataset") -> str:
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
    yield _row("text", f"{how_many(len(dataset.inputs), 'file')}, {size(tokens.num_bytes)}")
    yield _row("documents", f"{tokens.num_documents:,}")
    yield _row("sentences", f"{tokens.num_sentences:,}")
    unknown = f"{tokens.num_unknown:,} [UNK], {_percent(tokens.num_unknown, tokens.num_tokens)}"
    yield _row("tokens", f"{tokens.num_tokens:,} ({unknown})")
    if tokens.special_tokens:
        yield _row("special", f"in the text: {describe_counts(tokens.special_tokens)}")
    if tokens.num_skipped:
        yield _row("skipped", f"{tokens.num_skipped:,} rows without a text")
    if tokens.num_replaced:
        yield _row(
            "undecodable",
            f"{tokens.num_replaced:,} invalid byte sequences were replaced or ignored",
        )
    yield _row(
        "instances",
        f"{counts.num_instances:,} of {counts.num_tokens / counts.num_instances:.1f} tokens",
    )
    padding = _percent(room - counts.num_tokens, room)
    yield _row("padding", f"{padding} if every row is padded to {manifest.max_seq_length}")
    yield _segments_row(counts, manifest.objective)
    shares = (
        f"{_percent(part, predicted)} {name}"
        for part, name in (
            (counts.num_masked, "[MASK]"),
            (counts.num_replaced, "random"),
            (counts.num_kept, "kept"),
        )
    )
    yield _row("to predict", f"{predicted:,} tokens: {', '.join(shares)}")
    for stage in dataset.stages:
        rate = stage.num_bytes / 1e6 / max(stage.seconds, 1e-9)
        yield _row(stage.name, f"{stage.seconds:.2f} s, {rate:.1f} MB/s")
    yield from _files(dataset)


def _segments_row(counts: "InstanceCounts", objective: "Objective") -> str:
    if objective.label is None:
        return _row("next sentence", "none, one segment per instance")
    random = f"{_percent(counts.num_random_next, counts.num_instances)} random"
    if counts.num_swapped is None:
        return _row(objective.title, random)
    swapped = f"{_percent(counts.num_swapped, counts.num_instances)} swapped"
    return _row(objective.title, f"{swapped}, {random} after lone sentences")


def summarize_labelled(dataset: "LabelledDataset") -> str:
    """Return the lines of the summary."""
    return "\n".join(_labelled_lines(dataset))


def _labelled_lines(dataset: "LabelledDataset") -> Iterator[str]:
    manifest = dataset.manifest
    counts, labels = manifest.counts["text"], manifest.counts["labels"]
    num_texts, num_tokens = counts["num_texts"], counts["num_tokens"]
    nested = manifest.flags["sentences"] != "one"
    levels = "[sentences, words, pieces]" if nested else "[words, pieces]"
    yield f"records of labelled texts in {how_many(len(dataset.paths), 'file')}"
    yield _row("read", f"{how_many(len(dataset.inputs), 'file')}, {how_many(num_texts, 'row')}")
    names = "classes" if manifest.flags["classes"] else "integers"
    named = [
        f"{name[:_MAX_LETTERS]} {count:,}" for name, count in list(labels.items())[:_MAX_NAMED]
    ]
    more = ", ..." if len(labels) > _MAX_NAMED else ""
    yield _row("labels", f"{len(labels):,} {names}: {', '.join(named)}{more}")
    if nested:
        yield _row("sentences", f"{counts['num_sentences']:,}")
    yield _row("words", f"{counts['num_words']:,}")
    unknown = f"{counts['num_unknown']:,} [UNK], {_percent(counts['num_unknown'], num_tokens)}"
    yield _row("tokens", f"{num_tokens:,} ({unknown}), {levels}")
    mean = f"{num_tokens / num_texts:.1f} tokens on average"
    yield _row("per row", f"{mean}, at most {manifest.max_seq_length:,}")
    if counts["num_without_tokens"]:
        yield _row("empty", f"{counts['num_without_tokens']:,} rows have no token")
    yield from _files(dataset)


def _files(dataset: "Dataset | LabelledDataset") -> Iterator[str]:
    files = dataset.manifest.files
    for path, file in list(zip(dataset.paths, files, strict=True))[:_MAX_NAMED]:
        yield _row("wrote", f"{path}  {file.num_records:,} records, {size(file.num_bytes)}")
    if len(files) > _MAX_NAMED:
        num_records = sum(file.num_records for file in files)
        num_bytes = sum(file.num_bytes for file in files)
        yield _row("", f"and so on: {num_records:,} records, {size(num_bytes)} in all")


def _row(name: str, value: str) -> str:
    return f"  {name:<14} {value}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "none"
