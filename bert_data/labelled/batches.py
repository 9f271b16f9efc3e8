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
from bert_data.labelled.ragged import (
    RaggedSpec,
    num_special_tokens,
    pack_segments,
    ragged_feature,
)
from bert_data.reader.config import ReaderConfig, batches_of_run
from bert_data.reader.files.indexes import why_not_addressable
from bert_data.reader.files.records import records_of_shards
from bert_data.reader.files.shards import Shard, find_shards
from bert_data.reader.planning import EMPTY, HostBatch, Plan, PlanConfig, make_plan
from bert_data.reader.planning.plan_config import PACKED, check_host
from bert_data.reader.tensors import finish, generate
from bert_data.records import fields
from bert_data.records.formats.tfrecord import index_path
from bert_data.records.sets.manifest import Manifest
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
      vocab_file: vocabulary, or tokenizer.json, compared with the manifest by its sha256.
    """

    input_patterns: str | Sequence[str]
    plan: PlanConfig
    num_epochs: Annotated[int, Within(1)] | None = 1
    start_batch: Annotated[int, Within(0)] = 0
    host_index: Annotated[int, Within(0)] = 0
    form: Annotated[str, OneOf(_FORMS)] = "fit"
    vocab_file: str | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.plan.batching == PACKED:
            raise ValueError("plan.batching is 'packed'; a row must hold one text and its label")
        check_host(self.host_index, self.plan.num_hosts, "plan.num_hosts")


class LabelledSource:
    """The shards of a configuration, and the plan of their batches.

    Attributes:
      ragged_rank: ragged dimensions of a text's tokens: 1 for [words, pieces], 2 for [sentences,
        words, pieces].
      classes: names of the labels 0, 1, ...; () if the labels are integers of the user.
      vocabulary_and_classes: equal for all records that one model can read.
    """

    def __init__(self, config: LabelledReaderConfig) -> None:
        """Find the shards, check them and plan."""
        self.config = config
        shards = find_shards(ReaderConfig(input_patterns=config.input_patterns, batch_size=1))
        manifest = _check(shards, config)
        flags = manifest.flags
        self.num_texts = len(flags["text_columns"])
        self.ragged_rank = 1 if flags["sentences"] == "one" else 2
        self.classes: tuple[str, ...] = tuple(flags["classes"])
        self._labels = manifest.counts["labels"]
        self.vocab_size = manifest.vocabulary.size
        self.vocabulary_and_classes = manifest.vocabulary.sha256, self.classes
        self.special_ids = {"cls_id": int(flags["cls_id"]), "sep_id": int(flags["sep_id"])}
        self.records = records_of_shards(
            shards, in_order=not config.plan.shuffle, skip_corrupt=False
        )
        lengths = self.records.num_tokens.astype(np.uint32)
        lengths += np.uint32(num_special_tokens(self.num_texts))
        if config.plan.max_seq_length is not None:
            least = num_special_tokens(self.num_texts)
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
        if self.classes:
            return len(self.classes)
        labels = [int(label) for label in self._labels]
        if min(labels) < 0:
            raise ValueError(f"the label {min(labels)} is negative; a classifier needs 0 or more")
        return 1 + max(labels)

    def batches(self) -> Iterator[tuple["np.ndarray[Any, Any]", int]]:
        """Yield (records, width) of this host's batches, in order; an empty row has no bytes."""
        for planned, records in self.records.follow(self._planned(), _filled):
            data = records.read(_filled(planned))
            rows = np.empty(planned.records.size, np.object_)
            rows[:] = data + [b""] * (rows.size - len(data))
            yield rows, planned.width

    def _planned(self) -> Iterator[HostBatch]:
        config = self.config
        for _, epoch, start in self.plan.epochs(config.num_epochs, config.start_batch):
            for batch in range(start, epoch.num_batches):
                yield epoch.batch(batch, config.host_index)

    def parse(self, records: tf.Tensor) -> dict[str, tf.Tensor | tf.RaggedTensor]:
        """Parse a batch of records.

        Returns:
          label int64[batch]; of each text, named `t`: its bytes `t` string[batch], `t_tokens_len`
            int64[batch] and `t_tokens` int64[batch, (sentences,) (words), (pieces)].
        """
        default = 0 if self.config.plan.num_hosts > 1 else None  # of empty rows
        number = tf.io.FixedLenFeature([], tf.int64, default)
        spec = RaggedSpec(dtype=tf.int64, ragged_rank=self.ragged_rank)
        parsed_features: dict[str, Any] = {fields.LABEL.name: number}
        for text in fields.TEXTS[: self.num_texts]:
            tokens = fields.tokens_name(text)
            parsed_features[text] = tf.io.FixedLenFeature(
                [], tf.string, None if default is None else ""
            )
            parsed_features[fields.num_tokens_name(text)] = number
            parsed_features[tokens] = ragged_feature(tokens, spec)
        return tf.io.parse_example(records, parsed_features)

    def make_batch(self, records: tf.Tensor, width: tf.Tensor) -> Any:
        """Parse and pack a batch, in the configured form."""
        parsed = self.parse(records)
        weight = tf.cast(tf.strings.length(records) > 0, tf.float32)
        if self.config.form == "ragged":
            return {**parsed, LABEL_WEIGHT: weight}
        names = map(fields.tokens_name, fields.TEXTS[: self.num_texts])
        packed = pack_segments([parsed[name] for name in names], width, **self.special_ids)
        if self.config.plan.num_hosts > 1:  # an empty row is all padding
            is_there = tf.cast(weight, tf.int32)[:, tf.newaxis]
            packed = {name: values * is_there for name, values in packed.items()}
        label = parsed[fields.LABEL.name]
        if self.config.form == "features":
            return {**packed, fields.LABEL.name: label, LABEL_WEIGHT: weight}
        return packed, label, weight


