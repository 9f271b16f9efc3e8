"""Identity and payment cards, accounts, passports: their checksums and what surrounds them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.web.personal_numbers import (
    find_credit_cards,
    find_ibans,
    find_us_ssns,
    is_chinese_id,
    is_credit_card,
    is_iban,
    is_us_ssn,
)


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


def test_numbers_of_orders_are_no_cards():
    assert find_credit_cards("order 4111111111111111") == []


IBANS = ["DE89370400440532013000", "GB29NWBK60161331926819", "NO9386011117947"]
IBANS += ["MT84MALT011000012345MTLCAST001S", "LC55HEMM000100010012001200023015"]


@pytest.mark.parametrize("iban", IBANS[:4])
def test_ibans_in_any_grouping(iban):
    grouped = " ".join(iban[start : start + 4] for start in range(0, len(iban), 4))
    for written in (iban, grouped, grouped.replace(" ", "-"), grouped.replace(" ", "\u00a0")):
        text = f"账号{written}，BIC"
        assert find_ibans(text) == [(2, 2 + len(written))]
        assert find_ibans(f"{written} 12 A1") == [(0, len(written))]
    assert find_ibans(f"X{iban}") == find_ibans(f"{iban}X") == find_ibans(iban[:-1]) == []
    assert find_ibans(grouped.replace(" ", "  ")) == []
    assert find_ibans(iban.lower()) == [(0, len(iban))]
    assert find_ibans(iban[:1] + iban[1:].lower()) == []


def test_ibans_of_unknown_countries():
    assert not is_iban(IBANS[4])  # the checksum holds; Saint Lucia's length is not in the table
    assert not is_iban("XX00") and not is_iban("")


@given(st.sampled_from(IBANS[:4]), st.data())
def test_one_wrong_character_is_no_iban(iban, data):
    place = data.draw(st.integers(2, len(iban) - 1))
    options = "0123456789" if iban[place].isdigit() else "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    other = data.draw(st.sampled_from(options.replace(iban[place], "")))
    assert is_iban(iban) and not is_iban(iban[:place] + other + iban[place + 1 :])


@pytest.mark.parametrize(
    ("digits", "fits"),
    [
        ("001010001", True),
        ("899999999", True),
        ("665010001", True),
        ("000010001", False),
        ("666010001", False),
        ("900010001", False),
        ("123006789", False),
        ("123450000", False),
        ("078051120", False),
        ("219099999", False),
    ],
)
def test_numbers_that_were_never_issued(digits, fits):
    assert is_us_ssn(digits) == fits
    written = f"{digits[:3]}-{digits[3:5]}-{digits[5:]}"
    assert bool(find_us_ssns(written)) == fits
    assert bool(find_us_ssns(f"SSN: {digits}")) == fits
    assert find_us_ssns(digits) == find_us_ssns(written.replace("-", " ")) == []
    assert find_us_ssns(f"order no. {written}") == find_us_ssns(f"{written}-1") == []
