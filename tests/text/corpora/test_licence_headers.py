"""Licences that headers of source files name: notices of all kinds, and what is no notice."""

import textwrap

import pytest

from bert_data.text.corpora import licence_headers
from bert_data.text.corpora.leading_comments import MAX_HEADER_CHARACTERS
from bert_data.text.corpora.licence_headers import PROPRIETARY, licence_of_file
from bert_data.text.corpora.licence_texts import UNKNOWN_LICENCE
from tests.curation.growth import assert_linear

COVERS = ("text/corpora/leading_comments",)

GNU = """Copyright (C) 2011 A. B. <a@example.org>

This {0} is free software; you can redistribute it and/or modify it under the terms of the GNU {1}
as published by the Free Software Foundation{2}.

This {0} is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even
the implied warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE. See the GNU {1} for
more details.

You should have received a copy of the GNU {1} along with this {0}. If not, see
<https://www.gnu.org/licenses/>."""
LATER = "; either version {} of the License, or (at your option) any later version"
APACHE = """Copyright 2020 The A Authors. All rights reserved.

Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in
compliance with the License. You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software distributed under the License is
distributed on an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
implied. See the License for the specific language governing permissions and limitations under the
License."""
ASF = """Licensed to the Apache Software Foundation (ASF) under one or more contributor license
agreements. See the NOTICE file distributed with this work for additional information regarding
copyright ownership. The ASF licenses this file to you under the Apache License, Version 2.0 (the
"License"); you may not use this file except in compliance with the License."""
MIT = """Copyright (c) 2020 A. B.

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""
BSD = """Copyright (c) 2009, A. B.
All rights reserved.

Redistribution and use in source and binary forms, with or without modification, are permitted
provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions
   and the following disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions
   and the following disclaimer in the documentation and/or other materials provided with the
   distribution.
{}
THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR
IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND
FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR
CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE,
DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER
IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF
THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE."""
THIRD_CLAUSE = """3. Neither the name of the copyright holder nor the names of its contributors may
   be used to endorse or promote products derived from this software without specific prior written
   permission.
"""
FOURTH_CLAUSE = """3. All advertising materials mentioning features or use of this software must
   display the following acknowledgement: This product includes software developed by A. B.
"""
ISC = """Copyright (c) 2020 A. B.

Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee
is hereby granted, provided that the above copyright notice and this permission notice appear in all
copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS
SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE
AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE
OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS
SOFTWARE."""
MPL = """This Source Code Form is subject to the terms of the Mozilla Public License, v. 2.0. If a
copy of the MPL was not distributed with this file, You can obtain one at
https://mozilla.org/MPL/2.0/."""
TRIPLE = """Version: MPL 1.1/GPL 2.0/LGPL 2.1

The contents of this file are subject to the Mozilla Public License Version 1.1 (the "License"); you
may not use this file except in compliance with the License.

Alternatively, the contents of this file may be used under the terms of either the GNU General
Public License Version 2 or later (the "GPL"), in which case its provisions apply instead."""
EPL = """Copyright (c) 2000, 2015 A Corporation and others.
All rights reserved. This program and the accompanying materials are made available under the terms
of the Eclipse Public License v1.0 which accompanies this distribution, and is available at
http://www.eclipse.org/legal/epl-v10.html"""
CDDL = """The contents of this file are subject to the terms of the Common Development and
Distribution License (the "License"). You may not use this file except in compliance with the
License."""
BOOST = """Distributed under the Boost Software License, Version 1.0. (See accompanying file
LICENSE_1_0.txt or copy at http://www.boost.org/LICENSE_1_0.txt)"""
RUST = """Licensed under the Apache License, Version 2.0 <LICENSE-APACHE or
http://www.apache.org/licenses/LICENSE-2.0> or the MIT license <LICENSE-MIT or
http://opensource.org/licenses/MIT>, at your option. This file may not be copied, modified, or
distributed except according to those terms."""

