"""Find phone numbers: Chinese mobile ones, international ones, national ones of some countries.

    find_chinese_mobiles("电话13812345678，")             ->  [(2, 13)]
    find_phones("call (415) 555-2671", ("US",))        ->  [(5, 19)]     phonenumbers says so
    regions_of("de-AT")                                ->  ("DE", "AT", "CH")

Phone numbers without any sign of their kind (a plus, parentheses, groups) need a preceding word
that says what they are; "order", "ISBN" and the like say what they are not.
"""

import functools
import itertools
import re
from typing import Any

from bert_data.curation.web.personal_addresses import Spans
from bert_data.curation.web.personal_numbers import is_called_other, is_called_phone, words_before
from bert_data.packages import load_package

# Countries in which a language is written most, those with the most readers first.
_LANGUAGES_AND_REGIONS = """
ar:EG,SA,AE cs:CZ da:DK de:DE,AT,CH el:GR,CY en:US,GB,CA,AU,IN,IE,NZ,ZA es:ES,MX,AR,CO,CL,PE
fa:IR fi:FI fr:FR,BE,CH,CA he:IL hi:IN hu:HU id:ID it:IT,CH ja:JP ko:KR nl:NL,BE no:NO pl:PL
pt:BR,PT ro:RO ru:RU,KZ,BY sv:SE,FI th:TH tr:TR uk:UA vi:VN zh:CN,TW,HK
"""
_REGIONS = dict(entry.split(":") for entry in _LANGUAGES_AND_REGIONS.split())

# Each pattern begins with the characters that let the search skip ahead.
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
_YEARS = re.compile(r"(?:1[0-9]{3}|20[0-9]{2})[-–](?:1[0-9]{3}|20[0-9]{2})")
_IN_NAME = re.compile(r"[a-z]\.\Z")  # "10.1002/andp.19053220806"
_NANP_GROUPS = ([3, 3, 4], [1, 3, 3, 4])
_MIN_GROUP_OF_PHONE = 2
_AREA_CODE = re.compile(r"(?:[0-9] )?\([0-9]{2,}\)")
_MIN_GROUPS = 3


def regions_of(language: object) -> tuple[str, ...]:
    """Return the countries (ISO 3166) where a language is written: "de", "pt-BR", "zh_Hant"."""
    if not isinstance(language, str):
        return ()
    regions = _REGIONS.get(re.split("[-_]", language.lower(), maxsplit=1)[0])
    return tuple(regions.split(",")) if regions else ()


def find_chinese_mobiles(text: str) -> Spans:
    """Return the positions of Chinese mobile phone numbers, with or without the prefix 86."""
    spans = []
    for match in _CHINESE_MOBILE.finditer(text):
        before = words_before(text, match.start())
        is_in_name = _IN_NAME.search(before) is not None and not is_called_phone(before)
        if not is_called_other(before) and not is_in_name:
            spans.append(match.span())
    return spans


def find_phones(text: str, regions: tuple[str, ...], more_regions: tuple[str, ...] = ()) -> Spans:
    """Return the positions of phone numbers: international ones, and national ones of some regions.

    Args:
      regions: country codes (ISO 3166) whose national numbers are recognized.
      more_regions: others, whose numbers need a word such as "phone" before them, or just the
        groups of digits in which their country writes them.
    """
    spans = []
    for match in _PHONE.finditer(text):
        before = words_before(text, match.start())
        if _is_phone(match[0].rstrip("( "), before, regions, more_regions):
            spans.append(match.span())
    return spans


def _is_phone(
    number: str, before: str, regions: tuple[str, ...], more_regions: tuple[str, ...]
) -> bool:
    groups = [len(group) for group in _GROUPS.findall(number)]
    if number.count("(") != number.count(")") or _YEARS.fullmatch(number) or _counts(number):
        return False
    if number.startswith(("+", "(+")):
        return _is_valid(number, None)
    if is_called_other(before):
        return False
    is_called = is_called_phone(before)
    if number.startswith("00"):
        return (is_called or len(groups) > 1) and _is_valid("+" + number[2:], None)
    if is_called:
        return any(_is_valid(number, region) for region in (*regions, *more_regions))
    if len(groups) == 1:
        return False
    if any(_is_written_as_in(number, groups, region) for region in (*regions, *more_regions)):
        return True
    if not _is_grouped_as_phone(number, groups):
        return False
    is_american = groups in _NANP_GROUPS and not number.lstrip("(").startswith(("0", "400"))
    code_of = _library().country_code_for_region  # 1: in the North American Numbering Plan
    return any(
        _is_valid(number, region) for region in regions if not is_american or code_of(region) == 1
    )


def _counts(number: str) -> bool:
    """Whether four or more groups are numbers at equal distances: 02 03 04 05 06."""
    numbers = [int(group) for group in _GROUPS.findall(number)]
    steps = {after - before for before, after in itertools.pairwise(numbers)}
    return len(numbers) > _MIN_GROUPS and len(steps) == 1


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


def _is_written_as_in(number: str, groups: list[int], region: str) -> bool:
    """Whether digits are grouped as a country does it: 01 42 68 53 00, 612 34 56 78.

    Without a leading 0 or an area code in parentheses, what may be a sum or a list needs a word
    before it: 612 345 678, 32 12 34 56.
    """
    is_sure = number.lstrip("(")[0] == "0" or _AREA_CODE.match(number) is not None
    may_be_sum = len(groups) < _MIN_GROUPS or set(groups[1:]) == {3} or set(groups) == {2}
    if (may_be_sum and not is_sure) or not _is_valid(number, region):
        return False
    if groups[-3:] == [3, 2, 2] and "." not in number:  # 91 123 45 67
        return True
    national = _library().PhoneNumberFormat.NATIONAL
    written = _library().format_number(parse_phone(number, region), national)
    return [len(group) for group in _GROUPS.findall(written)] == groups


def parse_phone(number: str, region: str | None) -> Any:
    """Return phonenumbers' form of a number, or None if it is not one."""
    try:
        return _library().parse(number, region)
    except _library().NumberParseException:
        return None


@functools.lru_cache(maxsize=1 << 14)
def _is_valid(number: str, region: str | None) -> bool:
    parsed = parse_phone(number, region)
    return parsed is not None and bool(_library().is_valid_number(parsed))


def _library() -> Any:
    return load_package("phonenumbers", "it")
