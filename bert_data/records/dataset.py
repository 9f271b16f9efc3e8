"""From text to a set of shards: the stages in their order, and what they leave.

text --load_corpus--> token store --make_instances--> spool --write_shards--> shards
then the manifests, last
"""

import dataclasses
import os
import time
from collections.abc import Sequence

from bert_data import features
from bert_data.objectives.making import InstanceConfig, InstanceCounts, make_instances
from bert_data.objectives.next_sentence import NSP
from bert_data.objectives.rows import Instance, decode_row
from bert_data.records.budget import MemoryBudget, share_memory
from bert_data.records.corpus import CorpusFiles, find_corpus, load_corpus
from bert_data.records.formats import OutputFormat, find_format
from bert_data.records.manifest import Manifest
from bert_data.records.record_config import RecordConfig, check_ending
from bert_data.records.record_set import open_record_set
from bert_data.records.spool import read_rows
from bert_data.records.writing import write_shards
from bert_data.storage import OutputSet
from bert_data.text.documents import TextConfig
from bert_data.tokens.filling import TokenCounts
from bert_data.tokens.tokenizer_file import Tokenizer, load_tokenizer, vocabulary_of
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.work import Executor, count_workers, open_threads


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetConfig:
    """What is made of which text, and with what.

    Attributes:
      input_file, output_file: comma-separated, see `bert_data.storage`.
      vocab_file, tokenizer_file, do_lower_case: of the tokenizer, see `load_tokenizer`.
      text: how the input is read; its format may be "store", too, see `find_corpus`.
      instances: how instances are made.
      output_format, record_layout, compression: of the shards, see `RecordConfig`.
      num_workers: threads; 0: all cores. The files do not depend on it.
      max_memory_mb: what the process may take, in 10**6 bytes, >= 300, see `share_memory`; to it
        come up to 16 bytes an instance.
      work_dir: folder for what spills to disk; None: the first output's.
      overwrite: whether outputs that exist are replaced.
      num_examples: records to show, >= 0.
    """

    input_file: str
    output_file: str
    vocab_file: str | None = None
    tokenizer_file: str | None = None
    do_lower_case: bool = True
    text: TextConfig = dataclasses.field(default_factory=TextConfig)
    instances: InstanceConfig = dataclasses.field(default_factory=InstanceConfig)
    output_format: str = features.TFRECORD
    record_layout: str = features.RAGGED
    compression: str = "none"
    num_workers: int = 0
    max_memory_mb: int = 1000
    work_dir: str | None = None
    overwrite: bool = False
    num_examples: int = 3

    def __post_init__(self) -> None:
        share_memory(self.max_memory_mb, 1)
        check_ending(self.output_file, self.output_format)
        if self.num_examples < 0:
            raise ValueError(f"num_examples is {self.num_examples}; 0 or more is allowed")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage that is done: its wall-clock seconds, and the bytes that it is measured by."""

    name: str
    seconds: float
    num_bytes: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dataset:
    """What was made.

    Attributes:
      inputs: the files read.
      tokens, instances: counts.
      stages: seconds and bytes.
      manifest: what it says; its files are in the order of the outputs.
      paths: of the shards.
      examples: the first records.
      vocabulary: of the tokens.
    """

    inputs: Sequence[str]
    tokens: TokenCounts
    instances: InstanceCounts
    stages: Sequence[Stage]
    manifest: Manifest
    paths: Sequence[str]
    examples: Sequence[Instance]
    vocabulary: Vocabulary


def create_dataset(config: DatasetConfig) -> Dataset:
    """Makes a set of shards from text; they appear together, or not at all.

    Raises:
      ValueError: a setting, an input or the vocabulary cannot serve; nothing is left behind.
      OSError: something cannot be read or written; likewise.
      CorruptDataError: a compressed input is damaged; likewise.
    """
    records = RecordConfig(
        output_format=config.output_format,
        record_layout=config.record_layout,
        compression=config.compression,
        max_seq_length=config.instances.max_seq_length,
        max_predictions_per_seq=config.instances.max_predictions_per_seq,
    )
    output_format = find_format(records.output_format)
    budget = share_memory(
        config.max_memory_mb,
        count_workers(config.num_workers),
        reserved_bytes=output_format.reserved_bytes,
    )
    corpus = find_corpus(config.input_file, config.text)
    tokenizer = load_tokenizer(
        config.vocab_file, config.tokenizer_file, do_lower_case=config.do_lower_case
    )
    read = [*corpus.paths, *filter(None, (config.vocab_file, config.tokenizer_file))]
    with (
        open_record_set(
            config.output_file,
            inputs=read,
            has_indexes=output_format.has_index,
            overwrite=config.overwrite,
            work_dir=config.work_dir,
        ) as record_set,
        open_threads(budget.num_workers) as executor,
    ):
        outputs, paths = record_set.outputs, record_set.paths
        dataset = _make(config, output_format, corpus, tokenizer, outputs, paths, budget, executor)
        record_set.commit(dataset.manifest)
    return dataset


def _make(
    config: DatasetConfig,
    output_format: OutputFormat,
    corpus: CorpusFiles,
    tokenizer: Tokenizer,
    outputs: OutputSet,
    paths: Sequence[str],
    budget: MemoryBudget,
    executor: Executor,
) -> Dataset:
    """Runs the stages; the shards are then there under hidden names."""
    stages: list[Stage] = []
    start = time.monotonic()
    vocabulary = _vocabulary(config, tokenizer)
    store, tokens = load_corpus(
        corpus,
        tokenizer,
        vocabulary,
        os.path.join(outputs.work_dir, "tokens"),
        text=config.text,
        executor=executor,
    )
    start = _note(stages, "read tokens" if corpus.prefix else "tokenize", start, tokens.num_bytes)
    spool_path = os.path.join(outputs.work_dir, "instances")
    with open(spool_path, "wb") as spool:
        instances = make_instances(
            store, vocabulary, config.instances, spool, max_store_bytes=budget.max_store_bytes
        )
    first = instances.order[: config.num_examples]
    rows = read_rows(spool_path, instances.num_words, first)
    start = _note(stages, "make instances", start, os.path.getsize(spool_path))
    manifest = _manifest(config, output_format, tokenizer, vocabulary, tokens, instances.counts)
    files = write_shards(
        output_format.make(store, vocabulary, manifest),
        store,
        instances,
        spool_path,
        outputs,
        paths,
        max_rows_bytes=budget.max_rows_bytes,
        max_store_bytes=budget.max_store_bytes,
        executor=executor,
    )
    _note(stages, "write records", start, sum(file.num_bytes for file in files))
    return Dataset(
        inputs=corpus.paths,
        tokens=tokens,
        instances=instances.counts,
        stages=stages,
        manifest=dataclasses.replace(manifest, files=files),
        paths=paths,
        examples=[decode_row(row, store.ids, vocabulary) for row in rows],
        vocabulary=vocabulary,
    )


def _vocabulary(config: DatasetConfig, tokenizer: Tokenizer) -> Vocabulary:
    """The vocabulary, which must tell what a word is if whole words are masked.

    Raises:
      ValueError: it does not, or lacks a token that is needed.
    """
    vocabulary = vocabulary_of(tokenizer)
    if config.instances.do_whole_word_mask and not vocabulary.continuation.any():
        raise ValueError(
            f"{vocabulary.path} has no piece that begins with ##, so that it is not known which"
            " make a word; --do_whole_word_mask cannot be"
        )
    return vocabulary


def _note(stages: list[Stage], name: str, start: float, num_bytes: int) -> float:
    now = time.monotonic()
    stages.append(Stage(name=name, seconds=now - start, num_bytes=num_bytes))
    return now


def _manifest(
    config: DatasetConfig,
    output_format: OutputFormat,
    tokenizer: Tokenizer,
    vocabulary: Vocabulary,
    tokens: TokenCounts,
    instances: InstanceCounts,
) -> Manifest:
    """What is known of the shards before they are written."""
    made = config.instances
    return Manifest(
        output_format=config.output_format,
        record_layout=config.record_layout,
        compression=output_format.compression or config.compression,
        max_seq_length=made.max_seq_length,
        max_predictions_per_seq=made.max_predictions_per_seq,
        random_seed=made.random_seed,
        vocab_size=vocabulary.size,
        vocab_sha256=vocabulary.sha256,
        flags={
            "do_lower_case": tokenizer.do_lower_case,
            "do_whole_word_mask": made.do_whole_word_mask,
            "dupe_factor": made.dupe_factor,
            "masked_lm_prob": made.masked_lm_prob,
            "short_seq_prob": made.short_seq_prob,
            **dataclasses.asdict(config.text),
            # Sets of the reference's objective are as they were before there were others.
            **({} if made.next_sentence == NSP else {"next_sentence": made.next_sentence}),
        },
        counts={
            "text": dataclasses.asdict(tokens),
            "instances": {k: n for k, n in dataclasses.asdict(instances).items() if n is not None},
        },
        files=(),
    )
