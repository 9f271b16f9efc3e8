"""Pseudonyms of personal data: another value of the same shape, the same one each time, by a key.

    names = Pseudonyms(key)
    names.of("email", "Jane@example.org")   ->  "kq3vb7xmwa@example.com"
    names.of("phone", "(415) 555-2671")     ->  "(093) 182-4406"     as for +1 415-555-2671

Without the key nobody can tell whose a pseudonym is, or try candidates (HMAC, RFC 2104). As far as
the form allows it, a pseudonym is nobody's: e-mail addresses are those of example.com (RFC 2606),
IP addresses 10.x or 2001:db8:: (RFC 1918, 3849), and numbers begin as none that is assigned, or
have a wrong checksum.
"""

import hashlib
import hmac
import ipaddress
import itertools
import os
import re
import string
import struct
from collections.abc import Sequence

from bert_data.curation.web.names_and_addresses import (
    CHINESE_GIVEN,
    CHINESE_PLACES,
    CHINESE_SURNAMES,
    GIVEN_NAMES,
    PLACES,
    STREET_WORDS,
    SURNAMES,
    UNIT_WORDS,
)
from bert_data.curation.web.national_ids import is_national_id
from bert_data.curation.web.personal_addresses import HAN
from bert_data.curation.web.personal_data import PLAIN_FORMS
from bert_data.curation.web.phones import parse_phone
from bert_data.storage import read_bytes

MIN_KEY_BYTES = 16
_LOCAL = string.ascii_lowercase + "234567"
_NUM_LOCAL = 10
_WORD = re.compile(r"[^\W\d_]+")
_TOKEN = re.compile(r"[A-Za-z0-9'’]+")
_SIGNS = re.compile(r"[ \[\](){}<>（）【】〔〕]")
_KEPT_IN_ADDRESSES = frozenset((*STREET_WORDS, *UNIT_WORDS))
_CHINESE_PART = re.compile(
    f"([{HAN}]{{1,12}}?)(省|自治区|特别行政区|市|区|县|镇|乡|大道|街道|胡同|步行街|[路街巷弄段村])"
)


def read_key(key_file: str, key_variable: str) -> bytes:
    """Return the key of pseudonyms: the content of a file or of an environment variable.

    Args:
      key_file: a path or URI; "": the variable has the key.

    Raises:
      ValueError: there is none, or it is shorter than 16 bytes; the message never has the key.
    """
    if key_file:
        key, place = read_bytes(key_file).strip(), f"key_file {key_file!r}"
    else:
        key = os.environ.get(key_variable, "").encode(errors="surrogateescape").strip()
        place = f"the environment variable {key_variable}"
        if not key:
            raise ValueError(f"pseudonyms need a key: name a key_file, or set {place}")
    if len(key) < MIN_KEY_BYTES:
        raise ValueError(
            f"{place} has a key of {len(key)} bytes; at least {MIN_KEY_BYTES} are needed"
        )
    return key


def fingerprint_of(key: bytes) -> str:
    """Return twelve hexadecimal digits that tell keys apart and do not reveal them."""
    return hmac.digest(key, b"fingerprint of a key", "sha256").hex()[:12]


