"""Find numbers that belong to a person: identity and payment cards, accounts, passports.

find_chinese_ids("身份证11010519491231002X")        ->  [(3, 21)]     GB 11643's checksum holds
find_credit_cards("card 4111 1111 1111 1111")        ->  [(5, 24)]     Luhn's checksum holds
find_ibans("to DE89 3704 0044 0532 0130 00")         ->  [(3, 30)]     so does that of ISO 13616
find_us_ssns("SSN 536-90-4399")                      ->  [(4, 15)]
find_passports("护照号码：E12345678")                  ->  [(5, 14)]
"""

import datetime
import re

from bert_data.curation.quality.languages import read_lists
from bert_data.curation.web.personal_addresses import Spans

_BEFORE = 24

_LISTS = {name: "|".join(words) for name, words in read_lists(__file__).items()}
_PHONE_WORD = re.compile(
    rf"(?:(?<![^\W\d_])(?:{_LISTS['phone']})(?:s|ed|ing)?(?![^\W\d_])|{_LISTS['phone_unspaced']})"
)
_OTHER_WORD, _NUMBERED_WORD = (
    re.compile(
        rf"(?:(?<![a-zà-öø-ÿ])(?:{_LISTS[name]})(?![a-z])|{_LISTS[f'{name}_unspaced']})"
        r"(?:[\s:：.#=(（|-]|no|nr|num|n[uú]m(?:er[oa])?|number|n\.? ?[°º]|n(?=\.)|№|is|was|of|"
        r"号|码|为|是){0,6}\Z"
    )
    for name in ("other", "numbered")
)


def is_called_phone(before: str) -> bool:
    """Whether the words before a number call it a phone number; lower case."""
    return _PHONE_WORD.search(before) is not None


def is_called_other(before: str) -> bool:
    """Whether the words directly before a number say that it is of another kind; lower case."""
    if _OTHER_WORD.search(before) is not None:
        return True
    return _NUMBERED_WORD.search(before) is not None and not is_called_phone(before)


def words_before(text: str, place: int) -> str:
    """Return the text just before a place, in lower case."""
    return text[max(0, place - _BEFORE) : place].lower()


# As in the patterns of addresses, each begins with the characters that let the search skip ahead.
_CHINESE_ID = re.compile(
    r"[1-8](?<![0-9A-Za-z][1-8])(?:[0-9]{16}[0-9Xx]|[0-9]{5}([ -])[0-9]{8}\1[0-9]{3}[0-9Xx])"
    r"(?![0-9A-Za-z])"
)
_CHINESE_ID_NAMED = re.compile(
    r"[1-8](?<=[DdOo][1-8])(?<=(?:ID|No|id|no)[1-8])[0-9]{16}[0-9Xx](?![0-9A-Za-z])"
)
_PROVINCES = re.compile("1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3]")
_ID_WEIGHTS = tuple(2**place % 11 for place in range(17, 0, -1))
_ID_CHECKS = "10X98765432"

_CREDIT_CARD = re.compile(
    r"[2-6](?<![0-9A-Za-z_][2-6])(?<![0-9][-.][2-6])"
    r"(?:[0-9]{3}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{3})?"
    r"|[0-9]{3}([ -])[0-9]{6}\2[0-9]{4,5}|[0-9]{12,18})(?![0-9A-Za-z_])(?![-.][0-9])"
)
_ISSUERS = re.compile(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)[0-9]+|"
    r"3[47][0-9]{13}|3(?:0[0-5]|[689][0-9])[0-9]{11}|35[0-9]{14}|62[0-9]{14,17}|"
    r"6(?:011|5[0-9]{2}|4[4-9][0-9])[0-9]{12}|(?:50[0-9]{2}|5[6-8][0-9]{2}|6[37][0-9]{2})[0-9]{12}"
)
_SIXTEEN_OF_2 = 16

