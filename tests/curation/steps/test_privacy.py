"""Personal data in texts: the labelled set, each kind's edges, what is done, hostile texts."""

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.step import make_step
from bert_data.curation.steps.privacy import PLACEHOLDERS, Privacy
from bert_data.curation.verdict import Verdict
from bert_data.curation.web.personal_addresses import find_emails, find_ip_addresses
from bert_data.curation.web.personal_numbers import (
    find_chinese_mobiles,
    find_credit_cards,
    find_phones,
    is_chinese_id,
    is_credit_card,
)
from tests.curation.growth import assert_linear
from tests.curation.labels import marked_texts

COVERS = (
    "curation/web/personal_addresses",
    "curation/web/personal_numbers",
)


OFF = dict.fromkeys(PLACEHOLDERS, "keep")
TEXT = "a@example.com, 8.8.8.8 dns, 13812345678, (415) 555-2671, 4111 1111 1111 1111"


def judge(text: str, **parameters) -> Verdict:
    return Privacy(**parameters).judge(Document("a/1", "a", text))


def replaced(text: str, **parameters) -> str:
    verdict = judge(text, **parameters)
    assert verdict.kept
    return verdict.document.text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_labelled_set(language):
    """Precision and recall of each kind, over 190 texts of a language, stay where they are."""
    rows = [row for row in marked_texts() if row.language == language]
    assert len(rows) >= 150
    step, right, wrong, missed = Privacy(), Counter(), Counter(), Counter()
    for row in rows:
        spans = set(step.find(row.text))
        right.update(kind for kind, _, _ in spans & row.spans)
        wrong.update(kind for kind, _, _ in spans - row.spans)
        missed.update(kind for kind, _, _ in row.spans - spans)
    kinds = {kind for row in rows for kind, _, _ in row.spans}
    assert kinds >= set(PLACEHOLDERS) - {"chinese_id", "chinese_mobile"}
    for kind in kinds:
        assert right[kind] >= 0.87 * (right[kind] + wrong[kind]), (kind, wrong)
        assert right[kind] >= 0.9 * (right[kind] + missed[kind]), (kind, missed)
    assert right.total() >= 0.95 * (right + wrong).total()
    assert right.total() >= 0.97 * (right + missed).total()


def test_inside_chinese_text():
    assert replaced("邮箱zhangsan@qq.com是") == "邮箱<EMAIL>是"
    assert replaced("电话13812345678是") == "电话<PHONE>是"
    assert replaced("身份证11010519491231002X，地址8.8.8.8的") == "身份证<ID>，地址<IP>的"


def test_digits_of_full_width():
    assert replaced("手机：１３８１２３４５６７８，请联系") == "手机：<PHONE>，请联系"
    assert replaced("座机０１０－６２３４５６７８。") == "座机<PHONE>。"
    assert replaced("身份证１１０１０５１９４９１２３１００２Ｘ，ａ") == "身份证<ID>，ａ"
    assert replaced("１９４９年，版本１.２，第１２３４５６７８９０１号") == (
        "１９４９年，版本１.２，第１２３４５６７８９０１号"
    )


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


@pytest.mark.parametrize("kind", PLACEHOLDERS)
def test_switches_by_kind(kind):
    others = {**OFF, kind: "replace"}
    text = f"{TEXT}, 11010519491231002X, +49 30 901820"
    kinds = {each for each, _, _ in Privacy(**others).find(text)}
    assert kinds == {kind}


def test_clean_texts_are_the_same_object():
    document = Document("a/1", "a", "Nothing of 1998, at 10:30 @ home.")
    verdict = Privacy().judge(document)
    assert verdict.document is document and not verdict.edits and not verdict.measured
    assert replaced(TEXT, **OFF) == TEXT


def test_mistakes_are_told():
    for parameters, sentence in [
        ({"email": "drop"}, "email is 'drop'; it must be one of replace, remove, reject, keep"),
        (
            {"placeholders": {"mail": "x"}},
            "placeholders has 'mail'; the kinds are email, ip_address",
        ),
        ({"regions": ["USA"]}, "regions has 'USA'; a code such as US is needed"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            make_step("privacy", parameters)


@pytest.mark.parametrize(
    ("text", "email"),
    [
        ("a@b.com", "a@b.com"),
        (".a@b.com.", "a@b.com"),
        ("a.@b.com", ""),
        ("@b.com @", ""),
        ("x" * 70 + "@b.com", "x" * 64 + "@b.com"),
        ("a@" + "b" * 70 + ".com", ""),
        ("a@-b.com", ""),
        ("a@b.c", ""),
        ("a@b.nosuchtld", ""),
        ("a@b.com_", ""),
        ("a@b.co.uk/x", "a@b.co.uk"),
        ("a＠qq.com", "a＠qq.com"),
        ("http://u:p@b.com/", ""),
        ("http://b.com/ a@b.com", "a@b.com"),
    ],
)
def test_edges_of_emails(text, email):
    assert "".join(text[start:end] for start, end in find_emails(text)) == email


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("93.184.216.34", "93.184.216.34"),
        ("93.184.216.34.", "93.184.216.34"),
        ("93.184.216.34.5", ""),
        ("093.184.216.34", ""),
        ("1.93.184.216.34", ""),
        ("93.184.216.344", ""),
        ("x93.184.216.34", ""),
        ("ip93.184.216.34是", "93.184.216.34"),
        ("93.184.216.34-93.184.216.40", "93.184.216.34 93.184.216.40"),
        ("224.0.0.1 240.0.0.1 169.254.1.1", ""),
        ("host 1.2.3.4", "1.2.3.4"),
        ("version: 93.184.216.34", ""),
        ("1.2.3.4:8080", "1.2.3.4"),
        ("2606:4700:4700::1111.", "2606:4700:4700::1111"),
        ("2606:4700::", "2606:4700::"),
        ("12606:4700:4700::1111", ""),
        ("2606:4700:4700:::1111", ""),
        ("2606:4700:4700:1:2:3:4:5:6", ""),
    ],
)
def test_edges_of_ip_addresses(text, address):
    assert " ".join(text[start:end] for start, end in find_ip_addresses(text)) == address


