"""What records of labelled texts hold: as their manifest says, or by a look at all of them.

    a manifest                                ->  RecordForm(texts=("text",), label="label", ...)
    files of another program, with the names  ->  RecordForm(texts=("summary",), label="label", ...)
    of their features, and a vocabulary           and an index of each file

Records of others hold the same features: label, TEXT_tokens_values and TEXT_tokens_splits_0, ...
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError, first_sentence
from bert_data.labelled.ragged import RaggedSpec, parse_ragged
from bert_data.progress import progress
from bert_data.reader.files.blocks import walk_blocks
from bert_data.reader.files.shards import Shard
from bert_data.records import fields
from bert_data.records.fields import tokens_name
from bert_data.records.formats.tfrecord import FRAME_BYTES, INDEX_DTYPE
from bert_data.records.ragged_arrays import splits_name, values_name
from bert_data.records.sets.manifest import Manifest
from bert_data.storage import read_bytes
from bert_data.tokens.tokenizer_file import load_tokenizer, vocabulary_of
from bert_data.tokens.tokenizer_json import find_definition, vocabulary_sha256
from bert_data.tokens.vocabulary import TokenTable, load_vocabulary


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordForm:
    """What a reader must know of records; those that share batches have the same.

    Attributes:
      texts, label: names of the features, see `fields.labelled_records`.
      ragged_rank: ragged dimensions of a text's tokens: 2 for [sentences, words, pieces], 1 for
        [words, pieces], as version 0.1 wrote them.
      classes: names of the labels 0, 1, ...; () if the labels are integers of the user.
      do_lower_case: None: not known.
    """

    texts: tuple[str, ...]
    label: str
    ragged_rank: int
    classes: tuple[str, ...]
    vocab_sha256: str
    vocab_size: int
    cls_id: int
    sep_id: int
    do_lower_case: bool | None


def form_of_manifest(manifest: Manifest) -> RecordForm:
    """Return the form of the records of a set."""
    flags = manifest.flags
    texts = flags.get("text_features")
    return RecordForm(
        texts=tuple(texts or fields.TEXTS[: len(flags["text_columns"])]),
        label=flags.get("label_feature", fields.LABEL),
        ragged_rank=1 if texts is None and flags["sentences"] == "one" else 2,
        classes=tuple(flags["classes"]),
        vocab_sha256=manifest.vocabulary.sha256,
        vocab_size=manifest.vocabulary.size,
        cls_id=int(flags["cls_id"]),
        sep_id=int(flags["sep_id"]),
        do_lower_case=flags["do_lower_case"],
    )


class LookedAt(NamedTuple):
    """What a look at records found.

    Attributes:
      labels: those that occur.
      indexes: of each shard, as `reader.files.indexes.read_index` returns them; None: shards have
        their own.
    """

    form: RecordForm
    labels: frozenset[int]
    indexes: list[NDArray[np.void]] | None


def look_at_records(
    shards: Sequence[Shard], *, texts: Sequence[str], label: str, vocab_file: str
) -> LookedAt:
    """Read records that no manifest describes, once, and check them.

    Args:
      texts, label: names of their features.
      vocab_file: vocabulary, or tokenizer.json, of their tokens.

    Raises:
      ValueError: the first record has other features, or there is no record.
      CorruptDataError: a record lacks a feature, its row splits do not fit, or an id is not in the
        vocabulary.
    """
    vocabulary = _vocabulary(vocab_file)
    form: RecordForm | None = None
    labels: set[int] = set()
    indexes = []
    with progress("look at records", total=sum(s.num_bytes for s in shards), unit="B") as advance:
        for shard in shards:
            parts, end, number = [], 0, 0
            for records in _blocks(shard):
                form = form or RecordForm(
                    texts=tuple(texts),
                    label=label,
                    ragged_rank=_ragged_rank(shard.path, records[0], texts, label),
                    classes=(),
                    vocab_sha256=vocabulary_sha256(vocab_file),
                    vocab_size=vocabulary.size,
                    cls_id=vocabulary.cls_id,
                    sep_id=vocabulary.sep_id,
                    do_lower_case=vocabulary.do_lower_case,
                )
                part = np.zeros(len(records), INDEX_DTYPE)
                ends = end + np.cumsum([len(record) + FRAME_BYTES for record in records])
                part["offset"] = [end, *ends[:-1]]
                part["num_tokens"], found = _look(shard.path, records, form, number, part["offset"])
                labels |= found
                parts.append(part)
                advance(int(ends[-1]) - end)
                end, number = int(ends[-1]), number + len(records)
            indexes.append(np.concatenate([*parts, np.array([(end, 0)], INDEX_DTYPE)]))
    if form is None:
        raise ValueError(f"no records in {shards[0].path}")
    return LookedAt(form, frozenset(labels), indexes)


def _vocabulary(path: str) -> TokenTable:
    if find_definition(path, read_bytes(path)) is None:
        return load_vocabulary(path)
    return vocabulary_of(load_tokenizer(None, path), ("cls", "sep"))


def _blocks(shard: Shard) -> Iterator[list[bytes]]:
    """Yield the records of a shard, some at a time."""
    for _, block in walk_blocks(shard, are_instances=False):
        places = zip(block.starts.tolist(), block.sizes.tolist(), strict=True)
        records = [block.data[start : start + size].tobytes() for start, size in places]
        if records:
            yield records


def _ragged_rank(path: str, record: bytes, texts: Sequence[str], label: str) -> int:
    """Return the ragged dimensions of the tokens of a file's first record."""
    try:
        names = set(tf.train.Example.FromString(record).features.feature)
    except ValueError:  # protobuf's DecodeError
        names = set()
    needed = [label]
    for tokens in map(tokens_name, texts):
        needed += [values_name(tokens), splits_name(tokens, 0)]
    missing = [name for name in needed if name not in names]
    if missing:
        raise ValueError(
            f"{path} has no manifest, and its first record no feature {missing[0]!r}; set"
            f" `text_features` and `label_feature` (its features: {', '.join(sorted(names))})"
        )
    rank = 1
    while all(splits_name(tokens_name(text), rank) in names for text in texts):
        rank += 1
    return rank


