"""Keep documents by their fields: allowed values, allowed licences (also of the text), scores."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from bert_data.curation.document import Document, FieldError, Measured, Verdict
from bert_data.curation.mixing.buckets import draw, read_score
from bert_data.curation.parameters import Name, Names, ReadField
from bert_data.curation.step import PROSE_EXAMPLE, DocumentStep, register
from bert_data.settings import Within
from bert_data.text.corpora.licence_headers import ELSEWHERE, header_licence, is_own
from bert_data.text.corpora.licence_texts import UNKNOWN_LICENCE
from bert_data.text.licence_expressions import is_fulfilled, licences_in
from bert_data.written_values import as_written

_ALLOWED, _MISSING = "with an allowed value", "without the field"


@register
class FieldValues(DocumentStep):
    """Keeps documents by the value of a field, such as a site, a language or a kind.

    LLaMA keeps the 28 largest sites of Stack Exchange and the Wikipedias of 20 languages (Touvron
    et al. 2023, section 2.1). Values are compared as text, in lower case. If the field holds a
    list, such as tags, one allowed value is enough.

    Attributes:
      field: name of the field.
      allowed: its values, texts or numbers.
      missing: what to do with documents without the field: "reject" or "keep".
    """

    name = "field_values"
    accepts_markup = True
    field: ReadField
    allowed: Names
    missing: Literal["reject", "keep"] = "reject"

    example_parameters = {"field": "site", "allowed": ("superuser.com", "askubuntu.com")}
    example_fields = {"site": "AskUbuntu.com"}
    step_examples = (("Q: How do I mount it?",) * 2,)

    def __post_init__(self) -> None:
        allowed = self.allowed if isinstance(self.allowed, tuple | list) else (self.allowed,)
        texts = tuple(
            str(as_written(each)) if isinstance(each, int | float) else each for each in allowed
        )
        object.__setattr__(self, "allowed", texts)
        super().__post_init__()

    def judge(self, document: Document) -> Verdict:
        value = document.fields.get(self.field)
        values = [str(each) for each in (value if isinstance(value, list | tuple) else [value])]
        if value is None or not values:
            measured = Measured("missing", "none", self.missing, failed=self.missing == "reject")
            return Verdict(document, (measured,), counted={_MISSING: 1})
        known = {each.lower() for each in self.allowed}
        is_allowed = any(each.lower() in known for each in values)
        measured = Measured("allowed", ", ".join(values), "one of the list", failed=not is_allowed)
        return Verdict(document, (measured,), counted={_ALLOWED: 1} if is_allowed else {})

    def describe_use(self, counted: dict[str, int]) -> str | None:
        if counted.get(_ALLOWED) or not (counted.get("allowed") or counted.get(_MISSING)):
            return None
        if not counted.get("allowed"):
            return f"no document has the field {self.field!r}"
        return f"no document has an allowed value in its field {self.field!r}"


_LICENSED, _UNNAMED = "with an allowed licence", "without a licence"
_FIELDS = ("license", "licence")


@register
class Licence(DocumentStep):
    """Keeps documents under an allowed licence.

    The licence comes from a field of the document or, if no field has one, from its text: URLs and
    names of Creative Commons, SPDX identifiers, "licensed under the MIT License" and the like, in
    English and Chinese. If there are several licences, all must be allowed; of alternatives such as
    "MIT OR GPL-3.0", one is enough. Exceptions (WITH) are ignored. Names are compared as SPDX
    identifiers: "CC BY 4.0", "cc-by-4.0" and the licence's URL are the same, and "cc-by" stands for
    all its versions, but not for "cc-by-nc".

    Attributes:
      allowed: names of licences.
      fields: names of fields that may hold the licence; the first that does counts.
      from_text: search the text of documents without such a field.
      headers: for source code: a licence named in the comments at its head takes precedence (a
        notice that forbids copying is "proprietary", one that is not recognized "unknown"); the
        rest of the file is not searched.
      unknown: what to do with documents without a known licence: "reject" or "keep".
    """

    name = "licence"
    accepts_markup = True
    allowed: tuple[str, ...]
    fields: tuple[str, ...] = _FIELDS
    from_text: bool = True
    headers: bool = False
    unknown: Literal["reject", "keep"] = "reject"

    example_parameters = {"allowed": ("cc-by", "cc-by-sa", "mit")}
    step_examples = (
        ("All texts are available under CC BY-SA 4.0.",) * 2,
        ("License: https://creativecommons.org/licenses/by/3.0/",) * 2,
        ("This work is under a Creative Commons Attribution-NonCommercial 4.0 license.", None),
        ("No word of it.", None),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.allowed or not all(map(normal_licence, self.allowed)):
            raise ValueError(f"allowed is {self.allowed!r}; name at least one licence")

    def judge(self, document: Document) -> Verdict:
        if names := self._named(document):
            is_rejected = not all(self._is_allowed(each) for each in names)
            counted = {} if is_rejected else {_LICENSED: 1}
        else:
            is_rejected, counted = self.unknown == "reject", {_UNNAMED: 1}
        shown, allowed = ", ".join(names) or "none", ", ".join(self.allowed)
        measured = Measured("allowed", shown, allowed, failed=is_rejected)
        return Verdict(document, (measured,), counted=counted)

    def _named(self, document: Document) -> list[str]:
        """Return the licences that a document names, also as SPDX expressions."""
        names = _values(document, self.fields)
        named = header_licence(document.text, document.fields) if self.headers else None
        # A header may take one of several that the field leaves to choose.
        own = [] if any(" OR " in name for name in names) else _licences_in(names)
        if named is not None and not (own and is_own(named, own)):
            return [UNKNOWN_LICENCE if named == ELSEWHERE else named]
        if names or self.headers or not self.from_text:
            return names
        return list(find_licences(document.text))

    def _is_allowed(self, expression: str) -> bool:
        return is_fulfilled(expression, lambda name: is_allowed(normal_licence(name), self.allowed))

    def describe_use(self, counted: dict[str, int]) -> str | None:
        if counted.get(_LICENSED):
            return None
        return f"no document has one of the licences {', '.join(self.allowed)}"


def field_licences(document: Document) -> list[str]:
    """Return the licences in a document's field `license` or `licence`, in normal form."""
    return _licences_in(_values(document, _FIELDS))


