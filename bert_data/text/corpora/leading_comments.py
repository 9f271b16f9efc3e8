"""The comments that a source file begins with, as Pygments reads its language.

    #!/bin/sh
    # Copyright 2020 A. B.     ->   Comment(10, 54, is_removable=True, parts=((10, 32), (33, 54)))
    # Licensed under MIT.
    set -e

Lines such as `<?php`, `package a;` and `import b` may stand before a comment or between two. What
programs read in a comment (`//go:build`, `# frozen_string_literal: true`, `{-# LANGUAGE #-}`) is no
comment here. A docstring is one that cannot be removed.
"""

import contextlib
import functools
import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from pygments.lexer import Lexer, RegexLexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment as CommentToken
from pygments.token import String, Text
from pygments.util import ClassNotFound

from bert_data.text.corpora.code_languages import code_language

MAX_HEADER_CHARACTERS = 20_000
"""Comments are read up to here."""

LANGUAGE_FIELDS = ("code_language", "lang")
"""Fields of documents that may name the language; the first that Pygments knows counts."""

PATH_FIELDS = ("path", "max_stars_repo_path", "file_path")
"""Fields of documents that may name the file, which tells the language otherwise."""

_NO_COMMENTS = (
    CommentToken.Directive,
    CommentToken.Hashbang,
    CommentToken.Preproc,
    CommentToken.PreprocFile,
    CommentToken.Special,
)
_BEFORE_COMMENTS = re.compile(
    r"(?:['\"]use \w+['\"]|---|__\w+__|@charset|@?echo|<html|<head"
    r"|(?:package|import|from|using|use|require|include|module|namespace|unit|program|library"
    r"|cmake_minimum_required)(?!\w))[^\n]*+"
)
_MARK = r"(?:[/#;%!*\"'<({-]++|dnl|rem|::)?\s*+"
_DIRECTIVE = re.compile(
    r"#!|\{-#|--!|#%|#(?:SBATCH|PBS|BSUB|FLUX)\b|///\s*<|(?://|#|--|;|%)(?!copyright|licen[sc]e|author|spdx)[a-z][\w-]*+:(?!//)"
    r"|[^\n]*?(?:coding[:=]\s*[\w.-]|-\*-[^\n]*-\*-)[^\n]*\Z"
    rf"|{_MARK}(?:\+build|@(?:ts-|flow|noflow|jsx)|vim?:|ex:|go:|export\s|c8\s|v8\s|(?:end)?region\b"
    r"|frozen_string_literal|warn_indent|shareable_constant|typed:|type:|syntax\s*=|escape\s*="
    r"|requires\b|compdef|autoload|tex\s|chkconfig|run:|globals?\s|exported\s|eslint|[jt]slint|jshint"
    r"|jscs|stylelint|biome|prettier|istanbul|swift-|swiftlint|ktlint|detekt|pylint|flake8|noqa|mypy"
    r"|isort|fmt:|yapf|ruff|pyright|cython|distutils|rubocop|shellcheck|clang-|nolint|lint|checkstyle"
    r"|cspell|codespell|spell-checker|yaml-language|yamllint|ansible-lint|hadolint|tflint|pragma\b)",
    re.IGNORECASE,
)
_DECLARATION = re.compile(  # of which all lines count
    r"==UserScript==|PSScriptInfo|/// script|BEGIN INIT INFO|(?:Plugin|Theme) Name:", re.IGNORECASE
)
_SHEBANG = re.compile(r"\ufeff?(?:#![^\n]*+)?\s*+")
_QUOTES = ("'", '"')
_LINE_MARKS = ("//", "--", ";", "#")
_DOC_BEGINS = (*_QUOTES, "/", "#", "-", "(", "{")
_MARKS_BEFORE = {"Batchfile": ("@", ":")}  # tokens by themselves before a comment
_DISABLED = re.compile(r"#?\s*if\s+0")  # C's, whose text Pygments takes for a comment
_BLANKS = re.compile(r"[ \t]*+")
_LINE_END = re.compile(r"[ \t]*+(?:\r?\n|\r)?")
_LINE_ENDS = re.compile(r"(?:[ \t]*+(?:\r?\n|\r))++|[ \t]*+")
_CARRIAGE_RETURN = re.compile(r"\r(\n?)")
_MAX_OTHERS = 40  # tokens that are no comments
_MANY_SPACES = re.compile(r"\s{200}")  # which take some lexers quadratic time

