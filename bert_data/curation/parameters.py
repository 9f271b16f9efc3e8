"""Annotations of a step's parameters, besides those of all settings.

Name, Names    a string, or a list of them, that is not empty
ReadField      the name of a field that a step reads, which rows do not have by another name
NewField       the name of a field that a step writes, and that outputs have for nothing else
"""

import dataclasses
from typing import Annotated, Any

from bert_data.curation.document import OWN_ID, RENAMED, RESERVED_FIELDS
from bert_data.settings import NotEmpty, settings_of


@dataclasses.dataclass(frozen=True)
class NotReserved(NotEmpty):
    """Of names of fields that a step writes: neither "", nor those that outputs have anyway."""

    def check(self, name: str, value: Any) -> None:
        """Check a name."""
        super().check(name, value)
        if value in RESERVED_FIELDS:
            raise ValueError(
                f"{name} is {value!r}, which outputs have for something else; name another field"
            )


class NotRenamed(NotEmpty):
    """Of names of fields that a step reads: neither "", nor those that rows have by other names."""

    def check(self, name: str, value: Any) -> None:
        """Check a name."""
        super().check(name, value)
        if value in RESERVED_FIELDS and value != OWN_ID:
            raise ValueError(
                f"{name} is {value!r}; what a row has under this name is its field"
                f" {RENAMED + value!r}"
            )


Name = Annotated[str, NotEmpty()]
Names = Annotated[tuple[str, ...], NotEmpty()]
ReadField = Annotated[str, NotRenamed()]
NewField = Annotated[str, NotReserved()]


def names_of_new_fields(config: Any) -> tuple[str, ...]:
    """Return the values of a dataclass's fields that are annotated as `NewField`, but for None."""
    every = settings_of(type(config)).values()
    new = (each.name for each in every if isinstance(each.constraint, NotReserved))
    return tuple(value for name in new if (value := getattr(config, name)) is not None)