def _licences_in(expressions: list[str]) -> list[str]:
    return [normal_licence(name) for each in expressions for name in licences_in(each)]


def _values(document: Document, fields: Sequence[str]) -> list[str]:
    for field in fields:
        value = document.fields.get(field)
        values = value if isinstance(value, list | tuple) else [value]
        names = [each for each in values if isinstance(each, str) and normal_licence(each)]
        if names:
            return names
    return []


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
_ALSO = re.compile(r"(?<!\w)(?:and|or|with|plus|but)(?!\w)", re.IGNORECASE)
_NOT = re.compile(r"(?<!\w)(?:not|except|without|non(?!\W?commercial))(?!\w)", re.IGNORECASE)
_LONGEST_NAME = 200
_ANY_VERSION = re.compile(r"\d{1,2}\.\d{1,2}|(?<![\d.])\d(?![\d.])")


def normal_licence(name: str) -> str:
    """Return a licence name in SPDX's form and lower case; "" for a name without letters.

    Several in one name ("MIT and Foo", "GPL with exceptions") are a licence by themselves.
    """
    name = re.sub("[&;]", " and ", name[:_LONGEST_NAME])
    parts = [_one_licence(part) for part in _ALSO.split(name)]
    forms = {part for part in parts if part and not _VERSION.fullmatch(part)}
    if len(forms) > 1 or _NOT.search(name):
        return _plain_name(name, _NO_NAME - {"or"})
    return next(iter(forms), "") or _one_licence(name)


