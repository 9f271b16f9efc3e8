"""The summary at the end of a run.

step            documents    MB      words  MB/s  rejected by
read               10,000  25.1  4,210,004  41.0  unreadable_row 2
gopher_quality      8,120  22.9  3,890,110  50.6  min_words 1,604, min_stop_words 310
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from bert_data.curation.running.counts import READ, StepCounts
from bert_data.curation.running.result import Curation
from bert_data.progress import duration, how_many, size

_MAX_NAMED = 10
_MAX_RULES = 4
_MAX_LEFT_OUT = 20
_MAX_DATA_SETS = 8  # beside each other; the report has more


def summarize(done: Curation) -> str:
    """Return the lines of the summary."""
    return "\n".join(_lines(done))


def _lines(done: Curation) -> Iterator[str]:
    first, last = done.counts[0], done.counts[-1]
    share = percent(last.num_documents, done.num_documents)
    yield (
        f"{last.num_documents:,} of {done.num_documents:,} documents ({share}) in"
        f" {how_many(len(done.files), 'file')}"
    )
    num_inputs = len({span.path for shard in done.shards for span in shard.spans})
    resumed = f"; {done.num_resumed:,} were done by an earlier run" if done.num_resumed else ""
    yield _row(
        "read",
        f"{how_many(num_inputs, 'file')}, {how_many(first.num_rows, 'row')},"
        f" {size(first.num_bytes)} of text in {how_many(len(done.shards), 'shard')}{resumed}",
    )
    yield from _aligned(steps_table(done.counts), is_last_text=True)
    if 1 < len(done.by_data_set) <= _MAX_DATA_SETS:
        yield from _aligned(removals_table(done.by_data_set))
    for counts in done.counts:
        if counts.label == READ and counts.counted:
            yield _row("left out", named(counts.counted, _MAX_LEFT_OUT))
            continue
        for what, numbers in (("edited", counts.edits), ("counted", counts.counted)):
            if numbers and not (what == "counted" and counts.label in done.tables):
                yield _row(what, f"{counts.label}: {named(numbers)}")
        if counts.label in done.tables:
            yield f"  {counts.label}:"
            yield from _aligned(done.tables[counts.label].as_text())
    speed = first.num_bytes / 1e6 / max(sum(each.seconds for each in done.counts), 1e-9)
    yield _row("time", f"{duration(done.seconds)}; {speed:.1f} MB per second of work in steps")
    for file in done.files[:_MAX_NAMED]:
        tokens = "" if file.num_tokens is None else f" {file.num_tokens:,} tokens,"
        yield _row(
            "wrote",
            f"{file.name}  {how_many(file.num_documents, 'document')},{tokens}"
            f" {size(file.num_bytes)}",
        )
    if len(done.files) > _MAX_NAMED:
        num_bytes = sum(file.num_bytes for file in done.files)
        yield _row("", f"and so on: {last.num_documents:,} documents, {size(num_bytes)} in all")
    yield _row("ledger", f"{done.ledger[0]}  {how_many(done.ledger[1], 'row')}")
    if done.pipeline.output.rejected_file is not None:
        yield _row("rejected", done.pipeline.output.rejected_file)


def steps_table(all_counts: Sequence[StepCounts]) -> list[list[str]]:
    """Return rows, the head first: what passes each step, and by which rules it rejects."""
    with_tokens = any(counts.num_tokens for counts in all_counts)
    head = ["step", "documents", "MB", "words", *(["tokens"] if with_tokens else []), "MB/s"]
    rows = [
        [
            counts.label,
            f"{counts.num_documents:,}",
            f"{counts.num_bytes / 1e6:,.1f}",
            f"{counts.num_words:,}",
            *([f"{counts.num_tokens:,}"] if with_tokens else []),
            _rate(all_counts, number),
            named(counts.rejected, _MAX_RULES),
        ]
        for number, counts in enumerate(all_counts)
    ]
    return [[*head, "rejected by"], *rows]


def _aligned(rows: Sequence[Sequence[str]], *, is_last_text: bool = False) -> Iterator[str]:
    """Yield rows of columns, aligned to the right but for the first one, and the last if asked."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        cells[0] = row[0].ljust(widths[0])
        if is_last_text:
            cells[-1] = row[-1]
        yield f"  {'  '.join(cells)}".rstrip()


def _rate(all_counts: Sequence[StepCounts], number: int) -> str:
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
    return f"  {name:<14} {value}"


ByDataSet = Mapping[str, Sequence[StepCounts]]


def removed_bytes(by_data_set: ByDataSet) -> dict[str, dict[str, int]]:
    """Return the bytes that each step removed, by its label, of each data set, by its name.

    Only steps that removed something of some data set are in it; one that made texts longer removed
    nothing.
    """
    removed = {
        name: {
            after.label: _num_removed(before, after) for before, after in itertools.pairwise(counts)
        }
        for name, counts in by_data_set.items()
    }
    used = {label for each in removed.values() for label, num_bytes in each.items() if num_bytes}
    return {
        name: {label: num_bytes for label, num_bytes in each.items() if label in used}
        for name, each in removed.items()
    }


def _num_removed(before: StepCounts, after: StepCounts) -> int:
    if after.num_documents + after.num_rejected > before.num_documents:  # some are repeated
        return after.num_rejected_bytes
    return max(0, before.num_bytes - after.num_bytes)


def removals_table(by_data_set: ByDataSet) -> list[list[str]]:
    """Return rows, the head first: the shares of bytes that each step removed of each data set."""
    removed = removed_bytes(by_data_set)
    names = list(by_data_set)
    labels = list(removed[names[0]]) if names else []
    rows = [["step", *names]]
    rows.append(["read, MB", *(f"{by_data_set[n][0].num_bytes / 1e6:,.2f}" for n in names)])
    rows += [[label, *(_share(by_data_set, removed, n, label) for n in names)] for label in labels]
    kept = {n: _num_left(by_data_set, removed, n) / 1e6 for n in names}
    written = {n: by_data_set[n][-1].num_bytes / 1e6 for n in names}
    rows.append(["kept, MB", *(f"{kept[n]:,.2f}" for n in names)])
    if any(f"{kept[n]:,.2f}" != f"{written[n]:,.2f}" for n in names):
        rows.append(["written, MB", *(f"{written[n]:,.2f}" for n in names)])
    return rows


def _share(by_data_set: ByDataSet, removed: Mapping[str, dict[str, int]], n: str, step: str) -> str:
    num_bytes, whole = removed[n][step], by_data_set[n][0].num_bytes
    if not num_bytes:
        return ""
    share = f"{100 * num_bytes / whole:.1f}%"
    return "<0.1%" if share == "0.0%" else share


def _num_left(by_data_set: ByDataSet, removed: Mapping[str, dict[str, int]], name: str) -> int:
    return max(0, by_data_set[name][0].num_bytes - sum(removed[name].values()))
