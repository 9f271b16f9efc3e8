"""Sets that a program's own functions make: the plain definition calls them, and we write the set.

text --create_training_instances--> TrainingInstances --columns--> shards, index, manifest

One process makes them, and holds all instances in memory. Equal instances are equal records, so a
function that changes nothing gives the TFRecord files of `create_dataset`.
"""

import dataclasses
import itertools
import os
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from absl import logging
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from bert_data.kernels.crc32c import is_frame, masked_crc32c
from bert_data.records.choices import REFERENCE
from bert_data.records.columns import Column, ColumnBatch
from bert_data.records.definition import TrainingInstance
from bert_data.records.fields import (
    INPUT_IDS,
    INPUT_IDS_SPLITS,
    INPUT_MASK,
    MASKED_LM_IDS,
    MASKED_LM_POSITIONS,
    NEXT_SENTENCE_LABELS,
    SEGMENT_IDS,
    Axis,
    Field,
    RecordKind,
)
from bert_data.records.formats.manifest_file import ManifestFile
from bert_data.records.formats.registry import NONE, TFRECORD
from bert_data.records.formats.tfrecord import EncodedRecords, TFRecordWriter
from bert_data.records.formats.wire_kernels import FRAME_END, FRAME_START
from bert_data.records.instances.rows import Instance
from bert_data.records.sets.config import describe_set, make_writer, open_set
from bert_data.records.sets.corpus import Corpus, open_corpus
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.manifest import PROGRAM, Manifest
from bert_data.records.sets.record_set import Chunk, RecordSet, write_shards
from bert_data.storage import exists, open_scratch, read_bytes
from bert_data.text.compression import COMPRESSED_ENDINGS
from bert_data.text.documents import block_lines
from bert_data.text.formats import LINES, find_plain_format, read_documents
from bert_data.text.text_config import SENTENCE, STRICT
from bert_data.tokens.vocabulary import TokenTable
from bert_data.work import open_threads


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProgramFunctions:
    """The functions that make a set, with the arguments of Google's of these names.

    Attributes:
      names: of those that are a program's own.
      full_tokenizer: takes vocab_file and do_lower_case.
      write_instance_to_example_files: None: instances become records as always.
    """

    names: Sequence[str]
    full_tokenizer: Callable[..., Any]
    create_training_instances: Callable[..., Sequence[TrainingInstance]]
    write_instance_to_example_files: Callable[..., object] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProgramSet:
    """A finished set.

    Attributes:
      manifest: its files are in the order of `paths`.
      examples: the first records; () if a program's function wrote them.
    """

    manifest: Manifest
    paths: Sequence[str]
    examples: Sequence[Instance]
    vocabulary: TokenTable


def create_by_program(config: DatasetConfig, functions: ProgramFunctions) -> ProgramSet:
    """Make a set of shards from text by a program's functions; they appear together, or not at all.

    Raises:
      ValueError: the configuration asks for what the plain definition does not have, or the
        functions return what is no instance.
    """
    corpus = open_corpus(config)
    _refuse_others(config, corpus, functions)
    logging.warning(
        "%s: this program's own; the plain definition makes the instances, and calls it, in one"
        " process that holds all of them in memory",
        ", ".join(functions.names),
    )
    with open_set(config, corpus.files.paths, overwrite=config.overwrite) as record_set:
        corpus.check()
        manifest = describe_set(config, corpus.text, corpus.tokenizer, corpus.vocabulary)
        flags = {**manifest.flags, PROGRAM: list(functions.names)}
        manifest = dataclasses.replace(manifest, flags=flags)
        files, examples = _make(config, functions, corpus, record_set, manifest)
        counts = {"instances": {"num_instances": sum(file.num_records for file in files)}}
        manifest = dataclasses.replace(manifest, counts=counts, files=files)
        record_set.commit(manifest)
    return ProgramSet(
        manifest=manifest, paths=record_set.paths, examples=examples, vocabulary=corpus.vocabulary
    )


def _refuse_others(config: DatasetConfig, corpus: Corpus, functions: ProgramFunctions) -> None:
    """Refuse settings that neither the plain definition nor Google's functions know."""
    for name, value in (
        ("tokenizer_file", config.tokenizer_file),
        ("num_partitions", config.num_partitions),
        ("without_documents", config.without_documents),
        *((name, value) for name, value in config.instances.changed_flags().items()),
    ):
        if value:
            raise ValueError(
                f"{name} is {value!r}; {functions.names[0]} is this program's own, and the plain"
                f" definition, which calls it, does not have `{name}`"
            )
    if corpus.files.stores:
        raise ValueError(
            f"{corpus.files.stores[0]} is a token store; {functions.names[0]} is this program's"
            " own, and the plain definition, which calls it, needs text"
        )
    layout = config.record_layout, config.output_format, config.compression
    if functions.write_instance_to_example_files and layout != (REFERENCE, TFRECORD, NONE):
        raise ValueError(
            f"{functions.names[-1]} is this program's own, and makes Google's padded Examples; it"
            f" needs `record_layout={REFERENCE}`, `output_format={TFRECORD}` and"
            f" `compression={NONE}`"
        )


