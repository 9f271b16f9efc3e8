"""Pseudonyms: the same for the same value, of its shape, and nobody's."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.web.personal_addresses import find_ip_addresses
from bert_data.curation.web.personal_data import KINDS
from bert_data.curation.web.personal_numbers import (
    is_chinese_id,
    is_credit_card,
    is_iban,
    is_us_ssn,
)
from bert_data.curation.web.pseudonyms import Pseudonyms, fingerprint_of

KEY = b"0123456789abcdef"
NAMES = Pseudonyms(KEY)
VALUES = {
    "secret": "AKIAIOSFODNN7EXAMPLE",
    "url_password": "bob:hunter2",
    "ip_address": "93.14.216.34",
    "chinese_id": "11010519491231002X",
    "national_id": "12.345.678-Z",
    "iban": "DE89 3704 0044 0532 0130 00",
    "credit_card": "4111-1111-1111-1111",
    "us_ssn": "536-90-4399",
    "passport": "C03005988",
    "chinese_mobile": "138-1234-5678",
    "phone": "(415) 555-2671",
}


def shape(value: str) -> str:
    return re.sub("[a-z]", "a", re.sub("[A-Z]", "A", re.sub("[0-9]", "0", value)))


@pytest.mark.parametrize("kind", KINDS)
def test_values_differ_and_keys_decide(kind):
    one, other = (
        VALUES.get(kind, "12 Elm Street").replace(*pair) for pair in (("0", "0"), ("1", "2"))
    )
    assert NAMES.of(kind, one) == NAMES.of(kind, one) == Pseudonyms(KEY).of(kind, one) != one
    assert Pseudonyms(KEY[::-1]).of(kind, one) != NAMES.of(kind, one)
    if one != other:
        assert NAMES.of(kind, one) != NAMES.of(kind, other)


@pytest.mark.parametrize("kind", sorted(VALUES))
def test_shapes_stay(kind):
    pseudonym = NAMES.of(kind, VALUES[kind])
    if kind == "ip_address":
        assert re.fullmatch(r"10(\.[0-9]{1,3}){3}", pseudonym) and not find_ip_addresses(pseudonym)
    elif kind == "chinese_id":
        assert re.fullmatch("0[0-9]{17}", pseudonym)
    else:
        assert shape(pseudonym) == shape(VALUES[kind])


@given(st.binary(min_size=16, max_size=32))
def test_they_are_nobodys(key):
    names = Pseudonyms(key)
    assert not is_chinese_id(names.of("chinese_id", VALUES["chinese_id"]))
    assert not is_credit_card(names.of("credit_card", "4111111111111111"))
    assert not is_iban(names.of("iban", "DE89370400440532013000"))
    assert not is_us_ssn(names.of("us_ssn", "536904399"))
    assert names.of("email", "a@b.com").endswith("@example.com")
    assert names.of("ip_address", "2606:4700:4700::1111").startswith("2001:db8:")
    assert names.of("phone", "+1 415-555-2671").startswith("+1 0")


def test_ways_to_write_a_value_share_its_pseudonym():
    emails = [
        ("email", "Jane.Doe@Example.org"),
        ("email", "jane.doe＠example.org"),
        ("written_email", "jane.doe (at) example (dot) org"),
        ("written_email", "jane.doe[at]example.org"),
        ("written_email", "jane.doe AT example DOT org"),
        ("written_email", "jane.doe艾特example点org"),
        ("written_email", "jane.doe -at- example -dot- org"),
        ("written_email", "jane.doe#example.org"),
        ("written_email", "jane(punkt)doe(ät)example(punkt)org"),
        ("written_email", "jane dot doe at example dot org"),
        ("written_email", "jane.doe @ example . org"),
    ]
    assert len({NAMES.of(*each) for each in emails}) == 1
    assert NAMES.of("email", "jane_doe@example.org") != NAMES.of(*emails[0])
    numbers = [
        "(415) 555-2671",
        "415.555.2671",
        "+1 415 555 2671",
        "1-415-555-2671",
        "001 415 5552671",
    ]
    assert len({"".join(filter(str.isdigit, NAMES.of("phone", n)))[-10:] for n in numbers}) == 1
    assert NAMES.of("phone", "+44 20 7946 0958")[4:] == NAMES.of("phone", "020 7946 0958")[1:]
    mobiles = [
        "13812345678",
        "１３８１２３４５６７８",
        "138\u20111234\u20115678",
        "138-1234-5678",
        "+86 138 1234 5678",
        "8613812345678",
    ]
    assert len({re.sub(r"[^0-9]", "", NAMES.of("chinese_mobile", n))[-11:] for n in mobiles}) == 1
    assert re.sub(r"[^0-9]", "", NAMES.of("iban", VALUES["iban"])) == "".join(
        filter(str.isdigit, NAMES.of("iban", VALUES["iban"].replace(" ", "")))
    )


def test_ways_to_write_an_address_of_a_machine():
    written = [
        "2606:4700:4700::1111",
        "2606:4700:4700:0:0:0:0:1111",
        "2606:4700:4700::1111".upper(),
    ]
    assert len({NAMES.of("ip_address", each) for each in written}) == 1


def test_names_and_addresses():
    assert re.fullmatch(
        r"[A-Z][a-z]+ [A-Z]\. [A-Z][a-z]+", NAMES.of("person_name", "Robert J. Miller")
    )
    assert len(NAMES.of("person_name", "王建国")) == 3
    english = NAMES.of("postal_address", "350 Fifth Avenue, New York, NY 10118")
    assert re.fullmatch("[0-9]{3} [A-Z][a-z]+ Avenue, [A-Za-z ]+, NY [0-9]{5}", english)
    assert "Fifth" not in english and "York" not in english
    chinese = NAMES.of("postal_address", "上海市浦东新区世纪大道100号12楼")
    assert re.fullmatch("..市..区..大道[0-9]{3}号[0-9]{2}楼", chinese)


def test_fingerprints_tell_keys_apart():
    assert re.fullmatch("[0-9a-f]{12}", fingerprint_of(KEY))
    assert fingerprint_of(KEY) != fingerprint_of(KEY[::-1])
