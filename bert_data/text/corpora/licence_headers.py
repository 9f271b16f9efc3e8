"""The licence that a source file's own header names, beside that of its repository.

    # This program is free software; you can redistribute it and/or modify it under
    # the terms of the GNU General Public License as published by the Free       ->  "GPL-2.0-only"
    # Software Foundation, version 2.
    main()

The header is what `leading_comments` reads. What counts are SPDX identifiers, whole texts (MIT,
BSD, ISC), and sentences that say what a file is under or forbid its use. A licence that is only
mentioned ("reads GPL headers") is none, and neither are "Copyright" and "All rights reserved".
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bert_data.text.corpora.leading_comments import Head, find_lexer, read_head
from bert_data.text.corpora.licence_texts import UNKNOWN_LICENCE, find_licence
from bert_data.text.licence_expressions import licences_in

PROPRIETARY = "proprietary"
"""The licence of a file that may not be used or copied."""

ELSEWHERE = "elsewhere"
"""What a header names that points to a file with the licence."""

_OF_PYTHON = re.compile(r"[ \t]*+(__licen[cs]e__\s*+=\s*+['\"][^'\"\n]++)")
_MARKS = re.compile(
    r"(?m)^(?:[ \t]*+(?:/\*+|\*+/?|//+|<!--+|<#|[{(]\*|\{-?|[#;%!'\"|=-]++|\.\.(?=\s)|dnl\b"
    r"|(?i:rem)\b|[cC](?=[ \t])))*+[ \t]*+|[ \t]*+(?:\*+[/)]|[-#}\]*%|'\"]++>?)?[ \t]*+$"
)
_LINE_ENDS = re.compile(r"\r\n?")
_SPACES = re.compile(r"[ \t]+")
_RIGHTS = re.compile(
    r"(?m:^\W*copyright\b)|\bcopyright(?:ed)?\W{1,9}(?:c\W|\d|(?:by|the)\s|(?-i:[A-Z]))|\(c\)\s?\d|©"
    r"|all rights reserved|spdx-|without (?:any )?warrant|no warrant|warranties of"
    r"|\bsee\s(?:\S+\s){0,4}\S*licen[sc]e|\bin\s(?:the\s)?(?:file\s)?\W?(?:un)?licen[sc]e\b"
    r"|licen[sc]e\s(?:information|details)\b",
    re.IGNORECASE,
)
_HINTS = re.compile(
    r"licen[cs]|gpl|gnu|proprietary|confidential|permi[ts]|prohibit|forbid|secret|without|internal"
    r"|distribut|public domain|unencumbered|property|disclose|eula|terms|agreement|apache|creative"
    r"|commercial|may not"
)

_SPDX = re.compile(
    r"(?:SPDX-License-Identifier|SPDX short identifier):[ \t]*+([^\n]*+)", re.IGNORECASE
)
_IDENTIFIER = r"\(*+[\w.+:-]++\)*+"
_EXPRESSION = re.compile(rf"{_IDENTIFIER}(?:\s++(?:AND|OR|WITH)\s++{_IDENTIFIER})*+")


def _phrases(*patterns: str) -> re.Pattern[str]:
    """Compile alternatives in which a space is any white space."""
    return re.compile("|".join(patterns).replace(" ", r"\s"))


# Whole texts, from their first words to their last.
_TEXTS = _phrases(
    r"(?:permission is hereby granted, free of charge|this is free and unencumbered software)"
    r"(?s:.*?dealings in the software\b|.*)",
    r"redistribution and use in source and binary(?s:.*?possibility of such damage|.*)",
    r"permission to use, copy(?s:.*?performance of this software\b|.*)",
    r"permission is (?:hereby )?granted(?s:.*)",
    r"apache license\s+version 2\.0, january 2004(?s:.*?)end of terms and conditions",
)
_WORK = r"(?:file|software|program|code|source|document|information|material|work)"
_NOT_GRANTED = r"(?:copied|reproduced|disclosed|distributed|redistributed|transmitted)"
_CLOSED = _phrases(
    r"proprietary (?:and|&|/) ?confidential",
    r"confidential (?:and|&|/|or) ?proprietary",
    r"(?:company|strictly|highly) confidential",
    r"(?:is|are|contains?|constitutes?) (?:\w+ ){0,5}(?:confidential|proprietary)"
    r" (?:information|source|software|code|property|material)",
    r"(?:^|[\n.,;:] ?)(?:proprietary|confidential)(?: (?:software|licen[sc]e))?(?:[\n.,;:!]|$)",
    r"unauthori[sz]ed (?:\w+,? ){0,4}(?:copying|use|reproduction|distribution|disclosure)",
    r"(?:use|copying|reproduction|distribution|disclosure|dissemination)\b[^.]{0,80}"
    rf"\bof this {_WORK}\b[^.]{{0,120}}(?:prohibited|forbidden|not (?:allowed|permitted))",
    r"(?:use|copying|reproduction|distribution|disclosure)\b[^.]{0,160}strictly (?:prohib|forbid)",
    r"(?:^|\n)(?:(?!is |are |be |not |keep )\w+ ){1,3}confidential(?:[\n.!]|$| -)",
    rf"this (?:\w+ )?{_WORK} is (?:\w+ ){{0,3}}(?:proprietary|confidential)(?:[\n.,;!]|$)",
    r"(?:^|\n)proprietary (?:software|code|source|material|property) (?:of|to|belonging)\b",
    r"(?:^|\n)(?:property (?:of|belonging to) (?!being|an?\b|each|any)|trade secrets? of)",
    r"do not (?:re)?distribute(?:[\n.,!]|$)",
    r"no (?:licen[sc]e|rights?|permission)s? (?:\w+ ){0,4}(?:is|are) (?:hereby )?granted",
    rf"you may not (?:copy this|use this {_WORK} without)",
    rf"(?:this|the) (?:\w+ ){{0,2}}{_WORK}\b"
    rf"[^.]{{0,60}}(?:may|must|shall|can) ?not be (?:\w+,? ){{0,6}}"
    rf"{_NOT_GRANTED}(?![^.]{{0,60}}\bexcept (?:according|in|as|under))",
    r"no part of this [^.]{0,60}may be",
    r"you (?:may|must|shall) not (?:\w+,? ){0,4}(?:reproduce|disclose|(?:re)?distribute)",
    r"without (?:\w+,? ){0,5}(?:written|express|prior|explicit) (?:\w+,? ){0,3}"
    r"(?:consent|permission|authori[sz]ation|approval|licen[sc]e|agreement)",
    r"use is subject to licen[sc]e",
    r"licen[sc]ed,? (?:and )?not sold",
    r"end[- ]user licen[sc]e",
    r"\beula\b",
    r"retains? all (?:\w+ ){0,4}rights",
    r"(?:file|software|program|code|material) is (?:\w+ ){0,3}property of",
)
_CLOSED_IF_OWNED = _phrases(
    "trade secret",
    r"\binternal use only",
    r"\bnot for (?:re|public )?(?:distribution|release)",
    r"\bdo not (?:re)?distribute",
    r"\bproprietary\b",
    r"\bconfidential\b",
)
_OWNED = re.compile(r"copyright|\(c\)|©|all rights reserved")
_LIMITED = _phrases(
    "(?<!attribution.)non-?commercial",
    "commons clause",
    "(?:commercial|evaluation|academic) (?:use )?licen[sc]e",
    "(?:academic|educational|evaluation|research|personal) (?:use|purposes) only",
    "for good, not evil",
)

_KNOWN = (
    r"(?:gnu|[al]?gpl|mit|bsd|apache|mozilla|mpl|eclipse|boost|isc|cc0|cc[- ]by|creative commons)"
)
_NOTICE = _phrases(
    # "Released under", "is governed by": where a line or sentence begins, or after such a verb.
    r"(?:(?:^|[\n.,;:()>\"'*-])\s*|\b(?:is|are|be|been|and|or|code|you|also|we) )"
    r"(?:dual[- ]?|tri[- ]?|re-?)?"
    r"(?:(?:licen[sc]ed?|distributed?|released?|available|published|provided|used|copied|falls)\b"
    r"[^.;]{0,60}? (?:under|in accordance with)|licen[sc]ed (?:to|with|by)|(?:covered|governed) by"
    r"|subject to) ",
    # "(c) 2020 A. B. Licensed BSD", and fields.
    rf"(?:^|[\n.,;(])\s*licen[sc]ed?(?: (?=(?:an? )?{_KNOWN}\w?\b)| ?[:=] )",
    r"under (?:the )?(?:following |same )?(?:terms|conditions)\b",
    r"\b(?:is|are) (?:\w+ ){0,2}under ",
    r"licen[sc]es this \w+ (?:\w+ )?to you ",
    r"(?:^|\n)(?:[@\\]licen[sc]e\b:?|:? ?licen[sc]ed?(?: under)? ?[:=]) ",
    r"__licen[cs]e__\s*=",
    r"\b(?:to|in) the (?=public domain)",
    # "GPL-licensed", "This file is GPL", "MIT License" in a line of its own, "(c) 2020 A. B., GPL".
    rf"(?:^|[\n.,;(])\s*(?={_KNOWN}[^\n]{{0,9}}[- ]licen[sc]ed)",
    rf"\bthis is (?=(?:an? )?{_KNOWN}\b[^\n.]{{0,20}}(?:software|code|program|licen))",
    rf"\b(?:this|the) (?:\w+ ){{1,3}}(?:is|are) (?=(?:an? )?{_KNOWN}\b)",
    rf"(?:^|\n)(?:the )?(?={_KNOWN}[^\n.]{{0,40}}licen[sc]e[^\n]{{0,20}}(?:\n|$))",
    r"(?:^|\n)(?:licen[sc]e |under )?"
    r"(?=(?:gnu )?[al]?gpl(?:[- ,]*(?:v|version)?\.? ?\d[^\n]{0,12}|[.)]?)(?:\n|$))",
    r"(?:^|\n)(?=(?:\w+ ){0,4}(?:public|software|source) licen[sc]e[^\n]{0,20}(?:\n|$))",
    rf"(?:^|\n)(?:copyright|\(c\)|©)[^\n]*?(?=\b[al]?gpl|\bgnu\b|\b{_KNOWN}\b[^\n]{{0,30}}licen[sc])",
)
_OF_OTHERS = re.compile(r"\bwhether\b[^.]*\Z|\b(?:that|which)\s*\Z")
# Of an agreement with contributors; of a licence that the notice has named.
_NO_LICENCE = re.compile(r"contributor|\A\s*(?:the|this)\s+\"?licen[sc]e\b")
_ABOUT_USE = re.compile(r"licen[sc]e|agreement|\bterms\b|public domain")
_POINTS_ELSEWHERE = re.compile(
    r"\b(?:un)?licen[sc]e(?:[._-]\w+)*\s(?:file|for\b|in\b)|\b(?:see|in|file)\s(?:the\s)?(?:\w+\s){0,2}[\"'`]?"
    r"(?:licen[sc]e|copying)|licen[sc]e\s(?:\w+\s){0,6}(?:root|top|accompan|found in)|accompanying"
)
_A_NAME = re.compile(r"\b(?:public|software|source|community) licen[sc]e|licen[sc]e agreement")
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_END = re.compile(r"\.(?=\s|\Z)")
_LATER = re.compile(
    r"(?:either )?version (\d(?:\.\d)?)(?: of the licen[sc]e)?,? or,? \(?(?:at your option\)?,? )?"
    r"(?:any )?(?:later|newer|greater)(?: versions?)?"
)
_SHORT_VERSION = re.compile(r"\bv(?:er)?\. (?=\d)")
_VERSION = re.compile(r"(?<![\d.])(\d(?:\.\d)?)(\+?)(?:\.0)?(?!\d)")
_FAMILIES = {
    "AGPL": r"(?:gnu )?affero (?:general )?(?:public licen[sc]e|gpl)|gnu affero|\bagpl",
    "LGPL": r"(?:gnu )?(?:lesser|library) (?:general )?(?:public licen[sc]e|gpl)|\blgpl",
    "GPL": r"(?:gnu )?general public licen[sc]e|gnu (?:public licen[sc]e|gpl)|\bgpl",
    "Apache": r"\bapache(?:,? (?:software|public))?,? licen[sc]e|\bapache(?=[- ]?v?\d)|\bapache\b",
    "MPL": r"mozilla public licen[sc]e|\bmpl",
    "EPL": r"eclipse public licen[sc]e|\bepl\b",
    "CDDL": r"common development and distribution licen[sc]e|\bcddl\b",
    "BSL": r"boost software licen[sc]e",
    "BSD": r"\bbsd(?:\b|(?=[234]\b))",
    "CC": r"creative ?commons(?:\.org/\w+)?|\bcc[- ](?=by)|\bcc0\b",
    "MIT": r"\bmit(?:/x11)?\b|\bexpat licen[sc]e",
    "ISC": r"\bisc\b",
    "Unlicense": r"\bunlicense\b",
}
_WITHOUT_VERSION = ("MIT", "ISC", "Unlicense")
_CLAUSES = (
    ("3", r"3|three|new|modified|revised"),
    ("2", r"2|two|simplified|freebsd"),
    ("4", "4|four|original"),
)
_CODES_OF_CC = (
    ("BY", r"\bby\b|attribution"),
    ("NC", r"\bnc\b|non-?commercial"),
    ("ND", r"\bnd\b|no-?deriv"),
    ("SA", r"\bsa\b|share-?alike"),
)
_MOST_OF_SENTENCE = 500
_CHOICE = re.compile(
    r"\bdual|\btri-|\beither\b|\balternatively\b|at your option|your choice|\bor\b|/"
)


def header_licence(text: str, fields: Mapping[str, Any]) -> str | None:
    """Return the licence that the header of a source file names, as an SPDX expression.

    `PROPRIETARY` if it forbids to use or copy the file, `UNKNOWN_LICENCE` if it names one that
    cannot be told, `ELSEWHERE` if it points to a file; None if it names none.

    Args:
      fields: of the document, of which `LANGUAGE_FIELDS` and `PATH_FIELDS` tell its language.
    """
    return head_licence(text, read_head(text, find_lexer(text, fields)))


def head_licence(text: str, head: Head) -> str | None:
    """Return the licence that the head of a text names, as `header_licence` does."""
    parts = [text[comment.start : comment.end] for comment in head.comments]
    others = (token.start for token in head.tokens if not token.is_comment)
    parts += [match[1] for match in (_OF_PYTHON.match(text, start) for start in others) if match]
    return _licence_in("\n\n".join(parts))


def _licence_in(comments: str) -> str | None:
    comments = _LINE_ENDS.sub("\n", comments)
    if not _HINTS.search(comments.lower()):
        return None
    header = _SPACES.sub(" ", _MARKS.sub("", comments))
    declared = [_spdx(match[1]) for match in _SPDX.finditer(header)]
    rest = _SHORT_VERSION.sub("v", _SPDX.sub("", header).lower())
    whole = [find_licence(match[0]) or UNKNOWN_LICENCE for match in _TEXTS.finditer(rest)]
    rest = _TEXTS.sub("\n\n", rest)
    paragraphs = [each for each in _PARAGRAPH_END.split(rest) if _HINTS.search(each)]
    if any(map(_is_closed, paragraphs)):
        return PROPRIETARY
    limits = [UNKNOWN_LICENCE] if any(map(_LIMITED.search, paragraphs)) else []
    notices = itertools.chain.from_iterable(map(_notices, paragraphs))
    return _all_of([*declared, *whole, *limits, *notices])


def is_about_rights(comment: str) -> bool:
    """Whether a comment says whose a file is, under which licence, or without which warranty."""
    return _RIGHTS.search(comment) is not None or _licence_in(comment) is not None


def words_of_comment(comment: str) -> str:
    """Return what a comment says, without its marks; "" if it has no letters."""
    words = _MARKS.sub("", _LINE_ENDS.sub("\n", comment)).strip()
    return words if any(map(str.isalnum, words)) else ""


def is_own(named: str, own: Iterable[str]) -> bool:
    """Whether all licences that a header names are a document's own, which may have versions."""
    known = [_plain(licence) for licence in own]
    return named == ELSEWHERE or all(
        any(
            re.fullmatch(re.escape(_plain(name)) + r"(?:-[\d.]+(?:-clause)?)?", each)
            for each in known
        )
        for name in licences_in(named)
    )


