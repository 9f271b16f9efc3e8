"""Numbers of persons: forms, words before them, check digits, and what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.web.national_ids import find_national_ids, is_national_id


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Mi DNI es 12345678Z.", "12345678Z"),
        ("D.N.I.: 12.345.678-Z", "12.345.678-Z"),
        ("dni 12345678z", "12345678z"),
        ("DNI 12345678A", ""),
        ("DNI: 112345678Z, 12345678ZA", ""),
        ("con NIE X-1234567-L", "X-1234567-L"),
        ("NIE X1234567M", ""),
        ("CPF nº 111.444.777-35", "111.444.777-35"),
        ("CPF 11144477735", "11144477735"),
        ("Ana (111.444.777-35)", "111.444.777-35"),
        ("111.444.777-36 e 111.444.777-35.1", ""),
        ("11144477735", ""),
        ("Steuer-ID: 36 574 261 809", "36 574 261 809"),
        ("Steuerliche Identifikationsnummer 36574261809", "36574261809"),
        ("Steuer-ID 36574261808", ""),
        ("Kundennummer 36574261809", ""),
        ("n° de sécurité sociale 295109912611193", "295109912611193"),
        ("née, 2 95 10 99 126 111 93", "2 95 10 99 126 111 93"),
        ("2\u00a095\u00a010\u00a099\u00a0126\u00a0111\u00a093", ""),
        ("2 95 10 99 126 111 94", ""),
        ("295109912611193", ""),
        ("Aadhaar: 2341 2341 2346", "2341 2341 2346"),
        ("आधार संख्या 2341-2341-2346", "2341-2341-2346"),
        ("Aadhaar 2341 2341 2347", ""),
        ("2341 2341 2346", ""),
    ],
)
def test_what_is_found(text, found):
    assert "".join(text[start:end] for start, end in find_national_ids(text, ())) == found


def test_numbers_of_the_country_of_the_document_need_no_word():
    text = "Ana Ruiz, 12345678Z, y Olu Bello, X1234567L"
    assert find_national_ids(text, ("US", "GB")) == []
    assert find_national_ids(text, ("MX", "ES")) == [(10, 19), (34, 43)]


@given(st.integers(0, 10**8 - 1), st.sampled_from("TRWAGMYFPDXBNJZSQVHLCKE"))
def test_one_letter_fits_a_number_of_spain(number, letter):
    is_right = letter == "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23]
    assert is_national_id(f"{number:08}{letter}") == is_right
