"""What is said of a set of records of labelled texts when it is made."""

from collections.abc import Iterator

from bert_data.datasets.labelled import LabelledDataset

_MAX_NAMED = 10


def summarize_labelled(dataset: LabelledDataset) -> str:
    """The lines of the summary."""
    return "\n".join(_lines(dataset))


def _lines(dataset: LabelledDataset) -> Iterator[str]:
    manifest = dataset.manifest
    counts, labels = manifest.counts["text"], manifest.counts["labels"]
    num_texts, num_tokens = counts["num_texts"], counts["num_tokens"]
    nested = manifest.flags["sentences"] != "one"
    levels = "[sentences, words, pieces]" if nested else "[words, pieces]"
    yield f"records of labelled texts in {len(dataset.paths):,} file(s)"
    yield _row("read", f"{len(dataset.inputs):,} file(s), {num_texts:,} rows")
    names = "classes" if manifest.flags["classes"] else "whole numbers"
    told = [f"{name} {count:,}" for name, count in list(labels.items())[:_MAX_NAMED]]
    more = ", ..." if len(labels) > _MAX_NAMED else ""
    yield _row("labels", f"{len(labels):,} {names}: {', '.join(told)}{more}")
    if nested:
        yield _row("sentences", f"{counts['num_sentences']:,}")
    yield _row("words", f"{counts['num_words']:,}")
    share = f"{100 * counts['num_unknown'] / num_tokens:.1f}%"
    yield _row("tokens", f"{num_tokens:,} ({counts['num_unknown']:,} [UNK], {share}), {levels}")
    yield _row(
        "a row",
        f"{num_tokens / num_texts:.1f} tokens on average, at most {manifest.max_seq_length:,}",
    )
    if counts["num_without_tokens"]:
        yield _row("empty", f"{counts['num_without_tokens']:,} rows have no token")
    for path, file in list(zip(dataset.paths, manifest.files, strict=True))[:_MAX_NAMED]:
        yield _row("wrote", f"{path}  {file.num_records:,} records, {file.num_bytes:,} bytes")
    if len(dataset.paths) > _MAX_NAMED:
        num_bytes = sum(file.num_bytes for file in manifest.files)
        yield _row("", f"and so on: {num_texts:,} records, {num_bytes:,} bytes in all")


def _row(name: str, value: str) -> str:
    return f"  {name:<15}{value}"
