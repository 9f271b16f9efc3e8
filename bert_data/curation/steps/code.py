"""Steps for source code: keep the files that people wrote, and remove heads about copyright."""

import re
from collections.abc import Mapping
from typing import Annotated

from bert_data.curation.document import Document, Verdict
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.steps.field_filters import field_licences
from bert_data.settings import Share, Within
from bert_data.text.corpora.leading_comments import find_lexer, read_head, without_comments
from bert_data.text.corpora.licence_headers import ELSEWHERE, PROPRIETARY, head_licence, is_own
from bert_data.text.corpora.licence_texts import UNKNOWN_LICENCE
from bert_data.text.corpora.notices import find_notices
from bert_data.text.licence_expressions import licences_in

_LINE_END = re.compile(r"\r\n?")


@register
class CodeQuality(DocumentStep):
    """Rejects source files that look generated or minified, or that hold data.

    The rules and thresholds are those of Codex (Chen et al. 2021, section 3.1), The Stack (Kocetkov
    et al. 2022) and RedPajama's code: the longest line, the mean line, and the share of letters and
    digits. The length of a line, in characters, excludes its end (LF, CR LF or CR), which counts as
    one character in the share; the mean includes empty lines.

    Attributes:
      max_line_length: largest length of a line.
      max_mean_line_length: largest mean length of the lines.
      min_alphanumeric_share: least share of characters that are letters or digits.
    """

    name = "code_quality"
    max_line_length: Annotated[int, Within(1)] = 1_000
    max_mean_line_length: float = 100
    min_alphanumeric_share: Share = 0.25

    step_examples = (
        ("def f(x):\n    return x + 1\n",) * 2,
        ("var a=" + "b+" * 600 + "c;", None),
        ("\n".join(["0x00, 0x01, " * 10] * 3), None),
        ("{{}}[]();;--==++//**&&||\n" * 9 + "x", None),
    )

    def values(self, document: Document) -> Mapping[str, float]:
        text = _LINE_END.sub("\n", document.text)
        lengths = list(map(len, text.removesuffix("\n").split("\n")))
        return {
            "max_line_length": max(lengths),
            "max_mean_line_length": sum(lengths) / len(lengths),
            "min_alphanumeric_share": sum(map(str.isalnum, text)) / max(1, len(text)),
        }


@register
class CodeHeader(DocumentStep):
    """Removes copyright and licence notices from the comments at the head of a source file.

    Pygments finds the comments. Its lexer is chosen by the language in the field `code_language` or
    `lang`, by the file name in `path`, `max_stars_repo_path` or `file_path`, or else by the start
    of the text. The head ends where the code begins, after at most 20,000 characters; `<?php`,
    `package a;` and imports do not end it. Comments that tools read stay: `#!`, encodings,
    `//go:build`, `# frozen_string_literal`, `#region`, `eslint-disable` and the like; so do
    docstrings. The model is RedPajama's cleaning of GitHub, which follows LLaMA's (Touvron et al.
    2023, section 2.1) and removes line comments at the head whatever they say.

    Documentation next to a notice stays if it is a separate comment, has another marker (`//!`
    below `//`) or, in line comments, is a separate paragraph. Text that follows a notice without a
    blank line is part of it, and so is the rest of a block comment.

    A notice stays if it names a licence other than that in the document's field `licence` or
    `license`, if its licence is not recognized, or if it forbids use of the file. If the document
    has neither field, the licence that is removed becomes its field `licence`.

    Attributes:
      any_comment: also remove the first comment, whatever it says.
    """

    name = "code_header"
    any_comment: bool = False

    step_examples = (
        (
            "#!/bin/sh\n# Copyright 2020 A. B.\n# Licensed under the MIT License.\n\necho 1\n",
            "#!/bin/sh\n\necho 1\n",
        ),
        ("/* Copyright (c) 2020\n * A. B. */\nint a;\n", "int a;\n"),
        ("// Adds one.\nint a;\n", "// Adds one.\nint a;\n"),
    )

    def judge(self, document: Document) -> Verdict:
        text = document.text
        lexer = find_lexer(text, document.fields)
        head = read_head(text, lexer)
        if lexer is None or not head.comments:
            return Verdict(document)
        spans: list[tuple[int, int]] = []
        for number, comment in enumerate(head.comments):
            if comment.is_removable and self.any_comment and number == 0:
                spans.append((comment.start, comment.end))
            elif comment.is_removable:
                spans += find_notices(text, comment)
        named = head_licence(text, head)
        if not spans or _is_foreign(named, document):
            return Verdict(document)
        shorter = without_comments(text, lexer, head, spans)
        if shorter is None:
            return Verdict(document)
        if named not in (None, ELSEWHERE) and not field_licences(document):
            document = document.with_fields(licence=named)
        return Verdict(document.with_text(shorter), edits={"headers": len(spans)})


def _is_foreign(named: str | None, document: Document) -> bool:
    """Whether a notice names another licence than the document's, or one that cannot be told."""
    if named is None:
        return False
    if not {PROPRIETARY, UNKNOWN_LICENCE}.isdisjoint(licences_in(named)):
        return True
    own = field_licences(document)
    return not is_own(named, own) if own else named == ELSEWHERE
