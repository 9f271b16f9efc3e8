"""Keep documents whose field has one of the allowed values."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from bert_data.curation.document import Document
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.verdict import Measured, Verdict

_ALLOWED, _MISSING = "with an allowed value", "without the field"


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class FieldValues(DocumentStep):
    """Keeps documents by what a field says of them: sites, languages, kinds.

    LLaMA keeps the 28 largest sites of Stack Exchange and the Wikipedias of 20 languages (Touvron
    et al. 2023, section 2.1). Values are compared as text, in lower case. Of a list, such as tags,
    one allowed value is enough.

    Attributes:
      field: name of the field.
      allowed: its values, texts or numbers.
      missing: what to do with documents without the field: "reject" or "keep".
    """

    name = "field_values"
    accepts_markup = True
    field: str
    allowed: tuple[str, ...]
    missing: Literal["reject", "keep"] = "reject"

    example_parameters: ClassVar[Mapping[str, Any]] = {
        "field": "site",
        "allowed": ("superuser.com", "askubuntu.com"),
    }
    example_fields: ClassVar[Mapping[str, Any]] = {"site": "AskUbuntu.com"}
    step_examples = (("Q: How do I mount it?",) * 2,)

    def __post_init__(self) -> None:
        allowed = self.allowed if isinstance(self.allowed, tuple | list) else (self.allowed,)
        texts = tuple(
            str(getattr(each, "text", each)) if isinstance(each, int | float) else each
            for each in allowed
        )
        object.__setattr__(self, "allowed", texts)
        super().__post_init__()
        for name in ("field", "allowed"):
            if not getattr(self, name):
                raise ValueError(f"{name} is empty; name at least one")

    def judge(self, document: Document) -> Verdict:
        """Compare the field of a document with the list."""
        value = document.fields.get(self.field)
        values = [str(each) for each in (value if isinstance(value, list | tuple) else [value])]
        if value is None or not values:
            measured = Measured("missing", "none", self.missing, failed=self.missing == "reject")
            return Verdict(document, (measured,), counted={_MISSING: 1})
        known = {each.lower() for each in self.allowed}
        is_allowed = any(each.lower() in known for each in values)
        shown = ", ".join(values)
        return Verdict(
            document,
            (Measured("allowed", shown, "one of the list", failed=not is_allowed),),
            counted={_ALLOWED: 1} if is_allowed else {},
        )

    def describe_use(self, counted: dict[str, int]) -> str | None:
        """Say so if no document had the field, or none an allowed value."""
        if counted.get(_ALLOWED) or not (counted.get("allowed") or counted.get(_MISSING)):
            return None
        if not counted.get("allowed"):
            return f"no document has the field {self.field!r}"
        return f"no document has an allowed value in its field {self.field!r}"
