"""Personal data in texts: the labelled set, each kind's edges, what is done, hostile texts."""

import itertools
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document, Verdict
from bert_data.curation.step import make_step
from bert_data.curation.steps.privacy import PLACEHOLDERS, Privacy
from bert_data.curation.web.national_ids import load_numbers
from bert_data.curation.web.personal_data import KINDS
from tests.curation.growth import assert_linear
from tests.curation.labels import marked_texts
from tests.rows import mostly_slow

COVERS = ("curation/web/personal_data",)


OFF = dict.fromkeys(PLACEHOLDERS, "keep")
ALL = dict.fromkeys(PLACEHOLDERS, "replace")
TEXT = "a@example.com, 8.8.8.8 dns, 13812345678, (415) 555-2671, 4111 1111 1111 1111"
MORE = (
    "jane (at) example (dot) com, ftp://bob:hunter2@example.com, AKIAIOSFODNN7EXAMPLE,"
    " DE89370400440532013000, SSN 536-90-4399, passport no. C03005988, Dr. Anke Vogelsang,"
    " 350 Fifth Avenue, New York, NY 10118, CPF 111.444.777-35"
)


def judge(text: str, **parameters) -> Verdict:
    return Privacy(**parameters).judge(Document("a/1", "a", text))


def replaced(text: str, **parameters) -> str:
    verdict = judge(text, **parameters)
    assert verdict.kept
    return verdict.document.text


# The least precision and recall of each kind, over all rows and over those that were written before
# the rules, and not used to make them.
FLOORS = dict.fromkeys(PLACEHOLDERS, (0.95, 0.95)) | {"us_ssn": (0.9, 0.95), "phone": (0.93, 0.97)}
HELD_OUT_FLOORS = dict.fromkeys(PLACEHOLDERS, (0.9, 0.9)) | {
    "chinese_mobile": (0.85, 0.95),
    "us_ssn": (0.8, 0.95),
}


@pytest.mark.parametrize(("written", "floors"), [("", FLOORS), ("after", HELD_OUT_FLOORS)])
def test_the_labelled_set(written, floors):
    rows = [row for row in marked_texts() if written in row.written]
    step, right, wrong, missed = Privacy(**ALL), Counter(), Counter(), Counter()
    for row in rows:
        spans = set(step.find(row.text, row.language))
        right.update(kind for kind, _, _ in spans & row.spans)
        wrong.update(kind for kind, _, _ in spans - row.spans)
        missed.update(kind for kind, _, _ in row.spans - spans)
    for kind, (precision, recall) in floors.items():
        assert right[kind] >= 3
        assert right[kind] >= precision * (right[kind] + wrong[kind]), (kind, right, wrong)
        assert right[kind] >= recall * (right[kind] + missed[kind]), (kind, right, missed)


def test_the_labelled_set_is_of_many_languages():
    rows = marked_texts()
    for language in ("en", "zh"):
        assert sum(row.language == language for row in rows) >= 300
    assert len({row.language for row in rows}) >= 14
    assert sum(not row.spans for row in rows) >= 300


def test_kinds_are_parameters():
    assert tuple(PLACEHOLDERS) == KINDS
    assert {kind for kind in KINDS if getattr(Privacy(), kind) == "keep"} == {
        "national_id",
        "postal_address",
        "person_name",
    }


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("邮箱zhangsan@qq.com是", "邮箱<EMAIL>是"),
        ("电话13812345678是", "电话<PHONE>是"),
        ("身份证11010519491231002X，地址8.8.8.8的", "身份证<ID>，地址<IP>的"),
        ("手机：１３８１２３４５６７８，请联系", "手机：<PHONE>，请联系"),
        ("座机０１０－６２３４５６７８。", "座机<PHONE>。"),
        ("身份证１１０１０５１９４９１２３１００２Ｘ，ａ", "身份证<ID>，ａ"),
        ("１９４９年，版本１.２，第１２３４５６７８９０１号", None),
        ("tel ٠٢٠ ٧٩٤٦ ٠٩٥٨", "tel <PHONE>"),
        ("Call 415\u2011555\u20112671 or 415\u202f555\u202f2672", "Call <PHONE> or <PHONE>"),
        ("座机（0755）8665 1234", "座机<PHONE>"),
        ("+86－138－1234－5678", "<PHONE>"),
        ("手机138\u200b1234\u200b5678", "手机<PHONE>"),
        ("联系：用户@例子.中国。", "联系：<EMAIL>。"),
        ("ｍａｒｋ＠ｅｘａｍｐｌｅ．ｃｏｍ 写信", "<EMAIL> 写信"),
        ("To de89370400440532013000.", "To <IBAN>."),
        ("ＤＥ８９３７０４００４４０５３２０１３０００", "<IBAN>"),
        ("Write to mark_at_example_dot_org now", "Write to <EMAIL> now"),
        ("Use 8.8.4.4 as your resolver.", "Use <IP> as your resolver."),
        ("Our network uses 9.9.9.9.", "Our network uses <IP>."),
        ("Version 8.8.4.4 of the network driver", None),
        ("See 8.8.4.4. The network is down.", None),
        ("look_at_this_dot_product, id be1234567890abcd", None),
    ],
)
def test_other_ways_to_write(text, clean):
    assert judge(text).document.text == (clean or text)


