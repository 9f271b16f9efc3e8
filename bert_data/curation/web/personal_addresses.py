"""Find e-mail addresses, also written out, public IP addresses, passwords in URLs, and keys.

    find_emails("邮箱zhangsan@qq.com是我的")                             ->  [(2, 17)]
    find_written_emails("jane (at) example (dot) org, please")          ->  [(0, 27)]
    find_ip_addresses("ping 93.184.216.34, v1.2.3.4")                   ->  [(5, 18)]
    find_url_passwords("git clone https://bob:hunter2@example.com/a")   ->  [(18, 29)]
    find_secrets("id AKIAIOSFODNN7EXAMPLE")                             ->  [(3, 23)]

A sign in brackets may stand for the @ alone. The bare words "at" and "dot" need all separators
written out, and a name or a word before them that tells of mail, since "look at example dot com" is
no address. A number with three dots is an IP address or a version number; its surroundings decide.
Keys are recognized by the prefixes that their issuers document. All functions take time linear in
the length of the text: they examine a bounded part around a match.
"""

import functools
import ipaddress
import re
from collections.abc import Iterable, Iterator
from typing import Any

from bert_data.curation.quality.languages import read_lists
from bert_data.packages import load_package

Spans = list[tuple[int, int]]

HAN = "一-鿿"
"""Within a character class: common Chinese characters, U+4E00 to U+9FFF."""

_MAX_LOCAL, _MAX_DOMAIN = 64, 254
_LATIN = "A-Za-z0-9À-ÖØ-öø-ɏ"
# Accents and vowel signs, which re does not count among the characters of words.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff\u0e31-\u0e4e"
_OTHER = rf"(?:[^\W_{_LATIN}]|[{_MARKS}])"  # of other scripts
_LOCAL_BACKWARDS = re.compile(rf"[{_LATIN}._%+'&-]{{1,64}}")
# From Greek to the scripts of India, and Korean: those with spaces between words.
_OTHER_LOCAL_BACKWARDS = re.compile(r"[Ͱ-ͽͿ-\u0dffႠ-ჿ\uac00-\ud7a30-9._-]{1,64}")
_LABELS = (
    rf"(?:(?:[{_LATIN}](?:[{_LATIN}-]{{0,61}}[{_LATIN}])?"
    rf"|[0-9]{{0,9}}{_OTHER}(?:(?:{_OTHER}|[{_LATIN}-]){{0,61}}(?:{_OTHER}|[{_LATIN}]))?)\.){{1,8}}"
)
_LAST_LABEL = r"(?:xn--[A-Za-z0-9-]{2,59}|[A-Za-z]{2,24})(?![A-Za-z0-9_-])"
# A version in the place of a domain (lodash@4.17.21.dev), and the scale of a picture (icon@2x.ai).
_NO_DOMAIN = re.compile(r"v?[0-9]+\.(?:[0-9]|x\.)|[1-4](?:\.5)?x\.(?:ai|ps)\Z")
_FIRST_OF_LOCAL = "._%+'&-"
# A name in Chinese has no end of its own on the left, so a word for mail must precede it.
_HAN_LOCAL = re.compile(
    r"(?:邮箱|邮件|邮址|信箱|郵箱|郵件|[Ee]-?mail)(?:地址)?(?:是|为|寄给|寄到|发给|发到)?[:：]?\s?"
    rf"(?P<name>[{HAN}][{HAN}0-9A-Za-z._-]{{1,9}})\Z"
)
_HAN_LOCAL_ALONE = re.compile(
    rf"(?:\A|[\s，。、；;,:：(（<《「])(?P<name>[{HAN}][{HAN}0-9A-Za-z._-]{{0,9}})\Z"
)
_BEFORE_HAN = 40

