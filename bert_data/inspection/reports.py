"""Show what a check found."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.inspection.batchings import Batching
from bert_data.inspection.figures import DAMAGED, DOUBTFUL, HARMFUL, Figure, share_text
from bert_data.inspection.set_check import Report
from bert_data.inspection.terminal import StyledText, Terminal
from bert_data.progress import how_many

_STYLES = {DAMAGED: "bad", HARMFUL: "bad", DOUBTFUL: "warning"}
_NUM_BINS = 16
_MOST_SHARDS = 64


def show_check(output: Terminal, report: Report) -> None:
    """Show a report; the worst findings first."""
    mean = report.num_tokens / max(1, report.num_records)
    output.paragraph(
        f"{how_many(report.num_records, 'record')} of {mean:.1f} tokens in"
        f" {how_many(len(report.shards), 'file')}"
    )
    output.heading("Findings")
    for finding in report.findings:
        output.labelled(finding.severity, [StyledText(finding.sentence, _STYLES[finding.severity])])
    if not report.findings:
        judged = f"what the {report.kind} hold is not judged" if report.kind else "as it should be"
        output.paragraph(StyledText(f"none: the set is undamaged, and {judged}", "good"))
    if report.figures:
        output.heading("Figures")
        head = ("", "measured", "95% interval", "expected", "count")
        output.table(head, [_row_of(figure) for figure in report.figures])
    if report.batchings:
        output.heading(f"Batches of {report.batch_size} rows")
        names = ("batching", "batches", "widths", "shapes", "padding", "speed")
        output.table(names, [_ways_of(batching) for batching in report.batchings])
    _show_lengths(output, report.num_of_length)
    if 1 < len(report.shards) <= _MOST_SHARDS:
        counts = {str(number): count for number, (_, count) in enumerate(report.shards)}
        output.bars("Records of each shard", ("shard", "records"), counts)


def _row_of(figure: Figure) -> Sequence[str]:
    interval = "-"
    if figure.is_sample and figure.whole:
        interval = " to ".join(map(share_text, figure.interval()))
    count = f"{figure.part:,} of {figure.whole:,}"
    return figure.name, share_text(figure.share), interval, figure.expected or "-", count


def _show_lengths(output: Terminal, num_of_length: NDArray[np.int64]) -> None:
    lengths = np.flatnonzero(num_of_length)
    if not lengths.size:
        return
    shortest, longest = int(lengths[0]), int(lengths[-1])
    width = -(-(longest - shortest + 1) // _NUM_BINS)
    firsts = range(shortest, longest + 1, width)
    counts = np.add.reduceat(num_of_length, firsts)
    lasts = [min(first + width - 1, longest) for first in firsts]
    names = [str(a) if a == b else f"{a}-{b}" for a, b in zip(firsts, lasts, strict=True)]
    by_name = dict(zip(names, counts.tolist(), strict=True))
    output.bars("Lengths of records", ("tokens", "records"), by_name)


def _ways_of(batching: Batching) -> Sequence[str]:
    widths = dict.fromkeys((batching.min_width, batching.max_width))
    return (
        batching.name,
        f"{batching.num_batches:,}",
        "-".join(map(str, widths)),
        f"{batching.num_shapes:,}",
        share_text(batching.padding),
        f"{batching.speed:.2f}x",
    )
