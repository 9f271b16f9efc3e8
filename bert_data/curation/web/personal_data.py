"""Find personal data of all kinds in a text, and decide which kind a place is of.

    find_personal_data("邮箱zhangsan@qq.com，卡4111 1111 1111 1111", KINDS, ("CN",))
        ->  [("email", 2, 17), ("credit_card", 19, 38)]

Cheap tests of the whole text come first, as most texts have hardly any of it.
"""

import re
from collections.abc import Callable, Collection, Iterator

from bert_data.curation.web.names_and_addresses import find_person_names, find_postal_addresses
from bert_data.curation.web.national_ids import find_national_ids
from bert_data.curation.web.personal_addresses import (
    Spans,
    find_emails,
    find_ip_addresses,
    find_secrets,
    find_url_passwords,
    find_written_emails,
)
from bert_data.curation.web.personal_numbers import (
    find_chinese_ids,
    find_credit_cards,
    find_ibans,
    find_passports,
    find_us_ssns,
)
from bert_data.curation.web.phones import find_chinese_mobiles, find_phones

PLACEHOLDERS = {
    "secret": "<SECRET>",
    "url_password": "<PASSWORD>",
    "email": "<EMAIL>",
    "written_email": "<EMAIL>",
    "ip_address": "<IP>",
    "chinese_id": "<ID>",
    "national_id": "<ID>",
    "iban": "<IBAN>",
    "credit_card": "<CARD>",
    "us_ssn": "<SSN>",
    "passport": "<PASSPORT>",
    "postal_address": "<ADDRESS>",
    "chinese_mobile": "<PHONE>",
    "phone": "<PHONE>",
    "person_name": "<NAME>",
}
"""The replacement of each kind, in the order of the search: what one kind matches, no later
kind can."""

KINDS = tuple(PLACEHOLDERS)

_FINDERS_OF_NUMBERS = {
    "chinese_id": find_chinese_ids,
    "iban": find_ibans,
    "credit_card": find_credit_cards,
    "us_ssn": find_us_ssns,
    "chinese_mobile": find_chinese_mobiles,
}
_DIGIT = re.compile("[0-9]")
# The least that a text has if it holds an IP address: four digits with little between them; and if
# it holds one of the numbers: seven.
_DIGITS = re.compile(r"[0-9](?:[ .()/:\u00a0–-]{0,2}[0-9]){3}")
_LONG_NUMBER = re.compile(r"[0-9](?:[ .()/:\u00a0–-]{0,2}[0-9]){6}")

# Other forms of the characters of numbers, as in Chinese or Arabic texts and in good typesetting,
# and invisible ones; one character for one, so that positions stay.
_ODD = "[０-９٠-٩۰-۹०-९\u2010\u2011\u2012\u2212\u2009\u202f\u200b\u2060\u00ad"
_MAY_BE_OTHER = re.compile(f"{_ODD}＋－）＠]")
# An e-mail address in full-width letters, or with some of them.
_WIDE_ADDRESS = re.compile(
    "[0-9A-Za-z._+０-９Ａ-Ｚａ-ｚ．＿＋－-]{1,64}＠[0-9A-Za-z.０-９Ａ-Ｚａ-ｚ．－-]{1,254}"
)
_NARROW = {code: code - 0xFEE0 for code in range(0xFF0B, 0xFF5B)}
_OTHER_FORMS = re.compile(f"{_ODD}]|[＋－（](?=[+0-9])|）(?=[ －-]?[0-9])")
PLAIN_FORMS = {
    **{
        zero + digit: ord("0") + digit
        for zero in (0xFF10, 0x660, 0x6F0, 0x966)
        for digit in range(10)
    },
    **{code: code - 0xFEE0 for code in (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))},
    **str.maketrans(
        "＋－（）\u2010\u2011\u2012\u2212\u2009\u202f\u200b\u2060\u00ad", "+-()----     "
    ),
}


def find_personal_data(
    text: str, kinds: Collection[str], regions: tuple[str, ...], more_regions: tuple[str, ...] = ()
) -> list[tuple[str, int, int]]:
    """Return (kind, start, end) in the order of the text, without overlaps.

    Args:
      kinds: some of `KINDS`.
      regions, more_regions: see `find_phones`.
    """
    if not text.isascii() and _MAY_BE_OTHER.search(text):
        if _OTHER_FORMS.search(text):
            text = text.translate(PLAIN_FORMS)
        if "＠" in text:
            text = _WIDE_ADDRESS.sub(lambda match: match[0].translate(_NARROW), text)
    found = [
        (start, end, KINDS.index(kind), kind)
        for kind, spans in _find(text, kinds, regions, more_regions)
        for start, end in spans
    ]
    return _without_overlaps(found)


def _find(
    text: str, kinds: Collection[str], regions: tuple[str, ...], more_regions: tuple[str, ...]
) -> Iterator[tuple[str, Spans]]:
    finders: dict[str, Callable[[str], Spans]] = {"secret": find_secrets}
    if "@" in text or "＠" in text:
        finders["email"] = find_emails
        if "://" in text:
            finders["url_password"] = find_url_passwords
    finders |= {"written_email": find_written_emails, "person_name": find_person_names}
    if digit := _DIGIT.search(text):
        finders |= {"passport": find_passports, "postal_address": find_postal_addresses}
        if digits := _DIGITS.search(text, digit.start()):
            finders["ip_address"] = find_ip_addresses
            if _LONG_NUMBER.search(text, digits.start()):
                finders |= _FINDERS_OF_NUMBERS
                countries = (*regions, *more_regions)
                finders["national_id"] = lambda text: find_national_ids(text, countries)
                finders["phone"] = lambda text: find_phones(text, regions, more_regions)
    for kind, find in finders.items():
        if kind in kinds:
            yield kind, find(text)


def _without_overlaps(found: list[tuple[int, int, int, str]]) -> list[tuple[str, int, int]]:
    """Drop what overlaps something of a kind that comes first."""
    kept: list[tuple[int, int, int, str]] = []
    for item in sorted(found):
        while kept and kept[-1][1] > item[0] and kept[-1][2] > item[2]:
            kept.pop()
        if not kept or kept[-1][1] <= item[0]:
            kept.append(item)
    return [(kind, start, end) for start, end, _, kind in kept]