def _make(
    config: DatasetConfig,
    functions: ProgramFunctions,
    corpus: Corpus,
    record_set: RecordSet,
    manifest: Manifest,
) -> tuple[tuple[ManifestFile, ...], Sequence[Instance]]:
    """Make the instances, and write them to shards with hidden names; return the first, too."""
    settings, folder = config.instances, record_set.outputs.work_dir
    limits = settings.max_seq_length, settings.max_predictions_per_seq
    tokenizer = functions.full_tokenizer(
        vocab_file=config.vocab_file, do_lower_case=corpus.tokenizer.do_lower_case
    )
    made = functions.create_training_instances(
        _plain_files(corpus, folder),
        tokenizer,
        settings.max_seq_length,
        settings.dupe_factor,
        settings.short_seq_prob,
        settings.masked_lm_prob,
        settings.max_predictions_per_seq,
        random.Random(settings.random_seed),
    )
    if not made:
        raise ValueError(f"{functions.names[0]}, this program's own: no instances were made")
    writer = make_writer(manifest, config.group_size)
    if functions.write_instance_to_example_files is not None:
        parts = [os.path.join(folder, f"part-{i}") for i in range(len(record_set.paths))]
        functions.write_instance_to_example_files(made, tokenizer, *limits, parts)
        assert isinstance(writer, TFRecordWriter)
        return tuple(_take_in(parts, record_set, writer)), ()
    instances = [_as_instance(each, tokenizer, corpus.vocabulary, limits) for each in made]
    with open_threads(1) as executor:
        files = write_shards(
            record_set.shards,
            writer,
            _chunks(instances, len(record_set.paths), config.chunk_size),
            lambda chunk: writer.encode(_columns(chunk, corpus.vocabulary, writer.kind)),
            num_records=len(instances),
            executor=executor,
        )
    return files, instances[: config.num_examples]


def _plain_files(corpus: Corpus, folder: str) -> Sequence[str]:
    """Return files of lines with the text: those of the corpus, or one of all that it holds."""
    paths, text = corpus.files.paths, corpus.text
    is_plain = find_plain_format(paths, text).name == LINES.name and text.encoding_errors == STRICT
    if is_plain and not any(path.endswith(COMPRESSED_ENDINGS) for path in paths):
        return paths
    plain = os.path.join(folder, "text")
    with open_scratch(plain) as file:
        for block in read_documents(paths, text):
            file.write(block_lines(block.documents, SENTENCE, text.language))
    return [plain]


def _as_instance(
    made: TrainingInstance, tokenizer: Any, vocabulary: TokenTable, limits: tuple[int, int]
) -> Instance:
    """Return an instance of a program as ids, if it can be a record."""
    try:
        ids = tuple(tokenizer.convert_tokens_to_ids(made.tokens))
        labels = tuple(tokenizer.convert_tokens_to_ids(made.masked_lm_labels))
    except KeyError as error:
        raise ValueError(f"an instance has the token {error}, which has no id") from None
    positions, segments = tuple(made.masked_lm_positions), tuple(made.segment_ids)
    for sizes, most, unit in (
        ((len(ids), len(segments)), limits[0], "tokens and segment ids"),
        ((len(positions), len(labels)), limits[1], "positions and labels to predict"),
    ):
        if sizes[0] != sizes[1] or sizes[0] > most:
            raise ValueError(
                f"an instance has {sizes[0]} and {sizes[1]} {unit}; there must be equally many, at"
                f" most {most}"
            )
    for number in (*ids, *labels):
        if not 0 <= number < vocabulary.size:
            raise ValueError(
                f"an instance has id {number}; {vocabulary.path} has {vocabulary.size:,} tokens"
            )
    ascending = (-1, *positions, len(ids))
    if any(first >= second for first, second in itertools.pairwise(ascending)):
        raise ValueError(f"an instance of {len(ids)} tokens has masked_lm_positions {positions}")
    if made.is_random_next not in (False, True) or not {*segments} <= {0, 1}:
        raise ValueError(
            f"an instance has is_random_next {made.is_random_next} and segment ids"
            f" {sorted({*segments})}; each must be 0 or 1"
        )
    return Instance(
        ids=ids,
        segment_ids=segments,
        masked_positions=positions,
        masked_ids=labels,
        label=bool(made.is_random_next),
    )