def _one_licence(name: str) -> str:
    licences = _creative_commons(name)
    if licences:
        return licences[0]
    text = " ".join(re.split(r"[^\w.+]+", name.lower()))
    bsd = _BSD.search(text)
    if bsd:
        return f"bsd-{bsd[1] or bsd[2]}-clause"
    for pattern, family in _FAMILIES:
        if re.search(pattern, text):
            version = _ANY_VERSION.search(text)
            return f"{family}-{_full(version[0])}" if version and family != "mit" else family
    return _plain_name(name, _NO_NAME)


def _plain_name(name: str, left_out: frozenset[str]) -> str:
    words = (word.strip(".") for word in re.split(r"[^\w.+]+", name.lower()))
    return "-".join(
        _full(match[1]) if (match := _VERSION.fullmatch(word)) else word
        for word in words
        if word and word not in left_out
    )


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
    """Return the Creative Commons licences in a text, by their URLs, names and codes."""
    licences: list[str] = []
    if "creativecommons" in text or "Creativecommons" in text or "CreativeCommons" in text:
        for code, public, version in _CC_URL.findall(text):
            code = code.lower() or {"zero": "0", "mark": "pdm"}[public.lower()]
            licences.append(_cc(code, version))
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


_GREATEST_SHAPE = 1e6  # in place of infinity, which JSON does not have


@register
class ScoreSampling(DocumentStep):
    """Keeps documents with high scores, and a random few with low scores.

    GPT-3 (Brown et al. 2020, arXiv:2005.14165, appendix A) keeps a document if a draw from a Pareto
    distribution of shape 9 (Lomax's, as in NumPy's `pareto`) is above 1 - score. The probability is
    (2 - score)^-shape: 1 for a score of 1, 0.026 for 0.5 and 0.002 for 0. NeMo Curator's shape is
    3: 1, 0.30 and 0.13.

    The measured value is the greatest shape that would keep the document, so the ledger shows what
    another shape would keep. It follows from the score, the seed, the data set and the document's
    id, so the result depends neither on the order of files nor on other documents. A document
    without a score stops the run.

    Attributes:
      score_field: field with the score, in [0, 1], such as that of the step `classifier`.
      min_shape: shape of the distribution, 0 to 1,000; with a greater shape, fewer documents with
        low scores stay.
      full_score: for scores that may exceed 1, such as numbers of copies: scores are divided by it,
        and greater ones count as 1. null: scores are in [0, 1].
      seed: seed of the draws; a second step of this kind needs another one.
    """

    name = "score_sampling"
    is_meant_to_shorten = True
    draws_by_seed = True
    score_field: Name = "classifier_score"
    min_shape: Annotated[float, Within(0, 1000)] = 9.0
    full_score: Annotated[float, Within(1e-6, 1e12)] | None = None
    seed: int = 0

    example_fields = {"classifier_score": 1.0}
    step_examples = ((PROSE_EXAMPLE, PROSE_EXAMPLE),)

    def values(self, document: Document) -> Mapping[str, float]:
        score = read_score(document, self.score_field)
        if self.full_score is not None:
            score = min(score / self.full_score, 1.0)
        if not 0 <= score <= 1:
            raise FieldError(
                f"document {document.id!r} of {document.source}: field {self.score_field!r} is"
                f" {score!r}; it must be in [0, 1]"
            )
        share = draw(f"{self.name}\0{self.seed}", document)
        return {"min_shape": greatest_shape(score, share)}


def greatest_shape(score: float, share: float) -> float:
    """Return the greatest shape for which a share of draws, in [0, 1), is above 1 - score.

    It solves share = (2 - score)^-shape.
    """
    needed = math.log(2 - score)
    if not needed or not share:
        return _GREATEST_SHAPE
    return min(_GREATEST_SHAPE, -math.log(share) / needed)
