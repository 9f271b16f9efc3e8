"""Licences by their many names, in fields and texts, against an allow-list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.step import make_step
from bert_data.curation.steps.licence import Licence, find_licences, is_allowed, normal_licence
from tests.curation.growth import assert_linear


@pytest.mark.parametrize(
    ("name", "normal_form"),
    [
        ("CC BY 4.0", "cc-by-4.0"),
        ("cc-by-sa-3.0", "cc-by-sa-3.0"),
        ("CC-BY-NC-ND", "cc-by-nc-nd"),
        ("cc0", "cc0"),
        ("CC0 1.0", "cc0-1.0"),
        ("CC0-1.0", "cc0-1.0"),
        ("Creative Commons Attribution-ShareAlike 4.0 International", "cc-by-sa-4.0"),
        ("Creative Commons Attribution-NonCommercial-NoDerivatives 4.0", "cc-by-nc-nd-4.0"),
        ("Creative Commons Attribution-NonCommercial 4.0", "cc-by-nc-4.0"),
        ("Creative Commons Attribution-NoDerivs 3.0", "cc-by-nd-3.0"),
        ("Creative Commons Zero v1.0", "cc0-1.0"),
        ("https://creativecommons.org/licenses/by-nc-sa/2.5/cn/", "cc-by-nc-sa-2.5"),
        ("http://creativecommons.org/publicdomain/zero/1.0/", "cc0-1.0"),
        ("creativecommons.org/publicdomain/mark/1.0", "pdm-1.0"),
        ("知识共享署名-相同方式共享 4.0", "cc-by-sa-4.0"),
        ("MIT License", "mit"),
        ("The MIT license", "mit"),
        ("Apache License, Version 2.0", "apache-2.0"),
        ("apache-2.0", "apache-2.0"),
        ("Apache 2", "apache-2.0"),
        ("BSD 3-Clause", "bsd-3-clause"),
        ("3-clause BSD license", "bsd-3-clause"),
        ("GPL-3.0-or-later", "gpl-3.0"),
        ("GNU General Public License v2", "gpl-2.0"),
        ("GNU Affero General Public License v3.0", "agpl-3.0"),
        ("LGPL-2.1-only", "lgpl-2.1"),
        ("MPL-2.0", "mpl-2.0"),
        ("ODC-By", "odc-by"),
        ("Some House License v3", "some-house-3.0"),
        ("", ""),
        ("---", ""),
    ],
)
def test_one_form_for_the_names_of_a_licence(name, normal_form):
    assert normal_licence(name) == normal_form
    if normal_form:
        assert normal_licence(normal_form) == normal_form
        assert is_allowed(normal_form, (name,))


def test_a_version_is_needed_only_if_it_is_named():
    assert is_allowed("cc-by-4.0", ("cc-by",)) and is_allowed("cc-by-4.0", ("CC BY 4.0",))
    assert not is_allowed("cc-by-4.0", ("cc-by-3.0",))
    assert not is_allowed("cc-by-nc-4.0", ("cc-by",)) and not is_allowed("cc-by-sa", ("cc-by",))
    assert not is_allowed("bsd-3-clause", ("bsd-2-clause",))


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("Text is available under the Creative Commons Attribution-ShareAlike License", "cc-by-sa"),
        ("# SPDX-License-Identifier: Apache-2.0\nimport os", "apache-2.0"),
        ("It is released under the terms of the GNU General Public License v3.0.", "gpl-3.0"),
        ("Licensed under the Apache License, Version 2.0 (the License)", "apache-2.0"),
        ("本站内容采用知识共享署名-非商业性使用 4.0许可协议", "cc-by-nc-4.0"),
        ("图片来自CC BY-SA 3.0。", "cc-by-sa-3.0"),
        ("Text by A, CC BY 4.0; photo: CC0", "cc-by-4.0 cc0"),
        ("He studied at MIT and drove under the bridge. The Apache helicopter.", ""),
        ("His licence was taken by the police.", ""),
        ("We accept the creative commons of the village.", ""),
        ("ACC BYPASS, cc: by mail", ""),
        ("The troops were under the Apache helicopters.", ""),
        ("CREATIVE COMMONS ATTRIBUTION 4.0", "cc-by-4.0"),
    ],
)
def test_licences_that_texts_tell(text, licence):
    assert " ".join(find_licences(text)) == licence


def judge(text: str, fields: dict[str, object], **parameters):
    step = Licence(**{"allowed": ("cc-by", "mit", "cc0-1.0"), **parameters})
    return step.judge(Document("a/1", "a", text, fields))


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("CC BY 4.0", True),
        ("CC BY-NC 4.0", False),
        ("MIT OR GPL-3.0", True),
        ("(MIT AND GPL-3.0)", False),
        ("MIT AND CC0-1.0", True),
        (["mit", "cc-by-3.0"], True),
        (["mit", "gpl-3.0"], False),
        ("cc0-2.0", False),
    ],
)
def test_fields(value, kept):
    for name in ("license", "licence"):
        verdict = judge("SPDX-License-Identifier: Unlicense", {name: value})
        assert verdict.kept == kept
        assert verdict.measured[0].rule == "allowed"


def test_documents_that_tell_none():
    for fields in ({}, {"license": None}, {"license": ""}, {"license": 7}, {"license": []}):
        verdict = judge("No word.", fields)
        assert not verdict.kept and verdict.measured[0].value == "none"
        assert judge("No word.", fields, unknown="keep").kept
        assert judge("CC BY 4.0", fields).kept
        assert not judge("CC BY 4.0", fields, from_text=False).kept


def test_mistakes_and_unused_lists_are_told():
    with pytest.raises(ValueError, match="step licence needs the parameter 'allowed'"):
        make_step("licence", {})
    with pytest.raises(ValueError, match=r"allowed is \(\); name at least one licence"):
        make_step("licence", {"allowed": []})
    with pytest.raises(ValueError, match="unknown is 'drop'; it must be one of reject, keep"):
        make_step("licence", {"allowed": ["mit"], "unknown": "drop"})
    step = Licence(allowed=("mit", "cc0"))
    others = {"without a licence": 3, "allowed": 2}  # two have others and were rejected for it
    assert step.describe_use(others) == "no document has one of the licences mit, cc0"
    assert step.describe_use({**others, **judge("CC BY 4.0", {}).counted}) is None


@given(st.text(st.characters(codec=None, categories=None), max_size=80))
def test_any_text(text):
    for licence in find_licences(f"licensed under the {text} CC BY {text}"):
        assert normal_licence(licence) == licence
    assert normal_licence(normal_licence(text)) == normal_licence(text)


@pytest.mark.parametrize(
    "part",
    [
        "under the MIT ",
        "license ",
        "Creative Commons Attribution ",
        "CC BY-SA-",
        "知识共享署名-",
        "署名",
        "creativecommons.org/licenses/by-",
        "SPDX-License-Identifier: ",
        "-",
        "a",
        " ",
        "by\n",
    ],
)
def test_time_grows_with_the_length(part):
    assert_linear(find_licences, part, 2_000)
