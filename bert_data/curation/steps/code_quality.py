"""The step `code_quality`: keep source files that people wrote."""

import dataclasses
from typing import Annotated

from bert_data.curation.document import Document
from bert_data.curation.parameters import Share, Within
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.verdict import Verdict


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class CodeQuality(DocumentStep):
    """Rejects source files that were generated, minified, or hold data.

    The rules and thresholds are those of Codex (Chen et al. 2021, section 3.1), The Stack (Kocetkov
    et al. 2022) and RedPajama's code: the longest line, the mean line, and the share of letters and
    digits. Lengths are in characters, without the line's end; empty lines count for the mean.

    Attributes:
      max_line_length: of the longest line.
      max_mean_line_length: of all lines.
      min_alphanumeric_share: share of the characters that are letters or digits.
    """

    name = "code_quality"
    max_line_length: Annotated[int, Within(1)] = 1_000
    max_mean_line_length: float = 100
    min_alphanumeric_share: Share = 0.25

    step_examples = (
        ("def f(x):\n    return x + 1\n",) * 2,
        ("var a=" + "b+" * 600 + "c;", None),
        ("\n".join(["0x00, 0x01, " * 10] * 3), None),
        ("{{}}[]();;--==++//**&&||\n" * 9 + "x", None),
    )

    def judge(self, document: Document) -> Verdict:
        """Measure the lines and characters."""
        text = document.text
        lengths = list(map(len, text.removesuffix("\n").split("\n")))
        num_alphanumeric = sum(map(str.isalnum, text))
        values = {
            "max_line_length": max(lengths),
            "max_mean_line_length": sum(lengths) / len(lengths),
            "min_alphanumeric_share": num_alphanumeric / max(1, len(text)),
        }
        return Verdict(document, self.measure_rules(values))
