r"""Find the headings of books and of marked-up text.

    CHAPTER I.          Chapter 1. Loomings     # A title          A title       IV.
    The Period                                  = A title =        =======
    Kapitel 3           第一章 开始              PREFACE            BOOK THE FIRST

A heading is a paragraph of its own or the first lines of one: a word such as "chapter" with a
number and perhaps a title, a Roman numeral, a line marked with # or =, or underlined. A number in a
sentence ("Chapter 2 of this book") does not make it a heading.
"""

import re
from collections.abc import Sequence

_MOST_CHARACTERS = 100  # of a heading, or of the title that follows it
_MOST_TITLE_LINES = 2

_MARKED = re.compile(r"\s{0,3}#{1,6}\s+\S|\s*=[=\s]*+\S.*=\s*\Z")
_UNDERLINE = re.compile(r"\s*([=\-~^*])\1{2,}\s*\Z")
_WORDS = (
    "chapter|book|part|section|volume|act|scene|canto|stave|adventure|story|letter|lecture|lesson"
    "|chapitre|livre|partie|kapitel|buch|teil|abschnitt|cap[ií]tulo|libro|parte|capitolo|hoofdstuk|deel"
    "|kapitola|rozdział|luku|глава|часть|книга"
)
_ROMAN = r"(?=[MDCLXVI])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    "|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|first|second|third|fourth|fifth"
    "|sixth|seventh|eighth|ninth|tenth|last"
)
_NUMBER = (
    rf"(?:{_ROMAN}|(?!\w*[md]){_ROMAN.lower()}|\d{{1,3}}"
    rf"|(?i:(?:the\s+)?(?:{_NUMBER_WORDS})(?:-\w+)?))"
)
_NUMBERED = re.compile(
    rf"\s*[_*]*(?i:{_WORDS})\s+{_NUMBER}(?!\w)(?:\s*(?P<stop>[.:—–-]+)|(?=\s)|\Z)(?P<title>.*)\Z"
)
_NUMBERED_CHINESE = re.compile(
    r"\s*第\s*[\d〇零一二三四五六七八九十百千两]+\s*[章回节節部卷篇幕](?P<stop>)(?P<title>(?:\s.*)?)\Z"
)
# Words in capitals, such as MIX, and initials, such as D. or C. S. LEWIS, are not numbers.
_NUMERAL = re.compile(
    rf"\s*(?!\w*[MD])(?![CL]\b|C\w\b){_ROMAN}(?:\.|\s*\Z)(?!\s*[^\W\d_]\.)(?P<title>.*)\Z"
)
_NAMED = re.compile(
    r"\s*(?:preface|foreword|introduction|prologue|epilogue|afterword|conclusion|contents"
    r"|table of contents|appendix(?:\s+[A-Z\d]{1,3})?|acknowledge?ments|bibliography|index|vorwort"
    r"|nachwort|einleitung|pr[ée]face|avant-propos|épilogue|prologo|prólogo|序|序言|前言|后记)[.:]?\s*\Z",
    re.IGNORECASE,
)
_SENTENCE_ENDS = (".", "!", "?", ",", ";", "。", "！", "？", "，")
_QUOTES = "\"'“”‘’«»()_* "
_SMALL_WORD = re.compile(  # lower-case in titles
    "an?|and|as|at|but|by|for|from|into?|nor|of|on|or|over|the|to|upon|with|am|das|dem|den|der|des"
    "|die|im|mit|und|von|zu|aux?|de|du|en|et|la|les?|à|da|del|di|e|el|il|los|las|y|een|het|van"
)


def count_heading_lines(paragraph: Sequence[str]) -> int:
    """Return how many lines at the start of a paragraph are headings.

    Args:
      paragraph: lines, none of them blank; what precedes and follows them is.
    """
    place = 0
    while place < len(paragraph):
        lines = _heading_at(paragraph, place)
        if not lines:
            break
        place += lines
    return place


def is_marked(line: str) -> bool:
    """Whether a line is a heading wherever it is, by the # or = that it begins with."""
    return _MARKED.match(line) is not None


def _heading_at(lines: Sequence[str], place: int) -> int:
    """Return the lines of the heading that begins at a line; 0 if there is none."""
    line, following = lines[place], lines[place + 1 :]
    if len(line.strip()) > _MOST_CHARACTERS:
        return 0
    if is_marked(line):
        return 1
    is_rule, *are_rules = (_UNDERLINE.match(each) is not None for each in lines[place : place + 3])
    if is_rule:
        return 3 if are_rules == [False, True] else 0  # a title between two lines
    if are_rules[:1] == [True]:
        return 2
    if _is_numbered(line):
        return _numbered_lines(line, following)
    is_alone = not following and place == 0
    return int(is_alone and (_is_numeral(line) or _NAMED.match(line) is not None))


def _numbered_lines(line: str, following: Sequence[str]) -> int:
    """Return the lines of a heading with a number; 0 if it is the first line of running text."""
    title = _title_after_number(line)
    if _is_title(following) and (
        not title or _has_capitals_of_title(" ".join([title, *following]))
    ):
        return 1 + len(following)
    if not following or _is_numbered(following[0]):
        return 1
    return int(not title and not following[0].lstrip(_QUOTES)[:1].islower())


def _is_numbered(line: str) -> bool:
    """Whether a line is a word such as "chapter" with a number, and at most a title after it."""
    match = _match_number(line)
    title = _title_after_number(line)
    if match is None or not title:
        return match is not None
    is_sentence = title.endswith(_SENTENCE_ENDS)
    if _has_capitals_of_title(title):
        may_end_so = match["stop"] and title[0].isupper() and title[-1] in ".!?"
        return not is_sentence or bool(may_end_so)
    return bool(match["stop"]) and not title[0].islower() and not is_sentence


def _match_number(line: str) -> re.Match[str] | None:
    return _NUMBERED.match(line) or _NUMBERED_CHINESE.match(line)


def _title_after_number(line: str) -> str:
    match = _match_number(line)
    return " ".join(match["title"].split()).strip(_QUOTES) if match else ""


def _has_capitals_of_title(title: str) -> bool:
    """Whether all words but articles, prepositions and the like begin with capitals."""
    first, *others = title.split()
    return not first[0].islower() and not any(
        word.lstrip(_QUOTES)[:1].islower() and not _SMALL_WORD.fullmatch(word.strip(_QUOTES))
        for word in others
    )


def _is_numeral(line: str) -> bool:
    """Whether a line is a Roman numeral, alone or with a title in capitals."""
    match = _NUMERAL.match(line)
    return match is not None and (not match["title"].strip() or match["title"].isupper())


def _is_title(lines: Sequence[str]) -> bool:
    """Whether the lines after a numbered heading, up to a blank one, are its title."""
    return 0 < len(lines) <= _MOST_TITLE_LINES and not any(
        len(line.strip()) > _MOST_CHARACTERS
        or line.rstrip().endswith(_SENTENCE_ENDS)
        or _is_numbered(line)
        for line in lines
    )
