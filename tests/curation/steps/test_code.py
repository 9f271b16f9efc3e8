"""Steps for source code: what their rules make of odd texts, and which headers go."""

import pytest

from bert_data.curation.document import Document
from bert_data.curation.steps.code import CodeHeader, CodeQuality

COVERS = ("text/corpora/notices",)


def document(text: str) -> Document:
    return Document("a", "code", text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", False),
        ("é中1\n", True),
        ("ab\r\n" * 3, True),
        ("ab+-+-+\r\n" * 3, True),  # 2 of 8 characters
        ("a = 1;\r" * 200, True),  # one line of 1,400 characters, were \r none
        ("ab\r" * 3 + "c" * 1_001, False),
    ],
)
def test_quality(text, kept):
    assert CodeQuality().judge(document(text)).kept is kept


BODY = "int a;\n"


def without_header(text: str, path: str | None = None, **parameters) -> str:
    fields = {} if path is None else {"path": path}
    return CodeHeader(**parameters).judge(Document("a", "code", text, fields)).document.text


@pytest.mark.parametrize(
    "header",
    [
        "// Copyright 2020 A.\n// Licence: MIT\n",
        "/*\n * Copyright (c) 2020 A.\n */\n",
        "# (c) 2020 A. All rights reserved.\n",
        "-- Licensed under MIT\n",
        "<!-- © A. -->\n",
    ],
)
def test_headers_about_rights_go(header):
    verdict = CodeHeader().judge(document(header + BODY))
    assert (verdict.document.text, verdict.edits) == (BODY, {"headers": 1})


@pytest.mark.parametrize(
    ("path", "text", "shorter"),
    [
        ("a.py", "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# Copyright A.\nf()\n",
         "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nf()\n"),
        ("a.cs", "\ufeff// Copyright A.\r\n// B.\r\nusing C;\r\n", "\ufeffusing C;\r\n"),
        ("a.c", "// Copyright A.\r// B.\rint c;\r", "int c;\r"),
        ("a.php", "<?php /* Copyright A. */\nf();\n", "<?php \nf();\n"),
        ("a.php", "<?php\n/** Copyright A. */\nf();\n", "<?php\nf();\n"),
        ("configure.ac", "dnl Copyright A.\ndnl B.\nAC_INIT\n", "AC_INIT\n"),
        ("a.bat", "@echo off\nREM Copyright A.\n@rem B.\necho C\n", "@echo off\necho C\n"),
        ("a.f", "C     Copyright A.\n      CALL F\n", "      CALL F\n"),
        ("a.md", "<!-- Copyright A. -->\n# B\n", "# B\n"),
        ("a.c", "/* a.c */\n\n/* Copyright A. */\n\n/* SPDX-License-Identifier: MIT */\nint a;\n",
         "/* a.c */\n\n\nint a;\n"),
        ("a.c", "/* Copyright A. */ int a;\n", "int a;\n"),
        ("a.js", "'use strict';\n// Copyright A.\nf();\n", "'use strict';\nf();\n"),
        ("a.h", '#error "license"\n#undef B\n// Copyright A.\nint a;\n',
         '#error "license"\n#undef B\nint a;\n'),
        ("a.go", "//go:build linux\n// Copyright A.\n\npackage a\n",
         "//go:build linux\n\npackage a\n"),
        ("a.rb", "# frozen_string_literal: true\n# Copyright A.\nf\n",
         "# frozen_string_literal: true\nf\n"),
        ("a.cs", "#region Licence\n// Copyright A.\n#endregion\nusing B;\n",
         "#region Licence\n#endregion\nusing B;\n"),
        ("a.hs", "{-# LANGUAGE B #-}\n{- Copyright A. -}\nmain = b\n",
         "{-# LANGUAGE B #-}\nmain = b\n"),
        ("a.sh", "#!/bin/sh\n# Copyright A\n#SBATCH -n 1\nls\n", "#!/bin/sh\n#SBATCH -n 1\nls\n"),
        ("a.php", "<?php // Copyright A ?>\n<b>b</b>\n", "<?php // Copyright A ?>\n<b>b</b>\n"),
        ("a.ml", "(*\n\n  Copyright A.\n\n*)\nlet a = 1\n", "let a = 1\n"),
        ("a.js", "/* eslint-disable */\n/* Copyright A. */\nf();\n",
         "/* eslint-disable */\nf();\n"),
    ],
)  # fmt: skip
def test_only_comments_go(path, text, shorter):
    assert without_header(text, path) == shorter
    if path not in ("a.f", "a.md"):  # which the text alone does not tell
        assert without_header(text) == shorter


GPL = """# Copyright (C) 2020 A. B.
#
# This file is part of C. It is free software; you can redistribute it
# under the terms of the GNU General Public License, version 2.
#
# It is distributed in the hope that it will be useful,
# but WITHOUT ANY WARRANTY.
#
# You should have received a copy of the GNU General Public License; if
# not, write to the Free Software Foundation.
"""


