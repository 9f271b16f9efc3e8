"""Find numbers that belong to a person: phones, Chinese identity cards, payment cards.

    find_chinese_ids("身份证11010519491231002X")        ->  [(3, 21)]     GB 11643's checksum holds
    find_credit_cards("card 4111 1111 1111 1111")        ->  [(5, 24)]     Luhn's checksum holds
    find_chinese_mobiles("电话13812345678，")             ->  [(2, 13)]
    find_phones("call (415) 555-2671", ("US",))        ->  [(5, 19)]     phonenumbers says so

Phone numbers without any sign of their kind (a plus, parentheses, groups) need a preceding word
that says what they are; "order", "ISBN" and the like say what they are not.
"""

import datetime
import functools
import re

from bert_data.curation.web.personal_addresses import Spans
from bert_data.packages import load_package

# As in the patterns of addresses, each begins with the characters that let the search skip ahead.
_CHINESE_ID = re.compile(
    r"[1-8](?<![0-9A-Za-z][1-8])(?:[0-9]{16}[0-9Xx]|[0-9]{5}([ -])[0-9]{8}\1[0-9]{3}[0-9Xx])"
    r"(?![0-9A-Za-z])"
)
_CHINESE_ID_NAMED = re.compile(r"(?:ID|No|id|no)([1-8][0-9]{16}[0-9Xx])(?![0-9A-Za-z])")
_PROVINCES = frozenset(
    [
        *(*range(11, 16), *range(21, 24), *range(31, 38), *range(41, 47), *range(50, 55)),
        *(*range(61, 66), 71, 81, 82, 83),
    ]
)
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

_CHINESE_MOBILE = re.compile(
    r"[+018](?<![0-9A-Za-z_][+018])(?<![0-9][-.][+018])"
    r"(?:(?<=1)|(?<=\+)86[ -]?1|(?<=0)086[ -]?1|(?<=8)6[ -]?1)"
    r"(?:3[0-9]|4[014-9]|5[0-35-9]|6[2567]|7[0-8]|8[0-9]|9[0-35-9])"
    r"(?:[0-9]{8}|([ -])[0-9]{4}\1[0-9]{4})(?![0-9A-Za-z_%次元个件万亿米])(?![-.][0-9])"
)

_PHONE = re.compile(
    r"[+(0-9](?<![0-9A-Za-z_+.,/=#$€£¥￥&-][+(0-9])(?<![0-9][ :][+(0-9])"
    r"(?:(?<!\()|(?=[+0-9]{1,6}\)))"
    r"\(?(?:[ .()/\u00a0–-]{0,2}[0-9]){6,16}(?![0-9A-Za-z_%°])(?![.,:/-][0-9])(?! ?[€$£])"
)
_GROUPS = re.compile(r"[0-9]+")
_SEPARATORS = re.compile(r"[^0-9+()]+")
_WORDS_BEFORE = 24
_IS_PHONE = re.compile(
    r"(?:(?<![a-z])(?:tel|telephone|phone|call|cell|mobile|mob|fax|hotline|whatsapp|sms|text|dial|"
    r"contact|reach)(?:s|ed|ing)?(?![a-z])|电话|手机|致电|拨打|热线|传真|联系方式|联系|號碼|座机)"
)
_IS_OTHER = re.compile(
    r"(?:(?<![a-z])(?:isbn|issn|ean|upc|asin|doi|pmid|order|orders|invoice|tracking|track|parcel|"
    r"shipment|serial|part|model|sku|item|product|lot|batch|patent|ticket|case|ref|reference|"
    r"transaction|account|acct|id|uid|code|barcode|version|imei|vin|zip|page|pages|pp|score|"
    r"population|timestamp|epoch|bytes|grant|gene|accession)(?![a-z])|"
    r"订单|单号|編號|编号|运单|快递|流水|序列|条码|货号|型号|批号|书号|专利|工单|票号|账号|帐号|"
    r"编码|代码|群号?|版本)"
    r"(?:[\s:：.#=(（]|no|number|num|is|was|of|号|码|为|是){0,6}\Z"
)
_NANP_GROUPS = ([3, 3, 4], [1, 3, 3, 4])
_MIN_GROUP_OF_PHONE = 2


