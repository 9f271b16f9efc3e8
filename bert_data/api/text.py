"""Make vocabularies, records and token stores of text.

train_vocab(documents, "vocab.txt")                              vocab.txt, tokenizer.json
create_records(documents, "train@4", vocab_file="vocab.txt")     train-00000-of-00004, ...
tokenize(documents, "store", vocab_file="vocab.txt")             store.bin, store.idx
"""

import dataclasses
from typing import TYPE_CHECKING, Unpack

from bert_data.api.arguments import Options, list_of_names, takes
from bert_data.api.documents import Documents, as_files
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.summary import summarize_records
from bert_data.settings import convert
from bert_data.storage import hidden_work_folder
from bert_data.storage.paths import Path
from bert_data.text.formats import input_files
from bert_data.text.text_config import TextConfig
from bert_data.tokens.store_config import CURATOR, MEGATRON
from bert_data.tokens.store_making import StoreConfig, make_stores
from bert_data.tokens.store_work import StoreWork
from bert_data.tokens.vocabulary_config import WORDPIECE, VocabularyTrainingConfig
from bert_data.tokens.vocabulary_training import json_path_beside, write_vocabulary
from bert_data.work import ENGINE_SETTINGS

if TYPE_CHECKING:
    from bert_data.api.keywords import CreateRecordsOptions, TokenizeOptions, TrainVocabOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """A vocabulary that was trained; `vocab_file=` takes it as it takes the file's path.

    Attributes:
      vocab_file: its file, one token per line; None if it is not WordPiece.
      tokenizer_file: the same as a tokenizer.json of the `tokenizers` library.
      tokens: by id.
      num_lines: of text that were read, or documents.
      do_lower_case: whether the text was lower-cased.
    """

    vocab_file: str | None
    tokenizer_file: str
    tokens: tuple[str, ...] = dataclasses.field(repr=False)
    num_lines: int
    do_lower_case: bool

    def __len__(self) -> int:
        return len(self.tokens)

    def __fspath__(self) -> str:
        if self.vocab_file is None:
            raise ValueError(
                f"the vocabulary is no WordPiece: `tokenizer_file={self.tokenizer_file!r}`"
            )
        return self.vocab_file


@dataclasses.dataclass(frozen=True, kw_only=True)
class Records:
    """A set of records that was made; `print` shows its summary.

    Attributes:
      files: its shards.
      num_records: in all of them.
      num_documents, num_sentences, num_tokens, num_unknown: of the text; unknown tokens are [UNK].
      summary: lines, as the command prints them.
    """

    files: tuple[str, ...]
    num_records: int
    num_documents: int
    num_sentences: int
    num_tokens: int
    num_unknown: int
    summary: str = dataclasses.field(repr=False)

    def __str__(self) -> str:
        return self.summary


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stores:
    """Token stores that were made, or were there before.

    Attributes:
      prefixes: of their files; one, or those of all partitions.
      num_documents, num_sequences, num_tokens, num_unknown: in all of them.
    """

    prefixes: tuple[str, ...]
    num_documents: int
    num_sequences: int
    num_tokens: int
    num_unknown: int


@takes(
    VocabularyTrainingConfig, TextConfig, others=("engine", *ENGINE_SETTINGS), fixed=("work_dir",)
)
def train_vocab(
    documents: Documents,
    vocab_file: Path = "vocab.txt",
    *,
    vocab_size: int = 30_000,
    model: str = WORDPIECE,
    do_lower_case: bool | None = None,
    tokenizer_file: Path | None = None,
    overwrite: bool = False,
    **options: "Unpack[TrainVocabOptions]",
) -> Vocabulary:
    """Train a vocabulary, and write it as a tokenizer.json and, if it is WordPiece, as vocab.txt.

    Args:
      documents: texts, lists of sentences, or names of files.
      vocab_file: file to write; only WordPiece has it.
      vocab_size: number of tokens.
      model: "wordpiece", "bpe" (byte-level) or "unigram".
      do_lower_case: whether to lower-case the text and, for WordPiece, drop accents; None: only for
        WordPiece.
      tokenizer_file: the tokenizer.json to write; None: beside the vocabulary.
      overwrite: whether to replace existing files.
      options: min_frequency, max_characters and others, as the flags of `bert-data train-vocab`.
    """
    path = convert("vocab_file", str, vocab_file)
    json_path = json_path_beside(path)
    if tokenizer_file is not None:
        json_path = convert("tokenizer_file", str, tokenizer_file)
    arguments = Options("train_vocab", {**options, "vocab_size": vocab_size, "model": model})
    engine = arguments.engine()
    text = arguments.config(TextConfig)
    with as_files(documents, path, text) as files:
        config = arguments.last_config(
            VocabularyTrainingConfig,
            input_files=tuple(input_files(files.names, text)),
            do_lower_case=model == WORDPIECE if do_lower_case is None else do_lower_case,
            text=text,
            engine=engine,
            work_dir=hidden_work_folder(path, "words", is_shared=engine.is_cluster),
        )
        overwrite = convert("overwrite", bool, overwrite)
        trained = write_vocabulary(config, path, json_path=json_path, overwrite=overwrite)
    return Vocabulary(
        vocab_file=path if config.model == WORDPIECE else None,
        tokenizer_file=json_path,
        tokens=trained.tokens,
        num_lines=trained.num_lines,
        do_lower_case=config.do_lower_case,
    )


