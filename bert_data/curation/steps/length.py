"""The step `length`: keep documents whose number of words lies between two bounds."""

import dataclasses
import math

from bert_data.curation.document import Document
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.verdict import Verdict


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class Length(DocumentStep):
    """Keeps documents of a moderate length: short ones say little, very long ones are rarely prose.

    Dolma (Soldaini et al. 2024, section 5.1) removes Wikipedia pages of 25 words or fewer.

    Attributes:
      min_words: least number of words, as all steps count them (`bert_data.curation.words`).
      max_words: largest number of words.
    """

    name = "length"
    min_words: float = 26
    max_words: float = math.inf

    example_parameters = {"min_words": 3, "max_words": 5}  # noqa: RUF012 (never changed)
    step_examples = (
        ("One two.", "One two."),
        ("One.", None),
        ("一二三", "一二三"),
        ("One two three four five six.", None),
    )

    def judge(self, document: Document) -> Verdict:
        """Count the words."""
        count = len(document.words)
        return Verdict(document, self.measure_rules({"min_words": count, "max_words": count}))
