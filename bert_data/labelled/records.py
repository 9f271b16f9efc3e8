"""From files of labelled texts to a set of shards of their records.

    files --rows--> classes             (a first pass, if the labels' names must be found)
    files --rows--> chunks --workers: tokenize, encode--> spool --dealt out--> shards, indexes
    then the manifests, last

The index has the number of tokens in each record's texts, so that batches can be planned by length.
"""

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from typing import IO

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data import storage
from bert_data.labelled.columns import (
    TEXT_COUNTS,
    LabelledColumns,
    LabelNumbers,
    find_classes,
    make_labelled_columns,
)
from bert_data.labelled.label_config import LabelledDatasetConfig
from bert_data.labelled.texts import LabelledText, file_format, read_labelled_texts
from bert_data.progress import how_many, progress
from bert_data.records.choices import TEXTS
from bert_data.records.fields import LABELLED
from bert_data.records.formats.manifest_file import ManifestFile
from bert_data.records.formats.registry import NONE, TFRECORD
from bert_data.records.formats.tfrecord import EncodedRecords, TFRecordWriter
from bert_data.records.sets.manifest import Manifest
from bert_data.records.sets.record_set import Chunk, open_record_set, write_shards
from bert_data.records.sets.summary import describe_files, percent_of, summary_row
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_file import load_wordpiece
from bert_data.work import Executor, count_workers, open_threads

CHUNK_CHARACTERS, CHUNK_TEXTS = 1 << 20, 1 << 12
CHUNK_RECORDS = 1 << 12  # from a spool
_MAX_NAMED = 10
_MAX_LETTERS = 40


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledDataset:
    """A finished set, and the files read; the manifest's files are in the order of `paths`."""

    inputs: Sequence[str]
    paths: Sequence[str]
    manifest: Manifest


