"""Divide files into parts of about the same size that end with a document.

    a.txt (90 bytes), b.txt (30 bytes), 3 partitions
      -> [a 0:44]  [a 44:83]  [a 83:, b]            targets are the bytes 40 and 80 of 120

A cut is the first document that begins at or after its target, so it depends only on the files and
the number of partitions. Compressed files are not cut, except where a document of lines continues
from the file before; Parquet files are cut between row groups, and prose where a blank line or a
heading ends a document, or else between files. Blocks are such parts, too, as many as there can be.
`count_rows` adds the lines before each part.
"""

import bisect
import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Iterable, Sequence

from bert_data.errors import CorruptDataError
from bert_data.progress import how_many, progress
from bert_data.storage import file_size, is_remote, read_statuses
from bert_data.text.compression import COMPRESSED_ENDINGS
from bert_data.text.documents import Span
from bert_data.text.formats import TextFormat
from bert_data.text.lines import count_lines
from bert_data.work import Executor, open_threads

Cut = tuple[int, int]  # number of the file, and where in it, as in a span

_MAX_COUNTED = 256_000_000  # bytes of a task that counts lines, so that there is some progress
_NUM_REQUESTS = 16  # at a time, of object stores
_MULTIPLE = 12  # of shards, which 2, 3, 4 or 6 workers share evenly
_LEAST_BYTES = 1_000_000  # of a shard that is smaller only for that


def plan_partitions(
    paths: Sequence[str], text_format: TextFormat, num_partitions: int
) -> list[list[Span]]:
    """Divide files into partitions."""
    if num_partitions == 1:
        return [[Span(path) for path in paths]]
    partitions = _cut(paths, _file_sizes(paths), text_format, num_partitions)
    filled = sum(map(bool, partitions))
    if filled < num_partitions:
        raise ValueError(
            f"{num_partitions} partitions are requested, but the {how_many(len(paths), 'file')},"
            f" {paths[0]!r} first, can only be cut into {filled} at ends of documents"
        )
    return partitions


def plan_shards(
    paths: Sequence[str], text_format: TextFormat, target_bytes: int
) -> list[list[Span]]:
    """Divide files into parts of at most about a size on disk, larger where they cannot be cut.

    Their number is a multiple of 12 if each then has 1 MB or more: workers end together.
    """
    sizes = _file_sizes(paths)
    total = sum(sizes)
    num_shards = max(1, -(-total // target_bytes))
    even = -(-num_shards // _MULTIPLE) * _MULTIPLE
    num_shards = max(num_shards, min(even, total // _LEAST_BYTES))
    return [part for part in _cut(paths, sizes, text_format, num_shards) if part]


def plan_blocks(
    paths: Sequence[str], text_format: TextFormat, num_blocks: int
) -> list[tuple[list[Span], int]]:
    """Divide files into at most so many blocks.

    Returns:
      The spans of each block, at least one, and its size: how many blocks it would be if files
      could be cut anywhere.
    """
    blocks: list[tuple[list[Span], int]] = []
    for spans in _cut(paths, _file_sizes(paths), text_format, num_blocks):
        if spans or not blocks:
            blocks.append((spans, 1))
        else:
            blocks[-1] = blocks[-1][0], blocks[-1][1] + 1
    return [block for block in blocks if block[0]]


def count_rows(
    parts: Iterable[Sequence[Span]], text_format: TextFormat, executor: Executor
) -> list[list[Span]]:
    """Count the lines before each span of parts, in their order, so that no reader need do that.

    A reader would read the file from its beginning. Workers count the lines between cuts.
    """
    counted = [list(part) for part in parts]
    if not text_format.has_lines:
        return counted
    cut = [span for part in counted for span in part if span.end is not None]
    total = sum(map(_size, cut))
    portions = _portions(cut, min(total // executor.num_workers, _MAX_COUNTED))
    before = 0
    with (
        contextlib.closing(executor.ordered_map(_count_each, portions)) as of_portions,
        progress("count lines", total=total, unit="B") as advance,
    ):
        counts = itertools.chain.from_iterable(of_portions)
        for part in counted:
            for i, span in enumerate(part):
                before = before if span.start else 0
                part[i] = dataclasses.replace(span, rows_before=before)
                if span.end is not None:
                    before += next(counts)
                    advance(_size(span))
    return counted


def _size(span: Span) -> int:
    return 0 if span.end is None else span.end - span.start


def _portions(spans: Iterable[Span], num_bytes: int) -> list[list[Span]]:
    """Divide spans into runs of about so many bytes."""
    portions: list[list[Span]] = []
    room = 0
    for span in spans:
        if room <= 0:
            portions.append([])
            room = num_bytes
        portions[-1].append(span)
        room -= _size(span)
    return portions


def _count_each(spans: Sequence[Span]) -> list[int]:
    return list(map(count_lines, spans))


def _file_sizes(paths: Sequence[str]) -> list[int]:
    """Return the sizes of files, asking a store about many at a time."""
    return [
        file_size(path) if status is None else status.num_bytes  # or an error, which names it
        for path, status in zip(paths, read_statuses(paths), strict=True)
    ]


def _cut(
    paths: Sequence[str], sizes: Sequence[int], text_format: TextFormat, num_partitions: int
) -> list[list[Span]]:
    """Cut files at the first documents after even distances; parts may be empty."""
    ends = list(itertools.accumulate(sizes))
    targets: list[Cut] = []
    for number in range(1, num_partitions):
        target = ends[-1] * number // num_partitions
        file = min(bisect.bisect_right(ends, target), len(paths) - 1)
        targets.append((file, target - (ends[file - 1] if file else 0)))
    num_threads = _NUM_REQUESTS if is_remote(paths[0]) else 1
    size = max(1, -(-len(targets) // num_threads))
    portions = [targets[start : start + size] for start in range(0, len(targets), size)]
    with open_threads(num_threads) as executor:
        find = functools.partial(_first_documents, paths, text_format)
        found = itertools.chain.from_iterable(executor.ordered_map(find, portions))
        cuts = list(itertools.accumulate([(0, 0), *found], max))
    return [_between(paths, *pair) for pair in itertools.pairwise([*cuts, (len(paths), 0)])]


def _first_documents(
    paths: Sequence[str], text_format: TextFormat, targets: Sequence[Cut]
) -> list[Cut]:
    """Return the first document at or after each target; these come in order."""
    cuts: list[Cut] = []
    for target in targets:
        last = cuts[-1] if cuts else (0, 0)
        if last[0] > target[0] or (last >= target and text_format.has_lines):
            cuts.append(last)  # still the first document after the target
        else:
            cuts.append(max(last, _first_document(paths, text_format, target)))
    return cuts


def _first_document(paths: Sequence[str], text_format: TextFormat, target: Cut) -> Cut:
    """Return the first document that begins at or after a target, in bytes of files."""
    file, position = target
    is_compressed = file < len(paths) and paths[file].endswith(COMPRESSED_ENDINGS)
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