NOTICES = [
    (GNU.format("program", "General Public License", LATER.format(3)), "GPL-3.0-or-later"),
    (GNU.format("program", "General Public License", ", version 2"), "GPL-2.0-only"),
    (GNU.format("library", "Lesser General Public License", ", version 2.1"), "LGPL-2.1-only"),
    (GNU.format("library", "Library General Public License", LATER.format(2)), "LGPL-2.0-or-later"),
    (GNU.format("program", "Affero General Public License", LATER.format(3)), "AGPL-3.0-or-later"),
    ("Released under the GPL", "GPL"),
    ("Foo is released under the GPLv2+.", "GPL-2.0-or-later"),
    ("Copyright 2010 A. B., GPL v3", "GPL-3.0-only"),
    ("License: GPL-2.0", "GPL-2.0-only"),
    ("Licence GPL v2", "GPL-2.0-only"),
    ("GNU GPL version 3", "GPL-3.0-only"),
    ("This is GPL software.", "GPL"),
    ("Apache 2.0 licensed", "Apache-2.0"),
    ("NOTICE OF LICENSE\n\nThis file is subject to the Open Software License (OSL 3.0) that is"
     " bundled with this package in the file LICENSE.txt.", UNKNOWN_LICENCE),
    ("Business Source License 1.1", UNKNOWN_LICENCE),
    ("For non-commercial use only.", UNKNOWN_LICENCE),
    ("@license GNU General Public License version 2 or later; see LICENSE.txt", "GPL-2.0-or-later"),
    (APACHE, "Apache-2.0"),
    (ASF, "Apache-2.0"),
    (MIT, "MIT"),
    ("The MIT License (MIT)\n\n" + MIT, "MIT"),
    ("Licensed under the MIT license. See LICENSE for details.", "MIT"),
    ("UI 1.8\nDual licensed under the MIT or GPL Version 2 licenses.", "MIT OR GPL-2.0-only"),
    (RUST, "Apache-2.0 OR MIT"),
    (BSD.format(""), "BSD-2-Clause"),
    (BSD.format(THIRD_CLAUSE), "BSD-3-Clause"),
    (BSD.format(FOURTH_CLAUSE), UNKNOWN_LICENCE),
    ("License: BSD (3-clause)", "BSD-3-Clause"),
    (ISC, "ISC"),
    (MPL, "MPL-2.0"),
    (TRIPLE, "MPL-1.1 AND GPL-2.0-or-later"),
    (EPL, "EPL-1.0"),
    (CDDL, "CDDL"),
    (BOOST, "BSL-1.0"),
    ("This work is licensed under the Creative Commons Attribution-NonCommercial 4.0 International"
     " License.", "CC-BY-NC-4.0"),
    ("This is free and unencumbered software released into the public domain.\n\nAnyone ...",
     UNKNOWN_LICENCE),
    ("Licensed under the Example Community License 1.0.", UNKNOWN_LICENCE),
    (MIT.replace("THE SOFTWARE IS", "It shall be used for Good, not Evil.\n\nTHE SOFTWARE IS"),
     UNKNOWN_LICENCE),
    (MIT + "\n\nPortions are licensed under the GNU GPL, version 2.", "MIT AND GPL-2.0-only"),
    ("Licensed under the Apache License 2.0 with the Commons Clause.", "unknown AND Apache-2.0"),
    ("SPDX-License-Identifier: MIT", "MIT"),
    ("SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT",
     "(GPL-2.0-only WITH Linux-syscall-note) OR MIT"),
    ("Copyright 2020 A. B.\nSPDX-License-Identifier: Apache-2.0\n\n" + APACHE, "Apache-2.0"),
    ("SPDX-License-Identifier: MIT\n\nReleased under the GPL.", "MIT AND GPL"),
    ("SPDX-License-Identifier: GPL-2.0+\n\nReleased under the GPLv2 or later.", "GPL-2.0+"),
    ("Released under the GPL.\n\nGPLv2", "GPL-2.0-only"),
    ("SPDX-License-Identifier: MIT OR", UNKNOWN_LICENCE),
]  # fmt: skip
CLOSED = [
    "Copyright (C) A Corp. - All Rights Reserved\nUnauthorized copying of this file, via any medium"
    " is strictly prohibited\nProprietary and confidential\nWritten by A. B.",
    "Proprietary and confidential",
    "Copyright 1994-2004 A Systems, Inc. All rights reserved. Use is subject to license terms.\n\n"
    "This software is the confidential and proprietary information of A Systems, Inc. You shall not"
    " disclose such Confidential Information.",
    "Copyright (c) 2020, A CORPORATION. All rights reserved.\n\nA CORPORATION and its licensors"
    " retain all intellectual property and proprietary rights in and to this software. Any use,"
    " reproduction, disclosure or distribution of this software without an express license"
    " agreement from A CORPORATION is strictly prohibited.",
    "CONFIDENTIAL\n\nNOTICE: All information contained herein is, and remains the property of A"
    " Incorporated and its suppliers. Dissemination of this information is forbidden unless prior"
    " written permission is obtained from A Incorporated.",
    "(c) 2015 A Ltd. All rights reserved.\nNo part of this source code may be reproduced or"
    " transmitted without the prior written permission of the copyright owner.",
    "Copyright 2018 A GmbH. For internal use only.",
    "Acme Confidential",
    "ACME CORP CONFIDENTIAL - DO NOT DISTRIBUTE",
    "Do not distribute.",
    "Property of Acme Inc.",
    "This source code is proprietary.",
    "Proprietary software of Acme Corp",
    "Copyright 2020 Acme. No license is granted.",
    "You may not copy this file.",
    "Copying, distribution or use of this file is not allowed.",
    MIT + "\n\nProprietary and confidential.",
]
NO_NOTICES = [
    "Adds numbers.",
    "Copyright (c) 2020 A. B.",
    "Copyright 2020 A. B. All rights reserved.",
    "Reads the GPL headers of files, and the MIT ones.",
    "Finds packages released under the GPL.",
    "Tells whether a file is licensed under the GPL.",
    "Drops rows that are distributed under the Apache License.",
    "He studied at MIT, under the bridge.\n\nThis format is proprietary to nobody.",
    "For internal use only: call open() in place of it.",
    "The lock must not be used without care, and copying is done in place.",
    "GNU make v3, and the GNU C library",
    "Do not distribute the load. Use of goto is forbidden, and names are confidential.",
    "Property of being prime, for proprietary formats",
    "Test for GPL detection",
    "Users may redistribute work among threads.",
]