# Where Pygments has other names, or knows no better.
_LEXERS = {
    "ac": "m4",
    "f": "fortranfixed",
    "for": "fortranfixed",
    "m4": "m4",
    "markdown": "html",  # of which it knows the comments
    "md": "html",
    "protocol buffer": "protobuf",
}
# How comments begin where nothing names the language, and a language that has such comments.
_BY_MARK = tuple(
    (re.compile(mark, re.IGNORECASE), name)
    for mark, name in (
        (
            r"//|/\*|#[ \t]*+(?:include|define|ifn?def|if|undef|error|pragma|line|import|region)\b",
            "c",
        ),
        (r"#=", "julia"),
        (r"#\|", "common-lisp"),
        (r"<#(?!@)", "powershell"),
        (r"package\b|import\b[^\n]*;", "java"),
        (r"#|\"\"\"|'''|(?:from|import)\b|__\w+__", "python"),
        (r"<\?php", "php"),
        (r"<", "html"),
        (r"--[ \t\n\[-]", "lua"),
        (r"\{-", "haskell"),
        (r"\(\*", "ocaml"),
        (r"\{", "delphi"),
        (r"=(?:begin|pod)\b", "perl"),
        (r";[; \t\n]", "scheme"),
        (r"%[% \t\n]", "tex"),
        (r"![! \t\n]", "fortran"),
        (r"\.\.[ \t\n]", "rst"),
        (r"dnl\b", "m4"),
        (r"@?(?:rem|echo)\b", "batch"),
        (r"['\"]use ", "javascript"),
    )
)


class _M4Lexer(RegexLexer):
    """The comments of m4 and Autoconf, which Pygments does not know."""

    name = "M4"
    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [(r"(?:dnl\b|#)[^\n]*\n?", CommentToken.Single), (r"[^\n]+\n?|\n", Text)]
    }


class Comment(NamedTuple):
    """A comment, or several that follow each other without an empty line.

    Attributes:
      start: offset of its first character in the text.
      end: offset behind its last one, which is no white space.
      is_removable: whether the code stays the same without it.
      parts: starts and ends of the comments in it, such as its lines.
    """

    start: int
    end: int
    is_removable: bool
    parts: tuple[tuple[int, int], ...]


class Token(NamedTuple):
    """Part of a head: of a comment, or something else."""

    start: int
    end: int
    is_comment: bool
    is_removable: bool = False
    is_line: bool = False


class Head(NamedTuple):
    """What a source file begins with.

    Attributes:
      comments: in their order; up to `MAX_HEADER_CHARACTERS`.
      tokens: those of comments, and what stands between them, up to the code's first token.
    """

    comments: tuple[Comment, ...]
    tokens: tuple[Token, ...]


def find_lexer(text: str, fields: Mapping[str, Any]) -> Lexer | None:
    """Return the lexer of a document's language, by its fields or how its text begins."""
    values = [[fields.get(name) for name in names] for names in (LANGUAGE_FIELDS, PATH_FIELDS)]
    languages, paths = ([each for each in part if isinstance(each, str)] for part in values)
    endings = [posixpath.splitext(path)[1][1:].lower() for path in paths]
    for name in [*filter(_LEXERS.__contains__, endings), *map(str.lower, languages)]:
        if lexer := _named(name):
            return lexer
    for path in paths:
        if lexer := _of_file(posixpath.basename(path)):
            return lexer
    start = _SHEBANG.match(text)
    assert start is not None
    names = (name for mark, name in _BY_MARK if mark.match(text, start.end()))
    return _named(next(names, ""))


def read_head(text: str, lexer: Lexer | None) -> Head:
    """Return what a source file begins with: nothing without a lexer."""
    window = _window(text)
    tokens = tuple(_head_tokens(window, lexer)) if lexer else ()
    blocks = _blocks([each for each in tokens if each.is_comment], window)
    return Head(tuple(_comment(block, window) for block in blocks), tokens)


def without_comments(
    text: str, lexer: Lexer, head: Head, spans: Sequence[tuple[int, int]]
) -> str | None:
    """Return a text without some comments of its head; None if its code would be another.

    A comment that begins a line goes with the end of its line, and one that begins the text with
    the blank lines around it.

    Args:
      spans: starts and ends of comments, ascending.
    """
    shorter, position = "", 0
    for begin, end in spans:
        shorter += text[position:begin]
        before, after = shorter.rstrip(" \t"), _BLANKS
        if not before.strip("\ufeff \t\r\n"):
            shorter, after = "\ufeff"[: before.startswith("\ufeff")], _LINE_ENDS
        elif before[-1] in "\r\n":
            shorter, after = before, _LINE_END
        match = after.match(text, end)
        position = match.end() if match else end
    shorter += text[position:]
    kept = [token for token in head.tokens if not any(a <= token.start < b for a, b in spans)]
    num_before = sum(token.start < position for token in kept)
    expected = [text[token.start : token.end].strip() for token in kept[: num_before + 2]]
    left = itertools.islice(_head_tokens(_window(shorter), lexer), len(expected))
    read = [shorter[token.start : token.end].strip() for token in left]
    return shorter if read == expected else None


def _window(text: str) -> str:
    """Return what lexers are given, of the same offsets as the text, and one line end more."""
    window = text[:MAX_HEADER_CHARACTERS]
    window = _CARRIAGE_RETURN.sub(lambda match: " \n" if match[1] else "\n", window)
    if spaces := _MANY_SPACES.search(window):
        window = window[: spaces.start() + 1]
    return window + "\n"