def find_chinese_ids(text: str) -> Spans:
    """Return the positions of Chinese identity card numbers (GB 11643) with a valid checksum."""
    spans = [match.span() for match in _CHINESE_ID.finditer(text)]
    spans += [match.span(1) for match in _CHINESE_ID_NAMED.finditer(text)]
    return [span for span in spans if is_chinese_id(text[span[0] : span[1]])]


def is_chinese_id(number: str) -> bool:
    """Whether 18 digits, or 17 and X, are a Chinese identity card number."""
    number = re.sub("[ -]", "", number).upper()
    if int(number[:2]) not in _PROVINCES:
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
        if not (is_bare and _IS_OTHER.search(_before(text, match.start()))):
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


def find_chinese_mobiles(text: str) -> Spans:
    """Return the positions of Chinese mobile phone numbers, with or without the prefix 86."""
    spans = []
    for match in _CHINESE_MOBILE.finditer(text):
        before = _before(text, match.start())
        if _IS_PHONE.search(before) or not _IS_OTHER.search(before):
            spans.append(match.span())
    return spans


def find_phones(text: str, regions: tuple[str, ...]) -> Spans:
    """Return the positions of phone numbers: international ones, and national ones of some regions.

    Args:
      text: where to look.
      regions: country codes (ISO 3166) whose national format is recognized.
    """
    spans = []
    for match in _PHONE.finditer(text):
        number = match[0]
        before = _before(text, match.start())
        if _is_phone(number.rstrip("( "), before, regions):
            spans.append(match.span())
    return spans


def _is_phone(number: str, before: str, regions: tuple[str, ...]) -> bool:
    groups = [len(group) for group in _GROUPS.findall(number)]
    if number.count("(") != number.count(")"):
        return False
    if number.startswith(("+", "(+")):
        return _is_valid(number, None)
    is_called_phone = _IS_PHONE.search(before) is not None
    if not is_called_phone and _IS_OTHER.search(before):
        return False
    if number.startswith("00"):
        return (is_called_phone or len(groups) > 1) and _is_valid("+" + number[2:], None)
    if len(groups) == 1:
        return is_called_phone and any(_is_valid(number, region) for region in regions)
    if not is_called_phone and not _is_grouped_as_phone(number, groups):
        return False
    is_american = groups in _NANP_GROUPS and not number.lstrip("(").startswith(("0", "400"))
    return any(
        _is_valid(number, region) for region in regions if not is_american or _is_in_nanp(region)
    )


def _is_in_nanp(region: str) -> bool:
    """Whether a country belongs to the North American Numbering Plan."""
    phonenumbers = load_package("phonenumbers", "the step privacy")
    return phonenumbers.country_code_for_region(region) == 1


def _is_grouped_as_phone(number: str, groups: list[int]) -> bool:
    """Whether digits are grouped as in no date, sum or list: 3-3-4, or after a leading 0."""
    kinds = set(_SEPARATORS.findall(number)) - {" "}
    if len(kinds) > 1 or (min(groups) < _MIN_GROUP_OF_PHONE and groups[0] != 1):
        return False
    if groups in _NANP_GROUPS:
        return True
    if number.lstrip("(")[0] != "0":
        return number.startswith("400") and sum(groups) == 10
    # "01 02 2024" and "01-02-03-04" are not phone numbers of regions with long groups.
    return 3 <= groups[0] <= 5 and max(groups[1:]) >= 3


@functools.lru_cache(maxsize=1 << 14)
def _is_valid(number: str, region: str | None) -> bool:
    phonenumbers = load_package("phonenumbers", "the step privacy")
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number, region))
    except phonenumbers.NumberParseException:
        return False


def _before(text: str, place: int) -> str:
    return text[max(0, place - _WORDS_BEFORE) : place].lower()
