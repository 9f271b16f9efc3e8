"""The summary at the end of a run.

step            documents    MB      words  MB/s  rejected by
read               10,000  25.1  4,210,004  41.0  unreadable_row 2
gopher_quality      8,120  22.9  3,890,110  50.6  min_words 1,604, min_stop_words 310
"""

from collections.abc import Iterator, Mapping, Sequence

from bert_data.curation.reporting.removals import removals_table
from bert_data.curation.running.counts import StepCounts
from bert_data.curation.running.run import Curation
from bert_data.progress import duration, size

_MAX_NAMED = 10
_MAX_RULES = 4
_MAX_DATA_SETS = 8  # beside each other; the report has more


def summarize(done: Curation) -> str:
    """Return the lines of the summary."""
    return "\n".join(_lines(done))


def _lines(done: Curation) -> Iterator[str]:
    first, last = done.counts[0], done.counts[-1]
    share = percent(last.num_documents, done.num_documents)
    yield (
        f"{last.num_documents:,} of {done.num_documents:,} documents ({share}) in"
        f" {len(done.files):,} file(s)"
    )
    num_inputs = len({span.path for shard in done.shards for span in shard.spans})
    resumed = f"; {done.num_resumed:,} were done by an earlier run" if done.num_resumed else ""
    yield _row(
        "read",
        f"{num_inputs:,} file(s), {first.num_rows:,} rows, {size(first.num_bytes)} of text"
        f" in {len(done.shards):,} shard(s){resumed}",
    )
    yield from _table(done.counts)
    if 1 < len(done.by_data_set) <= _MAX_DATA_SETS:
        yield from _aligned(removals_table(done.by_data_set))
    for counts in done.counts:
        for what, numbers in (("edited", counts.edits), ("counted", counts.counted)):
            if numbers and not (what == "counted" and counts.label in done.tables):
                yield _row(what, f"{counts.label}: {named(numbers)}")
        if counts.label in done.tables:
            yield f"  {counts.label}:"
            yield from _aligned(done.tables[counts.label].as_text())
    speed = first.num_bytes / 1e6 / max(sum(each.seconds for each in done.counts), 1e-9)
    yield _row("time", f"{duration(done.seconds)}; {speed:.1f} MB per second of work in steps")
    for file in done.files[:_MAX_NAMED]:
        yield _row(
            "wrote", f"{file.name}  {file.num_documents:,} documents, {size(file.num_bytes)}"
        )
    if len(done.files) > _MAX_NAMED:
        num_bytes = sum(file.num_bytes for file in done.files)
        yield _row("", f"and so on: {last.num_documents:,} documents, {size(num_bytes)} in all")
    yield _row("ledger", f"{done.ledger[0]}  {done.ledger[1]:,} rows")
    if done.pipeline.output.rejected_file is not None:
        yield _row("rejected", done.pipeline.output.rejected_file)


def _table(all_counts: Sequence[StepCounts]) -> Iterator[str]:
    with_tokens = any(counts.num_tokens for counts in all_counts)
    head = ["step", "documents", "MB", "words", *(["tokens"] if with_tokens else []), "MB/s"]
    rows = [[*head, "rejected by"]]
    rows += [
        [
            counts.label,
            f"{counts.num_documents:,}",
            f"{counts.num_bytes / 1e6:,.1f}",
            f"{counts.num_words:,}",
            *([f"{counts.num_tokens:,}"] if with_tokens else []),
            rate(all_counts, number),
            named(counts.rejected, _MAX_RULES),
        ]
        for number, counts in enumerate(all_counts)
    ]
    yield from _aligned(rows, is_last_text=True)


def _aligned(rows: Sequence[Sequence[str]], *, is_last_text: bool = False) -> Iterator[str]:
    """Yield rows of columns, aligned to the right but for the first one, and the last if asked."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        cells[0] = row[0].ljust(widths[0])
        if is_last_text:
            cells[-1] = row[-1]
        yield f"  {'  '.join(cells)}".rstrip()


def rate(all_counts: Sequence[StepCounts], number: int) -> str:
    """Return the megabytes per second of work that enter a step, or that leave "read"."""
    counts, before = all_counts[number], all_counts[max(number - 1, 0)]
    if counts.seconds <= 0:
        return "-"
    return f"{before.num_bytes / 1e6 / counts.seconds:.1f}"


def named(counts: Mapping[str, int], max_named: int = _MAX_NAMED) -> str:
    """Format counts by name, the largest first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{name} {count:,}" for name, count in ordered[:max_named]]
    return ", ".join([*parts, "..."] if len(ordered) > max_named else parts)


def percent(part: int, whole: int) -> str:
    """Format a share; only the whole is shown as 100%, and only nothing as 0%."""
    if not whole:
        return "none"
    rounded = f"{100 * part / whole:.1f}%"
    if rounded == "100.0%" and part < whole:
        return ">99.9%"
    return "<0.1%" if rounded == "0.0%" and part else rounded


def _row(name: str, value: str) -> str:
    return f"  {name:<15}{value}"