def test_counts_and_treatments():
    verdict = judge(TEXT)
    expected = "<EMAIL>, <IP> dns, <PHONE>, <PHONE>, <CARD>"
    assert verdict.document.text == expected
    kinds = ("email", "ip_address", "chinese_mobile", "phone", "credit_card")
    assert verdict.edits == dict.fromkeys(kinds, 1)
    assert replaced(TEXT, phone="remove", email="keep") == (
        "a@example.com, <IP> dns, <PHONE>, , <CARD>"
    )
    assert replaced(TEXT, placeholders={"email": "[mail]"}).startswith("[mail], <IP>")
    verdict = judge(TEXT, credit_card="reject", email="reject")
    assert verdict.measured == (("email", 1, 0, True), ("credit_card", 1, 0, True))
    assert verdict.document.text == TEXT


def test_documents_with_more_than_so_many_finds_are_rejected():
    five, six = (" ".join(f"a{i}@example.com" for i in range(n)) for n in (5, 6))
    assert judge(five, max_found=5).measured == (("max_found", 5, 5, False),)
    assert replaced(five, max_found=5) == " ".join(5 * ["<EMAIL>"])
    verdict = judge(six, max_found=5)
    assert verdict.measured == (("max_found", 6, 5, True),) and verdict.document.text == six
    assert replaced(six, max_found=5, email="keep") == six
    assert replaced(six).count("<EMAIL>") == 6
    assert judge("Clean.", max_found=0).kept and not judge(five, max_found=0).kept


@pytest.mark.parametrize("kind", PLACEHOLDERS)
def test_switches_by_kind(kind):
    others = {**OFF, kind: "replace"}
    text = f"{TEXT}, 11010519491231002X, +49 30 901820, {MORE}"
    kinds = {each for each, _, _ in Privacy(**others).find(text)}
    assert kinds == {kind}


def test_masks_tell_the_kind_and_the_form():
    assert replaced(TEXT, **dict.fromkeys(PLACEHOLDERS, "mask")) == (
        "<EMAIL:*@*******.***>, <IP:*.*.*.*> dns, <PHONE:***********>, <PHONE:(***) ***-****>,"
        " <CARD:**** **** **** ****>"
    )
    assert replaced("卡号１３８", phone="mask") == "卡号１３８"


def test_regions_follow_the_language():
    text = "Mairie, 01 42 68 53 00."
    document = Document("a/1", "a", text, {"language": "fr"})
    assert Privacy().judge(document).document.text == "Mairie, <PHONE>."
    assert Privacy(regions_by_language=False).judge(document).document is document
    assert replaced(text) == text and replaced(text, regions=["FR"]) == "Mairie, <PHONE>."


KEY = "0123456789abcdef"


