"""Remove addresses and numbers that identify a person or make one reachable."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Literal

from bert_data.curation.document import Document
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.verdict import Measured, Verdict
from bert_data.curation.web.personal_addresses import Spans, find_emails, find_ip_addresses
from bert_data.curation.web.personal_numbers import (
    find_chinese_ids,
    find_chinese_mobiles,
    find_credit_cards,
    find_phones,
)
from bert_data.packages import load_package

Treatment = Literal["replace", "remove", "reject", "keep"]

# In the order of the search: what one kind matches, no later kind can.
PLACEHOLDERS = {
    "email": "<EMAIL>",
    "ip_address": "<IP>",
    "chinese_id": "<ID>",
    "credit_card": "<CARD>",
    "chinese_mobile": "<PHONE>",
    "phone": "<PHONE>",
}
# The least that a text has if it holds one of the numbers: seven digits with little between them.
_DIGITS = re.compile(r"[0-9](?:[ .()/:\u00a0–-]{0,2}[0-9]){3}")

# Full-width forms, as in Chinese texts; one character for one, so that positions stay.
_FULL_WIDTH = str.maketrans("０１２３４５６７８９＋－Ｘ", "0123456789+-X")
_FULL_WIDTH_DIGIT = re.compile("[０-９]")


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class Privacy(DocumentStep):
    """Replaces personal data with placeholders, or treats it otherwise, kind by kind.

    "replace" writes a placeholder, "remove" leaves nothing, "reject" rejects the document, and
    "keep" does not look for the kind. The step finds e-mail addresses below a public suffix; public
    IPv4 and IPv6 addresses that are not version numbers; Chinese identity card numbers (GB 11643)
    and payment card numbers (Luhn) with a valid checksum; Chinese mobile phone numbers; and other
    phone numbers that the phonenumbers package considers valid. The data need no spaces around
    them, and digits may be full-width.

    Attributes:
      email: treatment of e-mail addresses.
      ip_address: treatment of public IP addresses.
      chinese_id: treatment of Chinese identity card numbers.
      credit_card: treatment of payment card numbers.
      chinese_mobile: treatment of Chinese mobile phone numbers.
      phone: treatment of other phone numbers.
      regions: countries (ISO 3166) whose national phone number formats are recognized;
        international numbers always are.
      placeholders: other placeholders, by kind.
    """

    name = "privacy"
    email: Treatment = "replace"
    ip_address: Treatment = "replace"
    chinese_id: Treatment = "replace"
    credit_card: Treatment = "replace"
    chinese_mobile: Treatment = "replace"
    phone: Treatment = "replace"
    regions: tuple[str, ...] = ("US", "GB", "CN")
    placeholders: Mapping[str, str] = dataclasses.field(default_factory=dict)

    step_examples = (
        ("邮箱zhangsan@qq.com是我的，电话13812345678。", "邮箱<EMAIL>是我的，电话<PHONE>。"),
        ("Ping 93.184.216.34 with version 1.2.3.4.", "Ping <IP> with version 1.2.3.4."),
        ("Call (415) 555-2671 on 2024-01-02.", "Call <PHONE> on 2024-01-02."),
        ("身份证11010519491231002X", "身份证<ID>"),
        ("4111 1111 1111 1111, 4111 1111 1111 1112", "<CARD>, 4111 1111 1111 1112"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [kind for kind in self.placeholders if kind not in PLACEHOLDERS]
        if unknown:
            known = ", ".join(PLACEHOLDERS)
            raise ValueError(f"placeholders has {unknown[0]!r}; the kinds are {known}")
        if self.phone != "keep":
            known_regions = load_package("phonenumbers", "the step privacy").SUPPORTED_REGIONS
            for region in self.regions:
                if region not in known_regions:
                    raise ValueError(f"regions has {region!r}; a code such as US is needed")

    def judge(self, document: Document) -> Verdict:
        """Look for each kind, and treat its matches."""
        matches = self.find(document.text)
        if not matches:
            return Verdict(document)
        edits: dict[str, int] = {}
        for kind, _, _ in matches:
            edits[kind] = edits.get(kind, 0) + 1
        rejecting = tuple(
            Measured(kind, count, 0, failed=True)
            for kind, count in edits.items()
            if getattr(self, kind) == "reject"
        )
        if rejecting:
            return Verdict(document, rejecting)
        return Verdict(document.with_text(self._treat(document.text, matches)), edits=edits)

    def find(self, text: str) -> list[tuple[str, int, int]]:
        """Return (kind, start, end) of matches in the order of the text, without overlaps."""
        if not text.isascii() and _FULL_WIDTH_DIGIT.search(text) is not None:
            text = text.translate(_FULL_WIDTH)
        finders: dict[str, Callable[[str], Spans]] = {}
        if "@" in text or "＠" in text:
            finders["email"] = find_emails
        if _DIGITS.search(text) is not None:
            finders |= {
                "ip_address": find_ip_addresses,
                "chinese_id": find_chinese_ids,
                "credit_card": find_credit_cards,
                "chinese_mobile": find_chinese_mobiles,
                "phone": lambda text: find_phones(text, self.regions),
            }
        matches = [
            (start, end, order, kind)
            for order, kind in enumerate(PLACEHOLDERS)
            if kind in finders and getattr(self, kind) != "keep"
            for start, end in finders[kind](text)
        ]
        return _without_overlaps(matches)

    def _treat(self, text: str, matches: list[tuple[str, int, int]]) -> str:
        parts, done = [], 0
        for kind, start, end in matches:
            parts.append(text[done:start])
            if getattr(self, kind) == "replace":
                parts.append(self.placeholders.get(kind, PLACEHOLDERS[kind]))
            done = end
        return "".join([*parts, text[done:]])


def _without_overlaps(matches: list[tuple[int, int, int, str]]) -> list[tuple[str, int, int]]:
    """Drop matches that overlap one of a kind that comes first."""
    kept: list[tuple[int, int, int, str]] = []
    for item in sorted(matches):
        while kept and kept[-1][1] > item[0] and kept[-1][2] > item[2]:
            kept.pop()
        if not kept or kept[-1][1] <= item[0]:
            kept.append(item)
    return [(kind, start, end) for start, end, _, kind in kept]
