"""Read records of labelled texts as batches for a classifier.

    LabelledReaderConfig(input_patterns="train-*", plan=PlanConfig(batching="pools", batch_size=32,
                         max_seq_length=128, shuffle=True))
      -> {"input_ids": int32[32, width], "input_mask": ..., "segment_ids": ...}, label int64[32]

The index determines which records make a batch, and how wide it is, before a record is read. The
records of a batch are then gathered, parsed with `tf.io.RaggedFeature` and packed.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.labelled.forms import LookedAt, form_of_manifest, look_at_records
from bert_data.labelled.ragged import RaggedSpec, num_special_tokens, pack_segments, ragged_feature
from bert_data.reader.config import ReaderConfig, batches_of_run
from bert_data.reader.files.indexes import why_not_addressable
from bert_data.reader.files.remote_records import records_of_shards
from bert_data.reader.files.shards import Shard, find_shards
from bert_data.reader.planning import EMPTY, HostBatch, Plan, PlanConfig, make_plan
from bert_data.reader.planning.plan_config import PACKED, check_host
from bert_data.reader.tensors import finish, generate
from bert_data.records import fields
from bert_data.records.formats.tfrecord import index_path
from bert_data.settings import OneOf, Within, check_settings
from bert_data.tokens.tokenizer_json import vocabulary_sha256

_FORMS = ("fit", "features", "ragged")
LABEL_WEIGHT = "label_weight"
_BATCHES_AHEAD = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledReaderConfig:
    """Configuration of `read_labelled_batches`.

    Attributes:
      input_patterns: patterns of shards; a string with commas, or a sequence.
      plan: which records make which batch, and how wide it is; not "packed". Its lengths are those
        of packed rows, special tokens included; longer texts are truncated to its max_seq_length.
      num_epochs: passes over the records, >= 1; None repeats forever.
      start_batch: batches to skip at the start, >= 0, in constant time.
      host_index: which of the plan's hosts this is.
      form: "fit": (inputs, label, label weight) for `model.fit`. "features": one dict of them.
        "ragged": a dict with the tokens as they are stored instead of packed rows.
      vocab_file: vocabulary, or tokenizer.json, compared with the manifest by its sha256. Records
        without a manifest, as other programs write them, need it.
      text_features: names of the texts in records; by default those that the manifest says, or
        text. The tokens of TEXT are TEXT_tokens_values, TEXT_tokens_splits_0 and so on.
      label_feature: name of the label in records; by default likewise, or label.
    """

    input_patterns: str | Sequence[str]
    plan: PlanConfig
    num_epochs: Annotated[int, Within(1)] | None = 1
    start_batch: Annotated[int, Within(0)] = 0
    host_index: Annotated[int, Within(0)] = 0
    form: Annotated[str, OneOf(_FORMS)] = "fit"
    vocab_file: str | None = None
    text_features: tuple[str, ...] = ()
    label_feature: str | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.plan.batching == PACKED:
            raise ValueError("plan.batching is 'packed'; a row must hold one text and its label")
        check_host(self.host_index, self.plan.num_hosts, "plan.num_hosts")


class LabelledSource:
    """The shards of a configuration, and the plan of their batches.

    Attributes:
      form: what the records hold.
      labels: those that occur (of integers, the first 10,000).
      vocabulary_and_classes: equal for all records that one model can read.
    """

    def __init__(self, config: LabelledReaderConfig) -> None:
        """Find the shards, check them and plan."""
        self.config = config
        shards = find_shards(ReaderConfig(input_patterns=config.input_patterns, batch_size=1))
        self.form, self.labels, indexes = _look_at(shards, config)
        self.num_texts = len(self.form.texts)
        self.vocabulary_and_classes = self.form.vocab_sha256, self.form.classes
        self.records = records_of_shards(
            shards, in_order=not config.plan.shuffle, skip_corrupt=False, indexes=indexes
        )
        least = num_special_tokens(self.num_texts)
        lengths = self.records.num_tokens.astype(np.uint32) + np.uint32(least)
        if config.plan.max_seq_length is not None:
            if config.plan.max_seq_length < least:
                setting = f"plan.max_seq_length is {config.plan.max_seq_length}"
                raise ValueError(f"{setting}; it must be {least} or more")
            lengths = np.minimum(lengths, np.uint32(config.plan.max_seq_length))
        self.plan: Plan = make_plan(lengths, config.plan)
        self.num_batches = batches_of_run(
            config.num_epochs, self.plan.num_batches, config.start_batch
        )

    @property
    def num_labels(self) -> int:
        """Number of classes of a classifier: one more than the largest label."""
        if self.form.classes:
            return len(self.form.classes)
        least = min(self.labels)
        if least < 0:
            raise ValueError(f"the label {least} is negative; a classifier needs 0 or more")
        return 1 + max(self.labels)

    def batches(self) -> Iterator[tuple["np.ndarray[Any, Any]", int]]:
        """Yield (records, width) of this host's batches, in order; an empty row has no bytes."""
        host = self.config.host_index
        every = (
            epoch.batch(batch, host)
            for _, epoch, start in self.plan.epochs(self.config.num_epochs, self.config.start_batch)
            for batch in range(start, epoch.num_batches)
        )
        for planned, records in self.records.follow(every, _filled):
            data = records.read(_filled(planned))
            rows = np.empty(planned.records.size, np.object_)
            rows[:] = data + [b""] * (rows.size - len(data))
            yield rows, planned.width

    def parse(self, records: tf.Tensor) -> dict[str, tf.Tensor | tf.RaggedTensor]:
        """Parse a batch of records.

        Returns:
          label int64[batch]; of each text, named `t`: `t_tokens` int64[batch, (sentences), (words),
            (pieces)]; in the form "ragged" also its bytes `t` string[batch] and `t_tokens_len`
            int64[batch].
        """
        default = 0 if self.config.plan.num_hosts > 1 else None  # of empty rows
        number = tf.io.FixedLenFeature([], tf.int64, default)
        spec = RaggedSpec(dtype=tf.int64, ragged_rank=self.form.ragged_rank)
        parsed_features: dict[str, Any] = {self.form.label: number}
        for text in self.form.texts:
            tokens = fields.tokens_name(text)
            parsed_features[tokens] = ragged_feature(tokens, spec)
            if self.config.form == "ragged":
                its_bytes = tf.io.FixedLenFeature([], tf.string, None if default is None else "")
                parsed_features |= {text: its_bytes, fields.num_tokens_name(text): number}
        return tf.io.parse_example(records, parsed_features)

    def make_batch(self, records: tf.Tensor, width: tf.Tensor) -> Any:
        """Parse and pack a batch, in the configured form."""
        parsed = self.parse(records)
        weight = tf.cast(tf.strings.length(records) > 0, tf.float32)
        if self.config.form == "ragged":
            return {**parsed, LABEL_WEIGHT: weight}
        names = map(fields.tokens_name, self.form.texts)
        special_ids = {"cls_id": self.form.cls_id, "sep_id": self.form.sep_id}
        packed = pack_segments([parsed[name] for name in names], width, **special_ids)
        if self.config.plan.num_hosts > 1:  # an empty row is all padding
            is_there = tf.cast(weight, tf.int32)[:, tf.newaxis]
            packed = {name: values * is_there for name, values in packed.items()}
        label = parsed[self.form.label]
        if self.config.form == "features":
            return {**packed, self.form.label: label, LABEL_WEIGHT: weight}
        return packed, label, weight


