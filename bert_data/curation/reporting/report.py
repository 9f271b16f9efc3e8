"""The report of a run: one self-contained HTML file with tables, histograms and examples."""

import html
import math
import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bert_data.curation.reporting.run_summary import named, percent, removals_table, steps_table
from bert_data.curation.running.counts import StepCounts, bin_bounds, list_examples
from bert_data.curation.running.pipeline import LabelledStep, describe_step
from bert_data.curation.running.result import Curation
from bert_data.curation.step import Table
from bert_data.progress import duration, how_many

_HISTOGRAM_WIDTH, _HISTOGRAM_HEIGHT, _AXIS_HEIGHT = 300, 90, 16
_MAX_BARS = 60


def histogram(rule: str, bins: Mapping[int, int], threshold: float | None) -> str:
    """Draw the measured values of a rule on a logarithmic scale, with the threshold as a line."""
    # Bin numbers order bins of one sign; negative values decrease as their size grows.
    numbers = sorted(bins, key=lambda number: bin_bounds(number)[0])
    bars = [(bin_bounds(number), bins[number]) for number in numbers]
    while len(bars) > _MAX_BARS:
        bars = [_joined(bars[i : i + 2]) for i in range(0, len(bars), 2)]
    highest = max(count for _, count in bars)
    step = _HISTOGRAM_WIDTH / len(bars)
    height = _HISTOGRAM_HEIGHT + _AXIS_HEIGHT
    parts = []
    for i, ((low, high), count) in enumerate(bars):
        tall = _HISTOGRAM_HEIGHT * count / highest
        parts.append(
            f'<rect class="bar" x="{i * step:.1f}" y="{_HISTOGRAM_HEIGHT - tall:.1f}"'
            f' width="{max(step - 0.5, 0.5):.1f}" height="{tall:.1f}">'
            f"<title>{low:.4g} to {high:.4g}: {count:,}</title></rect>"
        )
    if threshold is not None and math.isfinite(threshold):
        x = step * _place(threshold, [bounds for bounds, _ in bars])
        parts.append(
            f'<line class="threshold" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{_HISTOGRAM_HEIGHT}"/>'
        )
    low, high = bars[0][0][0], bars[-1][0][1]
    parts.append(
        f'<text class="axis" x="0" y="{height - 3}">{low:.3g}</text>'
        f'<text class="axis" x="{_HISTOGRAM_WIDTH}" y="{height - 3}" text-anchor="end">{high:.3g}'
        "</text>"
    )
    return (
        f'<svg viewBox="0 0 {_HISTOGRAM_WIDTH} {height}" width="{_HISTOGRAM_WIDTH}" role="img"'
        f' height="{height}" aria-label="values of {html.escape(rule)}">{"".join(parts)}</svg>'
    )


Bar = tuple[tuple[float, float], int]


def _joined(pair: Sequence[Bar]) -> Bar:
    return (pair[0][0][0], pair[-1][0][1]), sum(count for _, count in pair)


def _place(value: float, bounds: Sequence[tuple[float, float]]) -> float:
    """Return the position of a value among bars, in bars from the left."""
    for i, (low, high) in enumerate(bounds):
        if value < low:
            return i
        if low == high == value:
            return i + 0.5
        if value < high:
            return i + (value - low) / (high - low)
    return len(bounds)


_STYLE = "\n" + (pkgutil.get_data(__name__, "report.css") or b"").decode()
_NUM_FILES = 50