def licence_of_file(text: str, fields: Mapping[str, Any], licence: str | None) -> str | None:
    """Return the licence of a file whose repository has one: the header's, if it is another."""
    named = header_licence(text, fields)
    if named is None or (licence and is_own(named, licences_in(licence))):
        return licence
    return UNKNOWN_LICENCE if named == ELSEWHERE else named


def _plain(licence: str) -> str:
    return re.sub(r"(?:-only|-or-later|\+)$", "", licence.lower())


def _spdx(text: str) -> str:
    expression = text.strip(" \t-#/>\"';*")
    is_whole = _EXPRESSION.fullmatch(expression) and expression not in ("NONE", "NOASSERTION")
    return " ".join(expression.split()) if is_whole else UNKNOWN_LICENCE


def _all_of(expressions: list[str]) -> str | None:
    """Join expressions by AND, but those that say no more than another one."""
    kept = _distinct(expressions)
    if len(kept) > 1:
        kept = [f"({each})" if " OR " in each else each for each in kept]
    return " AND ".join(kept) or None


def _is_closed(paragraph: str) -> bool:
    is_owned = _CLOSED_IF_OWNED.search(paragraph) and _OWNED.search(paragraph)
    return bool(_CLOSED.search(paragraph) or is_owned)


def _distinct(expressions: list[str]) -> list[str]:
    """Leave out what says no more than one before, or less than one after: "GPL", "GPL-2.0"."""
    kept: list[str] = []
    for each in expressions:
        if not any(is_own(each, licences_in(other)) for other in kept):
            kept = [other for other in kept if not is_own(other, licences_in(each))] + [each]
    return kept