def test_checksums():
    assert is_chinese_id("11010519491231002X") and is_chinese_id("110105 19491231 002x")
    assert not is_chinese_id("110105194912310021") and not is_chinese_id("11010519491331002X")
    assert is_credit_card("4111111111111111") and not is_credit_card("4111111111111112")
    assert not is_credit_card("1234567812345670") and not is_credit_card("0" * 16)


@given(st.integers(0, 10**14 - 1), st.integers(0, 9))
def test_one_wrong_digit_is_no_card(number, other):
    digits = f"4{number:014}"
    (last,) = (d for d in "0123456789" if _luhn(digits + d))
    assert is_credit_card(digits + last) == (len(set(digits + last)) > 1)
    assert (str(other) == last) or not is_credit_card(digits + str(other))


def _luhn(digits: str) -> bool:
    values = [int(d) * (1 + place % 2) for place, d in enumerate(reversed(digits))]
    return sum(value // 10 + value % 10 for value in values) % 10 == 0


@pytest.mark.parametrize(
    ("text", "is_mobile"),
    [
        ("13812345678", True),
        ("+8613812345678", True),
        ("+86 138-1234-5678", True),
        ("0086 13812345678", True),
        ("86-138 1234 5678", True),
        ("12812345678", False),
        ("138123456789", False),
        ("113812345678", False),
        ("138-12345678", False),
        ("138-1234 5678", False),
        ("13812345678.5", False),
        ("订单13812345678", False),
        ("订单号：13812345678", False),
        ("订单已发，电话13812345678", True),
    ],
)
def test_edges_of_chinese_mobiles(text, is_mobile):
    assert bool(find_chinese_mobiles(text)) == is_mobile


def test_phones_of_regions():
    text = "020 7946 0958 or 030 901820 or (415) 555-2671"
    for regions, count in [((), 0), (("GB",), 1), (("GB", "US"), 2), (("DE",), 1)]:
        assert len(find_phones(text, regions)) == count
    assert find_phones("tel:+1-202-456-1414", ()) == [(4, 19)]
    assert find_credit_cards("order 4111111111111111") == []


@pytest.mark.parametrize(
    ("text", "regions", "is_phone"),
    [
        ("0049 30 901820", (), True),
        ("0049309018200", (), False),  # one group of digits may be anything
        ("tel 0049309018200", (), True),
        ("1-202-456-1414", ("US",), True),
        ("2-024-561-414", ("US",), False),
        ("030 901820", ("DE",), True),
        ("030 9 01820", ("DE",), False),
        ("tel 030 9 01820", ("DE",), True),
    ],
)
def test_groups_of_digits_that_are_phones(text, regions, is_phone):
    assert bool(find_phones(text, regions)) == is_phone


@given(st.text(st.sampled_from("0123456789+-. ()@:/a人qc.omX\0\ud800"), max_size=60))
def test_what_is_found_stands_apart_and_is_not_found_again(text):
    spans = Privacy().find(text)
    assert all(end <= start for (_, _, end), (_, start, _) in itertools.pairwise(spans))
    again = replaced(text)
    assert len(Privacy().find(again)) <= len(spans)


PARTS = ["1", "1 ", "1.", "1-", "+1", "(1", "(1)", "@", "a@", "a@b.", "@a.", "1.1.1.1.", "8.8.8.8 "]
PARTS += ["2001:", "2001::", ":", "138", "86", "+86 ", "4111 ", "a.a@a", "%", "0", "00", "415-555-"]
PARTS += ["电话", "order ", "1\u00a0", "3.3.3.3/", "x" * 64 + "@", "11010519491231002X", "a@b.com "]


@pytest.mark.parametrize("part", PARTS)
def test_time_grows_with_the_length(part):
    assert_linear(lambda text: judge(text), part, 1_000)
