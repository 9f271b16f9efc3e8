"""Find postal addresses: American, British and Canadian ones in English texts, and Chinese ones.

    find_postal_addresses("at 350 Fifth Avenue, New York, NY 10118")   ->  [(3, 39)]
    find_postal_addresses("住在上海市浦东新区世纪大道100号12楼")          ->  [(2, 19)]

An English address is a number, a name and a word such as Street; with a ZIP or postal code it needs
nothing else, without one it needs a word such as "address" or "lives at" before it. A Chinese one
is a road and a number (路100号), with what precedes (省, 市, 区) and follows (栋, 单元, 室). All
functions take time linear in the length of the text.
"""

import re

from bert_data.curation.web.person_names import words_of
from bert_data.curation.web.personal_addresses import HAN, Spans

STREET_WORDS = words_of("""
    Street St Avenue Ave Road Rd Boulevard Blvd Lane Ln Drive Dr Court Ct Place Pl Square Sq Terrace
    Ter Way Highway Hwy Parkway Pkwy Circle Cir Crescent Cres Close Loop Trail Trl Alley Row Mews
    Gardens Grove Quay Walk Wharf Turnpike Plaza Broadway
""")
_SUFFIX = "|".join(STREET_WORDS)
_WORD = r"(?:[A-Z][A-Za-z.'’-]{0,20}|[0-9]{1,3}(?:st|nd|rd|th))"
_UNIT = r"(?:,? (?:Apt|Apartment|Suite|Ste|Unit|Floor|Fl|Room|Rm|Flat|#)\.? ?[0-9A-Z-]{1,6})?"
_ZIP = r"(?:[A-Z]{2}|[A-Z][a-z]{3,12}(?: [A-Z][a-z]{4,9})?),? [0-9]{5}(?:-[0-9]{4})?"
_POSTCODE = r"[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}|[A-Z][0-9][A-Z] [0-9][A-Z][0-9]"
_TOWN = rf"(?:(?:[,\n]{{1,2}} ?| ){_WORD}(?: {_WORD}){{0,3}})?(?:,? ?\n?|, )(?:{_ZIP}|{_POSTCODE})"
# The first character class lets the search skip ahead.
_STREET = re.compile(
    r"[0-9](?<![0-9A-Za-z_.,/:$€£#-][0-9])[0-9]{0,4}[A-Za-z]?(?:-[0-9]{1,4})? "
    rf"(?:{_WORD} ){{1,4}}(?:{_SUFFIX})(?![A-Za-z])\.?"
    rf"(?: (?:NE|NW|SE|SW|N|S|E|W|North|South|East|West)(?![A-Za-z]))?{_UNIT}"
    rf"(?P<town>{_TOWN}(?![0-9A-Za-z]))?"
)
_BOX = re.compile(
    r"(?<![A-Za-z])(?:P\. ?O\. ?|PO |Post Office )Box [0-9]{1,6}(?![0-9])"
    rf"(?:{_TOWN}(?![0-9A-Za-z]))?"
)
_CUES = re.compile(
    r"(?<![a-z])(?:address|addresses|addressed to|live[sd]? (?:at|on|in)|living at|"
    r"resid(?:es?|ed|ing) at|located at|situated at|office|headquarters|hq|ship(?:ped)? to|"
    r"mail(?:ed)?(?: it)? to|send(?:ing)?(?: [a-z]{1,12}){0,2} to|deliver(?:ed|y)?(?: to)?|"
    r"moved? to|visit us at|(?:home|house|flat|apartment|shop|store) (?:at|is)|"
    r"meet (?:me |us )?at|find us at)(?:[\s:,]|is|was|at|the){0,4}\Z"
)
_BEFORE = 40

