"""Find e-mail addresses and public IP addresses in texts.

    find_emails("邮箱zhangsan@qq.com是我的")     ->  [(2, 17)]
    find_ip_addresses("ping 93.184.216.34, v1.2.3.4")  ->  [(5, 18)]

A number with three dots is an IP address or a version number; its surroundings decide. All
functions take time linear in the length of the text: they examine a bounded part around a match.
"""

import functools
import ipaddress
import re
from collections.abc import Iterator

from bert_data.curation.web.addresses import has_known_suffix

Spans = list[tuple[int, int]]

HAN = "一-鿿"
"""Within a character class: common Chinese characters, U+4E00 to U+9FFF."""

_MAX_LOCAL, _MAX_DOMAIN = 64, 254
_LOCAL_BACKWARDS = re.compile(r"[A-Za-z0-9À-ÖØ-öø-ɏ._%+'&-]{1,64}")
_DOMAIN = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9_-])"
)
_FIRST_OF_LOCAL = "._%+'&-"
# A name in Chinese has no end of its own on the left, so a word for mail must precede it.
_HAN_LOCAL = re.compile(
    r"(?:邮箱|邮件|邮址|信箱|郵箱|郵件|[Ee]-?mail)(?:地址)?(?:是|为|寄给|寄到|发给|发到)?[:：]?\s?"
    rf"(?P<name>[{HAN}][{HAN}0-9A-Za-z._-]{{1,9}})\Z"
)
_HAN_DOMAIN = re.compile(
    rf"(?:[{HAN}0-9A-Za-z][{HAN}0-9A-Za-z-]{{0,20}}\.){{1,4}}(?:中国|中國|公司|网络|網絡|在线)"
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
_BEFORE, _JUST_BEFORE, _AFTER = 48, 24, 8
_OF_VERSION = re.compile(
    r"(?:(?<![a-z])(?:v|ver|versions?|releases?|build|firmware|patch|rev|revision|driver|kernel|"
    r"sdk|ios|android|windows|macos|linux|ubuntu|chrome|chromium|firefox|safari|opera|edge|"
    r"section|sections|chapter|clause|article|paragraph|appendix|table|figure|fig|eq|equation|"
    r"oid|step|item|rule|theorem|lemma|example|upgraded? to|updated? to|update)|"
    r"版本号?|版|系统|固件|内核|驱动|补丁|升级[到至]|更新[到至]|章|节|条|第|见|表|图|例|式|步骤|§)"
    r"[\s:：.#(（\"“]{0,3}(?:is|was|为|是|no\.?)?\s?\Z"
)
_OF_ADDRESS = re.compile(
    r"(?<![a-z])(?:ip|ipv4|ips|addr|address|addresses|hosts?|hostname|servers?|dns|ping|pinged|"
    r"gateway|subnet|proxy|client|ssh|telnet|router|nameservers?|resolvers?|peer|netmask|traceroute|"
    r"login|logged in|connect|connected|connection|visit|whois|attacks?|scan|blocked|ban|banned)"
    r"(?![a-z])|://|@|地址|主机|服务器|网关|代理|登录|登陆|解析|访问|来自|攻击|封禁|连接"
)
# The same after the number, in its sentence: fewer words, as those of servers also follow versions.
_OF_NETWORK = re.compile(
    r"(?<![a-z])(?:ip|dns|ping|pings|gateway|subnet|nameservers?|resolvers?|router|networks?|"
    r"packets?|latency|traceroute|whois)(?![a-z])|网络|網絡|解析|域名|网关"
)
_END = re.compile(r"[.!?]\s|[\n。！？]")
_PORT_OR_NET = re.compile(r":[0-9]{2,5}(?![0-9:])|/[0-9]{1,2}(?![0-9.])")
_MOST_OF_A_VERSION = 31


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


def _email_around(text: str, place: int) -> tuple[int, int] | None:
    domain = _DOMAIN.match(text, place + 1, place + 1 + _MAX_DOMAIN)
    if domain is None and not text.isascii():
        domain = _HAN_DOMAIN.match(text, place + 1)
    if domain is None:
        return None
    name = _local_before(text, place)
    if not name and domain.re is _HAN_DOMAIN:
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
    local = _LOCAL_BACKWARDS.match(backwards)
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
        if _touches_a_name(before) or _OF_VERSION.search(before[-_JUST_BEFORE:]):
            continue
        # Small numbers are a version or a heading, unless the text calls them an address.
        is_small = all(int(part) <= _MOST_OF_A_VERSION for part in match[0].split("."))
        if (
            not is_small
            or _OF_ADDRESS.search(before)
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
