"""Score documents, or their sentences, with a classifier of fastText's kind, and keep good ones."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from bert_data.curation.classifying.label_probability import Classifier, ClassifierStep
from bert_data.curation.document import Document, Verdict, measure
from bert_data.curation.parameters import NewField
from bert_data.curation.quality.languages import units_of
from bert_data.curation.quality.percentiles import bucket_of
from bert_data.curation.step import PROSE_EXAMPLE, register
from bert_data.curation.text_units import unit_texts
from bert_data.curation.words import cut_words, runs_of_marked
from bert_data.settings import Share


@register
class Classify(ClassifierStep):
    """Scores documents with a supervised fastText model; keeps those with a score in a range.

    The score is the probability of a label, exactly as fastText returns it. DCLM keeps documents
    that its model scores as "hq" with 0.018112 or more (Li et al. 2024, arXiv:2406.11794); models
    of educational value and of toxic text are published in the same form, and `bert-data
    train-classifier` trains one. The whole text is scored, as one line.

    The document keeps its score, for steps such as `score_sampling` and `mix`. With `head_score`
    and `middle_score` it also gets a bucket: "head", "middle" or "tail".

    Attributes:
      min_score: least score of a kept document.
      max_score: greatest score of a kept document.
      head_score: least score of the head; null: no buckets.
      middle_score: least score of the middle; the tail lies below it.
      score_field: field that receives the score.
      bucket_field: field that receives the bucket.
    """

    name = "classifier"
    min_score: Share = 0.0
    max_score: Share = 1.0
    head_score: Share | None = None
    middle_score: Share | None = None
    score_field: NewField = "classifier_score"
    bucket_field: NewField = "classifier_bucket"

    example_parameters = {"model_file": "lid.176.ftz", "label": "en", "min_score": 0.65}
    step_examples = (
        (PROSE_EXAMPLE, PROSE_EXAMPLE),
        ("Le meunier descendit à la rivière vers midi.", None),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.score_field == self.bucket_field:
            raise ValueError(f"score_field and bucket_field are both {self.score_field!r}")
        head, middle = self.head_score, self.middle_score
        if (head is None) != (middle is None):
            raise ValueError("head_score and middle_score go together; one of them is missing")
        if head is not None and middle is not None and middle > head:
            raise ValueError(f"middle_score is {middle}; it must be at most head_score, {head}")

    def written_fields(self) -> Sequence[str]:
        return [self.score_field, *([self.bucket_field] if self.head_score is not None else [])]

    def judge_by(self, classifier: Classifier, document: Document) -> Verdict:
        score = round(classifier.score(document.text), 6)
        fields: dict[str, Any] = {self.score_field: score}
        counted = {}
        if self.head_score is not None and self.middle_score is not None:
            bucket = bucket_of(score >= self.head_score, score >= self.middle_score)
            fields[self.bucket_field] = bucket
            counted = {bucket: 1}
        measured = self.measure_rules({"min_score": score, "max_score": score})
        return Verdict(document.with_fields(**fields), measured, counted=counted)


@register
class ClassifySentences(ClassifierStep):
    """Scores sentences with a supervised fastText model; removes those outside a range of scores.

    Dolma removes toxic and adult sentences this way: its two models, trained on Jigsaw's comments,
    give them a probability above 0.4 of "toxic" or "nsfw" (Soldaini et al. 2024, arXiv:2402.00159).
    The score is that of the step `classifier`, which judges whole documents.

    The measured value is the share of sentences within the thresholds. Removing a sentence also
    joins the wrapped lines of the document.

    Attributes:
      unit: what is scored: "sentence", "line", or "paragraph" (the text between blank lines).
      min_score: least score of a kept sentence.
      max_score: greatest score of a kept sentence.
      removes: remove sentences outside the thresholds; if false, only `min_kept` applies.
      min_kept: least share of a document's sentences within the thresholds, in [0, 1].
    """

    name = "sentence_classifier"
    unit: Literal["sentence", "line", "paragraph"] = "sentence"
    min_score: Share = 0.0
    max_score: Share = 1.0
    removes: bool = True
    min_kept: Share = 0.0

    example_parameters = {
        "model_file": "lid.176.ftz",
        "label": "en",
        "unit": "line",
        "min_score": 0.65,
    }
    step_examples = (
        (PROSE_EXAMPLE, PROSE_EXAMPLE),
        (f"{PROSE_EXAMPLE}\nLe meunier descendit à la rivière vers midi.", PROSE_EXAMPLE),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.removes and not self.min_kept:
            raise ValueError("removes is false and min_kept is 0; the step would do nothing")

    def judge_by(self, classifier: Classifier, document: Document) -> Verdict:
        words, bounds = units_of(document, self.unit)
        scores = classifier.scores(unit_texts(words, bounds))
        is_bad = (scores < self.min_score) | (scores > self.max_score)
        num_bad = int(is_bad.sum())
        kept = measure("min_kept", 1 - num_bad / max(len(scores), 1), self.min_kept)
        if kept.failed or not num_bad or not self.removes:
            return Verdict(document, (kept,))
        runs = runs_of_marked(np.repeat(is_bad, np.diff(bounds)))
        text = cut_words(words, runs.tolist())
        return Verdict(document.with_text(text), (kept,), {f"{self.unit}s": num_bad})