def _notices(text: str) -> Iterator[str]:
    """Yield what the notices in a text name: expressions, `ELSEWHERE` or `UNKNOWN_LICENCE`."""
    for match in _NOTICE.finditer(text):
        end = _END.search(text, match.end())
        named = text[match.end() : end.start() if end else len(text)][:_MOST_OF_SENTENCE]
        if (
            not named.strip()
            or _OF_OTHERS.search(text, 0, match.start())
            or _NO_LICENCE.search(named)
        ):
            continue
        if expression := _named(" ".join(named.split())):
            yield expression
        elif _ABOUT_USE.search(sentence := " ".join((match[0] + named).split())):
            is_named = _A_NAME.search(sentence)
            is_elsewhere = _POINTS_ELSEWHERE.search(sentence) and not is_named
            yield ELSEWHERE if is_elsewhere else UNKNOWN_LICENCE


def _named(text: str) -> str:
    """Return the expression of the licences that a sentence names, "" if it names none."""
    text = _LATER.sub(r"version \1+", text)
    found: list[tuple[int, int, str]] = []
    for family, pattern in _FAMILIES.items():
        for match in re.finditer(pattern, text):
            if all(match.start() >= end or match.end() <= start for start, end, _ in found):
                found.append((*match.span(), family))
    found.sort()
    begins = [*(start for start, _, _ in found), len(text)][1:]
    names = [
        _versioned(family, text[:start], text[end : min(following, end + 120)])
        for (start, end, family), following in zip(found, begins, strict=True)
    ]
    is_choice = len(found) > 1 and _CHOICE.search(text)
    return (" OR " if is_choice else " AND ").join(_distinct(names))


def _versioned(family: str, before: str, after: str) -> str:
    if family in _WITHOUT_VERSION:
        return family
    if family == "BSD":
        around = f"{before[-20:]} {after[:30]}"
        clauses = (number for number, words in _CLAUSES if re.search(rf"\b(?:{words})\b", around))
        return next((f"BSD-{number}-Clause" for number in clauses), "BSD")
    if family == "CC":
        codes = [code for code, words in _CODES_OF_CC if re.search(words, after)]
        family = "-".join(["CC", *codes]) if codes else "CC0"
    match = _VERSION.search(after) or (re.search(r"version (\d(?:\.\d)?)(\+?) of the $", before))
    if match is None:
        return family
    version = match[1] if "." in match[1] else f"{match[1]}.0"
    if not family.endswith("GPL"):
        return f"{family}-{version}"
    is_open = match[2] or re.search(r"or (?:any )?(?:later|newer|greater|above)|and later", after)
    return f"{family}-{version}-{'or-later' if is_open else 'only'}"