def _filled(planned: HostBatch) -> NDArray[np.int64]:
    """Return the records of a batch, without its empty rows."""
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


def _check(shards: Sequence[Shard], config: LabelledReaderConfig) -> Manifest:
    """Compare shards, manifests and configuration; return a manifest with the labels of all."""
    manifests = []
    for shard in shards:
        why_not = why_not_addressable(shard)
        if why_not is not None:
            raise ValueError(f"{shard.path} {why_not}; it must not be compressed")
        if shard.manifest is None or shard.manifest.record_layout != fields.LABELLED:
            kind = "is in no manifest" if shard.manifest is None else "holds no labelled texts"
            raise ValueError(f"{shard.path} {kind}; it must hold records of labelled texts")
        if shard.expected_bytes not in (None, shard.num_bytes):
            reason = f"has {shard.num_bytes} bytes; its manifest says {shard.expected_bytes}"
            raise CorruptDataError(shard.path, shard.num_bytes, reason)
        if not storage.exists(index_path(shard.path)):
            raise ValueError(f"{shard.path} has no index, {index_path(shard.path)}")
        manifests.append((shard.path, shard.manifest))
    path, first = manifests[0]
    for other_path, other in manifests[1:]:
        if (first.vocabulary.sha256, _form_of(first)) != (other.vocabulary.sha256, _form_of(other)):
            raise ValueError(
                f"{path} and {other_path} were made with different vocabularies, classes or"
                " numbers of texts; they cannot share batches"
            )
    if config.vocab_file and vocabulary_sha256(config.vocab_file) != first.vocabulary.sha256:
        raise ValueError(f"{path} was made with another vocabulary than {config.vocab_file}")
    counts = {"labels": {k: 1 for _, m in manifests for k in m.counts["labels"]}}
    return dataclasses.replace(first, counts=counts)


def _form_of(manifest: Manifest) -> tuple[Any, ...]:
    flags = manifest.flags
    nested = flags["sentences"] != "one"
    return nested, len(flags["text_columns"]), list(flags["classes"]), flags["do_lower_case"]