def make_report(done: Curation) -> str:
    """Return the report as HTML."""
    first, last = done.counts[0], done.counts[-1]
    share = percent(last.num_documents, done.num_documents)
    title = html.escape(f"{last.num_documents:,} of {done.num_documents:,} documents ({share})")
    body = [
        f"<h1>Curation: {title}</h1>",
        f"<p>{last.num_bytes / 1e6:,.1f} of {first.num_bytes / 1e6:,.1f} MB of text,"
        f" {last.num_words:,} of {first.num_words:,} words, in {duration(done.seconds)}.</p>",
        *(f'<p class="warning">{html.escape(warning)}</p>' for warning in done.warnings),
        "<h2>Steps</h2>",
        "<p>The documents that pass each step; they reach the one below.</p>",
        _steps(done.counts),
        *_sections(done),
        "<h2>Data sets</h2>",
        *_data_sets(done),
        "<h2>Files</h2>",
        _files(done),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Curation: {title}'
        f"</title><style>{_STYLE}</style></head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _steps(all_counts: Sequence[StepCounts]) -> str:
    """Return the steps, each with a bar for the documents that pass it."""
    most = max(1, *(counts.num_documents for counts in all_counts))
    head, *rows = steps_table(all_counts)
    for row, counts in zip(rows, all_counts, strict=True):
        row.append(_Html(f'<meter value="{counts.num_documents}" max="{most}"></meter>'))
    return _table([*head, ""], rows)


def _sections(done: Curation) -> Iterator[str]:
    """Yield, for each step, what it received, rejected and measured."""
    steps: list[LabelledStep | None] = [None, *done.pipeline.steps]
    for labelled, counts in zip(steps, done.counts, strict=True):
        if labelled is None and not counts.rejected:
            continue
        yield f"<h3>{html.escape(counts.label)}</h3>"
        if labelled is not None:
            parameters = describe_step(labelled.step)
            settings = ", ".join(f"{name}={_short(value)}" for name, value in parameters.items())
            yield f"<p><code>{html.escape(settings or 'no parameters')}</code></p>"
        if counts.rejected:
            ordered = sorted(counts.rejected.items(), key=lambda item: (-item[1], item[0]))
            rows = [
                [rule, f"{number:,}", percent(number, counts.num_rejected)]
                for rule, number in ordered
            ]
            yield _table(["rejected by", "documents", "of the rejected"], rows)
        for what, numbers in (("Edited", counts.edits), ("Counted", counts.counted)):
            if numbers and not (what == "Counted" and counts.label in done.tables):
                yield f"<p>{what}: {html.escape(named(numbers))}</p>"
        if counts.label in done.tables:
            yield _step_table(done.tables[counts.label])
        figures = [
            f"<figure>{histogram(rule, bins, counts.thresholds.get(rule))}<figcaption>"
            f"{html.escape(rule)}{_threshold(counts, rule)}</figcaption></figure>"
            for rule, bins in sorted(counts.bins.items())
            if bins
        ]
        if figures:
            yield f'<div class="histograms">{"".join(figures)}</div>'
        examples = [
            [rule, "kept" if kept else "rejected", _short(value), _short(threshold), name, text]
            for rule, kept, name, value, threshold, text in list_examples(counts.examples)
        ]
        if examples:
            head = ["rule", "outcome", "value", "threshold", "document", "beginning of the text"]
            yield (
                "<details><summary>Examples: documents that each rule rejects, at random and"
                " closest to the threshold, and the closest that pass</summary>"
                f'<div class="examples">{_table(head, examples)}</div></details>'
            )


def _step_table(table: Table) -> str:
    _, _, *rows = table.as_text()
    return _table([" ".join(filter(None, heads)) for heads in table.columns], rows)


def _threshold(counts: StepCounts, rule: str) -> str:
    threshold = counts.thresholds.get(rule)
    return "" if threshold is None else f" (threshold {threshold:g})"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _data_sets(done: Curation) -> Iterator[str]:
    """Yield the data sets and, if there are several, what each step removed of each."""
    rows = []
    for number, data_set in enumerate(done.pipeline.data_sets):
        num_shards = sum(shard.data_set == number for shard in done.shards)
        num_files = len(done.files_of(number))
        rows.append([data_set.name, data_set.files, f"{num_files:,}", f"{num_shards:,}"])
    yield _table(["data set", "pattern", "files", "shards"], rows)
    if len(done.by_data_set) > 1:
        yield "<p>What is left of the text of each data set, and what each step removed.</p>"
        head, *rows = removals_table(done.by_data_set)
        yield _table(head, rows)


def _files(done: Curation) -> str:
    rows = [
        [file.name, f"{file.num_documents:,}", f"{file.num_bytes:,}"]
        for file in done.files[:_NUM_FILES]
    ]
    if len(done.files) > _NUM_FILES:
        rows.append([f"and {len(done.files) - _NUM_FILES:,} more", "", ""])
    rows.append([done.ledger[0], how_many(done.ledger[1], "row"), ""])
    return _table(["file", "documents", "bytes"], rows)


class _Html(str):
    """A cell that is not escaped."""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def cells(tag: str, values: Sequence[str]) -> str:
        escaped = (each if isinstance(each, _Html) else html.escape(each) for each in values)
        return "".join(f"<{tag}>{each}</{tag}>" for each in escaped)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><tr>{cells('th', head)}</tr>{body}</table>"
