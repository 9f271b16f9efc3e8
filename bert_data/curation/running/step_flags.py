"""Steps as they are written in flags.

"repair gopher_quality:min_words=30,stop_words=[the,of]"
->  [{"repair": {}}, {"gopher_quality": {"min_words": 30, "stop_words": ["the", "of"]}}]
"""

import re
from collections.abc import Iterable
from typing import Any

from bert_data.curation.running.yaml_values import load_yaml

_STEP = re.compile(r"(?P<name>\w+)(?::(?P<parameters>.*))?", re.DOTALL)


def parse_step_flags(values: Iterable[str]) -> list[Any]:
    """Entries of the flag --steps, as `parse_steps` takes them.

    ["repair gopher_quality:min_words=30,max_words=9000"]
      ->  [{"repair": {}}, {"gopher_quality": {"min_words": 30, "max_words": 9000}}]

    Raises:
      ValueError: an entry is not of that form.
    """
    entries: list[Any] = []
    for value in values:
        for word in value.split():
            match = _STEP.fullmatch(word)
            if not match:
                raise ValueError(
                    f"step {word!r} is not of the form NAME or NAME:PARAMETER=VALUE,..."
                )
            entries.append({match["name"]: _parameters(word, match["parameters"])})
    return entries


def _parameters(word: str, text: str | None) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for part in _split_outside_brackets(text) if text else []:
        name, sign, value = part.partition("=")
        if not sign or not name:
            raise ValueError(f"step {word!r}: {part!r} is not of the form PARAMETER=VALUE")
        if name in parameters:
            raise ValueError(f"step {word!r} has the parameter {name!r} twice")
        try:
            parameters[name] = load_yaml(value)
        except ValueError as error:
            raise ValueError(f"step {word!r:.60}: {value!r:.60}: {error}") from None
    return parameters


def _split_outside_brackets(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character in "[{") - (character in "]}")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
