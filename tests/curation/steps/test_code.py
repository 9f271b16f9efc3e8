"""Steps for source code: what their rules make of odd texts, and which headers go."""

import pytest

from bert_data.curation.document import Document
from bert_data.curation.steps.code import CodeHeader, CodeQuality


def document(text: str) -> Document:
    return Document("a", "code", text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", False),
        ("é中1\n", True),
    ],
)
def test_quality(text, kept):
    assert CodeQuality().judge(document(text)).kept is kept


BODY = "int a;\n"


@pytest.mark.parametrize(
    "header",
    [
        "// Copyright 2020 A.\n// Licence: MIT\n",
        "/*\n * Copyright (c) 2020 A.\n */\n",
        "# (c) 2020 A. All rights reserved.\n",
        "-- Licensed under MIT\n",
        '"""Copyright A."""\n',
        "<!-- © A. -->\n",
    ],
)
def test_headers_about_rights_go(header):
    verdict = CodeHeader().judge(document(header + BODY))
    assert (verdict.document.text, verdict.edits) == (BODY, {"headers": 1})


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        ("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# Copyright A.\nf()\n",
         "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nf()\n"),
        ("#include <licence.h>\nint a;\n", None),
        ("// Adds numbers.\nint a;\n", None),
        ("int a;\n// Copyright A.\n", None),
        ("/* Copyright, and no end\nint a;\n", None),
        ("", None),
    ],
)  # fmt: skip
def test_what_stays(text, shorter):
    assert CodeHeader().judge(document(text)).document.text == (
        text if shorter is None else shorter
    )


@pytest.mark.parametrize(
    ("header", "licence", "goes"),
    [
        ("// Released under the GPL.\n", "MIT", False),
        ("// Released under the GPL.\n", "GPL-2.0-or-later", True),
        ("// Released under the GPL.\n", "unknown", False),
        ("// SPDX-License-Identifier: MIT\n", ["mit"], True),
        ("// SPDX-License-Identifier: MIT OR GPL-2.0-only\n", "MIT", False),
        ("// SPDX-License-Identifier: MIT\n", "MIT OR GPL-2.0-only", True),
        ("// Licensed under the Apache License 2.0\n", "Apache License, Version 2.0", True),
        ("/* Copyright A.\n * All rights reserved. */\n", "MIT", True),
        ("// Proprietary and confidential. Copyright A.\n", "MIT", False),
        ("// Released under the GPL and the A license.\n// License: B\n", None, False),
        ("// Proprietary and confidential. Copyright A.\n", None, False),
        ("// Copyright A. Licensed under the A License.\n", "MIT", False),
        ("// Licensed under the terms in the LICENSE file.\n", "MIT", True),
    ],
)
def test_the_notice_of_another_licence_stays(header, licence, goes):
    fields = {} if licence is None else {"licence": licence}
    for step in (CodeHeader(), CodeHeader(any_comment=True)):
        text = step.judge(Document("a", "code", header + BODY, fields)).document.text
        assert text == (BODY if goes else header + BODY)


def test_any_comment():
    step = CodeHeader(any_comment=True)
    assert step.judge(document("// Adds numbers.\nint a;\n")).document.text == BODY