def test_pseudonyms_by_a_key(tmp_path, monkeypatch):
    variable = Privacy().key_variable
    monkeypatch.setenv(variable, KEY)
    ours = dict.fromkeys(PLACEHOLDERS, "pseudonym")
    step = Privacy(**ours)
    text = replaced(f"{TEXT}, {MORE}", **ours)
    assert all(part not in text for part in ("a@example.com", "8.8.8.8", "13812345678", "Fifth"))
    assert "<" not in text and KEY not in repr(step)
    (tmp_path / "key").write_text(f"{KEY}\n")
    monkeypatch.delenv(variable)
    by_file = Privacy(**ours, key_file=str(tmp_path / "key"))
    assert by_file.key_fingerprint == step.key_fingerprint
    assert by_file.judge(Document("b", "b", f"{TEXT}, {MORE}")).document.text == text
    (tmp_path / "key").write_text(KEY[::-1])
    with pytest.raises(ValueError, match="it must be " + step.key_fingerprint):
        by_file.open("")
    other = Privacy(**ours, key_file=str(tmp_path / "key"))
    assert other.judge(Document("b", "b", TEXT)).document.text != replaced(TEXT)


def test_numbers_of_other_countries_need_their_extra(monkeypatch):
    load_numbers.cache_clear()
    monkeypatch.setitem(sys.modules, "stdnum.es.dni", None)
    assert Privacy().judge(Document("a/1", "a", "DNI 12345678Z")).kept
    with pytest.raises(ValueError, match=r"national_id needs .* stdnum, .*\[ids\]"):
        Privacy(national_id="mask")


def test_mistakes_with_keys(tmp_path, monkeypatch):
    monkeypatch.delenv("BERT_DATA_PSEUDONYM_KEY", raising=False)
    with pytest.raises(ValueError, match="set the environment variable BERT_DATA_PSEUDONYM_KEY"):
        make_step("privacy", {"email": "pseudonym"})
    (tmp_path / "key").write_text("secret\n")
    with pytest.raises(ValueError, match="a key of 6 bytes; at least 16 are needed") as told:
        make_step("privacy", {"email": "pseudonym", "key_file": str(tmp_path / "key")})
    assert "secret" not in str(told.value).replace(str(tmp_path), "")
    with pytest.raises(OSError, match="nokey"):
        make_step("privacy", {"email": "pseudonym", "key_file": str(tmp_path / "nokey")})
    monkeypatch.setenv("BERT_DATA_PSEUDONYM_KEY", KEY)
    with pytest.raises(ValueError, match="it must be 0123"):
        make_step("privacy", {"email": "pseudonym", "key_fingerprint": "0123"})
    assert make_step("privacy", {}).key_fingerprint == ""


def test_clean_texts_are_the_same_object():
    document = Document("a/1", "a", "Nothing of 1998, at 10:30 @ home.")
    verdict = Privacy().judge(document)
    assert verdict.document is document and not verdict.edits and not verdict.measured
    assert replaced(TEXT, **OFF) == TEXT


@given(st.text(st.sampled_from("0123456789+-. ()@:/a人qc.omX\0\ud800"), max_size=60))
def test_what_is_found_stands_apart_and_is_not_found_again(text):
    spans = Privacy(**ALL).find(text)
    assert all(end <= start for (_, _, end), (_, start, _) in itertools.pairwise(spans))
    again = replaced(text)
    assert len(Privacy().find(again)) <= len(spans)


PARTS = [
    "1", "1 ", "1.", "1-", "+1", "(1", "(1)", "@", "a@", "a@b.", "@a.", "1.1.1.1.", "8.8.8.8 ",
    "2001:", "2001::", ":", "138", "86", "+86 ", "4111 ", "a.a@a", "%", "0", "00", "415-555-",
    "电话", "order ", "1\u00a0", "3.3.3.3/", "x" * 64 + "@", "11010519491231002X", "a@b.com ",
    "a (at) ", "a at b dot ", "艾特", "点", "a#qq.", "://a:", "://a:b@", "AKIA", "eyJ.eyJ", "sk-",
    "-----BEGIN PRIVATE KEY-----", "DE89 ", "DE89", "A1", "passport no ", "护照号", "SSN 123 ",
    "1 A ", "1 A St, ", "P.O. Box 1 ", "路1号", "北京市", "一", "王", "姓名王", "Mr. A", "Mary ",
    "A ", "My name is ", "邮箱", "邮箱一@", "a.b@", "я@я.", "@я1.", "a@क्.",
    "A-", "１", "（0）", "王先生", "住在",
]  # fmt: skip


@mostly_slow("part", PARTS)
def test_time_grows_with_the_length(part):
    step = Privacy(**ALL)
    assert_linear(step.find, part, 1_000)
