"""Expand patterns to input files, and specifications to output files.

"b.txt,a*.txt"      -> b.txt, a1.txt, a2.txt       (each pattern's matches sorted)
"data/train@3"      -> data/train-00000-of-00003 ... data/train-00002-of-00003    both ways
"a.jsonl.gz@2"      -> a-00000-of-00002.jsonl.gz ..., as curation names texts

Patterns have the meaning of TensorFlow's Glob.

    "data/[^a]*.txt"  ->  data/.b.txt, data/b.txt, data/c.txt      not data/a.txt, data/x/c.txt

    *, **    any characters but "/"        [abc] [a-c] [[:digit:]]   one of these characters
    ?        one character but "/"         [^a] [!a]                 any other character
    \\x       x itself

Names that begin with a dot are not special. It differs from TensorFlow's in that matches are
sorted, that they begin as the pattern does ("*.txt" gives "a.txt", not "./a.txt"), that "//" is the
same as "/", that a character is one of Unicode ("??" does not match "é", which has two bytes), and
that no pattern matches unfinished files (`paths.py`).
"""

import dataclasses
import errno
import os
import re
from collections.abc import Callable, Sequence

from bert_data.storage.endings import COMPRESSIONS, FORMATS, MAX_SHARDS
from bert_data.storage.paths import is_remote, is_unfinished, split_root
from bert_data.storage.refusals import refuse_doubles, refuse_missing_buckets
from bert_data.storage.statuses import exists, list_folder, read_statuses

_SHARDED = re.compile(r"(?P<path>.+)@(?P<count>-?\d+)")
_OF = re.compile(r"-\d{5}-of-(\d{5})")
_ENDING_AMID = re.compile(
    rf"(?P<stem>.+?)(?P<ending>(?:{'|'.join(map(re.escape, FORMATS))})?"
    rf"(?:{'|'.join(map(re.escape, COMPRESSIONS))})?)"
    r"(?P<shard>-(?:\d{5}|\?{5})-of-(?:\d{5}|\?{5}))"
)
_MAX_NAME = 255  # bytes, of local file systems

_SPECIAL = re.compile(r"[*?\[\\]")
_NEVER = r"(?!)"
_CLASSES = {
    "alnum": r"[^\W_]",
    "alpha": r"[^\W\d_]",
    "blank": r"[ \t]",
    "cntrl": r"[\0-\x1f\x7f]",
    "digit": r"[0-9]",
    "graph": r"[^\s\0-\x1f\x7f]",
    "lower": r"[a-z]",
    "print": r"[^\0-\x1f\x7f]",
    "punct": r"[!-/:-@\[-`{-~]",
    "space": r"\s",
    "upper": r"[A-Z]",
    "xdigit": r"[0-9A-Fa-f]",
}


def glob(pattern: str) -> list[str]:
    """Return the files and folders whose paths match a pattern, sorted; [] if there are none."""
    root, rest = split_root(pattern)
    if not _SPECIAL.search(rest):
        return [pattern] if pattern and exists(pattern) else []
    parts = [part for part in rest.split("/") if part]
    first = next(i for i, part in enumerate(parts) if _SPECIAL.search(part))
    paths = [root + "".join(f"{part}/" for part in parts[:first])]
    for number, part in enumerate(parts[first:], first):
        matches = compile_part(part).fullmatch
        ending = "/" if number + 1 < len(parts) else ""
        paths = [f"{f}{name}{ending}" for f in paths for name in _names(f) if matches(name)]
    return sorted(paths)


def escape(path: str) -> str:
    """Return the pattern that matches only `path`."""
    return re.sub(r"([*?\[\\])", r"\\\1", path)


def matches(pattern: str, path: str) -> bool:
    """Return whether a pattern would match a path if that existed."""
    parts, names = (
        [part for part in split_root(each)[1].split("/") if part] for each in (pattern, path)
    )
    pairs = zip(parts, names, strict=False)
    return len(parts) == len(names) and all(compile_part(p).fullmatch(name) for p, name in pairs)


