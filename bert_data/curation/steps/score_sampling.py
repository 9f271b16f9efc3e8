"""Keep documents at random, the more probably the higher their score."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from bert_data.curation.document import Document, FieldError
from bert_data.curation.mixing.buckets import draw, read_score
from bert_data.curation.parameters import Name, Within
from bert_data.curation.step import PROSE_EXAMPLE, DocumentStep, register
from bert_data.curation.verdict import Verdict

_GREATEST_SHAPE = 1e6  # in place of infinity, which JSON does not have


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoreSampling(DocumentStep):
    """Keeps documents of high scores, and some of low ones.

    GPT-3 (Brown et al. 2020, arXiv:2005.14165, appendix A) keeps a document if a draw from a Pareto
    distribution (Lomax's, NumPy's `pareto`) of shape 9 is above 1 - score: with a probability of
    (2 - score)^-shape, which is 1 for a score of 1, 0.026 for 0.5 and 0.002 for 0. NeMo Curator's
    shape is 3: 1, 0.30 and 0.13.

    The measured value is the greatest shape with which the document would stay, so --what_if tells
    exactly what another one would keep. It follows from the score, the seed, the data set and the
    document's id, so the result depends neither on the order of files nor on other documents. A
    document without a score stops the run.

    Attributes:
      score_field: field with the score, in [0, 1], such as that of the step `classifier`.
      min_shape: shape of the distribution, 0 to 1,000, which a document's own must reach; the
        greater, the fewer documents of low scores stay.
      seed: another seed selects other documents; a second step needs another.
    """

    name = "score_sampling"
    is_meant_to_shorten = True
    draws_by_seed = True
    score_field: Name = "classifier_score"
    min_shape: Annotated[float, Within(0, 1000)] = 9.0
    seed: int = 0

    example_fields: ClassVar[Mapping[str, Any]] = {"classifier_score": 1.0}
    step_examples = ((PROSE_EXAMPLE, PROSE_EXAMPLE),)

    def judge(self, document: Document) -> Verdict:
        """Draw a number, and measure the greatest shape with which the document stays.

        Raises:
          FieldError: the document has no score, or one that is no number in [0, 1].
        """
        score = read_score(document, self.score_field)
        if not 0 <= score <= 1:
            raise FieldError(
                f"document {document.id!r} of {document.source}: field {self.score_field!r} is"
                f" {score!r}; it must be in [0, 1]"
            )
        shape = greatest_shape(score, draw(f"{self.name}\0{self.seed}", document))
        return Verdict(document, self.measure_rules({"min_shape": shape}))


def greatest_shape(score: float, share: float) -> float:
    """Return the greatest shape for which a share of draws, in [0, 1), is above 1 - score.

    It solves share = (2 - score)^-shape.
    """
    needed = math.log(2 - score)
    if not needed or not share:
        return _GREATEST_SHAPE
    return min(_GREATEST_SHAPE, -math.log(share) / needed)