class Pseudonyms:
    """Gives pseudonyms by a key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, kind: str, value: str) -> str:
        """Return the pseudonym of a value of some kind; the ways to write a value share one."""
        value = value.translate(PLAIN_FORMS)
        if kind in ("email", "written_email"):
            draw = self._draw("email", _plain_email(value))
            return "".join(draw.choose(_LOCAL) for _ in range(_NUM_LOCAL)) + "@example.com"
        if kind == "ip_address":
            return _other_ip(value, self._draw(kind, ipaddress.ip_address(value).compressed))
        if kind in ("phone", "chinese_mobile"):
            digits = _national_digits(value)
            return _other_digits(value, len(digits), "0", self._draw("phone", digits))
        if kind == "person_name":
            return _other_name(value, self._draw(kind, " ".join(value.split())))
        if kind == "postal_address":
            return _other_address(value, self._draw(kind, " ".join(value.split())))
        letters = "".join(filter(str.isalnum, value))
        draw = self._draw(kind, letters if kind in ("secret", "url_password") else letters.upper())
        if kind in ("chinese_id", "credit_card", "us_ssn"):
            return _other_digits(value, len(letters), "000" if kind == "us_ssn" else "0", draw)
        if kind == "national_id":
            while is_national_id(other := _scrambled(value, draw)):
                pass
            return other
        if kind == "iban":
            return value[:2] + "00" + _scrambled(value[4:], draw)
        return _scrambled(value, draw)

    def _draw(self, kind: str, value: str) -> "_Draw":
        data = f"{kind}\0{value}".encode(errors="surrogatepass")
        return _Draw(hmac.digest(self._key, data, "sha256"))


class _Draw:
    """Random choices that follow from a seed."""

    def __init__(self, seed: bytes) -> None:
        blocks = (seed + block.to_bytes(8, "little") for block in itertools.count())
        digests = (hashlib.sha256(block).digest() for block in blocks)
        self._numbers = (n for digest in digests for n in struct.unpack("<8I", digest))

    def below(self, end: int) -> int:
        return next(self._numbers) % end

    def choose(self, options: Sequence[str]) -> str:
        return options[self.below(len(options))]


def _plain_email(value: str) -> str:
    """Return an address in the usual form: "jane (at) example dot org" is jane@example.org."""
    plain = _SIGNS.sub(" ", value.replace("＠", "@").replace("#", "@").lower())
    plain = re.sub(r" *(?:艾特|(?<= )-?[aä]t-?(?= )|@) *", "@", plain)
    return re.sub(r" *(?:[点點]|(?<= )-?(?:dot|punkt|punto)-?(?= )|\.) *", ".", plain).strip()


def _other_ip(value: str, draw: _Draw) -> str:
    if ":" in value:
        return "2001:db8:" + ":".join(f"{draw.below(1 << 16):x}" for _ in range(6))
    return "10." + ".".join(str(draw.below(256)) for _ in range(3))


def _national_digits(value: str) -> str:
    """Return the digits of a phone number without those that stand before it abroad or at home."""
    digits = "".join(filter(str.isdecimal, value))
    is_international = value.lstrip("(").startswith(("+", "00"))
    if is_international or (digits.startswith("861") and len(digits) == len("8613812345678")):
        parsed = parse_phone("+" + digits.removeprefix("00"), None)
        return digits if parsed is None else str(parsed.national_number)
    is_american = digits[0] == "1" and [len(g) for g in re.findall("[0-9]+", value)] == [1, 3, 3, 4]
    return digits[1:] if is_american else digits.lstrip("0") or digits


def _other_digits(value: str, num_last: int, first: str, draw: _Draw) -> str:
    """Replace the last letters and digits by digits, of which the first are given."""
    num_kept = sum(map(str.isalnum, value)) - num_last
    written = []
    for char in value:
        if not char.isalnum():
            written.append(char)
        elif num_kept > 0:
            num_kept -= 1
            written.append(char)
        elif first:
            written.append(first[0])
            first = first[1:]
        else:
            written.append(draw.choose(string.digits))
    return "".join(written)


def _scrambled(value: str, draw: _Draw) -> str:
    """Replace digits by digits and letters by letters."""

    def other(char: str) -> str:
        if char.isdecimal():
            return draw.choose(string.digits)
        if not char.isalpha():
            return char
        return draw.choose(string.ascii_uppercase if char.isupper() else string.ascii_lowercase)

    return "".join(map(other, value))


def _other_name(value: str, draw: _Draw) -> str:
    if "一" <= value[0] <= "鿿":
        family = draw.choose(CHINESE_SURNAMES[:20])
        return family + "".join(draw.choose(CHINESE_GIVEN) for _ in value[1:])
    words = value.split(" ")
    given = draw.choose(GIVEN_NAMES)
    middle = [
        word if word.islower() else f"{draw.choose(string.ascii_uppercase)}."
        for word in words[1:-1]
    ]
    return " ".join([given, *middle, draw.choose(SURNAMES)])


def _other_address(value: str, draw: _Draw) -> str:
    value = _CHINESE_PART.sub(lambda match: draw.choose(CHINESE_PLACES) + match[2], value)

    def other(match: re.Match[str]) -> str:
        word = match[0]
        if any(map(str.isdecimal, word)):
            return _scrambled(word, draw)
        is_kept = word in _KEPT_IN_ADDRESSES or len(word) <= 2
        return word if is_kept else draw.choose(PLACES)

    return _TOKEN.sub(other, value)
