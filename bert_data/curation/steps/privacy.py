"""Remove addresses and numbers that identify a person or make one reachable."""

import dataclasses
import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from bert_data.curation.document import Document, Measured, Verdict
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.web.national_ids import load_numbers
from bert_data.curation.web.personal_data import KINDS, PLACEHOLDERS, find_personal_data
from bert_data.curation.web.phones import regions_of
from bert_data.curation.web.pseudonyms import Pseudonyms, fingerprint_of, read_key
from bert_data.packages import load_package
from bert_data.settings import Within

Treatment = Literal["replace", "mask", "pseudonym", "remove", "reject", "keep"]

_HIDDEN = re.compile(r"[^\W_]")


@register
class Privacy(DocumentStep):
    """Replaces, masks or removes personal data, with a treatment for each kind.

    "replace" writes a placeholder: <PHONE>. "mask" also shows the form: <PHONE:(***) ***-****>.
    "pseudonym" writes another value of the same kind, derived from the value and a key (HMAC);
    equal values get equal pseudonyms, which as far as possible belong to nobody. Set it for both
    `email` and `written_email`, and for both `phone` and `chinese_mobile`: they share pseudonyms.
    "remove" leaves nothing, "reject" rejects the document, and "keep" does not look for the kind.

    The step finds e-mail addresses under a public suffix, also written out; public IPv4 and IPv6
    addresses that are not version numbers; Chinese identity card numbers (GB 11643), payment card
    numbers (Luhn) and IBANs (ISO 13616) with a valid checksum; US social security numbers that
    could have been issued; passport numbers next to a word for passport; Chinese mobile phone
    numbers; other phone numbers that the phonenumbers package considers valid; passwords in URLs,
    and keys of well-known services. On request it also finds national identity numbers of other
    countries, by their check digits (python-stdnum), and, by less reliable rules, postal addresses
    (USA, UK, Canada, China) and full names of persons in English and Chinese, including those of
    public places and people. Spaces around the data are not needed, and digits may be of other
    scripts.

    An English name is found if it begins with a common given name, or follows a title or words such
    as "my name is"; a Chinese one between a word such as 姓名, 记者 or 他叫 and a punctuation mark,
    or before a word such as 先生 if it begins the clause or follows 和, 今天 or the like. Chinese
    names in mid-sentence, JOHN SMITH and "Smith, John" are not found.

    Attributes:
      secret: treatment of access keys, tokens and private keys.
      url_password: treatment of user:password in URLs.
      email: treatment of e-mail addresses.
      written_email: treatment of e-mail addresses such as "jane (at) example (dot) com".
      ip_address: treatment of public IP addresses.
      chinese_id: treatment of Chinese identity card numbers.
      national_id: treatment of national identity numbers of Spain (DNI, NIE), Brazil (CPF), Germany
        (Steuer-ID), France (NIR) and India (Aadhaar); needs the extra `ids`.
      iban: treatment of international bank account numbers.
      credit_card: treatment of payment card numbers.
      us_ssn: treatment of US social security numbers.
      passport: treatment of passport numbers.
      postal_address: treatment of postal addresses.
      chinese_mobile: treatment of Chinese mobile phone numbers.
      phone: treatment of other phone numbers.
      person_name: treatment of full names of persons.
      max_found: largest number of finds, of all kinds together, in a kept document (Dolma: 5).
      regions: countries (ISO 3166) whose national phone number formats are recognized;
        international numbers always are.
      regions_by_language: also recognize numbers of the countries of the document's language (its
        field `language`, which the step `language` sets), if a word calls them phone numbers or
        their digits are grouped as in that country and unlike a sum or list: 612 34 56 78.
      placeholders: other placeholders, by kind.
      key_file: file with the key of pseudonyms, at least 16 bytes; "": the key is in
        `key_variable`.
      key_variable: environment variable with the key; every machine of a cluster needs it.
      key_fingerprint: fingerprint of the key, which the step fills in. If it is given, the key must
        have it, so that a later run uses the same key.
    """

    name = "privacy"
    secret: Treatment = "replace"
    url_password: Treatment = "replace"
    email: Treatment = "replace"
    written_email: Treatment = "replace"
    ip_address: Treatment = "replace"
    chinese_id: Treatment = "replace"
    national_id: Treatment = "keep"
    iban: Treatment = "replace"
    credit_card: Treatment = "replace"
    us_ssn: Treatment = "replace"
    passport: Treatment = "replace"
    postal_address: Treatment = "keep"
    chinese_mobile: Treatment = "replace"
    phone: Treatment = "replace"
    person_name: Treatment = "keep"
    max_found: Annotated[float, Within(0)] = math.inf
    regions: tuple[str, ...] = ("US", "GB", "CN")
    regions_by_language: bool = True
    placeholders: Mapping[str, str] = dataclasses.field(default_factory=dict)
    key_file: str = ""
    key_variable: str = "BERT_DATA_PSEUDONYM_KEY"
    key_fingerprint: str = ""

    step_examples = (
        ("邮箱zhangsan@qq.com是我的，电话13812345678。", "邮箱<EMAIL>是我的，电话<PHONE>。"),
        ("Ping 93.184.216.34 with version 1.2.3.4.", "Ping <IP> with version 1.2.3.4."),
        ("Call (415) 555-2671 on 2024-01-02.", "Call <PHONE> on 2024-01-02."),
        ("身份证11010519491231002X", "身份证<ID>"),
        ("4111 1111 1111 1111, 4111 1111 1111 1112", "<CARD>, 4111 1111 1111 1112"),
        ("jane (at) example (dot) com, SSN 536-90-4399", "<EMAIL>, SSN <SSN>"),
        ("https://bob:hunter2@example.com/a", "https://<PASSWORD>@example.com/a"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [kind for kind in self.placeholders if kind not in PLACEHOLDERS]
        if unknown:
            known = ", ".join(PLACEHOLDERS)
            raise ValueError(f"placeholders has {unknown[0]!r}; the kinds are {known}")
        if self.phone != "keep":
            known_regions = load_package("phonenumbers", "it").SUPPORTED_REGIONS
            for region in self.regions:
                if region not in known_regions:
                    raise ValueError(f"regions has {region!r}; a code such as US is needed")
        if self.national_id != "keep":
            load_numbers()
        if self._needs_key:
            object.__setattr__(self, "key_fingerprint", self._read_key()[1])

    @property
    def _needs_key(self) -> bool:
        return any(getattr(self, kind) == "pseudonym" for kind in KINDS)

    def _read_key(self) -> tuple[bytes, str]:
        key = read_key(self.key_file, self.key_variable)
        fingerprint = fingerprint_of(key)
        if self.key_fingerprint not in ("", fingerprint):
            raise ValueError(
                f"the key of pseudonyms has the fingerprint {fingerprint}; it must be"
                f" {self.key_fingerprint}"
            )
        return key, fingerprint

    def open(self, folder: str) -> Callable[[Document], Verdict]:
        # The key is read where it is needed, so that it is in no file of the run.
        pseudonyms = Pseudonyms(self._read_key()[0]) if self._needs_key else None
        return functools.partial(self._judge, pseudonyms)

    def judge(self, document: Document) -> Verdict:
        return self.open("")(document)

    def _judge(self, pseudonyms: Pseudonyms | None, document: Document) -> Verdict:
        text = document.text
        matches = self.find(text, document.fields.get("language"))
        edits = dict(Counter(kind for kind, _, _ in matches))
        measured = [
            Measured(kind, number, 0, failed=True)
            for kind, number in edits.items()
            if getattr(self, kind) == "reject"
        ]
        if math.isfinite(self.max_found):
            measured += self.measure_rules({"max_found": len(matches)})
        if not matches or any(each.failed for each in measured):
            return Verdict(document, tuple(measured))
        parts, done = [], 0
        for kind, start, end in matches:
            parts += [text[done:start], self._treated(kind, text[start:end], pseudonyms)]
            done = end
        edited = document.with_text("".join([*parts, text[done:]]))
        return Verdict(edited, tuple(measured), edits)

    def find(self, text: str, language: object = None) -> list[tuple[str, int, int]]:
        """Return (kind, start, end) of matches in the order of the text, without overlaps."""
        more = regions_of(language) if self.regions_by_language else ()
        return find_personal_data(text, self._kinds, self.regions, more)

    @functools.cached_property
    def _kinds(self) -> frozenset[str]:
        return frozenset(kind for kind in KINDS if getattr(self, kind) != "keep")

    def _treated(self, kind: str, value: str, pseudonyms: Pseudonyms | None) -> str:
        treatment = getattr(self, kind)
        if treatment == "replace":
            return self.placeholders.get(kind, PLACEHOLDERS[kind])
        if treatment == "mask":
            return f"{PLACEHOLDERS[kind][:-1]}:{_HIDDEN.sub('*', value)}>"
        if treatment == "pseudonym":
            assert pseudonyms is not None
            return pseudonyms.of(kind, value)
        return ""
