"""Mix several data sets into one corpus, in chosen shares."""

import dataclasses
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import xxhash
from absl import logging

from bert_data.curation.document import Document
from bert_data.curation.step import CorpusStep, Decisions, ShardDecisions, register
from bert_data.curation.verdict import Measured, Verdict
from bert_data.storage import make_folder, read_json, write_bytes
from bert_data.work.rounds import Own, Part, Rounds, Writers

_TOLERANCE = 0.1
_SIZES = "sizes.json"


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class Mix(CorpusStep):
    """Samples data sets by weight or by epochs, and repeats their documents.

    With `epochs`, a data set of 2 epochs passes twice, one of 0.3 with about 30% of its documents,
    and one of 2.3 twice with about 30% of it once more; the others pass once. With `weights`, each
    data set gets its share of the result, measured in `unit`, and the most used data set passes for
    `most_epochs`; every data set needs a weight.

    A draw from the seed, the data set and the document's id selects documents, so the selection
    depends neither on the order of files nor on other documents. The measured value is the
    document's draw in [0, 1), compared with the epochs. The summary counts what each data set
    contributed, and a warning names any share that is off by more than a tenth.

    Attributes:
      weights: share of each data set, > 0, by its name; they need not add up to 1. As a list on the
        command line: [NAME:NUMBER,NAME:NUMBER].
      epochs: how often each data set passes, >= 0, by its name.
      unit: of shares: "bytes" (in UTF-8), "words" or "documents".
      most_epochs: with weights: epochs of the most used data set, > 0.
      seed: another seed selects other documents.
    """

    name = "mix"
    accepts_markup = True
    is_meant_to_shorten = True
    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)
    epochs: Mapping[str, float] = dataclasses.field(default_factory=dict)
    unit: Literal["documents", "words", "bytes"] = "bytes"
    most_epochs: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for field in ("weights", "epochs"):
            object.__setattr__(self, field, numbers_by_name(field, getattr(self, field)))
        super().__post_init__()
        if bool(self.weights) == bool(self.epochs):
            raise ValueError("mix needs weights or epochs, by the names of data sets")
        for field, least in (("weights", "> 0"), ("epochs", ">= 0")):
            for name, value in getattr(self, field).items():
                if not 0 <= value < math.inf or (field == "weights" and not value):
                    raise ValueError(f"{field} has {name}: {value!r}; it must be a number {least}")
        if not 0 < self.most_epochs < math.inf:
            raise ValueError(f"most_epochs is {self.most_epochs!r}; it must be a number > 0")

    def check_data_sets(self, names: Sequence[str]) -> None:
        """Check that weights and epochs name data sets that it mixes, and weights all of them."""
        super().check_data_sets(names)
        names = list(filter(self.judges, names))
        field = "weights" if self.weights else "epochs"
        unknown = sorted({*self.weights, *self.epochs} - set(names))
        if unknown:
            known = ", ".join(names)
            raise ValueError(f"{field} names {unknown[0]!r}; the data sets are {known}")
        for name in names if self.weights else ():
            if name not in self.weights:
                raise ValueError(f"weights has no entry for the data set {name}")

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        """Write the size of the shard."""
        size = sum(self._size(document) for document in documents)
        make_folder(path)
        write_bytes(path / _SIZES, json.dumps(size).encode())

    def _size(self, document: Document) -> int:
        if self.unit == "documents":
            return 1
        return len(document.words) if self.unit == "words" else document.num_bytes

    def decide(self, rounds: Rounds) -> Decisions:
        """Decide how often each data set passes.

        Raises:
          ValueError: a name or a weight is missing or unknown, or nothing is left of a data set.
        """
        sizes: Counter[str] = Counter(dict.fromkeys((part.source for part in rounds.parts), 0))
        rounds.over_parts("sizes", _read_size, {})
        sizes.update(rounds.counted)
        self.check_data_sets(list(sizes))
        if self.weights:
            for name, size in sizes.items():
                if size == 0:
                    raise ValueError(f"data set {name} has no {self.unit} left to mix")
            plenty = {name: sizes[name] / weight for name, weight in self.weights.items()}
            scarcest = min(plenty.values())
            epochs = {name: self.most_epochs * (scarcest / each) for name, each in plenty.items()}
        else:
            epochs = {name: self.epochs.get(name, 1.0) for name in sizes}
        for name, each in epochs.items():
            logging.info("%s: data set %s is used for %.4g epochs", self.name, name, each)
        return Decisions(notes=epochs)

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        """Say how often each document passes."""
        for document in documents:
            rate = decided.notes[document.source]
            value = draw(self.seed, document)
            num_copies = int(rate) + (value < rate - int(rate))
            measured = Measured("epochs", value, rate, failed=num_copies == 0)
            counted = {
                contribution_of(self.unit, document.source): num_copies * self._size(document)
            }
            yield Verdict(document, (measured,), counted=counted, num_copies=num_copies)

    def describe_use(self, counted: dict[str, int]) -> str | None:
        """Name the shares that are off by more than a tenth."""
        sizes = {name: counted.get(contribution_of(self.unit, name), 0) for name in self.weights}
        total, weights = sum(sizes.values()), sum(self.weights.values())
        missed = [
            f"{name} has {sizes[name] / total:.4g} instead of {weight / weights:.4g}"
            for name, weight in self.weights.items()
            if total and abs(sizes[name] / total - weight / weights) > _TOLERANCE * weight / weights
        ]
        if not missed:
            return None
        return f"too few documents to reach these shares of {self.unit}: {', '.join(missed)}"


def numbers_by_name(field: str, entries: Any) -> dict[str, Any]:
    """Return {"a": 1} for ("a:1",), for {"a:1": None}, as YAML reads "a:1", and for itself.

    Raises:
      ValueError: the value has another form.
    """
    if isinstance(entries, str):
        entries = (entries,)
    if not isinstance(entries, Mapping | tuple | list):
        raise ValueError(f"{field} is {entries!r}; NAME: NUMBER is needed")
    pairs = entries.items() if isinstance(entries, Mapping) else [(each, None) for each in entries]
    numbers: dict[str, Any] = {}
    for name, value in pairs:
        if value is None and isinstance(name, str) and ":" in name:
            name, _, value = name.rpartition(":")
            try:
                value = float(value)
            except ValueError:
                pass
        if not isinstance(name, str) or name in numbers:
            raise ValueError(f"{field} has {name!r}; each data set's name is needed once")
        numbers[name] = value
    return numbers


def draw(seed: int, document: Document) -> float:
    """Return a number in [0, 1) that depends on the seed, the data set and the id."""
    name = f"{seed}\0{document.source}\0{document.id}".encode(errors="surrogatepass")
    return (xxhash.xxh3_64_intdigest(name) >> 11) / 2**53


def contribution_of(unit: str, source: str) -> str:
    """Return the name under which a data set's contribution is counted."""
    return f"{unit} of {source}"


def _read_size(part: Part, own: Own, writers: Writers) -> dict[str, int]:
    """Count the size of a shard for its data set."""
    return {part.source: read_json(os.path.join(part.path, _SIZES))}
