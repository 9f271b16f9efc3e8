"""Licence names in a normal form, and the licences that a text mentions.

    normal_licence("Creative Commons Attribution-ShareAlike 4.0 International")  ->  "cc-by-sa-4.0"
    normal_licence("https://creativecommons.org/licenses/by-sa/4.0/deed.de")     ->  "cc-by-sa-4.0"
    normal_licence("Apache License, Version 2.0")                                ->  "apache-2.0"
    find_licences("Licensed under the MIT License.")                             ->  ("mit",)
    is_allowed("cc-by-4.0", ("cc-by",))                                          ->  True

The normal form is SPDX's in lower case; a name without a version stands for all versions.
"""

import re
from collections.abc import Iterable

_CC_URL = re.compile(
    r"creativecommons\.org/(?:licenses/([a-z]{2}(?:-[a-z]{2}){0,3})|publicdomain/(zero|mark))"
    r"(?:/(\d\.\d))?",
    re.IGNORECASE,
)
_SPDX = re.compile(r"SPDX-License-Identifier:[ \t]{0,9}([\w.+-]{1,60})", re.IGNORECASE)
_CC_WORDS = re.compile(
    r"Creative[ -]Commons[ -]((?:Attribution|Zero|CC0)"
    r"(?:[ -]{1,3}(?:Share[ -]?Alike|Non[ -]?Commercial|No[ -]?Deriv(?:ative)?s))*+"
    r"(?:[ ,]{1,2}(?:(?:version|licen[sc]e|v\.?)[ ,]{0,2})*+\d\.\d)?)",
    re.IGNORECASE,
)
_CC_CODE = re.compile(
    r"(?<![A-Za-z0-9])CC[ -](BY(?:[ -](?:SA|NC|ND))*+|0)(?:[ -]v?(\d\.\d))?(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])CC0(?:[ -]v?(\d\.\d))?(?![A-Za-z0-9])"
)
_CC_CHINESE = re.compile(
    r"(?:知识共享|知識共享|创作共用|創用\s?CC)[\s《（(]{0,2}"
    r"((?:姓名标示|姓名標示|署名)(?:[-－—–\s]{0,3}(?:非商业性?使用|非商業性|相同方式共享|相同方式分享|禁止演绎|禁止改作))*+)"
    r"(?:[\s]{0,2}(\d\.\d))?"
)
_NAMED = re.compile(
    r"(?:under|by|licen[sc]e[ds]?:?)[ \n](?:the[ \n])?(?:terms[ \n]of[ \n])?(?:the[ \n])?"
    r"((?:MIT|Apache|GNU|A?L?GPL|BSD|MPL|Mozilla|ISC|Unlicense)"
    r"[\w .,\n()-]{0,60})",
    re.IGNORECASE,
)
_KEYS_OF_CC = ("creative", "cc by", "cc-by", "cc0", "知识共享", "知識共享", "创作共用", "創用")
_CHINESE_CODES = (("非商", "nc"), ("相同方式", "sa"), ("禁止", "nd"))
_WORDS_OF_NO_NAME = (
    "license licence licenses the version international unported deed general generic public "
    "software open source only later or"
)
_NO_NAME = frozenset(_WORDS_OF_NO_NAME.split())
_VERSION = re.compile(r"v?(\d{1,2}(?:\.\d{1,2})?)(?:\.0)?\+?")
_FAMILIES = (
    (r"gnu affero|\bagpl", "agpl"),
    (r"gnu (?:lesser|library)|\blgpl", "lgpl"),
    (r"\bgnu\b|\bgpl", "gpl"),
    (r"\bapache\b", "apache"),
    (r"\bmozilla\b|\bmpl\b", "mpl"),
    (r"\bmit\b", "mit"),
)
_BSD = re.compile(r"\bbsd\b.{0,9}?([0234])|([234])[- ]clause.{0,9}\bbsd\b")
_ANY_VERSION = re.compile(r"\d{1,2}\.\d{1,2}|(?<![\d.])\d(?![\d.])")


def normal_licence(name: str) -> str:
    """Return a licence name in SPDX's form and lower case; "" for a name without letters."""
    licences = _creative_commons(name)
    if licences:
        return licences[0]
    text = " ".join(re.split(r"[^\w.+]+", name.lower()[:200]))
    bsd = _BSD.search(text)
    if bsd:
        return f"bsd-{bsd[1] or bsd[2]}-clause"
    for pattern, family in _FAMILIES:
        if re.search(pattern, text):
            version = _ANY_VERSION.search(text)
            return f"{family}-{_full(version[0])}" if version and family != "mit" else family
    words = [word.strip(".") for word in text.split()]
    parts = [
        _full(match[1]) if (match := _VERSION.fullmatch(word)) else word
        for word in words
        if word and word not in _NO_NAME
    ]
    return "-".join(parts)


def find_licences(text: str) -> tuple[str, ...]:
    """Return the licences that a text says it is under, or names by SPDX identifier or URL."""
    lower = text.lower()
    licences = _creative_commons(text) if any(map(lower.__contains__, _KEYS_OF_CC)) else []
    if "licen" in lower:
        licences += [normal_licence(match[1]) for match in _SPDX.finditer(text)]
        licences += [normal_licence(_clause(match[1])) for match in _NAMED.finditer(text)]
    return tuple(dict.fromkeys(filter(None, licences)))


def is_allowed(licence: str, allowed: Iterable[str]) -> bool:
    """Whether a licence (in normal form) is in a list, with or without its version."""
    name, _, version = licence.rpartition("-")
    names = {licence, name} if re.fullmatch(r"\d+\.\d+", version) else {licence}
    return not names.isdisjoint(map(normal_licence, allowed))


def _creative_commons(text: str) -> list[str]:
    """Yield the Creative Commons licences in a text, by their URLs, names and codes."""
    licences: list[str] = []
    if "creativecommons" in text or "Creativecommons" in text or "CreativeCommons" in text:
        for code, public, version in _CC_URL.findall(text):
            licences.append(
                _cc(code.lower() or {"zero": "0", "mark": "pdm"}[public.lower()], version)
            )
    for match in _CC_WORDS.finditer(text):
        lower = match[1].lower()
        version = _ANY_VERSION.search(lower.removeprefix("cc0"))
        codes = [
            code
            for word, code in (("attribution", "by"), ("non", "nc"), ("no", "nd"), ("share", "sa"))
            if re.search(rf"\b{word}(?!n)" if word == "no" else word, lower)
        ]
        is_zero = lower.startswith(("zero", "cc0"))
        licences.append(_cc("0" if is_zero else "-".join(codes), version[0] if version else ""))
    for code, version, version_of_0 in _CC_CODE.findall(text):
        code = code.lower().replace(" ", "-") or "0"
        licences.append(_cc(code, version or version_of_0))
    for code, version in _CC_CHINESE.findall(text):
        codes = ["by", *(latin for chinese, latin in _CHINESE_CODES if chinese in code)]
        licences.append(_cc("-".join(codes), version))
    return licences


def _cc(code: str, version: str) -> str:
    name = {"0": "cc0", "pdm": "pdm"}.get(code, f"cc-{code}")
    return f"{name}-{version}" if version else name


def _full(version: str) -> str:
    return version if "." in version else f"{version}.0"


def _clause(text: str) -> str:
    """Return the text up to the end of the sentence; the dot of a version does not end it."""
    return re.split(r"\.(?:\s|\Z)|\n\n", text)[0]
