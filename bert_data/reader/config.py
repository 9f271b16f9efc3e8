"""The configuration of a reader.

    ReaderConfig(input_patterns="data/train-*", batch_size=32, shuffle=True, seed=7)
    ReaderConfig(input_patterns="data/train-*", batch_size=32, shuffle=True, batching="pools")

Which shards, in what order, how wide the batches are, and what they look like.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

from bert_data import storage
from bert_data.reader.planning.plan_config import BATCHINGS, PlanConfig, check_host
from bert_data.records.choices import OBJECTIVE_NAMES
from bert_data.settings import OneOf, Within

if TYPE_CHECKING:
    import tensorflow as tf

ENDLESS, UNKNOWN = -1, -2
"""Numbers of batches, as `tf.data.Dataset.cardinality` has them."""

Config = TypeVar("Config")

FEATURE_NAMES = ("google", "tfhub")
FORMS = ("features", "supervised", "fit")
STREAM = "stream"
REMOTE_CACHE_BYTES = 4 << 30
LEAST_CACHE_BYTES = 16 << 20
READER_BATCHINGS = (STREAM, *BATCHINGS)


class ReadBefore(NamedTuple):
    """A number of batches that were read before, and what bounded them.

    Attributes:
      bound: the fields of their `ReaderConfig` that were others, such as batch_size.
    """

    bound: Mapping[str, Any]
    num_batches: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReaderConfig(PlanConfig):
    """Configuration of `read_batches`.

    With "stream", records come as they are read, shards one after the other or, shuffled, through a
    buffer; `batch_size` is that of this host's batch, and batches run across epochs. Under an
    `input_context`, it is always that of all replicas together, and each takes its part.

    The other ways of `batching` plan the batches of an epoch from the indexes of the shards before
    it begins, shuffle all records fully, and start at any batch at once. An epoch's last batch may
    have fewer rows. If hosts do not divide a batch evenly, or a damaged record is left out, some
    rows are empty; all planned batches have "next_sentence_weights", 0 for these rows and 1 for the
    others. Compressed shards cannot be planned: "stream" replaces "plain", "pools" and, with given
    widths, "buckets", with a warning. Parquet is read in order alone: shuffled or planned, it is
    refused. Local TFRecord shards of up to 128 MB together
    are kept in memory from the second epoch on.

    `max_seq_length` and `max_predictions_per_seq` are by default those of the manifest, or of
    padded records. A batch holds as many predictions as its row with the most, at least 1; as
    `max_predictions_per_seq` with another `width` than batch. Packed rows have a batch's most
    predictions and instances with batch; the others round them up so that few shapes occur.

    Attributes:
      input_patterns: patterns of shards, or path@N; a string with commas, or a sequence. Local or
        remote.
      batching: which sequences share a batch. stream: successive ones, shuffled in a buffer. The
        others plan an epoch from the lengths of all sequences, so that shuffling is complete and a
        restart resumes at once. plain: any lengths together; pools: similar lengths, with almost no
        padding; buckets: a few widths, for XLA and TPUs; packed: several sequences per row, which
        do not attend to each other, so that a row has about `max_seq_length` tokens.
      max_seq_length: longest sequence in the records, in tokens; a longer one is an error.
      max_predictions_per_seq: most tokens to predict in a sequence; more are an error.
      shuffle_buffer: records from which the order of a stream is drawn.
      seed: any integer; a negative one counts modulo 2**63.
      num_epochs: passes over the records; None repeats forever.
      start_batch: batches to skip at the start, up to all; the rest is as in a run from 0.
      num_hosts: hosts that share the records; with planned batches, `max_predictions_per_seq` must
        be known then.
      host_index: this host, which reads its part of the records, disjoint from the others': of a
        stream, whole shards when the hosts can share them evenly (or within an eighth), else every
        num_hosts-th record; of each planned batch, its part of the rows, with features of the same
        shapes on all hosts.
      feature_names: "google", or "tfhub" (input_word_ids, input_mask, input_type_ids).
      form: "features": one dict. "supervised": (features, labels). "fit": (features, labels, sample
        weights) of the outputs "masked_lm" and "next_sentence", for `model.fit`.
      skip_corrupt: skip damaged records with a warning.
      vocab_size: size of the model's vocabulary, compared with the manifest and with the ids; it
        may be the vocabulary's rounded up to a multiple of 8 (padding below 128).
      vocab_file: check that the records were made with this vocabulary, or tokenizer.json.
      next_sentence: the records' task for two segments; by default, what their manifest says, or
        nsp.
      remote_cache_bytes: maximum size of the local copies of remote TFRecord files, which are in
        the folder of BERT_DATA_COPIES. Files that fit are copied once; of larger sets in random
        order, records are fetched again several times an epoch.
    """

    input_patterns: str | Sequence[str]
    batching: Annotated[str, OneOf(READER_BATCHINGS)] = STREAM
    max_predictions_per_seq: Annotated[int, Within(0)] | None = None
    shuffle_buffer: Annotated[int, Within(1)] = 8192
    num_epochs: Annotated[int, Within(1)] | None = 1
    start_batch: Annotated[int, Within(0)] = 0
    host_index: Annotated[int, Within(0)] = 0
    feature_names: Annotated[str, OneOf(FEATURE_NAMES)] = "google"
    form: Annotated[str, OneOf(FORMS)] = "features"
    skip_corrupt: bool = False
    vocab_size: Annotated[int, Within(1)] | None = None
    vocab_file: str | None = None
    next_sentence: Annotated[str, OneOf(OBJECTIVE_NAMES)] | None = None
    remote_cache_bytes: Annotated[int, Within(LEAST_CACHE_BYTES, 1 << 50)] = REMOTE_CACHE_BYTES

    def __post_init__(self) -> None:
        PlanConfig.__post_init__(self)
        if not self.patterns or not all(self.patterns):
            raise ValueError(f"input_patterns is {self.input_patterns!r}; must name files")
        check_host(self.host_index, self.num_hosts)
        if self.max_tokens_per_batch is not None and not self.is_planned:
            bound = f"max_tokens_per_batch is {self.max_tokens_per_batch}"
            raise ValueError(f"{bound}; it needs planned batches: batching={', '.join(BATCHINGS)}")

    @property
    def is_planned(self) -> bool:
        """Whether batches are planned."""
        return self.batching != STREAM

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns, as a tuple."""
        if isinstance(self.input_patterns, str):
            return tuple(storage.split_names(self.input_patterns))
        return tuple(self.input_patterns)


def for_replica(config: Config, context: "tf.distribute.InputContext") -> Config:
    """Return the configuration of the batches of all replicas of a host.

    Args:
      config: of a reader; its batch_size and start_batch are those of all replicas.
    """
    settings: Any = config
    replicas = context.num_replicas_in_sync // context.num_input_pipelines
    replaced: Config = dataclasses.replace(
        settings,
        batch_size=context.get_per_replica_batch_size(settings.batch_size),
        start_batch=settings.start_batch * replicas,
        num_hosts=context.num_input_pipelines,
        host_index=context.input_pipeline_id,
    )
    return replaced


def check_start(start_batch: int, num_batches: int) -> None:
    """Check that a run starts at one of its batches, or behind the last, where nothing is left."""
    if start_batch > num_batches:
        raise ValueError(f"start_batch is {start_batch:,}, but there are {num_batches:,} batches")


def batches_of_run(num_epochs: int | None, per_epoch: int, start_batch: int) -> int:
    """Return the number of batches of a run from its start on, or ENDLESS."""
    if num_epochs is None:
        return ENDLESS
    check_start(start_batch, num_epochs * per_epoch)
    return num_epochs * per_epoch - start_batch