# The first character class lets the search skip ahead; what must not precede it comes later.
_IPV4 = re.compile(
    r"[0-9](?<![0-9.][0-9])[0-9]{0,2}(?:\.[0-9]{1,3}){3}(?![0-9A-Za-z_])(?!\.[0-9])"
    r"(?!\.(?:tar|zip|gz|tgz|exe|dmg|deb|rpm|jar|whl|apk|msi|dll|in-addr))(?!-[A-Za-z])"
)
# What a text with an IPv4 address has, begun with the character that is rarest.
_DOTTED = re.compile(r"\.[0-9]{1,3}\.[0-9]")
_IPV6 = re.compile(
    r"[23](?<![0-9A-Za-z:._][23])[0-9A-Fa-f]{3}:[0-9A-Fa-f:]{2,40}(?![0-9A-Za-z_])(?!\.[0-9])"
)
_BEFORE, _AFTER = 48, 8
_LISTS = {name: "|".join(words) for name, words in read_lists(__file__).items()}
_OF_VERSION = re.compile(
    rf"(?:(?<![a-z])(?:{_LISTS['version']})|{_LISTS['version_unspaced']})"
    r"[\s:：.#(（\"'“=\[]{0,4}(?:is|was|为|是|no\.?)?\s?\Z"
)
# The heading of a change log, a requirement (name==1.2), a change from a version to another.
_IN_CHANGE = re.compile(
    r"(?:\A|\n)#{1,6} \[?\Z|[\w\])][=~>!]=\Z|[~^]\Z"
    r"|(?:bump|upgrad)[a-z]{1,3} (?:[\w.-]{1,20} )?(?:from )?(?:[0-9.]{5,15} )?(?:to |-> )?\Z"
)
_OF_ADDRESS, _OF_NETWORK = (
    re.compile(rf"(?<![a-z])(?:{_LISTS[name]})(?![a-z])|{_LISTS[f'{name}_unspaced']}")
    for name in ("address", "network")
)
_END = re.compile(r"[.!?]\s|[\n。！？]")
_PORT_OR_NET = re.compile(r":[0-9]{2,5}(?![0-9:])|/[0-9]{1,2}(?![0-9.])")
_MOST_OF_A_VERSION = 31


@functools.cache
def suffix_extractor() -> Any:
    """Return what splits hosts by the public suffix list, which ships with it; no network."""
    tldextract = load_package("tldextract", "the public suffix list")
    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


def has_known_suffix(host: str) -> bool:
    """Whether a host lies below a suffix of the list, so that it could be registered."""
    parts = suffix_extractor()(host)
    return bool(parts.suffix and parts.domain)


def find_emails(text: str) -> Spans:
    """Return the positions of e-mail addresses whose domain ends in a public suffix."""
    spans: Spans = []
    for sign in "@＠":
        place = text.find(sign)
        while place >= 0:
            span = _email_around(text, place)
            if span is not None:
                spans.append(span)
            place = text.find(sign, place + 1)
    return sorted(spans)


@functools.cache
def _domain() -> re.Pattern[str]:
    """Return the pattern of domains in any script, whose last label ends where its word does."""
    last = {suffix.rpartition(".")[2] for suffix in suffix_extractor().tlds}
    others = sorted((label for label in last if not label.isascii()), key=len, reverse=True)
    unspaced = [label for label in others if label[0] >= "\u0e00"]  # from Thai on, and Korean
    spaced = [label for label in others if label[0] < "\u0e00"]
    return re.compile(
        rf"{_LABELS}(?:{_LAST_LABEL}|(?:{'|'.join(spaced)})(?!{_OTHER}|[{_LATIN}_-])"
        rf"|{'|'.join(unspaced)})"
    )


def _email_around(text: str, place: int) -> tuple[int, int] | None:
    domain = _domain().match(text, place + 1, place + 1 + _MAX_DOMAIN)
    if domain is None or _NO_DOMAIN.match(domain[0].lower()):
        return None
    name = _local_before(text, place)
    if not name and not domain[0].isascii():
        han = _HAN_LOCAL_ALONE.search(text[max(0, place - _BEFORE_HAN) : place])
        name = "" if han is None else han["name"]
    start = place - len(name)
    if not name or name.endswith(".") or text[start - 1 : start] == "@":
        return None
    is_repository = name == "git" and text[domain.end() : domain.end() + 1] in (":", "/")
    if is_repository or _is_in_url(text[max(0, start - _MAX_LOCAL) : start]):
        return None
    return (start, domain.end()) if has_known_suffix(domain[0].lower()) else None