@takes(DatasetConfig, TextConfig, InstanceConfig, others=ENGINE_SETTINGS)
def create_records(
    documents: Documents,
    output_file: Path,
    *,
    vocab_file: Path | None = None,
    tokenizer_file: Path | None = None,
    do_lower_case: bool | None = None,
    overwrite: bool = False,
    **options: "Unpack[CreateRecordsOptions]",
) -> Records:
    """Make BERT pretraining records: masked tokens and sentence pairs.

    Args:
      documents: texts, which are split into sentences, lists of sentences, or names of files or of
        token stores of sentences.
      output_file: file to write; "path@N" means N files.
      vocab_file: WordPiece vocabulary.
      tokenizer_file: a tokenizer.json instead.
      do_lower_case: with vocab_file: whether to lower-case the text and drop accents; None: as a
        `Vocabulary` says, or true, which is refused if its files say otherwise.
      overwrite: whether to replace existing files.
      options: max_seq_length, dupe_factor, masked_lm_prob, record_layout, output_format and others,
        as the flags of `bert-data create`.
    """
    path = convert("output_file", str, list_of_names(output_file))
    arguments = Options("create_records", options)
    text = arguments.config(TextConfig)
    with as_files(documents, path, text) as files:
        config = arguments.last_config(
            DatasetConfig,
            input_file=files.names,
            output_file=path,
            vocab_file=vocab_file,
            tokenizer_file=tokenizer_file,
            do_lower_case=_case(vocab_file, do_lower_case),
            text=text,
            instances=arguments.config(InstanceConfig),
            engine=arguments.engine(),
            overwrite=overwrite,
        )
        dataset = create_dataset(config)
    tokens = dataset.tokens
    return Records(
        files=tuple(dataset.paths),
        num_records=dataset.instances.num_instances,
        num_documents=tokens.num_documents,
        num_sentences=tokens.num_sentences,
        num_tokens=tokens.num_tokens,
        num_unknown=tokens.num_unknown,
        summary=summarize_records(dataset),
    )


def _case(vocab_file: Path | None, do_lower_case: bool | None) -> bool | None:
    """Return what the caller says, or else the vocabulary."""
    if do_lower_case is None and isinstance(vocab_file, Vocabulary):
        return vocab_file.do_lower_case
    return do_lower_case


@takes(StoreConfig, StoreWork, TextConfig, others=ENGINE_SETTINGS, fixed=("num_processes",))
def tokenize(
    documents: Documents,
    output_prefix: Path,
    *,
    vocab_file: Path | None = None,
    tokenizer_file: Path | None = None,
    do_lower_case: bool | None = None,
    level: str = "document",
    overwrite: bool = False,
    **options: "Unpack[TokenizeOptions]",
) -> Stores:
    """Tokenize text into a token store, for GPT samples or, of sentences, for `create_records`.

    Args:
      documents: texts, lists of sentences, or names of files.
      output_prefix: of the store's files, without .bin and .idx.
      vocab_file: WordPiece vocabulary.
      tokenizer_file: a tokenizer.json instead.
      do_lower_case: with vocab_file: whether to lower-case the text and drop accents; None: as a
        `Vocabulary` says, or true, which is refused if its files say otherwise.
      level: what a sequence of the store is: "document" or "sentence".
      overwrite: whether to replace an existing store.
      options: append_eod, num_partitions and others, as the flags of `bert-data tokenize`.
    """
    prefix = convert("output_prefix", str, output_prefix)
    arguments = Options("tokenize", options)
    engine = arguments.engine()
    workers = arguments.config(StoreWork).divide(engine)
    text = arguments.config(TextConfig)
    with as_files(documents, prefix, text) as files:
        if files.are_spooled and arguments.look("store_rules", MEGATRON) == CURATOR:
            raise ValueError(
                f"`store_rules={CURATOR}` names stores by the paths of their files, which texts"
                " from Python do not have"
            )
        config = arguments.last_config(
            StoreConfig,
            input_file=files.names,
            output_prefix=prefix,
            vocab_file=vocab_file,
            tokenizer_file=tokenizer_file,
            do_lower_case=_case(vocab_file, do_lower_case),
            text=text,
            level=level,
            engine=engine,
            **workers,
            overwrite=overwrite,
        )
        stores = make_stores(config)

    def total(name: str) -> int:
        return sum(store.notes.counts[name] for store in stores)

    return Stores(
        prefixes=tuple(store.prefix for store in stores),
        num_documents=total("num_documents"),
        num_sequences=total("num_sentences"),
        num_tokens=total("num_tokens"),
        num_unknown=total("num_unknown"),
    )
