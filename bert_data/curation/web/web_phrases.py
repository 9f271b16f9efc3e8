"""Phrases of web pages that are not prose: navigation, menus, calls to action.

    cut_phrases("The council met on Monday. Read more »")      ->  "The council met on Monday."
    cut_phrases("Sign in | Register")                          ->  ""
    cut_phrases("查看更多>>")                                    ->  ""

They are English and Chinese, and intended for short lines: RefinedWeb (Penedo et al. 2023, G.2)
names the kinds; the phrases, in `web_phrases.toml`, are this project's own. A line is searched for
a phrase if it contains the phrase's key.
"""

import re

from bert_data.curation.quality.languages import read_lists

_LISTS = read_lists(__file__)


def any_of(*lists: str) -> str:
    """Return an expression for any phrase of the lists, whose phrases are separated by "|"."""
    return f"(?:{'|'.join(part.strip('|') for part in lists)})"


_NUMBER = r"[0-9][0-9.,]*+\s?(?:[kKmMbB](?![A-Za-z])|万|千|亿)?\+?"
_COUNTED = any_of(*_LISTS["counted"])
_COUNTED_CHINESE = (
    f"(?:人|次|条|个|篇|位|张|名)?{any_of(*_LISTS['counted_chinese'])}(?:过|量|数|次数|人数)?了?"
)
_OF_NUMBER = rf"\s{{0,3}}[:：]?\s{{0,3}}[(（]?{_NUMBER}[)）]?"
_COUNTER = any_of(
    rf"{_NUMBER}\s{{0,3}}{_COUNTED}",
    rf"{_COUNTED}{_OF_NUMBER}",
    rf"{_NUMBER}\s{{0,3}}{_COUNTED_CHINESE}",
    rf"(?:总|今日|累计|已有)?{_COUNTED_CHINESE}{_OF_NUMBER}[人次条个]?",
    rf"(?:共有?|已有){_NUMBER}\s{{0,3}}{_COUNTED_CHINESE}",
    r"rated [0-9.]{1,4} out of [0-9]{1,3}(?: stars)?|[0-9.]{1,4} out of [0-9]{1,3} stars?",
    r"[0-9]{1,6} of [0-9]{1,6} (?:people|users|customers) found this (?:review )?helpful",
    r"page [0-9]{1,6} of [0-9]{1,6}|"
    r"showing [0-9]{1,6}\s?[-–]\s?[0-9]{1,6} of [0-9]{1,6}[\w ]{0,12}",
    "第\\s?[0-9]{1,6}\\s?页[/，, ]?\\s?共\\s?[0-9]{1,6}\\s?页",
)
_COUNTERS = re.compile(
    rf"[\s·•|/,，(（\[-]{{0,4}}{_COUNTER}(?:[\s·•|/,，、)）\]-]{{1,4}}+{_COUNTER}){{0,8}}"
    r"[\s.。)）\]]{0,4}",
    re.IGNORECASE,
)


def is_counter(line: str) -> bool:
    """Whether a line counts likes, comments, views and the like, and nothing else."""
    return _COUNTERS.fullmatch(line) is not None


# A phrase of navigation is followed by a separator, or by nothing.
_SEPARATORS = r"[\s|/>»›→·•:：,，、–—-]*+"
_ITEM_END = r"(?=\s{0,3}(?:[|/>»›→·•:：–—]|\Z))"
_ITEMS, _ITEMS_CHINESE = any_of(*_LISTS["items"]), any_of(*_LISTS["items_chinese"])
_TO_DO = any_of(*_LISTS["to_do"])
BEGINS = re.compile(
    any_of(
        # Breadcrumbs and links to other pages extend to the end of the line.
        "you are here[:：].*|(?:当前位置|您的位置|您现在的位置|你的位置|所在位置|位置)[:：].*",
        "分享(?:到|至)[:：].*",
        "(?:上一篇|下一篇|上一条|下一条)[:：].*|(?:previous|next)(?: post| article)?[:»›].*",
        r"(?:home|网站首页|首页|主页)\s{0,3}[>»›/]\s{0,3}\S.*",
        rf"(?:{_ITEMS}|{_ITEMS_CHINESE}){_ITEM_END}",
        rf"{_ITEMS_CHINESE}(?=\s{{1,3}}{_ITEMS_CHINESE}(?:\s|\Z))",
        "(?:log|sign) ?in or |register (?:or|and) (?=log|sign)",
        r"(?:sign|log) ?in with [a-z]{2,12}\Z",
        r"(?:filed under|tagged(?: with)?|tags|posted (?:in|under)|categor(?:y|ies)|topics)[:：].*",
        r"(?:标签|关键词|责任编辑|编辑|校对|审核|导航|版权声明|免责声明|字号|来源)[:：].*",
        r"(?:open|close|toggle|show|hide|expand|collapse) (?:the )?(?:main )?(?:menu|navigation|"
        r"sidebar|search|filters?|comments|all)(?: menu)?\Z",
        r"(?:back|return|go) to (?:the )?(?:top|results|list|home|homepage|previous page|search|"
        r"main page|overview|article|index)\Z",
        r"(?:main|home|index) page\Z|skip (?:ad|ads|advertisement|intro)\Z",
        r"(?:change|select) (?:your )?(?:language|region|country|currency)\Z",
        r"(?:e-?mail|send|forward) (?:this )?to a friend\Z",
        r"(?:print|e-?mail|report|cite|flag|bookmark) this (?:page|article|post|ad|story|entry)\Z",
        r"请?先?(?:登录|注册)后?(?:才能|可以?|再|即可|方可)?(?:评论|回复|查看|发帖|下载|留言|继续)?\Z",
        r"返回(?:频道|网站|本站|论坛|上一级|目录|列表|顶部|主页|首页){1,2}\Z|没有(?:账号|帐号).{0,8}\Z",
        r"(?:sign|log) ?in(?: or (?:sign up|register|create an account))?"
        rf"(?: to {_TO_DO})?\s{{0,3}}[.!]?\s{{0,3}}(?:\Z|(?=[|/>»›·•]))",
        "(?:share|save|pin|tweet|post|email|print) (?:this|it)"
        r"(?: (?:article|story|page|post|on|via|with friends|to|:)){0,2}"
        r"(?=\s{0,3}(?:[|/>»›·•:]|\Z))",
    )
    + _SEPARATORS,
    re.IGNORECASE,
)

