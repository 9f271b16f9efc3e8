"""Phone numbers: Chinese mobile ones, and national ones by country and by language."""

import pytest

from bert_data.curation.web.phones import find_phones, regions_of


def test_phones_of_regions():
    text = "020 7946 0958 or 030 901820 or (415) 555-2671"
    for regions, count in [((), 0), (("GB",), 1), (("GB", "US"), 2), (("DE",), 1)]:
        assert len(find_phones(text, regions)) == count
    assert find_phones("tel:+1-202-456-1414", ()) == [(4, 19)]


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


@pytest.mark.parametrize(
    ("language", "regions"),
    [
        ("de", ("DE", "AT", "CH")),
        ("pt-BR", ("BR", "PT")),
        ("zh_Hant", ("CN", "TW", "HK")),
        ("JA", ("JP",)),
        ("tlh", ()),
        ("", ()),
        (None, ()),
        (3, ()),
    ],
)
def test_regions_of_languages(language, regions):
    assert regions_of(language) == regions


@pytest.mark.parametrize(
    ("text", "language", "number"),
    [
        ("Mairie, 01 42 68 53 00.", "fr", "01 42 68 53 00"),
        ("Mairie, 01 42 68 53 00.", "en", ""),
        ("Mairie, 01 02 03 04 05.", "fr", ""),
        ("Mairie, 01 02 03 04 06.", "fr", "01 02 03 04 06"),
        ("Tabelle 0201 1999", "de", ""),
        ("Mairie, 01 42 685 300.", "fr", ""),  # no country groups digits so
        ("тел. 8 (495) 123-45-67", "ru", "8 (495) 123-45-67"),
        ("заказ 8 (495) 123-45-67", "ru", ""),
        ("teléfono 655123456", "es", "655123456"),
        ("Oficina, 612 34 56 78.", "es", "612 34 56 78"),
        ("Oficina, 91 123 45 67.", "es", "91 123 45 67"),
        ("Oficina, 91.123.45.67.", "es", ""),
        ("Oficina, (91) 123 45 67.", "es", "(91) 123 45 67"),
        ("(9) 12 34 56 78", "es", ""),
        ("Oficina, 612 345 678.", "es", ""),  # may be a sum, as in "612 345 678 habitantes"
        ("📞 612 345 678", "es", "612 345 678"),
        ("Llámanos al 612 345 678", "es", "612 345 678"),
        ("Kontor, 32 12 34 56", "da", ""),  # may be a list
        ("Rua Augusta, (11) 96123-4567", "pt", "(11) 96123-4567"),
        ("Az. 030 90182", "de", ""),
        ("Ruf an: 030 90182", "de", "030 90182"),
        ("Vertragsnummer 030 90182", "de", ""),
        ("Telefonnummer 030 90182", "de", "030 90182"),
        ("Tel.-Nr. 030 90182", "de", "030 90182"),
        ("Tempe, AZ 602-253-2222", "en", "602-253-2222"),
        ("管理番号 03-1234-5678", "ja", ""),
        ("電話番号 03-1234-5678", "ja", "03-1234-5678"),
        ("habitantes: 655123456", "es", ""),
        ("本社 03-1234-5678", "ja", "03-1234-5678"),
    ],
)
def test_national_numbers_by_language(text, language, number):
    spans = find_phones(text, regions_of(language))
    assert "".join(text[start:end] for start, end in spans) == number
