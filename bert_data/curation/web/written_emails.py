"""Find e-mail addresses that are written out to hide them from programs.

    find_written_emails("jane (at) example (dot) org, please")   ->  [(0, 27)]
    find_written_emails("邮箱lisi艾特163.com")                    ->  [(2, 15)]

A sign in brackets may stand for the @ alone. The bare words "at" and "dot" need all separators
written out, and a name or a word before them that tells of mail, since "look at example dot com" is
no address. All functions take time linear in the length of the text.
"""

import re
from collections.abc import Iterable, Iterator

from bert_data.curation.web.addresses import has_known_suffix
from bert_data.curation.web.personal_addresses import Spans

_OPEN, _CLOSE = r"[\[({<（【〔-]", r"[\])}>）】〕-]"
# It begins with the characters that let the search skip ahead: the end of a sign in brackets.
_CLOSED = re.compile(r"[\])}>）】〕](?:(?<=[tT@＠].)|(?<=[tT] .))")
_BRACKETED = re.compile(r"[ ]?[\[({<（【〔][ ]?(?:at|AT|At|ät|@|＠|艾特)[ ]?[\])}>）】〕]\Z")
_OTHER_AT = re.compile(r"[ ]?(?:(?<= )-[ ]?(?:at|AT)[ ]?-(?= )|艾特)[ ]?")
_PLAIN_AT = re.compile(r" (?:at|AT|At|@) ")
_PROVIDERS = (
    r"qq|vip\.qq|foxmail|163|126|yeah|sina|sohu|gmail|hotmail|outlook|yahoo|icloud|protonmail|aol|"
    r"gmx"
)
_HASH_AT = re.compile(rf"#(?=(?:{_PROVIDERS})\.)")
_BRACKETED_DOT = rf"[ ]?{_OPEN}[ ]?(?:dot|DOT|Dot|punkt|punto|点|點|\.)[ ]?{_CLOSE}[ ]?"
_DOT = rf"(?:{_BRACKETED_DOT}| (?:dot|DOT|Dot|点|\.) |[.点])"
_WRITTEN_DOT = r" (?:dot|DOT|Dot|\.) "
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_LAST = r"[A-Za-z]{2,24}(?![A-Za-z0-9_])"
_DOMAIN = re.compile(rf"(?:{_LABEL}{_DOT}){{1,4}}{_LAST}")
_WRITTEN_DOMAIN = re.compile(rf"(?:{_LABEL}{_WRITTEN_DOT}){{1,4}}{_LAST}")
_SPLIT = re.compile(rf"{_DOT}|_dot_")
_JOINED_AT = re.compile(r"_(?:at|AT)_")
_JOINED_DOMAIN = re.compile(rf"(?:{_LABEL}_(?:dot|DOT)_){{1,4}}{_LAST}")
_LOCAL = re.compile(
    rf"(?:[A-Za-z0-9][A-Za-z0-9_+-]{{0,20}}(?:{_BRACKETED_DOT}| (?:dot|DOT) )){{0,3}}"
    r"[A-Za-z0-9](?:[A-Za-z0-9._+-]{0,62}[A-Za-z0-9])?\Z"
)
_MAX_SIGN, _MAX_LOCAL, _MAX_DOMAIN, _BEFORE = 8, 64, 254, 32
_OTHER_HINTS = ("-at-", " at -", "艾特")
_DOT_WORDS = (" dot ", " DOT ")
_OF_MAIL = re.compile(
    r"(?:(?<![a-z])(?:e-?mail|mail|mailto|contact|write|reach|send|address)(?:s|ed|ing)?(?![a-z])|"
    r"邮箱|邮件|信箱|郵件|投稿)"
)
_ROLE = re.compile(
    r"(?:info|admin|support|contact|sales|help|office|webmaster|press|jobs|hr|feedback|editor|"
    r"service|enquiries|inquiries|privacy|security|abuse|postmaster|team)\Z|.*[0-9._+-]"
)
_AT_PROVIDER = re.compile(rf" at (?:{_PROVIDERS}) ")
_NO_HOSTS = frozenset({"the", "a", "an", "this", "that", "my", "our", "your", "his", "her", "its"})


def find_written_emails(text: str) -> Spans:
    """Return the positions of e-mail addresses that are written out."""
    spans = _find_around(text, _bracketed_signs(text), _DOMAIN)
    if any(hint in text for hint in _OTHER_HINTS):
        spans += _find_around(text, _signs(_OTHER_AT, text), _DOMAIN)
    if any(word in text for word in _DOT_WORDS) or (" @ " in text and " . " in text):
        spans += [
            span
            for span in _find_around(text, _signs(_PLAIN_AT, text), _WRITTEN_DOMAIN)
            if _is_plain_address(text, *span)
        ]
    if "#" in text and ".com" in text:
        spans += _find_around(text, _signs(_HASH_AT, text), _DOMAIN)
    if "_at_" in text or "_AT_" in text:
        spans += _find_around(text, _signs(_JOINED_AT, text), _JOINED_DOMAIN)
    return sorted(set(spans))


def _signs(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in pattern.finditer(text))


def _bracketed_signs(text: str) -> Iterator[tuple[int, int]]:
    """Yield where signs in brackets begin and end, with a space on either side."""
    for closed in _CLOSED.finditer(text):
        sign = _BRACKETED.search(text[max(0, closed.end() - _MAX_SIGN) : closed.end()])
        if sign is not None:
            end = closed.end() + (text[closed.end() : closed.end() + 1] == " ")
            yield closed.end() - len(sign[0]), end


def _find_around(
    text: str, signs: Iterable[tuple[int, int]], domains: re.Pattern[str]
) -> list[tuple[int, int]]:
    spans = []
    for start, end in signs:
        domain = domains.match(text, end, end + _MAX_DOMAIN)
        if domain is None:
            continue
        local = _LOCAL.search(text[max(0, start - _MAX_LOCAL) : start])
        parts = _SPLIT.split(domain[0].lower())
        if local is None or parts[0] in _NO_HOSTS:
            continue
        if has_known_suffix(".".join(parts)):
            spans.append((start - len(local[0]), domain.end()))
    return spans


def _is_plain_address(text: str, start: int, end: int) -> bool:
    """Whether "a at b dot c" is an address, and not a place where something is."""
    written = text[start:end]
    if " AT " in written and " DOT " in written:
        return True
    if " @ " in written or _AT_PROVIDER.search(written.lower()):
        return True
    before = text[max(0, start - _BEFORE) : start].lower()
    return bool(_ROLE.match(written.split(" ", 1)[0]) or _OF_MAIL.search(before))