def header_licence(text: str) -> str | None:
    return licence_headers.header_licence(text, {})


def in_comments(text: str) -> list[str]:
    """Return a text as the head of files of several languages."""
    lines = textwrap.dedent(text).splitlines()
    heads = [
        "".join(f"{mark} {line}".rstrip() + "\n" for line in lines)
        for mark in ("//", "#", "--", ";;", "%", "!", "dnl", "REM", ".. ")
    ]
    boxed = "".join(f" * {line}".rstrip() + "\n" for line in lines)
    blocks = [
        ("/*", " */"),
        ("/**", " **/"),
        ('"""', '"""'),
        ("<!--", "-->"),
        ("(*", "*)"),
        ("{-", "-}"),
    ]
    heads += [
        f"{begin}\n{boxed if begin[0] == '/' else text + chr(10)}{end}\n" for begin, end in blocks
    ]
    heads += [f"<?php\n/* file.php */\n\n{heads[0]}", f"package a;\nimport b;\n/*\n{boxed}*/\n"]
    heads += ["#!/bin/sh\n" + "#" * 70 + "\n" + "".join(f"# {line:<66} #\n" for line in lines)]
    return [f"{head}\nmain();\n" for head in heads]


@pytest.mark.parametrize(("notice", "licence"), NOTICES)
def test_notices(notice, licence):
    assert {header_licence(text) for text in in_comments(notice)} == {licence}


@pytest.mark.parametrize("notice", CLOSED)
def test_proprietary_headers(notice):
    assert {header_licence(text) for text in in_comments(notice)} == {PROPRIETARY}


@pytest.mark.parametrize("comment", NO_NOTICES)
def test_what_is_no_notice(comment):
    assert {header_licence(text) for text in in_comments(comment)} == {None}


@pytest.mark.parametrize(
    ("header", "licence", "expected"),
    [
        ("Copyright A.", None, None),
        ("Copyright A.", "MIT", "MIT"),
        ("Released under the GPL.", "MIT", "GPL"),
        ("Released under the GPL.", "GPL-2.0-only", "GPL-2.0-only"),
        ("Licensed under the MIT License.", "MIT AND Apache-2.0", "MIT AND Apache-2.0"),
        ("Licensed under CC BY 4.0.", "CC-BY-SA-4.0", "CC-BY-4.0"),
        ("Proprietary and confidential", "MIT", PROPRIETARY),
        ("Licensed under the A License.", "MIT", UNKNOWN_LICENCE),
        ("Use of this source code is governed by a BSD-style license that can be found in the"
         " LICENSE file.", "BSD-3-Clause", "BSD-3-Clause"),
        ("Use of this source code is governed by a BSD-style license that can be found in the"
         " LICENSE file.", "MIT", "BSD"),
        ("This file is licensed under the terms in the LICENSE file.", "MIT", "MIT"),
        ("This file is licensed under the terms in the LICENSE file.", None, UNKNOWN_LICENCE),
    ],
)  # fmt: skip
def test_a_header_that_contradicts_wins(header, licence, expected):
    assert licence_of_file(f"/* {header} */\nint a;\n", {}, licence) == expected


def test_a_whole_long_licence_is_that_one(checkout):
    text = (checkout / "LICENSE").read_text("utf-8")
    pasted = "".join(f"// {line}\n" for line in text.splitlines())
    assert header_licence(pasted + "int a;\n") == "Apache-2.0"
    assert header_licence("// Released under the GPL.\n" * 20 + pasted) != "Apache-2.0"
    assert header_licence(pasted + "// For non-commercial use.\n") == "Apache-2.0 AND unknown"


def test_only_the_header_counts():
    notice = "# Released under the GPL.\n"
    assert header_licence("import os\n\n" + notice) == "GPL"
    assert header_licence("os.exit(1)\n" + notice) is None
    assert header_licence("#" * MAX_HEADER_CHARACTERS + "\n" + notice) is None
    assert header_licence('NAMES = ["GPL"]  # Released under the GPL.\n') is None
    assert header_licence('__license__ = "GPLv3"\nmain()\n') == "GPL-3.0-only"
    assert header_licence("/* Released under the GPL.") == "GPL"


@pytest.mark.parametrize(
    "part",
    [
        "# licensed under ",
        "/* ",
        "# (",
        "\n",
        "#include\n",
        "Permission to use, copy ",
        "*/ /*",
        "# a, ",
    ],
)
def test_time_grows_with_the_header_at_most(part):
    assert_linear(header_licence, part, 2_000)