class RecordSpool:
    """Encoded records in one file, kept until their number is known, then dealt out to shards.

    Only where the records are is in memory.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._ends: list[NDArray[np.int64]] = []
        self._num_tokens: list[NDArray[np.uint32]] = []
        self._num_bytes = 0

    def add(self, records: EncodedRecords) -> None:
        """Append records."""
        self._file.write(records.data)
        self._ends.append(records.ends + self._num_bytes)
        self._num_tokens.append(records.num_tokens)
        self._num_bytes += len(records.data)
        records.give_back()

    def max_tokens(self) -> int:
        """Return the number of tokens of the longest record; 0 if there is no record."""
        return max((int(numbers.max(initial=0)) for numbers in self._num_tokens), default=0)

    def read_chunks(self, num_shards: int) -> Iterator[Chunk]:
        """Yield chunks of records, shard by shard; record i goes to shard i mod num_shards."""
        self._file.flush()
        ends, num_tokens = np.concatenate(self._ends), np.concatenate(self._num_tokens)
        starts = np.concatenate([[0], ends[:-1]])
        data = storage.map_file(self._file.name).data.data
        for shard in range(num_shards):
            numbers = np.arange(shard, ends.size, num_shards)
            for first in range(0, numbers.size, CHUNK_RECORDS):
                part = numbers[first : first + CHUNK_RECORDS]
                places = zip(starts[part].tolist(), ends[part].tolist(), strict=True)
                encoded = EncodedRecords(
                    data=memoryview(b"".join([data[start:end] for start, end in places])),
                    ends=np.cumsum(ends[part] - starts[part]),
                    num_tokens=num_tokens[part],
                )
                yield Chunk(shard, part.size, encoded)


def create_labelled_dataset(config: LabelledDatasetConfig) -> LabelledDataset:
    """Make a set of shards from labelled texts; they appear together, or not at all.

    Record i, in the order of the files and their rows, goes to shard i mod the number of shards.
    Apart from some 40 bytes per record, memory does not grow with the texts.
    """
    storage.refuse_other_endings(storage.split_names(config.output_file), (TFRECORD,))
    storage.expand_outputs(config.output_file)
    inputs = storage.expand_inputs(config.input_file)
    for path in inputs:
        file_format(path, config.texts)
        if config.labels.needs_look and not storage.is_file(path):
            raise ValueError(
                f"{path} is not a regular file and can be read only once; name the `classes`, or"
                " set `label_kind=integer`"
            )
    tokenizer = load_wordpiece(
        config.vocab_file,
        config.tokenizer_file,
        do_lower_case=config.do_lower_case,
        reason=", which are needed to distinguish words and their pieces",
    )
    with open_record_set(
        config.output_file,
        inputs=[*inputs, *filter(None, (config.vocab_file, config.tokenizer_file))],
        overwrite=config.overwrite,
        work_dir=config.work_dir,
    ) as record_set:
        numbers = LabelNumbers(_look_for_classes(inputs, config))
        writer = TFRecordWriter(config.kind)
        path = os.path.join(record_set.outputs.work_dir, "records")
        with (
            storage.open_scratch(path, "w+b") as file,
            open_threads(count_workers(config.num_workers)) as executor,
        ):
            spool = RecordSpool(file)
            counts = _fill_spool(spool, writer, inputs, config, tokenizer, numbers, executor)
            files = write_shards(
                record_set.shards,
                writer,
                spool.read_chunks(len(record_set.paths)),
                lambda records: records,
                num_records=counts["num_texts"],
                executor=executor,
            )
        manifest = _manifest(config, tokenizer, numbers, counts, files, spool.max_tokens())
        record_set.commit(manifest)
    return LabelledDataset(inputs=inputs, paths=record_set.paths, manifest=manifest)


def _rows(
    inputs: Sequence[str], config: LabelledDatasetConfig, advance: Callable[[int], object]
) -> Iterator[LabelledText]:
    for path in inputs:
        yield from read_labelled_texts(path, config.texts, advance)


def _look_for_classes(inputs: Sequence[str], config: LabelledDatasetConfig) -> tuple[str, ...]:
    if not config.labels.needs_look:
        return config.labels.classes
    num_bytes = sum(map(storage.file_size, inputs))
    with progress("look for classes", total=num_bytes, unit="B") as advance:
        return find_classes(_rows(inputs, config, advance), config.labels)


def _fill_spool(
    spool: RecordSpool,
    writer: TFRecordWriter,
    inputs: Sequence[str],
    config: LabelledDatasetConfig,
    tokenizer: FastTokenizer,
    numbers: LabelNumbers,
    executor: Executor,
) -> dict[str, int]:
    """Encode all records; return counts of what the texts hold."""
    counts = dict.fromkeys(TEXT_COUNTS, 0)

    def encode(chunk: "_TextChunk") -> tuple["_TextChunk", LabelledColumns, EncodedRecords]:
        columns = make_labelled_columns(
            [row.texts for row in chunk.rows],
            chunk.labels,
            tokenizer,
            config.kind,
            sentences=config.sentences,
            language=config.language,
        )
        return chunk, columns, writer.encode(columns.batch)

    num_bytes = sum(map(storage.file_size, inputs))
    with progress("encode records", total=num_bytes, unit="B") as advance:
        chunks = _cut(_rows(inputs, config, advance), numbers)
        for chunk, columns, encoded in executor.ordered_map(encode, chunks):
            spool.add(encoded)
            if columns.counts["num_without_tokens"] and not counts["num_without_tokens"]:
                row = chunk.rows[int(columns.batch.num_tokens().argmin())]
                logging.warning("%s:%d: the text has no token", row.path, row.line)
            for name, count in columns.counts.items():
                counts[name] += count
    if not counts["num_tokens"]:
        unit = "token" if counts["num_texts"] else "row"
        raise ValueError(
            f"no {unit} in the texts of {how_many(len(inputs), 'file')}, {inputs[0]!r} the first"
        )
    return counts


@dataclasses.dataclass(kw_only=True)
class _TextChunk:
    rows: list[LabelledText] = dataclasses.field(default_factory=list)
    labels: list[int] = dataclasses.field(default_factory=list)
    num_characters: int = 0


def _cut(rows: Iterator[LabelledText], numbers: LabelNumbers) -> Iterator[_TextChunk]:
    """Cut rows into chunks, which depend only on the rows."""
    chunk = _TextChunk()
    for row in rows:
        chunk.rows.append(row)
        chunk.labels.append(numbers.number_of(row))
        chunk.num_characters += sum(
            len(text) if isinstance(text, str) else sum(map(len, text)) for text in row.texts
        )
        if chunk.num_characters >= CHUNK_CHARACTERS or len(chunk.labels) == CHUNK_TEXTS:
            yield chunk
            chunk = _TextChunk()
    if chunk.labels:
        yield chunk


def _manifest(
    config: LabelledDatasetConfig,
    tokenizer: FastTokenizer,
    numbers: LabelNumbers,
    counts: dict[str, int],
    files: tuple[ManifestFile, ...],
    longest: int,
) -> Manifest:
    return Manifest(
        record_layout=LABELLED,
        compression=NONE,
        max_seq_length=longest,
        max_predictions_per_seq=0,
        random_seed=0,
        vocabulary=tokenizer.vocabulary.note,
        flags={
            "do_lower_case": tokenizer.do_lower_case,
            "sentences": config.sentences,
            "language": config.language,
            "text_columns": list(config.texts.text_columns),
            "label_column": config.texts.label_column,
            "text_features": list(config.text_features or TEXTS[: len(config.texts.text_columns)]),
            "label_feature": config.label_feature,
            "classes": list(numbers.classes),
            "cls_id": tokenizer.vocabulary.cls_id,
            "sep_id": tokenizer.vocabulary.sep_id,
        },
        counts={"text": counts, "labels": numbers.counts()},
        files=files,
    )


def summarize_labelled(dataset: LabelledDataset) -> str:
    """Return the lines of the summary of a set of labelled texts."""
    return "\n".join(_lines(dataset))


def _lines(dataset: LabelledDataset) -> Iterator[str]:
    manifest = dataset.manifest
    counts, labels = manifest.counts["text"], manifest.counts["labels"]
    num_texts, num_tokens = counts["num_texts"], counts["num_tokens"]
    nested = manifest.flags["sentences"] != "one"
    levels = f"[{'sentences' if nested else 'texts'}, words, pieces]"
    yield f"records of labelled texts in {how_many(len(dataset.paths), 'file')}"
    yield summary_row(
        "read", f"{how_many(len(dataset.inputs), 'file')}, {how_many(num_texts, 'row')}"
    )
    names = "classes" if manifest.flags["classes"] else "integers"
    named = [
        f"{name[:_MAX_LETTERS]} {count:,}" for name, count in list(labels.items())[:_MAX_NAMED]
    ]
    more = ", ..." if len(labels) > _MAX_NAMED else ""
    yield summary_row("labels", f"{len(labels):,} {names}: {', '.join(named)}{more}")
    if nested:
        yield summary_row("sentences", f"{counts['num_sentences']:,}")
    yield summary_row("words", f"{counts['num_words']:,}")
    unknown = f"{counts['num_unknown']:,} [UNK], {percent_of(counts['num_unknown'], num_tokens)}"
    yield summary_row("tokens", f"{num_tokens:,} ({unknown}), {levels}")
    mean = f"{num_tokens / num_texts:.1f} tokens on average"
    yield summary_row("per row", f"{mean}, at most {manifest.max_seq_length:,}")
    if counts["num_without_tokens"]:
        yield summary_row("empty", f"{counts['num_without_tokens']:,} rows have no token")
    yield from describe_files(dataset.paths, dataset.manifest.files)
