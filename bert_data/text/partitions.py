"""Divide files into parts of about the same size that end with a document.

    a.txt (90 bytes), b.txt (30 bytes), 3 partitions
      -> [a 0:44]  [a 44:83]  [a 83:, b]            targets are the bytes 40 and 80 of 120

A cut is the first document that begins at or after its target, so it depends only on the files and
the number of partitions. Compressed files are not cut, except where a document of lines continues
from the file before; Parquet files are cut between row groups, and prose where a blank line or a
heading ends a document, or else between files.
"""

import bisect
import dataclasses
import itertools
from collections.abc import Sequence

from bert_data.errors import CorruptDataError
from bert_data.storage import file_size
from bert_data.text.compression import COMPRESSIONS
from bert_data.text.formats import TextFormat
from bert_data.text.lines import read_bounded_lines
from bert_data.text.spans import Span

Cut = tuple[int, int]  # number of the file, and where in it, as in a span

_MAX_HELD_BYTES = 8 << 20  # of a line; of longer ones, only the end matters


def plan_partitions(
    paths: Sequence[str], text_format: TextFormat, num_partitions: int
) -> list[list[Span]]:
    """Divide files into partitions.

    Raises:
      ValueError: the files have fewer documents, or places to cut.
    """
    if num_partitions == 1:
        return [[Span(path) for path in paths]]
    partitions = _cut(paths, text_format, num_partitions)
    filled = sum(map(bool, partitions))
    if filled < num_partitions:
        raise ValueError(
            f"{num_partitions} partitions are requested, but the {len(paths)} file(s), {paths[0]!r}"
            f" first, can only be cut into {filled} at ends of documents"
        )
    return partitions


def plan_shards(
    paths: Sequence[str], text_format: TextFormat, target_bytes: int
) -> list[list[Span]]:
    """Divide files into parts of a given size on disk, or larger ones where they cannot be cut.

    The spans hold the number of lines before them, so that their readers need not count.
    """
    num_shards = max(1, sum(map(file_size, paths)) // target_bytes)
    shards = [part for part in _cut(paths, text_format, num_shards) if part]
    counted: Span | None = None
    for shard in shards:
        for i, span in enumerate(shard):
            if span.start and text_format.has_lines:
                counted = _with_rows_before(span, counted)
                shard[i] = counted
    return shards


def _with_rows_before(span: Span, earlier: Span | None) -> Span:
    """Return a span with the lines before it counted, from an earlier span on."""
    start, rows = 0, 0
    if earlier is not None and earlier.path == span.path:
        assert earlier.rows_before is not None
        start, rows = earlier.start, earlier.rows_before
    blocks = read_bounded_lines([Span(span.path, start, span.start)], _MAX_HELD_BYTES)
    rows += sum(block.data.count(b"\n") for block in blocks)
    return dataclasses.replace(span, rows_before=rows)


def _cut(paths: Sequence[str], text_format: TextFormat, num_partitions: int) -> list[list[Span]]:
    ends = list(itertools.accumulate(map(file_size, paths)))
    cuts: list[Cut] = [(0, 0)]
    for number in range(1, num_partitions):
        target = ends[-1] * number // num_partitions
        file = min(bisect.bisect_right(ends, target), len(paths) - 1)
        position = target - (ends[file - 1] if file else 0)
        if cuts[-1][0] > file or (cuts[-1] >= (file, position) and text_format.has_lines):
            cuts.append(cuts[-1])  # still the first document after the target
        else:
            cuts.append(max(cuts[-1], _first_document(paths, text_format, (file, position))))
    cuts.append((len(paths), 0))
    return [_between(paths, start, end) for start, end in itertools.pairwise(cuts)]


def _first_document(paths: Sequence[str], text_format: TextFormat, target: Cut) -> Cut:
    """Return the first document that begins at or after a target, in bytes of files."""
    file, position = target
    is_compressed = file < len(paths) and paths[file].endswith(COMPRESSIONS)
    if position and is_compressed and not text_format.is_cut_compressed:
        file, position = file + 1, 0
    if not position and (not text_format.runs_on or not file):
        return file, 0
    for number in range(file, len(paths)):
        try:
            start = text_format.find_document(paths[number], position)
        except CorruptDataError:  # the reader will report it
            start = None
        if start is not None:
            return number, start
        if not text_format.runs_on:
            return number + 1, 0
        position = 0
    return len(paths), 0


def _between(paths: Sequence[str], start: Cut, end: Cut) -> list[Span]:
    spans = []
    for file in range(start[0], min(end[0] + 1, len(paths))):
        first = start[1] if file == start[0] else 0
        last = end[1] if file == end[0] else None
        if last is None or last > first:
            spans.append(Span(paths[file], first, last))
    return spans
