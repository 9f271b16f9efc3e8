"""Find full names of persons and postal addresses, by common names and the words around them.

    find_person_names("Dr. Anke Vogelsang met John Smith.")   ->  [(4, 18), (23, 33)]
    find_person_names("联系人：王建国，电话")                     ->  [(4, 7)]
    find_postal_addresses("at 350 Fifth Avenue, New York, NY 10118")   ->  [(3, 39)]
    find_postal_addresses("住在上海市浦东新区世纪大道100号12楼")          ->  [(2, 19)]

An English name begins with a common given name, or follows a title or words such as "my name is"; a
Chinese one has a common surname, and follows a word such as 姓名 or 他叫 and ends there, or
precedes one such as 先生 and begins after a sign, 和 or a word such as 今天. Other Chinese
names cannot be distinguished from words. A surname alone, with or without a title, is not a name
here, nor are capitals (JOHN SMITH) and surnames that come first (Smith, John).

An English address is a number, a name and a word such as Street; with a ZIP or postal code it needs
nothing else, without one it needs a word such as "address" or "lives at" before it. A Chinese one
is a road and a number (路100号), with what precedes (省, 市, 区) and follows (栋, 单元, 室). All
functions take time linear in the length of the text.
"""

import re
from collections.abc import Iterator

from bert_data.curation.quality.languages import read_lists
from bert_data.curation.web.personal_addresses import HAN, Spans

_LISTS = read_lists(__file__)
GIVEN_NAMES, SURNAMES, PLACES, CHINESE_PLACES, STREET_WORDS, UNIT_WORDS = (
    tuple(_LISTS[name].split())
    for name in ("given_names", "surnames", "places", "chinese_places", "streets", "units")
)
CHINESE_SURNAMES = "".join(_LISTS["chinese_surnames"].split())  # the commonest come first
CHINESE_GIVEN = "".join(_LISTS["chinese_given"].split())

_GIVEN_NAMES, _TITLES, _NO_SURNAMES, _NO_NAMES = (
    frozenset(_LISTS[name].split()) for name in ("given_names", "titles", "no_surnames", "no_names")
)
_PART = r"(?:(?:Mc|Mac|O['’]|D['’]|De|Di|Van)?[A-Z][a-zà-öø-ÿ]{1,20}(?:-[A-Z][a-zà-öø-ÿ]{1,20})?)"
_SURNAME = rf"(?:(?:van der|van|von|de la|de|del|di) )?{_PART}"
_NAME = rf"{_PART}(?: [A-Z]\.| [A-Z][a-z]{{1,20}}(?= [A-Z]))? {_SURNAME}(?![\w-])"
# A word that could begin a name, or a title, before another one.
_FIRST = re.compile(
    r"[A-Z](?<![\w.@/'’-][A-Z])(?P<rest>[a-z]{1,14})(?:-[A-Z][a-z]{1,14})?(?P<dot>\.?) (?=[A-Zvd])"
)
_GIVEN = r"[A-Z][a-z]{1,14}(?:-[A-Z][a-z]{1,14})?"
_FULL_NAME = re.compile(rf"{_GIVEN}(?: [A-Z]\.){{0,2}} {_SURNAME}(?![\w-])")
_WITH_MIDDLE = re.compile(rf"{_GIVEN} (?P<middle>[A-Z][a-z]{{1,14}}) {_SURNAME}(?![\w-])")
_CUE_PARTS = (
    *("ame is ", "ame:", "erson:", "incerely,", "egards,", "Best,", "Yours", "igned"),
    *("ttn", "ecipient"),
)
_CUES = re.compile(
    r"(?<![A-Za-z])(?:[Mm]y name is |(?:[Ff]ull |[Cc]ontact |[Ff]irst and last )?[Nn]ame: ?|"
    r"[Cc]ontact person: ?|(?:Sincerely|(?:Best |Kind )?[Rr]egards|Best|Yours|Yours truly),\s{1,2}|"
    r"[Ss]igned(?: by)?:? |[Aa]ttn\.?:? |[Rr]ecipient: ?)(?=[A-Z])"
)
_NAME_AFTER = re.compile(_NAME)
_NO_FOLLOWERS = re.compile(
    r" (?:Street|Road|Avenue|Bridge|River|Lake|University|College|School|Elementary|High|Middle|"
    r"Academy|Institute|Hospital|Church|Museum|Library|Theatre|Theater|Center|Centre|Hall|Tower|"
    r"Building|Hotel|Company|Corporation|Corp|Inc|Ltd|LLC|GmbH|AG|Group|Bank|Foundation|Trust|Prize|"
    r"Award|Stadium|Airport|Park|Memorial|Cup|Line|County)(?![A-Za-z])"
)
_NO_LEADERS = re.compile(
    r"(?:St\.?|Saint|San|Santa|Fort|Mount|Mt\.?|Lake|Port|Cape|The|King|Queen|Pope) \Z"
)