def _look(
    path: str, records: list[bytes], form: RecordForm, first: int, offsets: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], set[int]]:
    """Return the numbers of tokens, int64[records], and the labels of some records."""
    try:
        return _parse(tf.constant(records), form)
    except (tf.errors.InvalidArgumentError, ValueError) as error:
        for number, record in enumerate(records):
            try:
                _parse(tf.constant([record]), form)
            except (tf.errors.InvalidArgumentError, ValueError) as its_own:
                reason = first_sentence(its_own)
                place = int(offsets[number]), reason, first + number
                raise CorruptDataError(path, *place) from None
        raise AssertionError("each record is sound by itself") from error


def _parse(records: tf.Tensor, form: RecordForm) -> tuple[NDArray[np.int64], set[int]]:
    names = list(map(tokens_name, form.texts))
    needed = [form.label, *(splits_name(name, 0) for name in names)]
    parsed = tf.io.parse_example(
        records, {name: tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64) for name in needed}
    )
    for name in needed:
        if not tf.reduce_all(parsed[name].row_lengths() > 0):
            raise ValueError(f"a record has no feature {name!r}")
    if not tf.reduce_all(parsed[form.label].row_lengths() == 1):
        raise ValueError(f"a record has several values of {form.label!r}; one is allowed")
    num_tokens = np.zeros(len(records), np.int64)
    spec = RaggedSpec(ragged_rank=form.ragged_rank)
    try:
        ragged = parse_ragged(records, dict.fromkeys(names, spec))
    except tf.errors.InvalidArgumentError as error:
        reason = f"row splits and values of a record do not fit ({first_sentence(error)})"
        raise ValueError(reason) from error
    for name, tokens in ragged.items():
        ids = tokens.flat_values.numpy()
        outside = ids[(ids < 0) | (ids >= form.vocab_size)]
        if outside.size:
            raise ValueError(
                f"a record has the id {outside[0]} in {values_name(name)!r}; those of the"
                f" vocabulary are below {form.vocab_size:,}"
            )
        num_tokens += tokens.merge_dims(1, -1).row_lengths().numpy()
    return num_tokens, set(parsed[form.label].flat_values.numpy().tolist())