_NUMBER = r"[甲乙]?[0-9０-９]{1,5}(?:[-－之][0-9０-９]{1,4})?"
_STOREYS = r"(?:号楼|楼|栋|幢|座|单元|室|层|户|房)"
_DOOR = "(?:[0-9０-９A-Za-z]{1,4}|[一二三四五六七八九十]{1,3})"
_WITHIN = rf"(?:[ ，]?[{HAN}]{{0,8}}?{_DOOR}{_STOREYS}){{0,4}}"
_STREET_SIGNS = "路街道巷弄同段"
_CHINESE = re.compile(
    rf"[{_STREET_SIGNS}](?:{_NUMBER})号(?!令|文|线|台风|公路|出口|选手|球|作品|桥|坑|矿){_WITHIN}"
    rf"|[区园寓苑村](?:[0-9０-９A-Za-z]{{1,4}})(?:栋|幢|号楼)(?:[0-9０-９A-Za-z]{{1,4}}{_STOREYS}){{1,3}}"
)
_RUN_BEFORE = re.compile(rf"[{HAN}0-9０-９]{{1,40}}\Z")
_PROVINCE = re.compile(
    "(?:北京|天津|上海|重庆)市?|(?:河北|山西|辽宁|吉林|黑龙江|江苏|浙江|安徽|福建|江西|山东|河南|湖北|"
    "湖南|广东|海南|四川|贵州|云南|陕西|甘肃|青海|台湾)省|内蒙古|广西壮族|宁夏回族|新疆维吾尔|西藏自治|"
    "香港特别|澳门特别"
)
_LEADS = re.compile(
    "(?:住址|地址|位于|坐落于|坐落在|家住|住在|寄到|寄至|寄往|邮寄至|送到|送至|快递送|搬到|搬至|前往|来到|"
    "[在于至到往为是送寄住从去的给])"
)
# Within a province's name and what follows, only these end a sentence's part before an address.
_SURE_LEADS = re.compile("将在|位于|坐落[于在]|住在|[在的]")
_AREA = re.compile("[省市区县镇乡]")
_NO_ROADS = re.compile(
    "(?:公路|铁路|高速|道路|线路|马路|网路|电路|国道|省道|频道|轨道|跑道|通道|隧道|赛道)\\Z"
)
_ROAD_OF = re.compile("(?:[路街巷弄]|大道|[东南西北中]道|胡同|段|步行街)\\Z")
_MAX_NAME, _CITY = 8, 2


def find_postal_addresses(text: str) -> Spans:
    """Return the positions of postal addresses, in English and Chinese."""
    spans = [
        match.span()
        for match in _STREET.finditer(text)
        if match["town"] or _is_called_address(text, match.start())
    ]
    if " Box " in text:
        spans += [match.span() for match in _BOX.finditer(text)]
    if not text.isascii():
        spans += _find_chinese(text)
    return sorted(spans)


def _is_called_address(text: str, start: int) -> bool:
    return _CUES.search(text[max(0, start - _BEFORE) : start].lower()) is not None


def _find_chinese(text: str) -> Spans:
    spans: Spans = []
    for match in _CHINESE.finditer(text):
        run = _RUN_BEFORE.search(text[max(0, match.start() - 40) : match.start() + 1])
        if run is None:
            continue
        name = run[0]
        start = _start_of_chinese(name)
        is_road = _ROAD_OF.search(name) is not None or match[0][0] not in _STREET_SIGNS
        if start is None or not is_road or _NO_ROADS.search(name):
            continue
        spans.append((match.start() + 1 - len(name) + start, match.end()))
    return spans


def _start_of_chinese(name: str) -> int | None:
    """Return where an address begins in the characters up to its road; None: it has no name."""
    province = _PROVINCE.search(name)
    if province is not None:
        leads = list(_SURE_LEADS.finditer(name, province.end()))
        return leads[-1].end() if leads else province.start()
    area = _AREA.search(name)
    first_end = area.start() if area else len(name)
    start = 0
    for lead in _LEADS.finditer(name, 0, first_end):
        start = lead.end()
    if area and area.start() - start > _MAX_NAME // 2:
        start = area.start() - _CITY
    length = len(name) - start
    return start if length > 1 and (area or length <= _MAX_NAME) else None