_MORE, _MORE_CHINESE = any_of(*_LISTS["more"]), any_of(*_LISTS["more_chinese"])
_DECORATION = r"(?:\s{0,3}(?:[.!…>»›→➜▶\]】）)]|&raquo;)){1,4}"
_ENDS = re.compile(
    any_of(
        # Capitalized or after a separator; in lower case only before a mark unusual in prose.
        rf"(?<!\w)[\[【(（]?\s?(?=[A-Z]){_MORE}(?:{_DECORATION})?",
        rf"(?:(?<=[.!?…:»|])|\A)\s{{0,3}}\[?{_MORE}(?:{_DECORATION})?",
        rf"(?<!\w){_MORE}\s?(?:[>»›→➜▶]|&raquo;)+",
        rf"[(\[]\s?(?:{_MORE}|more)\s?[)\]]",
        r"\[\s?(?:…|\.\.\.)\s?\]",
        rf"(?:\A|(?<=[。！？…，,.!?:：；\s]))[\[【（(]?{_MORE_CHINESE}(?:{_DECORATION})?",
        rf"[\[【（(]\s?{_MORE_CHINESE}\s?[\]】）)](?:{_DECORATION})?",
        rf"{_MORE_CHINESE}\s?[>»›→]+|[>»›→]+\s?(?:查看|阅读|详情|更多|全文|进入)",
    )
    + r"\s*\Z"
)
_MAX_END_CHARACTERS = 48

ANYWHERE = re.compile(any_of(*_LISTS["anywhere"]), re.IGNORECASE)
KEYS_OF_ENDS = "|".join(_LISTS["keys_of_ends"]).split("|")
KEYS_OF_ANYWHERE = "|".join(_LISTS["keys_of_anywhere"]).split("|")
_LEFT_OVER = " \t\u3000|/>»›→·•:：,，、–—-[]【】()（）"


_MENU_MARKS = re.compile(r"\s*[|｜»›]\s*|\s+[·•>/-]\s+")
_MIN_MENU_ITEMS = 3
_MAX_ITEM_WORDS, _MAX_ITEM_CHARACTERS = 3, 24
_MAX_HAN_ITEM = 6


def is_menu(line: str) -> bool:
    """Whether a line is three or more short items with separators and without numbers."""
    items = [item for item in _MENU_MARKS.split(line.strip()) if item]
    return len(items) >= _MIN_MENU_ITEMS and all(map(_is_item, items))


def _is_item(text: str) -> bool:
    if any(map(str.isdigit, text)) or text[-1] in ".,;:!?。，；：！？":
        return False
    if not text.isascii() and len(text.split()) == 1:
        return len(text) <= _MAX_HAN_ITEM
    return len(text) <= _MAX_ITEM_CHARACTERS and len(text.split()) <= _MAX_ITEM_WORDS


def cut_phrases(line: str) -> str:
    """Remove navigation at the start of a short line, calls at its end, and other phrases anywhere.

    Returns:
      The line itself if it has no phrase; otherwise the remainder, without separators at its ends.
    """
    rest = line
    while True:
        if is_menu(rest):  # the remainder of a line may be one, too
            return ""
        before, lower = rest, rest.lower()
        if any(map(lower.__contains__, KEYS_OF_ANYWHERE)):
            rest = ANYWHERE.sub("", rest)
        begin = BEGINS.match(rest)
        if begin is not None:
            rest = rest[begin.end() :]
        if any(map(lower[-_MAX_END_CHARACTERS:].__contains__, KEYS_OF_ENDS)):
            rest = _ENDS.sub("", rest, count=1)
        if rest == before:
            return rest
        rest = rest.strip(_LEFT_OVER)
