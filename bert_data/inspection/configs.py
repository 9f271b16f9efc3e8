"""Configurations of check, plan and inspect."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Annotated

from bert_data import storage
from bert_data.gpt.gpt_config import SPLITS, BlendConfig, GptConfig
from bert_data.reader.config import ReaderConfig
from bert_data.records.choices import OBJECTIVE_NAMES
from bert_data.settings import OneOf, Within, check_settings
from bert_data.text.text_config import TextConfig
from bert_data.work import count_workers

_MAX_NUMBERS = 1_000_000
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MAX_DIGITS = 15


@dataclasses.dataclass(frozen=True, kw_only=True)
class OfRecords:
    """Settings of records that have no manifest.

    Attributes:
      next_sentence: the records' task for two segments, if there is no manifest.
    """

    next_sentence: Annotated[str, OneOf(OBJECTIVE_NAMES)] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlanRecipeConfig:
    """Configuration of `plan_recipe`.

    Attributes:
      recipe: a training run in YAML.
      max_sequences: for a stage with more sequences, figures are estimated from about this many of
        them, in evenly spaced windows.
    """

    recipe: str
    max_sequences: Annotated[int, Within(1)] = 1 << 21

    def __post_init__(self) -> None:
        check_settings(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheckConfig(OfRecords):
    """Configuration of `check_set`.

    Attributes:
      input_patterns: patterns of shards; a string with commas, or a sequence.
      vocab_file: the vocabulary of the records: compared with the manifest, and needed to count
        [UNK] and to compare words.
      text_file: the text that the records were made from, or the prefix of its token store: finds
        random next sentences from the same document, and the words that became [UNK]. Needs
        `vocab_file` or `tokenizer_file`.
      do_lower_case: whether the text was lower-cased, if there is no manifest; by default true, but
        with `text_file` an error if the vocabulary is cased.
      num_workers: number of shards read at the same time; 0 uses all cores.
      batch_size: rows per batch, for the table of padding.
    """

    input_patterns: str | Sequence[str]
    vocab_file: str | None = None
    text_file: str | None = None
    do_lower_case: bool | None = None
    num_workers: int = 0
    batch_size: Annotated[int, Within(1)] = 32

    def __post_init__(self) -> None:
        check_settings(self)
        if self.text_file is not None and self.vocab_file is None:
            raise ValueError(
                f"text_file is {self.text_file!r}; it needs `vocab_file`, to be compared with"
                " records"
            )
        count_workers(self.num_workers)
        self.as_reader()

    def as_reader(self) -> ReaderConfig:
        """Return the reader's configuration of the same shards."""
        return ReaderConfig(
            input_patterns=self.input_patterns,
            batch_size=self.batch_size,
            next_sentence=self.next_sentence,
        )

    def inputs(self) -> list[str]:
        """Return what the check reads: patterns of shards, files of the text, the vocabulary."""
        from bert_data.records.sets.corpus import find_corpus

        text = [] if self.text_file is None else find_corpus(self.text_file, TextConfig()).paths
        shards = self.as_reader().patterns
        return [*shards, *text, *([] if self.vocab_file is None else [self.vocab_file])]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Choice:
    """The items to show.

    Attributes:
      record: numbers of records (documents, samples, entries), from 0: 17,40-42.
      num_records: number of records to show, if `record` does not name them.
      seed: draw `num_records` records at random, with this seed.
      word: show records that contain this word, or these words in a row.
      do_lower_case: lower-case the word and drop accents; by default as the manifest says, else
        true, but an error if the vocabulary is cased.
      max_tokens: largest number of tokens shown of a text; `json` writes all.
    """

    record: str | None = None
    num_records: Annotated[int, Within(1, _MAX_NUMBERS)] = 5
    seed: int | None = None
    word: str | None = None
    do_lower_case: bool | None = None
    max_tokens: Annotated[int, Within(1)] = 1024

    def __post_init__(self) -> None:
        check_settings(self)
        if self.word is not None and not self.word.strip():
            raise ValueError("word is empty; name a word")
        chosen = {"record": self.record, "seed": self.seed, "word": self.word}
        names = [f"`{name}`" for name, value in chosen.items() if value is not None]
        if len(names) > 1:
            raise ValueError(f"{' and '.join(names)} are set; records are chosen by one of them")
        if self.record is not None:
            parse_numbers(self.record)


def parse_numbers(text: str) -> list[int]:
    """Return the numbers of a list of numbers and ranges, ascending, each once."""
    numbers: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None or len(part) > 2 * _MAX_DIGITS:
            raise ValueError(f"record is {text!r}; numbers and ranges such as 17,40-42 are allowed")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"record is {text!r}; the range {part} must ascend")
        if last - first + len(numbers) >= _MAX_NUMBERS:
            raise ValueError(f"record is {text!r}; at most {_MAX_NUMBERS:,} numbers are allowed")
        numbers |= set(range(first, last + 1))
    return sorted(numbers)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleConfig(GptConfig, BlendConfig):
    """Configuration of GPT samples of token stores, see `bert_data.gpt.build_datasets`.

    Attributes:
      seq_length: show GPT samples of this length, as build-samples draws them from token stores.
      split_name: the split to show.
    """

    split_name: Annotated[str, OneOf(SPLITS)] = SPLITS[0]


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchConfig:
    """The batch of a recipe to look at.

    Attributes:
      recipe: show a batch of this training run, in YAML, instead of `input_file`.
      step: the number of the batch, from 0 over all stages.
    """

    recipe: str
    step: Annotated[int, Within(0, 1e18)] = 0

    def __post_init__(self) -> None:
        check_settings(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceConfig(OfRecords):
    """The files to look at.

    Attributes:
      input_file: records, token stores or texts: files, patterns or set@N, separated by commas. A
        token store is named without .bin and .idx.
      text: how files of text are read.
      samples: look at the GPT samples of stores instead of their documents.
    """

    input_file: str
    text: TextConfig = dataclasses.field(default_factory=lambda: TextConfig(keep_fields=True))
    samples: SampleConfig | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.input_file or not all(storage.split_names(self.input_file)):
            raise ValueError(f"input_file is {self.input_file!r}; it must name files")