def _chunks(instances: Sequence[Instance], num_shards: int, size: int) -> Iterator[Chunk]:
    for shard in range(num_shards):
        of_shard = instances[shard::num_shards]
        for start in range(0, len(of_shard), size):
            chunk = of_shard[start : start + size]
            yield Chunk(shard, len(chunk), chunk)


def _columns(
    instances: Sequence[Instance], vocabulary: TokenTable, kind: RecordKind
) -> ColumnBatch:
    words = [_word_splits(each, vocabulary) for each in instances]
    ragged: dict[Field, Sequence[Sequence[int]]] = {
        INPUT_IDS: [each.ids for each in instances],
        SEGMENT_IDS: [each.segment_ids for each in instances],
        MASKED_LM_POSITIONS: [each.masked_positions for each in instances],
        MASKED_LM_IDS: [each.masked_ids for each in instances],
        INPUT_IDS_SPLITS: words,
    }
    columns = {
        field.name: Column(
            np.fromiter(itertools.chain.from_iterable(values), field.dtype),
            np.cumsum([0, *map(len, values)], dtype=np.int32),
        )
        for field, values in ragged.items()
    }
    labels = np.array([each.label for each in instances], np.bool_)
    columns[NEXT_SENTENCE_LABELS.name] = Column(labels)
    return ColumnBatch(kind=kind, columns={f.name: columns[f.name] for f in kind.stored})


def _word_splits(instance: Instance, vocabulary: TokenTable) -> Sequence[int]:
    """Return the row splits of an instance's tokens, before masking, into words.

    The first token of A and of B begins a word, whatever it is.
    """
    ids, segments = np.array(instance.ids), np.array(instance.segment_ids)
    ids[list(instance.masked_positions)] = instance.masked_ids
    bits = vocabulary.word_bits[ids]
    begins = np.ones(ids.size, np.bool_)
    begins[2:] = (bits[1:-1] >> 8 & bits[2:] & 0xFF == 0) | (segments[2:] > segments[1:-1])
    return [*np.flatnonzero(begins).tolist(), ids.size]


def _take_in(
    parts: Sequence[str], record_set: RecordSet, writer: TFRecordWriter
) -> Iterator[ManifestFile]:
    """Make shards of files that a program has written, if their records are Google's."""
    for path, part in zip(record_set.paths, parts, strict=True):
        if not exists(part):
            raise ValueError(f"{path}: this program's function has not written it")
        data = read_bytes(part)
        ends, num_tokens = _measure(data, path, writer.kind)
        with writer.open_shard(record_set.shards.open, path, ends.size) as shard:
            if ends.size:
                shard.add(EncodedRecords(data=memoryview(data), ends=ends, num_tokens=num_tokens))
            yield shard.finish()


def _measure(
    data: bytes, path: str, kind: RecordKind
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return where each record of a TFRecord file ends, and its tokens without padding."""
    import tensorflow as tf

    sizes = {f: kind.padded_to.get(f.axis, 1) for f in kind.fields if f.axis is not Axis.WORDS}
    at, ends, num_tokens = 0, list[int](), list[int]()
    while at < len(data):
        start = at + FRAME_START
        stop = start + int.from_bytes(data[at : at + 8], "little")
        record = data[start:stop]
        checksum = masked_crc32c(record).to_bytes(FRAME_END, "little")
        try:
            if not is_frame(data[at:start]) or data[stop : stop + FRAME_END] != checksum:
                raise DecodeError
            feature = tf.train.Example.FromString(record).features.feature
        except DecodeError:
            reason = f"this program's function wrote no tf.train.Example at byte {at}"
            raise ValueError(f"{path}: {reason}") from None
        for field, expected in sizes.items():
            values = getattr(feature[kind.feature_of(field)], field.feature_kind).value
            if len(values) != expected:
                raise ValueError(
                    f"record {len(ends)} of {path}, as this program writes it, has {len(values)}"
                    f" values in the {field.feature_kind} {kind.feature_of(field)}; there must be"
                    f" {expected}"
                )
        mask = feature[kind.feature_of(INPUT_MASK)].int64_list.value
        at = stop + FRAME_END
        ends.append(at)
        num_tokens.append(sum(mask))
    return np.array(ends, np.int64), np.array(num_tokens, np.uint32)
