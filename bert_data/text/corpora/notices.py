"""Which part of a leading comment is about rights, and which is documentation.

// Copyright A. Licensed under MIT.   ->  the first line
//! Reads trees.
"""

import re
from collections.abc import Iterator

from bert_data.text.corpora.leading_comments import Comment
from bert_data.text.corpora.licence_headers import is_about_rights, words_of_comment

_MARK = re.compile(r"[({]?[^\w\s(<\"'\[]*(?:\s\|)?")
# Between lines that are a comment each: a sentence ends, and maybe another one begins.
_CLOSED_LINE = re.compile(r"(?:\*[/)]|-->|-\}|[#|]>|\|#)\Z")
_SENTENCE_END = re.compile(r"[.!?]\n|[^,;:]\n[^\W\d_](?<=[^a-z])[a-z]")
_LAW = re.compile(  # in a paragraph of a notice, or of a licence
    r"general public licen[sc]e|free software foundation|\bthe \"?licen[sc]e\b|licen[sc]e block"
    r"|\bwarrant(?:y|ies)\b|\bliab(?:le|ility)\b|redistributi|permission notice|hereby granted"
    r"|written permission",
    re.IGNORECASE,
)


def find_notices(text: str, comment: Comment) -> Iterator[tuple[int, int]]:
    """Yield the starts and ends of what is about rights in a comment.

    A comment of several lines counts by itself, and so do lines with another mark (`//!`, `-- |`).
    Of other lines it is all from the first to the last paragraph about rights, with empty lines and
    borders around them.
    """
    for paragraphs in _runs(text, comment):
        if not is_about_rights(text[paragraphs[0][0] : paragraphs[-1][1]]):
            continue
        parts = [text[start:end] for start, end in paragraphs]
        about = [n for n, each in enumerate(parts) if is_about_rights(each) or _LAW.search(each)]
        first, last = (about[0], about[-1]) if about else (0, len(parts) - 1)
        while first > 0 and not words_of_comment(parts[first - 1]):
            first -= 1
        while last + 1 < len(parts) and not words_of_comment(parts[last + 1]):
            last += 1
        yield paragraphs[first][0], paragraphs[last][1]


def _runs(text: str, comment: Comment) -> list[list[tuple[int, int]]]:
    """Return the starts and ends of paragraphs; those of lines with the same mark are a run."""
    runs: list[list[tuple[int, int]]] = []
    before = mark_before = ""  # of the last line
    was_long = False
    for start, end in comment.parts:
        part = text[start:end]
        words, match = words_of_comment(part), _MARK.match(part)
        mark = match[0] if words and match else mark_before
        is_long = "\n" in part or "\r" in part
        if not runs or (words and (is_long or was_long or _are_two(mark_before, mark))):
            runs.append([(start, end)])
        elif not (words and before) or (
            _CLOSED_LINE.search(part) and _SENTENCE_END.search(f"{before}\n{words}")
        ):
            runs[-1].append((start, end))
        else:
            runs[-1][-1] = (runs[-1][-1][0], end)
        before, mark_before, was_long = words, mark, is_long if words else was_long
    return runs


def _are_two(mark: str, other: str) -> bool:
    """Whether one mark of comments is another one with more behind it, as of documentation."""
    return (
        mark != other and min(mark, other) != "" and max(mark, other).startswith(min(mark, other))
    )
