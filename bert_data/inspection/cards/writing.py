"""Write the cards of data beside it, or to another folder."""

import dataclasses
import itertools
import os
import re
from collections.abc import Iterator, Sequence

from absl import logging

from bert_data.inspection.cards.about import About
from bert_data.inspection.cards.card_config import (
    ALL_SOURCES,
    CROISSANT,
    DOMAINS_FILE,
    EUROPEAN,
    FILES,
    HUGGING_FACE,
    CardConfig,
    SourceKinds,
)
from bert_data.inspection.cards.croissant import REQUIRED, describe_as_croissant, is_ours
from bert_data.inspection.cards.european import (
    MOST_IN_TEXT,
    describe_for_europe,
    num_top_domains,
)
from bert_data.inspection.cards.facts import BYTES, TOKENS, Facts, gather
from bert_data.inspection.cards.hugging_face import describe_for_hub
from bert_data.inspection.cards.origin_counts import OriginCounter, Origins
from bert_data.inspection.configs import SourceConfig
from bert_data.inspection.sources.items import Source
from bert_data.inspection.sources.opening import open_source
from bert_data.markdown import MADE_BY
from bert_data.progress import how_many, size
from bert_data.storage import OutputSet, is_file, read_bytes
from bert_data.text.documents import TextConfig
from bert_data.tokens.places import ProvenanceConfig

_OF_PART = re.compile(r"-\d{5}-of-\d{5}.*")
_HEADS = tuple(f"domain,documents,{unit}" for unit in (TOKENS, BYTES))


@dataclasses.dataclass(frozen=True, kw_only=True)
class CardReport:
    """The cards that were written.

    Attributes:
      paths: of the cards, and of the list of domains if there is one.
    """

    paths: Sequence[str]
    facts: Facts

    def __str__(self) -> str:
        files = f"{how_many(len(self.facts.files), 'file')}, {size(self.facts.num_bytes)}"
        wrote = [f"wrote  {path}" for path in self.paths]
        return "\n  ".join([f"cards of {self.facts.kind}: {files}", *wrote])


def write_cards(
    config: CardConfig, kinds: SourceKinds, text: TextConfig, fields: ProvenanceConfig
) -> CardReport:
    """Read data, and write its cards.

    Raises:
      ValueError: the files are no data, or a card would replace a file that is none.
      CorruptDataError: a file is damaged.
      OSError: a card exists already or cannot be written.
    """
    source = open_source(SourceConfig(input_file=config.input_file, text=text))
    folder = config.output_dir or os.path.dirname(source.paths[0]) or "."
    paths = {card: os.path.join(folder, FILES[card]) for card in config.chosen}
    domains = os.path.join(folder, DOMAINS_FILE)
    may_write = [*paths.values(), *([domains] if EUROPEAN in paths else [])]
    _refuse_foreign(may_write)
    crawled = [each for each in kinds.named("crawled_sources") if each != ALL_SOURCES]
    has_domains = False
    with OutputSet(
        os.path.join(folder, "card"),
        may_write,
        reads=source.paths,
        overwrite=config.overwrite,
        obsolete=lambda: [] if has_domains or not config.overwrite else may_write[len(paths) :],
    ) as outputs:
        counter = OriginCounter(outputs.work_dir, crawled)
        names = {**fields.input_fields, "language": config.language_field}
        facts = gather(source, text, names, counter)
        about = About.of(config, facts, _name_of(source), folder)
        texts: dict[str, str] = {}
        for card, path in paths.items():
            if card == CROISSANT:
                texts[path] = describe_as_croissant(about, facts)
            elif card == HUGGING_FACE:
                texts[path] = describe_for_hub(about, facts)
            else:
                most = num_top_domains(facts.origins, small_company=config.small_company)
                texts[path] = describe_for_europe(about, facts, kinds, most)
                has_domains = most.number > MOST_IN_TEXT
        for path, card_text in texts.items():
            with outputs.open(path) as file:
                file.write(card_text.encode(errors="replace"))
        if has_domains:
            assert facts.origins is not None
            with outputs.open(domains) as file:
                file.writelines(_rows_of_domains(facts.origins, most.number, facts.unit))
        written = [*texts, *([domains] if has_domains else [])]
        outputs.commit(written)
    missing = [name for name in REQUIRED if CROISSANT in paths and getattr(about, name) is None]
    if missing:
        logging.warning(
            "%s lacks what Croissant requires: set %s",
            paths[CROISSANT],
            ", ".join(f"`{name}`" for name in missing),
        )
    return CardReport(paths=written, facts=facts)


def _refuse_foreign(paths: Sequence[str]) -> None:
    """Refuse to replace files that this command did not write."""
    for path in paths:
        if is_file(path):
            text = read_bytes(path).decode(errors="replace")
            is_card = is_ours(text) if path.endswith(".json") else MADE_BY in text
            if not is_card and not text.startswith(_HEADS):
                raise ValueError(
                    f"{path} is not a card that bert-data card wrote, and is never replaced; name"
                    " another `output_dir`"
                )


def _name_of(source: Source) -> str:
    """Return the name of data, by that of its first file."""
    name = _OF_PART.sub("", os.path.basename(source.names[0]))
    return name.partition(".")[0] or name


def _rows_of_domains(origins: Origins, most: int, unit: str) -> Iterator[bytes]:
    yield f"domain,documents,{unit}\n".encode()
    for name, count, volume in itertools.islice(origins.totals["domain"].by_volume(), most):
        quoted = '"' + name.replace('"', '""') + '"' if set(name) & set('",\r\n') else name
        yield f"{quoted},{count},{volume}\n".encode(errors="replace")