@pytest.mark.parametrize(
    ("path", "header", "documentation"),
    [
        ("a.py", "# Copyright A.\n# Licensed under MIT.\n#\n", "# Adds.\n#\n# It is fast.\n"),
        ("a.py", GPL + "#\n", "# Adds numbers.\n"),
        ("a.py", "#######\n#\n# Copyright A.\n#\n#######\n", "## Adds numbers.\n"),
        ("a.c", "/* Copyright A.\n * Licensed under MIT. */\n", "/* Adds numbers. */\n"),
        ("a.c", "/* Copyright A. Licensed under MIT. */ ", "/* Adds numbers. */\n"),
        ("a.c", "/* Copyright A */\n", "/* Adds numbers */\n"),
        ("a.c", "/*********/\n/* Copyright A and others, */\n/* who reserve all rights. */\n"
         "/* Released under the */\n/* MIT license. */\n/*********/\n", "/* Adds numbers */\n"),
        ("a.c", "/* Copyright A. */\n", "/*\n * Adds numbers.\n */\n"),
        ("a.rs", "// Copyright A.\n// Licensed under the MIT license.\n", "//! Adds.\n/// One.\n"),
        ("a.java", "/*\n * Copyright A. Licensed under MIT\n */\n", "/**\n * Adds numbers.\n */\n"),
        ("a.hs", "-- Copyright A.\n", "-- | Adds numbers.\n"),
        ("a.ml", "(* Copyright A. *)\n", "(** Adds numbers. *)\n"),
        ("a.lisp", ";; Copyright A.\n;; Licensed under MIT\n", ";;; Adds numbers\n"),
        ("a.go", "\n\n// Copyright A.\n\n\n", "// Package a adds.\npackage a\n"),
    ],
)  # fmt: skip
def test_documentation_behind_a_notice_stays(path, header, documentation):
    code = {"a.py": "f()\n", "a.hs": "main = b\n", "a.go": ""}.get(path, "f\n")
    assert without_header(header + documentation + code, path) == documentation + code
    assert without_header(documentation + code, path) == documentation + code


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_no_blank_line_stays_where_the_text_began(newline):
    text = f"\ufeff/* Copyright A. */ {newline}{newline} {newline}  int a;{newline}"
    assert without_header(text, "a.c") == f"\ufeff  int a;{newline}"


@pytest.mark.parametrize(
    ("comment", "licence"),
    [
        ("{- Copyright 2020 A. B. Licensed BSD -}", "BSD"),
        ("{- Copyright 2020 A. B. License: BSD3 -}", "BSD-3-Clause"),
        ("{-|\nModule    : A\nCopyright : (c) A. B., 2013\nLicense   : GPL-3\n-}", "GPL-3.0-only"),
        ("-- (c) A. B. 2020, licensed MIT", "MIT"),
    ],
)
def test_short_notices_name_their_licence(comment, licence):
    text = f"{comment}\nmodule A where\n"
    after = CodeHeader().judge(Document("a", "code", text, {"path": "A.hs"})).document
    assert (after.text, after.fields["licence"]) == ("module A where\n", licence)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (None, "#include <licence.h>\nint a;\n"),
        (None, "// Adds numbers.\nint a;\n"),
        (None, "int a;\n// Copyright A.\n"),
        (None, "/* Copyright, and no end\nint a;\n"),
        (None, ""),
        (None, "# License checker\n\nIt checks.\n"),
        ("README.md", "# Copyright\n\nIt is ours.\n"),
        ("a.js", "--licenses; // Copyright A.\n"),
        ("a.py", '"""Copyright A."""\nprint(__doc__)\n'),
        ("a.c", "#if 0\nCopyright(A);\n#endif\nint a;\n"),
        ("a.java", "import b; /* Copyright A.\n */\nclass C {}\n"),
        ("a.user.js", "// ==UserScript==\n// @license MIT\n// ==/UserScript==\nf();\n"),
        ("a.txt", "// Copyright A.\n"),
    ],
)
def test_what_stays(path, text):
    assert without_header(text, path) == text


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


def test_a_licence_that_only_the_header_names_becomes_a_field():
    for header, fields in (
        ("// SPDX-License-Identifier: MIT\n", {"licence": "MIT"}),
        ("// Copyright A.\n", {}),
    ):
        after = CodeHeader().judge(document(header + BODY)).document
        assert (after.text, after.fields) == (BODY, fields)
    header = "// Licensed under the terms in the LICENSE file.\n"
    assert without_header(header + BODY) == header + BODY


def test_any_comment():
    text = "// Adds numbers.\n\n// Two of them.\nint a;\n"
    assert without_header(text, any_comment=True) == "// Two of them.\nint a;\n"