# ISO 13616: the length of a country's IBANs (SWIFT's registry).
_LENGTHS_AND_COUNTRIES = """
15:NO 16:BE 18:DK,FI,FO,GL,NL 19:MK,SI 20:AT,BA,EE,KZ,LT,LU,XK 21:CH,HR,LI,LV
22:BG,BH,CR,DE,GB,GE,IE,ME,RS,VA 23:AE,GI,IL,IQ,OM,TL 24:AD,CZ,ES,MD,PK,RO,SA,SE,SK,TN,VG
25:LY,PT,ST 26:IS,TR 27:BI,FR,GR,IT,MC,MR,SM 28:AL,AZ,BY,CY,DO,GT,HU,LB,PL,SV 29:BR,EG,PS,QA,UA
30:JO,KW,MU 31:MT,SC 33:RU
"""
_IBAN_LENGTHS = {
    country: int(entry[:2])
    for entry in _LENGTHS_AND_COUNTRIES.split()
    for country in entry[3:].split(",")
}
_IBAN_START = re.compile(
    r"[0-9](?<=[A-Za-z][0-9])(?<![0-9A-Za-z_][A-Za-z]{2}[0-9])(?:(?<=[A-Z]{2}[0-9])|(?<=[a-z]{2}[0-9]))"
    r"[0-9](?=[ \u00a0-]?[0-9A-Za-z]{4})"
)
_MAX_IBAN = 33 + 10  # with separators
_SEPARATED = re.compile("[ \u00a0-]")

# Numbers that were in use by many, who took them from advertisements (Social Security
# Administration, "Social Security Cards Issued by Woolworth").
_VOID_SSNS = frozenset({"078051120", "219099999"})
_SSN = re.compile(
    r"[0-8](?<![0-9A-Za-z_.,/$#+-][0-8])[0-9]{2}([ -]?)[0-9]{2}\1[0-9]{4}"
    r"(?![0-9A-Za-z_%])(?![-.][0-9])"
)
_IS_SSN = re.compile(r"(?<![a-z])(?:ssn|ss ?#|ss no|social[ -]security)(?![a-z])")
_BEFORE_SSN = 40

# Parts of the words for a passport; those in other scripts are looked for where they can occur.
_PASSPORT_PARTS = ("ssport", "SSPORT", "seport", "eisepass", "saporte", "spoort")
_PASSPORT_WORDS = ("аспорт", "护照", "護照", "パスポート", "여권")
_PASSPORT = re.compile(
    r"(?:(?i:passports?|passeport|reisepass|pasaporte|passaporte|passaporto|paspoort)|[Пп]аспорт|"
    r"护照|護照|パスポート|여권)"
    r"(?:[ \t:：.#=(（是为為-]|(?i:numbers?|nummer|num[ée]ro|n[uú]mero|no|nr|n[°º]|№|is|was|id)"
    r"(?![A-Za-z])|号码|号|號碼|编号|番号|번호){1,8}"
    r"(?P<number>(?=[A-Z]{0,3}[0-9]{2})[A-Z0-9]{7,10}|[0-9]{2} ?[0-9]{2} [0-9]{6})(?![0-9A-Za-z])"
)
_MIN_DIGITS_OF_PASSPORT = 5


def find_chinese_ids(text: str) -> Spans:
    """Return the positions of Chinese identity card numbers (GB 11643) with a valid checksum."""
    spans = [match.span() for match in _CHINESE_ID.finditer(text)]
    spans += [match.span() for match in _CHINESE_ID_NAMED.finditer(text)]
    return [span for span in spans if is_chinese_id(text[span[0] : span[1]])]


def is_chinese_id(number: str) -> bool:
    """Whether 18 digits, or 17 and X, are a Chinese identity card number."""
    number = re.sub("[ -]", "", number).upper()
    if not _PROVINCES.match(number):
        return False
    year, month, day = int(number[6:10]), int(number[10:12]), int(number[12:14])
    try:
        datetime.date(year, month, day)
    except ValueError:
        return False
    total = sum(weight * int(digit) for weight, digit in zip(_ID_WEIGHTS, number[:17], strict=True))
    return 1850 <= year <= 2100 and number[17] == _ID_CHECKS[total % 11]