def _head_tokens(window: str, lexer: Lexer) -> Iterator[Token]:
    """Yield comments and what stands between them, up to the first token of the code."""
    passed_to = num_others = 0
    mark: int | None = None  # where a comment of Batch, or a line of it, begins
    for start, kind, value in _tokens(window, lexer):
        begin, end = start if mark is None else mark, start + len(value)
        is_a = _class_of(kind)
        is_comment = is_a == "comment" or (is_a == "doc" and value.startswith(_DOC_BEGINS))
        if start < passed_to:  # a line that is passed over; a comment may begin in it
            passed_to = max(passed_to, end) if is_comment else passed_to
        elif mark is None and value in _MARKS_BEFORE.get(lexer.name, ()):
            mark = start
            continue
        elif is_comment:
            is_line = kind in CommentToken.Single or value.startswith(_LINE_MARKS)
            is_closed = end < len(window) or kind in CommentToken.Single
            is_closed &= not (is_line and "?>" in value)  # which ends PHP, in such a comment, too
            yield Token(begin, end, True, is_closed and not value.startswith(_QUOTES), is_line)
        elif is_a != "affix":
            yield Token(begin, end, False)
            num_others += 1
            if match := _BEFORE_COMMENTS.match(window, begin):
                passed_to = match.end()
            elif is_a != "directive" or _DISABLED.match(value) or num_others > _MAX_OTHERS:
                return
        mark = None


def _tokens(window: str, lexer: Lexer) -> Iterator[tuple[int, Any, str]]:
    """Yield the offsets, kinds and texts of a lexer's tokens that are not white space."""
    first = int(window.startswith("\ufeff"))
    for index, kind, value in lexer.get_tokens_unprocessed(window[first:]):
        start = first + index
        if not window.startswith(value, start):  # a lexer that changes what it reads
            return
        if value.strip():
            yield start, kind, value


@functools.cache
def _class_of(kind: Any) -> str:
    """Return what a token may be: a comment, a directive, code, or of a docstring."""
    if kind in String.Doc:
        return "doc"
    if kind not in CommentToken:
        return "affix" if kind in String.Affix else "code"
    return "directive" if any(kind in other for other in _NO_COMMENTS) else "comment"


def _blocks(tokens: list[Token], window: str) -> Iterator[list[Token]]:
    """Yield comments that follow each other, without those that programs read."""
    blocks: list[list[Token]] = []
    for token in tokens:
        last = blocks[-1][-1] if blocks else None
        gap = _gap(last, token, window) if last else None
        if last is None or gap is None:
            blocks.append([token])
        elif "\n" in gap or (gap == " " and window.startswith("*/", last.end - 2)):
            blocks[-1].append(token)
        else:
            is_removable = last.is_removable and token.is_removable
            blocks[-1][-1] = last._replace(end=token.end, is_removable=is_removable)
    for block in blocks:
        if not _DECLARATION.search(window, block[0].start, block[-1].end):
            for is_read, part in itertools.groupby(block, lambda each: _is_read(each, window)):
                if not is_read:
                    yield list(part)


def _comment(block: list[Token], window: str) -> Comment:
    parts = tuple(_stripped(token, window) for token in block)
    return Comment(parts[0][0], parts[-1][1], all(each.is_removable for each in block), parts)


def _stripped(token: Token, window: str) -> tuple[int, int]:
    text = window[token.start : token.end]
    return token.end - len(text.lstrip()), token.start + len(text.rstrip())


def _gap(last: Token, token: Token, window: str) -> str | None:
    """Return the white space between two parts of a block; None if they are none of one."""
    between = window[last.end : token.start]
    if not between:  # parts of one comment, or lines that include their ends
        return window[last.end - 1 : last.end] if token.is_line else ""
    begin = len(window[: last.end].rstrip())
    is_one = not between.strip() and window.count("\n", begin, token.start) < 2
    is_one &= last.is_removable == token.is_removable
    return window[begin : token.start] if is_one else None


def _is_read(token: Token, window: str) -> bool:
    return _DIRECTIVE.match(window[token.start : token.end].strip()) is not None


@functools.lru_cache(maxsize=1 << 10)  # names are of the documents' fields
def _named(name: str) -> Lexer | None:
    """Return the lexer of a language, None if Pygments has none of its name."""
    name = _LEXERS.get(name, name)
    if name == "m4":
        return _M4Lexer()
    for alias in (name, name.replace(" ", "-")):
        with contextlib.suppress(ClassNotFound):
            return get_lexer_by_name(alias)
    return None


@functools.lru_cache(maxsize=1 << 14)
def _of_file(name: str) -> Lexer | None:
    """Return the lexer of a file, by its name without a folder; None if it says nothing."""
    known = code_language(name)
    if known and (lexer := _named(known.lower())):
        return lexer
    with contextlib.suppress(ClassNotFound):
        return get_lexer_for_filename(name)
    return None
