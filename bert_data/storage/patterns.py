"""Patterns of file names, with the meaning of TensorFlow's Glob.

    "data/[^a]*.txt"  ->  data/.b.txt, data/b.txt, data/c.txt      not data/a.txt, data/x/c.txt

    *, **    any characters but "/"        [abc] [a-c] [[:digit:]]   one of these characters
    ?        one character but "/"         [^a] [!a]                 any other character
    \\x       x itself

Names that begin with a dot are not special. It differs from TensorFlow's in that matches are
sorted, that they begin as the pattern does ("*.txt" gives "a.txt", not "./a.txt"), that "//" is the
same as "/", that a character is one of Unicode ("??" does not match "é", which has two bytes), and
that no pattern matches unfinished files (`hidden.py`).
"""

import re

from bert_data.storage.hidden import is_unfinished
from bert_data.storage.paths import is_remote, split_root
from bert_data.storage.statuses import exists, list_folder

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
    """Whether a pattern would match a path if that existed."""
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
