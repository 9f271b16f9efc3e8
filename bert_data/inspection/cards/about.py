"""Statements of a card that do not follow from the files alone: settings, and what they imply."""

import dataclasses
import re
from collections.abc import Mapping, Sequence

from bert_data.inspection.cards.card_config import CardConfig
from bert_data.inspection.cards.facts import TOKENS, Facts
from bert_data.storage import absolute_path, common_folder

_SPDX = "https://spdx.org/licenses/"
_LANGUAGE = re.compile(r"[a-z]{2,3}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class About:
    """The data in words; None is not known.

    Attributes:
      languages: codes; (): not known.
      names: of the files in cards, by their paths; see `names_in_cards`.
    """

    name: str
    description: str
    license: str | None
    creator: str | None
    contact: str | None
    url: str | None
    data_version: str | None
    published: str | None
    citation: str | None
    languages: Sequence[str]
    names: Mapping[str, str]

    @classmethod
    def of(cls, config: CardConfig, facts: Facts, name: str, folder: str) -> "About":
        """Return the settings, with what follows from the data where they are not set."""
        names = ("license", "creator", "contact", "url", "data_version", "published", "citation")
        return cls(
            name=config.name or name,
            description=config.description or describe(facts),
            languages=_languages(config.languages, facts),
            names=names_in_cards([file.path for file in facts.files], folder),
            **{each: getattr(config, each) for each in names},
        )

    @property
    def license_url(self) -> str | None:
        """The licence as a URL."""
        if self.license is None or "://" in self.license:
            return self.license
        return f"{_SPDX}{self.license}.html"


def describe(facts: Facts) -> str:
    """Return what data is, in a sentence."""
    parts = [] if facts.num_items is None else [f"{facts.num_items:,} {facts.item}s"]
    if facts.num_tokens is not None:
        of_text = "" if facts.item == "document" else " of text"
        parts.append(f"{facts.num_tokens:,} tokens{of_text}")
    elif facts.origins is not None and facts.unit != TOKENS:
        parts.append(f"{facts.origins.volume:,} {facts.unit}")
    sizes = ", ".join(parts)
    return f"{facts.kind[0].upper()}{facts.kind[1:]}: {sizes}." if parts else f"{facts.kind}."


def _languages(given: str | None, facts: Facts) -> list[str]:
    if given is not None:
        return [each.strip() for each in given.split(",") if each.strip()]
    if facts.origins is None:
        return []
    found = [total.name for total in facts.origins.named["language"].largest]
    return [name for name in found if _LANGUAGE.fullmatch(name)]


def names_in_cards(paths: Sequence[str], folder: str) -> dict[str, str]:
    """Return what cards call files: relative to the cards' folder, if all files are in or below it.

    Otherwise cards are to be published with the data: names are relative to its folder.
    """
    absolute = [absolute_path(path) for path in paths]
    parent = absolute_path(folder).rstrip("/") + "/"
    if not all(path.startswith(parent) for path in absolute):
        parent = common_folder(paths).rstrip("/") + "/"
    return {path: own.removeprefix(parent) for path, own in zip(paths, absolute, strict=True)}
