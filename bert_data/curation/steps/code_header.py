"""The step `code_header`: remove the comment about copyright at the head of a source file."""

import dataclasses
import re

from bert_data.curation.document import Document
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.verdict import Verdict

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
@dataclasses.dataclass(frozen=True, kw_only=True)
class CodeHeader(DocumentStep):
    """Removes the first comment of a source file if it is about copyright and licences.

    Lines that programs read (`#!`, encodings, `<?php`) stay. RedPajama's cleaning of GitHub, which
    follows LLaMA's (Touvron et al. 2023, section 2.1), is the model; it removes the comments at the
    head whatever they say, as `any_comment` does.

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
        """Remove the header."""
        text = document.text
        kept = _KEPT.match(text, 0, _LONGEST)
        start = kept.end() if kept else 0
        comment = _BLOCK.match(text, start, start + _LONGEST) or _LINES.match(
            text, start, start + _LONGEST
        )
        if comment is None or not (self.any_comment or _RIGHTS.search(comment[0])):
            return Verdict(document)
        shorter = text[:start] + text[comment.end() :]
        return Verdict(document.with_text(shorter), edits={"headers": 1})
