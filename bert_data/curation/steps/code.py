"""Steps for source code: keep the files that people wrote, and remove heads about copyright."""

import re
from collections.abc import Mapping
from typing import Annotated

from bert_data.curation.document import Document, Verdict
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.steps.field_filters import field_licences
from bert_data.settings import Share, Within
from bert_data.text.corpora.licence_headers import PROPRIETARY, header_licence, is_own
from bert_data.text.corpora.licence_texts import UNKNOWN_LICENCE
from bert_data.text.licence_expressions import licences_in


@register
class CodeQuality(DocumentStep):
    """Rejects source files that were generated, minified, or hold data.

    The rules and thresholds are those of Codex (Chen et al. 2021, section 3.1), The Stack (Kocetkov
    et al. 2022) and RedPajama's code: the longest line, the mean line, and the share of letters and
    digits. Lengths are in characters, without the line's end; empty lines count for the mean.

    Attributes:
      max_line_length: of the longest line.
      max_mean_line_length: of all lines.
      min_alphanumeric_share: share of the characters that are letters or digits.
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
        text = document.text
        lengths = list(map(len, text.removesuffix("\n").split("\n")))
        return {
            "max_line_length": max(lengths),
            "max_mean_line_length": sum(lengths) / len(lengths),
            "min_alphanumeric_share": sum(map(str.isalnum, text)) / max(1, len(text)),
        }


_KEPT = re.compile(r"(?:\ufeff?#![^\n]*\n|#[^\n]*coding[:=][^\n]*\n|<\?(?:php|xml)[^\n]*\n|\s*\n)*")
_BLOCK = re.compile(
    r"[ \t]*(?:/\*.*?\*/|<!--.*?-->|\{-.*?-\}|\(\*.*?\*\)|\"\"\".*?\"\"\"|'''.*?''')[ \t]*\n?",
    re.DOTALL,
)
_LINES = re.compile(
    r"(?:[ \t]*(?://|#(?!\s*(?:include|define|if|pragma|import))|--|;|%|')[^\n]*\n?)+"
)
_RIGHTS = re.compile(r"copyright|licen[sc]e|\(c\) ?\d|©|all rights reserved|spdx", re.IGNORECASE)
_LONGEST = 20_000  # characters of a header


@register
class CodeHeader(DocumentStep):
    """Removes the first comment of a source file if it is about copyright and licences.

    Lines that programs read (`#!`, encodings, `<?php`) stay. RedPajama's cleaning of GitHub, which
    follows LLaMA's (Touvron et al. 2023, section 2.1), is the model; it removes the comments at the
    head whatever they say, as `any_comment` does.

    The notice of a licence that is not the document's stays: one that its field `licence` or
    `license` does not name, one that cannot be told, and one that forbids the file's use.

    Attributes:
      any_comment: remove the first comment whatever it says.
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
        kept = _KEPT.match(text, 0, _LONGEST)
        start = kept.end() if kept else 0
        end = start + _LONGEST
        comment = _BLOCK.match(text, start, end) or _LINES.match(text, start, end)
        if comment is None:
            return Verdict(document)
        named = header_licence(comment[0])
        is_about_rights = named is not None or _RIGHTS.search(comment[0])
        if not (self.any_comment or is_about_rights) or _is_foreign(named, document):
            return Verdict(document)
        shorter = text[:start] + text[comment.end() :]
        return Verdict(document.with_text(shorter), edits={"headers": 1})


def _is_foreign(named: str | None, document: Document) -> bool:
    """Whether a notice names another licence than the document's, or one that cannot be told."""
    if named is None:
        return False
    if not {PROPRIETARY, UNKNOWN_LICENCE}.isdisjoint(licences_in(named)):
        return True
    own = field_licences(document)
    return bool(own) and not is_own(named, own)