def find_credit_cards(text: str) -> Spans:
    """Return the positions of payment card numbers: a known issuer, and Luhn's checksum."""
    spans = []
    for match in _CREDIT_CARD.finditer(text):
        digits = re.sub("[ -]", "", match[0])
        if not is_credit_card(digits):
            continue
        is_bare = len(digits) == len(match[0])
        if not (is_bare and is_called_other(words_before(text, match.start()))):
            spans.append(match.span())
    return spans


def is_credit_card(digits: str) -> bool:
    """Whether 13 to 19 digits are a number that a card issuer could have assigned."""
    if _ISSUERS.fullmatch(digits) is None or len(set(digits)) == 1:
        return False
    if digits[0] == "2" and len(digits) != _SIXTEEN_OF_2:
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) << (place & 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def find_ibans(text: str) -> Spans:
    """Return the positions of IBANs (ISO 13616): a country's length, and the checksum modulo 97."""
    spans = []
    for match in _IBAN_START.finditer(text):
        start = match.start() - 2
        end = _end_of_iban(text, start, _IBAN_LENGTHS.get(text[start : start + 2].upper(), 0))
        written = text[start:end]
        is_one_case = written in (written.upper(), written.lower())
        if end and is_one_case and is_iban(_SEPARATED.sub("", written).upper()):
            spans.append((start, end))
    return spans


def _end_of_iban(text: str, start: int, length: int) -> int:
    """Return where letters and digits end, up to one separator between two; 0: too few of them."""
    num_found = 0
    for place in range(start, min(len(text), start + _MAX_IBAN)):
        char = text[place]
        if char.isascii() and char.isalnum():
            num_found += 1
            if num_found == length:
                after = text[place + 1 : place + 2]
                return 0 if after.isascii() and after.isalnum() else place + 1
        elif not _SEPARATED.match(char) or _SEPARATED.match(text[place - 1]):
            return 0
    return 0


def is_iban(letters: str) -> bool:
    """Whether upper-case letters and digits are an IBAN; its check digits are 02 to 98."""
    if len(letters) != _IBAN_LENGTHS.get(letters[:2]) or not "02" <= letters[2:4] <= "98":
        return False
    return int("".join(str(int(char, 36)) for char in letters[4:] + letters[:4])) % 97 == 1


def find_us_ssns(text: str) -> Spans:
    """Return the positions of US social security numbers that could have been issued.

    No area is 000, 666 or above 899, no group 00, and no serial number 0000 (Social Security
    Administration). Without hyphens, the text has to say that it is one.
    """
    spans = []
    for match in _SSN.finditer(text):
        before = text[max(0, match.start() - _BEFORE_SSN) : match.start()].lower()
        is_named = _IS_SSN.search(before) is not None
        is_written = match[1] == "-" and not is_called_other(before)
        if (is_named or is_written) and is_us_ssn(re.sub("[ -]", "", match[0])):
            spans.append(match.span())
    return spans


def is_us_ssn(digits: str) -> bool:
    """Whether nine digits can be a social security number of the USA."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    is_void = area in ("000", "666") or area > "899" or group == "00" or serial == "0000"
    return not is_void and digits not in _VOID_SSNS


def find_passports(text: str) -> Spans:
    """Return the positions of passport numbers that the text calls so, in several languages."""
    parts = _PASSPORT_PARTS if text.isascii() else (*_PASSPORT_PARTS, *_PASSPORT_WORDS)
    if not any(part in text for part in parts):
        return []
    return [
        match.span("number")
        for match in _PASSPORT.finditer(text)
        if sum(map(str.isdigit, match["number"])) >= _MIN_DIGITS_OF_PASSPORT
    ]