def _local_before(text: str, place: int) -> str:
    """Return what precedes an @ and can be the name of a mailbox, or ""."""
    backwards = text[max(0, place - _MAX_LOCAL) : place][::-1]
    for pattern in (_LOCAL_BACKWARDS, _OTHER_LOCAL_BACKWARDS):
        local = pattern.match(backwards)
        if local is not None:
            return local[0][::-1].lstrip(_FIRST_OF_LOCAL)
    han = _HAN_LOCAL.search(text[max(0, place - _BEFORE_HAN) : place])
    return "" if han is None else han["name"]


def _is_in_url(before: str) -> bool:
    """Whether a match is the user (and password) of a URL such as ftp://user@host."""
    _, mark, rest = before.rpartition("://")
    return bool(mark) and not any(char.isspace() or char in "/?#" for char in rest)


def find_ip_addresses(text: str) -> Spans:
    """Return the positions of globally reachable IPv4 and IPv6 addresses."""
    spans = list(_find_ipv4(text)) if _DOTTED.search(text) is not None else []
    if "::" in text or text.count(":") >= 7:
        spans += _find_ipv6(text)
    return spans


def _find_ipv4(text: str) -> Iterator[tuple[int, int]]:
    for match in _IPV4.finditer(text):
        start, end = match.span()
        if not is_public(match[0]):
            continue
        before = text[max(0, start - _BEFORE) : start].lower()
        after = text[end : end + _AFTER]
        if _touches_a_name(before) or _OF_VERSION.search(before):
            continue
        is_called_address = _OF_ADDRESS.search(before) is not None
        if _IN_CHANGE.search(before) and not is_called_address:
            continue
        # Small numbers, and those that end in 0, as no machine's do, are a version or a heading,
        # unless the text calls them an address.
        parts = [int(part) for part in match[0].split(".")]
        is_small = max(parts) <= _MOST_OF_A_VERSION or parts[-1] == 0
        if (
            not is_small
            or is_called_address
            or _PORT_OR_NET.match(after)
            or _OF_NETWORK.search(_END.split(text[end : end + _BEFORE].lower(), maxsplit=1)[0])
            or _OF_NETWORK.search(_END.split(before)[-1])
        ):
            yield start, end


def _touches_a_name(before: str) -> bool:
    """Whether a name directly precedes a number: "v1.2", "Chrome/98.0", "lib-1.2"."""
    if not before:
        return False
    last, name = before[-1], before[:-1]
    if last in "/-_":
        is_url = last == "/" and name.endswith("/")
        return not is_url and name[-1:].isascii() and name[-1:].isalpha()
    return last.isascii() and last.isalpha() and not before.endswith(("ip", "ipv4"))


def _find_ipv6(text: str) -> Iterator[tuple[int, int]]:
    for match in _IPV6.finditer(text):
        address = match[0].rstrip(":") if not match[0].endswith("::") else match[0]
        if is_public(address):
            yield match.start(), match.start() + len(address)