def _filled(planned: HostBatch) -> NDArray[np.int64]:
    return planned.records[planned.records != EMPTY]


def read_labelled_batches(config: LabelledReaderConfig | LabelledSource) -> tf.data.Dataset:
    """Return the dataset of a configuration's batches.

    Every iteration over it gives the same batches, in every process. An error during an iteration
    reaches the caller as a tf.errors.OpError whose text begins with ours;
    `bert_data.reader.explain` recovers ours.
    """
    source = config if isinstance(config, LabelledSource) else LabelledSource(config)
    signature = (tf.TensorSpec([None], tf.string), tf.TensorSpec([], tf.int32))
    batches = (
        generate(source, lambda source: source.batches(), signature)
        .prefetch(_BATCHES_AHEAD)
        .map(source.make_batch, num_parallel_calls=1)
        .prefetch(_BATCHES_AHEAD)
    )
    return finish(batches, source.num_batches)


def _look_at(shards: Sequence[Shard], config: LabelledReaderConfig) -> LookedAt:
    """Compare shards, manifests and configuration; return what the records hold."""
    for shard in shards:
        why_not = why_not_addressable(shard)
        if why_not is not None:
            raise ValueError(f"{shard.path} {why_not}; it must not be compressed")
    manifests = [(shard.path, shard.manifest) for shard in shards if shard.manifest is not None]
    if not manifests:
        if config.vocab_file is None:
            raise ValueError(
                f"{shards[0].path} has no manifest; to read labelled texts of another program, set"
                " `vocab_file` to the vocabulary of their tokens"
            )
        return look_at_records(
            shards,
            texts=config.text_features or fields.TEXTS[:1],
            label=config.label_feature or fields.LABEL,
            vocab_file=config.vocab_file,
        )
    for shard in shards:
        _check_shard(shard)
    path, first = manifests[0]
    form = form_of_manifest(first)
    for other_path, other in manifests[1:]:
        if form_of_manifest(other) != form:
            raise ValueError(
                f"{path} and {other_path} were made with different vocabularies, classes, features"
                " or numbers of texts; they cannot share batches"
            )
    if config.vocab_file and vocabulary_sha256(config.vocab_file) != form.vocab_sha256:
        raise ValueError(f"{path} was made with another vocabulary than {config.vocab_file}")
    for name, asked, actual in (
        ("text_features", config.text_features or form.texts, form.texts),
        ("label_feature", config.label_feature or form.label, form.label),
    ):
        if asked != actual:
            raise ValueError(f"{name} is {asked!r}; the manifest of {path} says {actual!r}")
    names = {name for _, m in manifests for name, count in m.counts["labels"].items() if count}
    numbers = {name: number for number, name in enumerate(form.classes)}
    labels = frozenset(numbers[name] if numbers else int(name) for name in names)
    return LookedAt(form, labels, None)


def _check_shard(shard: Shard) -> None:
    """Check that a shard is whole, of a set of labelled texts, and has an index."""
    if shard.manifest is None or shard.manifest.record_layout != fields.LABELLED:
        kind = "is in no manifest" if shard.manifest is None else "holds no labelled texts"
        raise ValueError(f"{shard.path} {kind}; it must hold records of labelled texts")
    if shard.expected_bytes not in (None, shard.num_bytes):
        reason = f"has {shard.num_bytes} bytes; its manifest says {shard.expected_bytes}"
        raise CorruptDataError(shard.path, shard.num_bytes, reason)
    if not storage.exists(index_path(shard.path)):
        raise ValueError(f"{shard.path} has no index, {index_path(shard.path)}")
