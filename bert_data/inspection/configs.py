"""Configurations of check, plan, inspect, diff and trace."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Annotated, Any

from bert_data.causal.store_documents import SPLITS, BlendConfig, GptConfig
from bert_data.objectives.objectives import OBJECTIVES
from bert_data.reader.config import ReaderConfig
from bert_data.reader.planning.plan_config import PlanConfig
from bert_data.settings import OneOf, Within, check_settings
from bert_data.storage import read_bytes
from bert_data.text.documents import TextConfig
from bert_data.work import count_workers

BASE_HIDDEN_SIZE = 768
"""Of BERT-Base."""

BATCHING_FLAGS = (
    "batch_size max_tokens_per_batch max_seq_length pool_batches num_buckets hidden_size"
)
_SHOWN = (*BATCHING_FLAGS.split(), "seed", "is_stream")

_MAX_NUMBERS = 1_000_000
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MAX_DIGITS = 15
_FORWARD, _BACK = ("document", "documents", "row", "text"), ("step", "record")


@dataclasses.dataclass(frozen=True, kw_only=True)
class OfRecords:
    """Settings of records that have no manifest.

    Attributes:
      next_sentence: the records' task for two segments, if no manifest says it.
    """

    next_sentence: Annotated[str, OneOf(tuple(OBJECTIVES))] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchingConfig(PlanConfig):
    """Configuration of `compare_batchings`, which chooses `batching` and `width`.

    Attributes:
      max_seq_length: longest row that the model takes; by default that of the manifest or of padded
        records, or else the longest record.
      hidden_size: of the model: the smaller it is, the more the attention of long rows weighs in
        the speed.
      is_stream: whether records can only be read as a stream.
    """

    max_seq_length: Annotated[int, Within(1, 1 << 20)] | None = None
    shuffle: bool = True
    hidden_size: Annotated[int, Within(1, 1 << 20)] = BASE_HIDDEN_SIZE
    is_stream: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the settings of `bert-data plan`, and those that follow from the set."""
        return {name: getattr(self, name) for name in _SHOWN}


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlanSetConfig(OfRecords):
    """Configuration of `plan_set`.

    Attributes:
      input_patterns: patterns of shards; a string with commas, or a sequence.
      batches: what the batches are like; its max_seq_length is by default the manifests'.
    """

    input_patterns: str | Sequence[str]
    batches: BatchingConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlanRecipeConfig:
    """Configuration of `plan_recipe`.

    Attributes:
      recipe: a training run in YAML, in place of `input_file`.
      max_sequences: a stage of more sequences is judged by about so many of them, in windows that
        lie evenly in it.
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
        [UNK] in the records and to compare words.
      text_file: the text that the records were made from, or its token store by prefix: shows
        whether random next sentences are of the same document, and which words are [UNK]. Needs
        `vocab_file` or `tokenizer_file`.
      do_lower_case: case of the vocabulary, if no manifest says it (then true).
      num_workers: shards that are read at a time; 0 is all cores.
      batch_size: rows of the batches whose padding is shown.
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
        from bert_data.datasets.corpus import find_corpus

        text = [] if self.text_file is None else find_corpus(self.text_file, TextConfig()).paths
        shards = self.as_reader().patterns
        return [*shards, *text, *([] if self.vocab_file is None else [self.vocab_file])]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Choice:
    """The items to show.

    Attributes:
      record: numbers of records (documents, samples, entries), from 0: 17,40-42.
      num_records: records to show, if `record` does not name them.
      seed: draw `num_records` records at random, by this seed.
      word: show records that contain this word, or these words in a row.
      do_lower_case: lower-case the word and drop accents; by default as the manifest says, or else
        yes.
    """

    record: str | None = None
    num_records: Annotated[int, Within(1, _MAX_NUMBERS)] = 5
    seed: int | None = None
    word: str | None = None
    do_lower_case: bool | None = None

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
    """Configuration of GPT samples of token stores, see `bert_data.causal.build_datasets`.

    Attributes:
      seq_length: look at the GPT samples of this length that training draws from token stores, as
        build_samples makes them.
      split_name: the split to show.
    """

    split_name: Annotated[str, OneOf(SPLITS)] = SPLITS[0]


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchConfig:
    """The batch of a recipe to look at.

    Attributes:
      recipe: look at a batch of this training run, in YAML, instead of `input_file`.
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
        if not self.input_file or not all(self.input_file.split(",")):
            raise ValueError(f"input_file is {self.input_file!r}; it must name files")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TraceConfig:
    """Configuration of `trace`.

    Attributes:
      input_file: token stores, by prefix (PREFIX@N for N partitions, or patterns), separated by
        commas; by default all of the recipe's. Or a set of records that `create` made, with its
        recipe if it has one, or the output of `curate`.
      document: the id of a document; all documents with it are traced.
      documents: a file with the id of a document in each line; all of them are traced in one pass.
      row: a document by its place: FILE:ROW, rows from 1, with the file as the store names it
        (without the folders that all its files share).
      text: a document by some of its text: all documents whose tokens hold those of this text are
        traced. Whole words, written as in the text; the tokens of all stores are read, in little
        memory. Of a set of records, those of which a record holds it in one piece.
      recipe: also find the steps of this training run, in YAML, that read the document.
      step: with `recipe`: the other way, the documents of this batch, from 0 over all stages.
      record: with `input_file`, a set of records: the other way, the documents of this record: N,
        from 0 over all shards, or SHARD:N.
      stores: with `record`, of a set that does not say where it comes from: the token stores of its
        text, which are searched for the tokens of its segments; a short one may be of many
        documents.
      vocab_file: with `text`: the vocabulary of the stores or records, or their tokenizer.json; by
        default the recipe's.
      samples: trace to, or from, the GPT samples of the stores.
    """

    input_file: str | None = None
    document: str | None = None
    documents: str | None = None
    row: str | None = None
    text: str | None = None
    recipe: str | None = None
    step: Annotated[int, Within(0, 1e18)] | None = None
    record: str | None = None
    stores: str | None = None
    vocab_file: str | None = None
    samples: SampleConfig | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        given = [n for n in (*_FORWARD, *_BACK) if getattr(self, n) is not None]
        if len(given) != 1:
            names = ", ".join(f"`{name}`" for name in (*_FORWARD, *_BACK)[:-1])
            raise ValueError(f"set one of {names} and `record`; {len(given)} are set")
        if self.samples is not None and (self.recipe or self.stores or self.text):
            raise ValueError("`seq_length` is of GPT samples; leave out `recipe`, `stores`, `text`")
        if self.recipe is None and self.step is not None:
            raise ValueError("`step` needs `recipe`, whose batch it names")
        if self.recipe is None and self.input_file is None:
            raise ValueError(
                "set `input_file` (token stores) or `recipe`, whose stores are searched"
            )
        if self.step is not None and self.input_file is not None:
            raise ValueError("`step` names a batch of the `recipe`, without `input_file`")
        if self.record is not None and self.input_file is None:
            raise ValueError("`record` needs `input_file`, the set of records")
        if None not in (self.recipe, self.stores):
            raise ValueError("set `recipe`, which made the records, or `stores`, not both")
        if self.stores is not None and self.record is None:
            raise ValueError("`stores` needs `record`, whose text they hold")
        file, _, number = (self.row or "a:1").rpartition(":")
        if not (file and number.isdecimal()):
            raise ValueError(f"row is {self.row!r}; it must be FILE:ROW, such as web.jsonl:17")
        if self.text is not None and not self.text.strip():
            raise ValueError("text is empty; give some words of a document")
        if self.vocab_file is None and self.recipe is None and self.text is not None:
            raise ValueError(
                "`text` needs `vocab_file`, which made the stores or records, or `recipe`"
            )

    @property
    def sought(self) -> str:
        """The setting that says what to look for."""
        return next(n for n in (*_FORWARD, *_BACK) if getattr(self, n) is not None)

    def ids(self) -> list[str]:
        """Return the ids of the documents to trace, each once."""
        if self.documents is None:
            return [] if self.document is None else [self.document]
        lines = read_bytes(self.documents).decode(errors="replace").splitlines()
        names = list(dict.fromkeys(line for line in lines if line))
        if not names:
            raise ValueError(f"{self.documents} has no ids; it must have one in each line")
        return names
