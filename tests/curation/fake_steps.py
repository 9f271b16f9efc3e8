"""Small steps for tests of the runner; workers import them from here, they are not registered."""

import dataclasses
import json
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from bert_data.curation.document import Document, Measured, Verdict, measure
from bert_data.curation.step import CorpusStep, Decisions, DocumentStep, ShardDecisions
from bert_data.packages import load_package
from bert_data.settings import Within
from bert_data.work.rounds import Rounds


@dataclasses.dataclass(frozen=True, kw_only=True)
class Few(DocumentStep):
    """Keeps documents with few letters x, and says so of each."""

    name = "few"
    max_xs: Annotated[int, Within(-1)] = 3
    max_ys: int = 100

    def judge(self, document: Document) -> Verdict:
        measured = (
            measure("max_xs", document.text.count("x"), self.max_xs),
            measure("max_ys", document.text.count("y"), self.max_ys),
        )
        return Verdict(document, measured)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Without(DocumentStep):
    """Removes a letter; prepares a file with it, to be sure that it is prepared."""

    name = "without"
    letter: str = "y"

    def prepare(self, folder: Path) -> None:
        (folder / "letter").write_text(self.letter)

    def open(self, folder: str):
        letter = Path(folder, "letter").read_text()

        def judge(document: Document) -> Verdict:
            edits = {"letters": document.text.count(letter)}
            return Verdict(document.with_text(document.text.replace(letter, "")), (), edits)

        return judge

    def describe_use(self, counted: dict[str, int]) -> str | None:
        return None if counted.get("letters") else f"there is no letter {self.letter!r} in any text"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unique(CorpusStep):
    """Keeps the first document of each text, by what all shards have observed."""

    name = "unique"
    max_earlier: int = 0

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        path.write_text(json.dumps([document.text for document in documents]))

    def decide(self, rounds: Rounds) -> Decisions:
        seen: dict[str, int] = {}
        earlier: list[list[int]] = []
        for part in rounds.parts:
            earlier.append([])
            for text in json.loads(Path(part.path).read_text()):
                earlier[-1].append(seen.get(text, 0))
                seen[text] = seen.get(text, 0) + 1
        by_path = zip((part.path for part in rounds.parts), earlier, strict=True)
        return Decisions(notes=dict(by_path))

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        earlier = decided.notes[str(decided.observed)]
        observed = json.loads(Path(decided.observed).read_text())
        for document, text, count in zip(documents, observed, earlier, strict=True):
            assert document.text == text
            yield Verdict(document, (measure("max_earlier", count, self.max_earlier),))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Copies(CorpusStep):
    """Gives each document several times."""

    name = "copies"
    num_copies: int = 2

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        path.mkdir()  # and looks at no document

    def decide(self, rounds: Rounds) -> Decisions:
        assert all(Path(part.path).is_dir() for part in rounds.parts)
        return Decisions()

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        waiting = list(documents)  # a step may look ahead
        for document in waiting:
            yield Verdict(document, num_copies=self.num_copies)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fails(DocumentStep):
    """Raises at texts with a letter, or needs a package for them; or ends its process, once."""

    name = "fails"
    letter: str = "z"
    once: str = ""
    package: str = "json"

    def judge(self, document: Document) -> Verdict:
        if self.letter in document.text:
            load_package(self.package, "it")
            if not self.once:
                raise RecursionError("too deep")
            if not os.path.isdir(self.once):
                os.mkdir(self.once)
                os.kill(os.getpid(), signal.SIGKILL)
        return Verdict(document.with_fields(seen=True))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Language(DocumentStep):
    """Rejects by a rule whose values are texts."""

    name = "language"
    languages: tuple[str, ...] = ("en",)

    def judge(self, document: Document) -> Verdict:
        language = document.fields.get("language", "en")
        failed = language not in self.languages
        languages = ",".join(self.languages)
        measured = (Measured("languages", language, languages, failed),)
        return Verdict(document, measured, counted={language: 1})
