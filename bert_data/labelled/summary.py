"""The summary of a finished set of labelled texts."""

from collections.abc import Iterator

from bert_data.labelled.records import LabelledDataset
from bert_data.progress import how_many
from bert_data.records.sets.summary import describe_files, percent_of, summary_row

_MAX_NAMED = 10
_MAX_LETTERS = 40


def summarize_labelled(dataset: LabelledDataset) -> str:
    """Return the lines of the summary of a set of labelled texts."""
    return "\n".join(_lines(dataset))


def _lines(dataset: LabelledDataset) -> Iterator[str]:
    manifest = dataset.manifest
    counts, labels = manifest.counts["text"], manifest.counts["labels"]
    num_texts, num_tokens = counts["num_texts"], counts["num_tokens"]
    nested = manifest.flags["sentences"] != "one"
    levels = f"[{'sentences' if nested else 'texts'}, words, pieces]"
    yield f"records of labelled texts in {how_many(len(dataset.paths), 'file')}"
    yield summary_row(
        "read", f"{how_many(len(dataset.inputs), 'file')}, {how_many(num_texts, 'row')}"
    )
    names = "classes" if manifest.flags["classes"] else "integers"
    named = [
        f"{name[:_MAX_LETTERS]} {count:,}" for name, count in list(labels.items())[:_MAX_NAMED]
    ]
    more = ", ..." if len(labels) > _MAX_NAMED else ""
    yield summary_row("labels", f"{len(labels):,} {names}: {', '.join(named)}{more}")
    if nested:
        yield summary_row("sentences", f"{counts['num_sentences']:,}")
    yield summary_row("words", f"{counts['num_words']:,}")
    unknown = f"{counts['num_unknown']:,} [UNK], {percent_of(counts['num_unknown'], num_tokens)}"
    yield summary_row("tokens", f"{num_tokens:,} ({unknown}), {levels}")
    mean = f"{num_tokens / num_texts:.1f} tokens on average"
    yield summary_row("per row", f"{mean}, at most {manifest.max_seq_length:,}")
    if counts["num_without_tokens"]:
        yield summary_row("empty", f"{counts['num_without_tokens']:,} rows have no token")
    yield from describe_files(dataset.paths, dataset.manifest.files)
