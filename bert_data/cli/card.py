r"""Write cards of data: for Croissant, for Hugging Face, and the European summary's figures.

    bert-data card --input_file='web.jsonl@8' --license=ODC-By-1.0 --creator='Example Lab' \
        --url=https://example.org/web --published=2026-01-31

writes three files beside the data, or to --output_dir:

    croissant.json       Croissant 1.1 (JSON-LD): files, checksums, columns
    README.md            Hugging Face's dataset card, with the files that its library loads
    training_content.md  sizes, sources, licences, dates and the top domains, as the template of
                         the European Commission asks for them (AI Act, Art. 53(1)(d))

--input_file is what curate, tokenize, create or build-samples wrote, or any documents. Documents
say their own sources, licences, dates and URLs; token stores keep them in PREFIX.provenance. Their
volume is counted in tokens in stores, and in bytes of text (UTF-8) elsewhere. Registered domains
follow the public suffix list. What nothing says, a card calls "not known".

The kinds of sources, which no file says, are named:

    bert-data card --input_file=corpus --cards=eu --crawled_sources=web,news \
        --public_sources=wikipedia
"""

from collections.abc import Sequence

from absl import logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.cli.shared_flags import text_section
from bert_data.inspection.cards.card_config import CardConfig, SourceKinds
from bert_data.text.documents import TextConfig
from bert_data.tokens.places import ProvenanceConfig

_COMMON = "input_file cards output_dir name description license creator url published overwrite"
_FIELDS = "url_field source_field license_field date_field"
SECTIONS = (
    Section("", settings(CardConfig, without="language_field")),
    Section("kinds of sources, for eu", settings(SourceKinds)),
    Section(
        "fields of documents",
        (
            *settings(ProvenanceConfig, _FIELDS),
            *settings(CardConfig, "language_field"),
        ),
    ),
    text_section(),
)


def main(_: Sequence[str]) -> None:
    """Write the cards that the flags name."""
    from bert_data.inspection.cards.writing import write_cards

    logging.info(
        "%s",
        write_cards(
            from_flags(CardConfig),
            from_flags(SourceKinds),
            from_flags(TextConfig, keep_fields=True),
            from_flags(ProvenanceConfig),
        ),
    )


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
