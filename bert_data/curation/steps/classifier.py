"""Score documents with a classifier of fastText's kind, and keep them by their score."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bert_data.curation.classifying.classifier import Classifier, ClassifierStep
from bert_data.curation.document import Document
from bert_data.curation.parameters import NewField, Share
from bert_data.curation.quality.percentiles import HEAD, MIDDLE, TAIL
from bert_data.curation.step import PROSE_EXAMPLE, register
from bert_data.curation.verdict import Verdict


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class Classify(ClassifierStep):
    """Scores documents with a supervised model of fastText, and keeps them by their score.

    The score is the probability of a label, as fastText itself returns it. DCLM keeps documents
    that its model scores as "hq" with 0.018112 or more (Li et al. 2024, arXiv:2406.11794);
    models of educational value and of toxic text are published in the same form, and
    `bert-data train-classifier` trains one. The model is a file, .bin or quantized .ftz. The whole
    text is scored, as one line.

    The score stays on the document, for the steps `score_sampling` and `mix`, say. With
    `head_score` and `middle_score`, so does a bucket: "head", "middle" or "tail".

    Attributes:
      model_file: the model.
      label: whose probability is the score, with or without "__label__".
      min_score: least score of a kept document.
      max_score: greatest score of a kept document.
      head_score: least score of the head; None: no buckets.
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

    example_parameters: ClassVar[Mapping[str, Any]] = {
        "model_file": "lid.176.ftz",
        "label": "en",
        "min_score": 0.65,
    }
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
        """Return the field of the score, and that of the bucket if there are buckets."""
        return [self.score_field, *([self.bucket_field] if self.head_score is not None else [])]

    def judge_by(self, classifier: Classifier, document: Document) -> Verdict:
        """Score a document, and measure both rules."""
        score = round(classifier.score(document.text), 6)
        fields: dict[str, Any] = {self.score_field: score}
        counted = {}
        if self.head_score is not None and self.middle_score is not None:
            is_middle = score >= self.middle_score
            bucket = HEAD if score >= self.head_score else MIDDLE if is_middle else TAIL
            fields[self.bucket_field] = bucket
            counted = {bucket: 1}
        measured = self.measure_rules({"min_score": score, "max_score": score})
        return Verdict(document.with_fields(**fields), measured, counted=counted)
