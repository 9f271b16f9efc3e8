"""Keep documents under allowed licences, found in a field or in the text."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from bert_data.curation.document import Document
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.verdict import Measured, Verdict
from bert_data.curation.web.licences import find_licences, is_allowed, normal_licence

_ALLOWED, _UNTOLD = "with an allowed licence", "without a licence"
_OR = re.compile(r"\s+OR\s+")
_AND = re.compile(r"\s+AND\s+")


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class Licence(DocumentStep):
    """Keeps documents whose licence is in a list.

    The licence comes from a field of the document or, if no field has one, from its text: URLs and
    names of Creative Commons, SPDX identifiers, "licensed under the MIT License" and the like, in
    English and Chinese. If there are several licences, all must be allowed; of alternatives such as
    "MIT OR GPL-3.0", one is enough. Names are compared in SPDX's form: "CC BY 4.0", "cc-by-4.0" and
    the licence's URL are the same, and "cc-by" stands for all its versions, but not for "cc-by-nc".

    Attributes:
      allowed: names of licences.
      fields: names of fields that may hold the licence; the first that does counts.
      from_text: search the text of documents without such a field.
      unknown: what to do with documents without a known licence: "reject" or "keep".
    """

    name = "licence"
    accepts_markup = True
    allowed: tuple[str, ...]
    fields: tuple[str, ...] = ("license", "licence")
    from_text: bool = True
    unknown: Literal["reject", "keep"] = "reject"

    example_parameters: ClassVar[Mapping[str, Any]] = {"allowed": ("cc-by", "cc-by-sa", "mit")}
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
        """Compare the licences of a document with the list."""
        names = self._told(document)
        if not names:
            is_rejected = self.unknown == "reject"
            return Verdict(document, (self._measured("none", is_rejected),), counted={_UNTOLD: 1})
        is_rejected = not all(self._is_allowed(each) for each in names)
        measured = self._measured(", ".join(names), is_rejected)
        return Verdict(document, (measured,), counted={} if is_rejected else {_ALLOWED: 1})

    def _measured(self, licences: str, is_rejected: bool) -> Measured:
        return Measured("allowed", licences, ", ".join(self.allowed), failed=is_rejected)

    def _told(self, document: Document) -> list[str]:
        """What the document tells of licences: names, or SPDX's expressions of them."""
        for field in self.fields:
            value = document.fields.get(field)
            values = value if isinstance(value, list | tuple) else [value]
            names = [each for each in values if isinstance(each, str) and normal_licence(each)]
            if names:
                return names
        return list(find_licences(document.text)) if self.from_text else []

    def _is_allowed(self, expression: str) -> bool:
        return any(
            all(
                is_allowed(normal_licence(name.strip(" ()")), self.allowed)
                for name in _AND.split(side)
            )
            for side in _OR.split(expression)
        )

    def describe_use(self, counted: dict[str, int]) -> str | None:
        """Say so if no document had an allowed licence."""
        if counted.get(_ALLOWED):
            return None
        return f"no document has one of the licences {', '.join(self.allowed)}"