def _names(folder: str) -> list[str]:
    try:
        return [name for name in list_folder(folder) if not is_unfinished(name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError:
        if is_remote(folder):
            raise
        return []


def compile_part(part: str) -> re.Pattern[str]:
    """Compile a pattern without "/" to a regular expression with the meaning of glibc's fnmatch."""
    pieces, at = [], 0
    while at < len(part):
        char, at = part[at], at + 1
        if char == "*":
            pieces.append(".*")
            while part[at : at + 1] == "*":
                at += 1
        elif char == "?":
            pieces.append(".")
        elif char == "[" and (bracket := _read_bracket(part, at)):
            piece, at = bracket
            pieces.append(piece)
        elif char == "\\":
            pieces.append(re.escape(part[at]) if at < len(part) else _NEVER)
            at += 1
        else:
            pieces.append(re.escape(char))
    return re.compile("".join(pieces), re.DOTALL)


def _read_bracket(part: str, start: int) -> tuple[str, int] | None:
    """Return the content of [] from `start` on, and its end; None if no "]" ends it."""
    is_negated = part[start : start + 1] in ("!", "^")
    first = at = start + is_negated
    choices: list[str] = []
    while at < len(part):
        if part[at] == "]" and at > first:
            choice = "|".join(choices) or _NEVER
            return (f"(?!{choice})." if is_negated else f"(?:{choice})"), at + 1
        if named := re.compile(r"\[:(\w+):\]").match(part, at):
            choices.append(_CLASSES.get(named[1], _NEVER))
            at = named.end()
            continue
        low, at = _read_character(part, at)
        high = low
        if part[at : at + 1] == "-" and part[at + 1 : at + 2] not in ("", "]"):
            high, at = _read_character(part, at + 1)
        if low <= high:
            choices.append(f"[{re.escape(low)}-{re.escape(high)}]")
    return None


def _read_character(part: str, at: int) -> tuple[str, int]:
    if part[at] == "\\" and at + 1 < len(part):
        at += 1
    return part[at], at + 1


def split_names(names: str) -> list[str]:
    """Return the names of a list with commas, none of which may be part of an existing path."""
    entries = names.split(",")
    for number, path in enumerate(entries):
        for other in entries[number + 1 :]:
            part, slash, _ = other.partition("/")
            path = f"{path},{part}"
            if not part or is_remote(other):  # an absolute path, or a URI
                break
            if len(os.path.basename(path).encode(errors="surrogatepass")) > _MAX_NAME:
                break
            if exists(path):
                raise ValueError(describe_comma(path))
            if slash:
                break
    return entries


def describe_comma(path: str) -> str:
    """Return the sentence that a path cannot be named as it is."""
    return (
        f"{path!r} has a comma, which separates names; rename it, or, to read it, write ? for the"
        " comma"
    )


def expand_inputs(
    patterns: str, files_in: Callable[[str], Sequence[str]] | None = None
) -> list[str]:
    """Return the files of a comma-separated list of patterns, each pattern's matches sorted.

    Args:
      files_in: returns the files that a folder stands for; None: a folder is refused.
    """
    paths: list[str] = []
    for pattern in split_names(patterns):
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
    """Return the sentence that nothing matches an entry; it names sets of other numbers."""
    refuse_missing_buckets([entry])
    sentence = f"no file matches {entry!r}"
    if entry == "-":
        return f"{sentence}; /dev/stdin is standard input"
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
      paths: in the order in which records are assigned to them.
    """

    name: str
    paths: tuple[str, ...]


def expand_outputs(specification: str) -> OutputNames:
    """Return the files of a comma-separated list of names and `path@N` entries."""
    paths: list[str] = []
    name = ""
    for entry in split_names(specification):
        if not entry:
            raise ValueError(f"the list of outputs {specification!r} has an empty file name")
        own = expand_output(entry)
        name = name or own.name
        paths += own.paths
    refuse_doubles(paths)
    return OutputNames(name=name, paths=tuple(paths))


def expand_output(entry: str) -> OutputNames:
    """Return the files of a name or a `path@N`, whose commas are part of it."""
    sharded = _SHARDED.fullmatch(entry)
    path = sharded["path"] if sharded else entry
    if os.path.basename(path) in ("", ".", ".."):
        raise ValueError(f"output {entry!r} names a folder, not a file")
    if not sharded:
        return OutputNames(name=entry, paths=(entry,))
    count = int(sharded["count"])
    if not 1 <= count <= MAX_SHARDS:
        raise ValueError(
            f"output {entry!r} asks for {count} shards; the number must be 1 to {MAX_SHARDS}"
        )
    shards = (f"{path}-{i:05d}-of-{count:05d}" for i in range(count))
    return OutputNames(name=path, paths=tuple(shards))
