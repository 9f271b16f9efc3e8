"""Configuration of `write_cards`."""

import dataclasses
import datetime
import itertools

from bert_data.settings import check_choice, check_settings

CROISSANT, HUGGING_FACE, EUROPEAN = CARDS = ("croissant", "huggingface", "eu")
FILES = {CROISSANT: "croissant.json", HUGGING_FACE: "README.md", EUROPEAN: "training_content.md"}
DOMAINS_FILE = "top_domains.csv"
ALL_SOURCES = "*"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceKinds:
    """The kind of each source, in the words of the European template; files do not say it.

    Attributes:
      public_sources: sources that are publicly available datasets, separated by commas, as the
        documents name them (`source_field`); * is all of them, and documents without one.
      licensed_sources: likewise, datasets licensed by rightsholders.
      private_sources: likewise, other private datasets of third parties.
      crawled_sources: likewise, data that the provider crawled; crawls that others publish are
        public datasets. Domains and dates are then those of
        these alone; otherwise of all documents.
      user_sources: likewise, data of the provider's users.
      synthetic_sources: likewise, data made by models.
    """

    public_sources: str | None = None
    licensed_sources: str | None = None
    private_sources: str | None = None
    crawled_sources: str | None = None
    user_sources: str | None = None
    synthetic_sources: str | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        kinds = [field.name for field in dataclasses.fields(self) if self.named(field.name)]
        for first, second in itertools.combinations(kinds, 2):
            both = {*self.named(first)} & {*self.named(second)}
            if both or self.all_named() >= {ALL_SOURCES}:
                raise ValueError(
                    f"{first} is {getattr(self, first)!r} and `{second}` is"
                    f" {getattr(self, second)!r};"
                    " each source is of one kind, and * is all of them"
                )

    def named(self, kind: str) -> list[str]:
        """Return the sources of a kind."""
        text = getattr(self, kind) or ""
        return [each.strip() for each in text.split(",") if each.strip()]

    def all_named(self) -> set[str]:
        """Return the sources of any kind."""
        return {each for field in dataclasses.fields(self) for each in self.named(field.name)}

    def kind_of(self, source: str) -> str | None:
        """Return the field that names a source; None: no field does."""
        for field in dataclasses.fields(self):
            if not {source, ALL_SOURCES}.isdisjoint(self.named(field.name)):
                return field.name
        return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class CardConfig:
    """Configuration of `write_cards`.

    Attributes:
      input_file: the data: files of documents such as curated ones, token stores by prefix, or
        records; files, patterns or set@N, separated by commas.
      cards: what to write, separated by commas: croissant (croissant.json), huggingface
        (README.md), eu (training_content.md); with over 1,000 domains, eu lists them in
        top_domains.csv.
      output_dir: folder for the cards; by default that of the data. Croissant and Hugging Face
        name files relative to it.
      overwrite: replace cards that this command wrote; files of others are never replaced.
      name: of the data; by default that of its files.
      description: the data in a sentence or more.
      license: of the data as a whole: a name of SPDX such as CC-BY-4.0, or a URL.
      languages: of the texts, as codes such as en, separated by commas; by default those that
        documents have.
      creator: who made the data.
      contact: an e-mail address or URL for questions.
      url: page of the data.
      data_version: of the data, such as 1.0.0.
      published: date of publication, such as 2026-01-31.
      citation: how to cite it, such as BibTeX.
      language_field: key or column of the documents' languages, which curate's step language sets.
      small_company: for eu: the provider is a small or medium enterprise, and lists 5% of the
        domains, at most 1,000, in place of 10%.
    """

    input_file: str
    cards: str = ",".join(CARDS)
    output_dir: str | None = None
    overwrite: bool = False
    name: str | None = None
    description: str | None = None
    license: str | None = None
    languages: str | None = None
    creator: str | None = None
    contact: str | None = None
    url: str | None = None
    data_version: str | None = None
    published: str | None = None
    citation: str | None = None
    language_field: str = "language"
    small_company: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        for card in self.chosen:
            check_choice("cards", card, CARDS)
        if self.published is not None:
            try:
                datetime.date.fromisoformat(self.published)
            except ValueError:
                raise ValueError(
                    f"published is {self.published!r}; it must be a date such as 2026-01-31"
                ) from None

    @property
    def chosen(self) -> list[str]:
        """The cards to write."""
        return self.cards.split(",")