@functools.lru_cache(maxsize=4096)
def is_public(address: str) -> bool:
    """Whether a text is the IP address of a single machine that is reachable from everywhere."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


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
_HIDDEN_DOMAIN = re.compile(rf"(?:{_LABEL}{_DOT}){{1,4}}{_LAST}")
_WRITTEN_DOMAIN = re.compile(rf"(?:{_LABEL}{_WRITTEN_DOT}){{1,4}}{_LAST}")
_SPLIT = re.compile(rf"{_DOT}|_dot_")
_JOINED_AT = re.compile(r"_(?:at|AT)_")
_JOINED_DOMAIN = re.compile(rf"(?:{_LABEL}_(?:dot|DOT)_){{1,4}}{_LAST}")
_HIDDEN_LOCAL = re.compile(
    rf"(?:[A-Za-z0-9][A-Za-z0-9_+-]{{0,20}}(?:{_BRACKETED_DOT}| (?:dot|DOT) )){{0,3}}"
    r"[A-Za-z0-9](?:[A-Za-z0-9._+-]{0,62}[A-Za-z0-9])?\Z"
)
_MAX_SIGN, _BEFORE_PLAIN = 8, 32
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
    spans = _find_around(text, _bracketed_signs(text), _HIDDEN_DOMAIN)
    if any(hint in text for hint in _OTHER_HINTS):
        spans += _find_around(text, _signs(_OTHER_AT, text), _HIDDEN_DOMAIN)
    if any(word in text for word in _DOT_WORDS) or (" @ " in text and " . " in text):
        spans += [
            span
            for span in _find_around(text, _signs(_PLAIN_AT, text), _WRITTEN_DOMAIN)
            if _is_plain_address(text, *span)
        ]
    if "#" in text and ".com" in text:
        spans += _find_around(text, _signs(_HASH_AT, text), _HIDDEN_DOMAIN)
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
        local = _HIDDEN_LOCAL.search(text[max(0, start - _MAX_LOCAL) : start])
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
    before = text[max(0, start - _BEFORE_PLAIN) : start].lower()
    return bool(_ROLE.match(written.split(" ", 1)[0]) or _OF_MAIL.search(before))


# The last @ before the path ends the password, as people do not escape one within it.
_URL_PASSWORD = re.compile(
    r"://(?P<user>[^\s/?#:@<>\"'${}]{0,64}:[^\s/?#<>\"'${}]{1,128})@(?=[\w\[])"
)
_SECRETS = {
    # What the text must contain: the whole expression.
    "AKIA": r"AKIA[0-9A-Z]{16}",
    "ASIA": r"ASIA[0-9A-Z]{16}",
    "AIza": r"AIza[0-9A-Za-z_-]{35}",
    "ghp_": r"ghp_[0-9A-Za-z]{36,255}",
    "gho_": r"gho_[0-9A-Za-z]{36,255}",
    "ghs_": r"ghs_[0-9A-Za-z]{36,255}",
    "github_pat_": r"github_pat_[0-9A-Za-z_]{60,255}",
    "glpat-": r"glpat-[0-9A-Za-z_-]{20,255}",
    "xox": r"xox[abeprs]-[0-9A-Za-z-]{20,255}",
    "_live_": r"[sr]k_live_[0-9A-Za-z]{24,255}",
    "sk-": r"sk-(?=[A-Za-z_-]{0,40}[0-9])[0-9A-Za-z_-]{32,255}",
    "hf_": r"hf_[A-Za-z]{34}",
    "npm_": r"npm_[0-9A-Za-z]{36}",
    ".eyJ": r"eyJ[0-9A-Za-z_-]{10,2000}\.eyJ[0-9A-Za-z_-]{10,4000}\.[0-9A-Za-z_-]{10,1000}",
}
_PATTERNS = {
    part: re.compile(rf"(?<![0-9A-Za-z_-]){pattern}(?![0-9A-Za-z_])")
    for part, pattern in _SECRETS.items()
}
_PEM_BEGIN, _PEM_END = "-----BEGIN ", " PRIVATE KEY-----"
_PEM = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,2}PRIVATE KEY-----")
_MAX_PEM = 16_000


def find_url_passwords(text: str) -> Spans:
    """Return the positions of `user:password` in URLs; names in braces or brackets stay."""
    return [match.span("user") for match in _URL_PASSWORD.finditer(text)]


def find_secrets(text: str) -> Spans:
    """Return the positions of access keys, tokens (JWT too) and private keys (PEM)."""
    has_line = "_" in text
    spans = [
        match.span()
        for part, pattern in _PATTERNS.items()
        if (has_line or "_" not in part) and part in text
        for match in pattern.finditer(text)
    ]
    if _PEM_BEGIN in text and _PEM_END in text:
        spans += _find_private_keys(text)
    return spans


def _find_private_keys(text: str) -> Spans:
    spans: Spans = []
    for match in _PEM.finditer(text):
        end_line = match[0].replace("BEGIN", "END")
        end = text.find(end_line, match.end(), match.end() + _MAX_PEM)
        if end >= 0:
            spans.append((match.start(), end + len(end_line)))
    return spans
