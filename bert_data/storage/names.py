"""Expand patterns to input files, and specifications to output files.

"b.txt,a*.txt"      -> b.txt, a1.txt, a2.txt       (each pattern's matches sorted)
"data/train@3"      -> data/train-00000-of-00003 ... data/train-00002-of-00003    both ways
"a.jsonl.gz@2"      -> a-00000-of-00002.jsonl.gz ..., as curation names texts
"""

import dataclasses
import errno
import os
import re
from collections.abc import Callable, Sequence

from bert_data.storage.patterns import glob
from bert_data.storage.refusals import refuse_doubles, refuse_missing_buckets
from bert_data.storage.statuses import exists, read_statuses

_SHARDED = re.compile(r"(?P<path>.+)@(?P<count>-?\d+)")
_OF = re.compile(r"-\d{5}-of-(\d{5})")
_ENDING_AMID = re.compile(
    r"(?P<stem>.+?)(?P<ending>(?:\.jsonl|\.ndjson|\.parquet|\.txt)?(?:\.gz|\.zst)?)"
    r"(?P<shard>-(?:\d{5}|\?{5})-of-(?:\d{5}|\?{5}))"
)
MAX_SHARDS = 99_999  # five digits, as in path-00000-of-00001


def expand_inputs(
    patterns: str, files_in: Callable[[str], Sequence[str]] | None = None
) -> list[str]:
    """Return the files of a comma-separated list of patterns, each pattern's matches sorted.

    Args:
      patterns: "path@N" matches the shards of a set of N.
      files_in: returns the files that a folder stands for; None: a folder is refused.

    Raises:
      ValueError: a pattern matches nothing or an entry is empty.
      FileNotFoundError: a bucket does not exist.
      IsADirectoryError: a match is a directory.
    """
    paths: list[str] = []
    for pattern in patterns.split(","):
        if not pattern:
            raise ValueError(f"the list of inputs {patterns!r} has an empty file name")
        matches = find_files(pattern)
        if not matches:
            raise ValueError(describe_absence(pattern))
        paths += matches
    files: list[str] = []
    for path, status in zip(paths, read_statuses(paths), strict=True):
        if status is None or not status.is_folder:
            files.append(path)
        elif files_in is not None:
            files += files_in(path)
        else:
            raise IsADirectoryError(
                errno.EISDIR, "is a directory, not a file (name the files in it)", path
            )
    return files


def find_files(entry: str) -> list[str]:
    """Return the files that an entry of a list of inputs stands for, sorted; [] if there is none.

    An entry is a file, a pattern, or `path@N`: shards of either naming (`with_ending_last`).
    """
    if exists(entry):
        return [entry]
    pattern = pattern_of(entry)
    matches = glob(pattern)
    return matches if matches or pattern == entry else glob(with_ending_last(pattern))


def describe_absence(entry: str) -> str:
    """Return the sentence that nothing matches an entry; it names sets of other numbers.

    Raises:
      FileNotFoundError: its bucket does not exist.
    """
    refuse_missing_buckets([entry])
    sentence = f"no file matches {entry!r}"
    sharded = _SHARDED.fullmatch(entry)
    if sharded is None:
        return sentence
    pattern = f"{sharded['path']}-?????-of-?????"
    shards = [*glob(f"{pattern}*"), *glob(with_ending_last(pattern))]
    counts = sorted({int(match[1]) for match in map(_OF.search, shards) if match})
    sets = ", ".join(repr(f"{sharded['path']}@{count}") for count in counts)
    return f"{sentence}, but there is {sets}" if sets else sentence


def with_ending_last(shard: str) -> str:
    """Return the name of a shard of texts, at whose end the ending of its format stays.

    a.jsonl.gz-00000-of-00002  ->  a-00000-of-00002.jsonl.gz
    """
    match = _ENDING_AMID.fullmatch(shard)
    return match["stem"] + match["shard"] + match["ending"] if match else shard


def pattern_of(entry: str) -> str:
    """Return the pattern of the files that `path@N` stands for, or another entry as it is."""
    sharded = _SHARDED.fullmatch(entry)
    if sharded is None or not 1 <= int(sharded["count"]) <= MAX_SHARDS:
        return entry
    return f"{sharded['path']}-?????-of-{int(sharded['count']):05d}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputNames:
    """The files of one set of outputs.

    Attributes:
      name: of the set: `path` for "path@N", otherwise the first file. The manifest is named after
        it.
      paths: the files, in the order in which records are assigned to them.
    """

    name: str
    paths: tuple[str, ...]


def expand_outputs(specification: str) -> OutputNames:
    """Return the files of a comma-separated list of names and `path@N` entries.

    Raises:
      ValueError: an entry is empty, a number of shards is out of range, or two outputs are the
        same.
    """
    paths: list[str] = []
    name = ""
    for entry in specification.split(","):
        if not entry:
            raise ValueError(f"the list of outputs {specification!r} has an empty file name")
        sharded = _SHARDED.fullmatch(entry)
        path = sharded["path"] if sharded else entry
        if os.path.basename(path) in ("", ".", ".."):
            raise ValueError(f"output {entry!r} names a folder, not a file")
        name = name or path
        if not sharded:
            paths.append(entry)
            continue
        count = int(sharded["count"])
        if not 1 <= count <= MAX_SHARDS:
            raise ValueError(
                f"output {entry!r} asks for {count} shards; the number must be 1 to {MAX_SHARDS}"
            )
        paths += [f"{sharded['path']}-{i:05d}-of-{count:05d}" for i in range(count)]
    refuse_doubles(paths)
    return OutputNames(name=name, paths=tuple(paths))