_FAMILY = (
    rf"(?:{'|'.join(_LISTS['chinese_double_surnames'].split())}|[{''.join(CHINESE_SURNAMES)}])"
)
_CHINESE_NAME = rf"{_FAMILY}[{HAN}]{{1,2}}"
_CHINESE_BEFORE = re.compile(
    r"(?:姓名|联系人|户名|开户名|作者|编辑|收件人|收货人|寄件人|经办人|负责人|法定代表人|法人代表|法人|名叫|[我他她]叫|叫做|"
    r"本名|原名|真名|记者|患者|被告人|被告|原告|嫌疑人|申请人|委托人|监护人|投保人|承租人|出租人)"
    rf"[ 　]?[：:]?[ 　]?(?P<name>{_CHINESE_NAME})"
    rf"(?=[^{HAN}]|\Z|先生|女士|小姐|同学|老师|教授|医生|报道|诉|说|称|的|和|与|手机|电话|性别|男|女|汉族)"
)
_BEFORE = "[由和与向给找是请让叫被对为及的谢持]"
_TIMES = (
    "今天|昨天|明天|后天|前天|当天|今日|昨日|近日|日前|今年|去年|上午|下午|晚上|今晚|昨晚|当时|随后"
)
_CHINESE_AFTER = re.compile(
    rf"(?:(?<![{HAN}])|(?<={_BEFORE})|(?<={_TIMES}))(?P<name>{_FAMILY}[{HAN}]{{1,2}}?)"
    r"(?=先生|女士|小姐|同学|老师|教授|医生|同志|院士|律师|博士)"
)
_NO_GIVEN = re.compile(
    "[的了是在有不也都就和与及或被把让给向从会后前说要别你我他她它这那来去上下某]|"
    "先生|女士|小姐|老师|经理"
)


def find_person_names(text: str) -> Spans:
    """Return the positions of full names, in English and Chinese."""
    spans = {*_find_by_first_word(text), *_find_after_cues(text)}
    if not text.isascii():
        spans.update(_find_chinese(text))
    return sorted(spans)


def _find_by_first_word(text: str) -> Iterator[tuple[int, int]]:
    """Yield names that begin with a common given name, or follow a title."""
    done = 0
    for match in _FIRST.finditer(text):
        word = match[0][: 1 + len(match["rest"])]
        if word in _TITLES:
            name = _NAME_AFTER.match(text, match.end())
        elif word in _GIVEN_NAMES and not match["dot"] and match.start() >= done:
            name = _WITH_MIDDLE.match(text, match.start())
            if name is None or name["middle"] not in _GIVEN_NAMES:
                name = _FULL_NAME.match(text, match.start())
        else:
            continue
        if name is not None and _is_person(text, name):
            done = name.end()
            yield name.span()


def _is_person(text: str, name: re.Match[str]) -> bool:
    """Whether neither the words of a name nor those around it are those of a place or a firm."""
    if any(word in _NO_SURNAMES for word in name[0].split(" ")):
        return False
    if _NO_FOLLOWERS.match(text, name.end()):
        return False
    return _NO_LEADERS.search(text[max(0, name.start() - 8) : name.start()]) is None


def _find_after_cues(text: str) -> Iterator[tuple[int, int]]:
    if not any(part in text for part in _CUE_PARTS):
        return
    for match in _CUES.finditer(text):
        name = _NAME_AFTER.match(text, match.end())
        if name is not None and _is_person(text, name):
            yield name.span()


def _find_chinese(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (_CHINESE_BEFORE, _CHINESE_AFTER):
        for match in pattern.finditer(text):
            name = match["name"]
            if not _NO_GIVEN.search(name[1:]) and name not in _NO_NAMES:
                yield match.span("name")


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
_STREET_CUES = re.compile(
    r"(?<![a-z])(?:address|addresses|addressed to|live[sd]? (?:at|on|in)|living at|"
    r"resid(?:es?|ed|ing) at|located at|situated at|office|headquarters|hq|ship(?:ped)? to|"
    r"mail(?:ed)?(?: it)? to|send(?:ing)?(?: [a-z]{1,12}){0,2} to|deliver(?:ed|y)?(?: to)?|"
    r"moved? to|visit us at|(?:home|house|flat|apartment|shop|store) (?:at|is)|"
    r"meet (?:me |us )?at|find us at)(?:[\s:,]|is|was|at|the){0,4}\Z"
)
_BEFORE_STREET = 40

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
        spans += _find_chinese_addresses(text)
    return sorted(spans)


def _is_called_address(text: str, start: int) -> bool:
    return _STREET_CUES.search(text[max(0, start - _BEFORE_STREET) : start].lower()) is not None


def _find_chinese_addresses(text: str) -> Spans:
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
