"""The configuration of a reader.

    ReaderConfig(input_patterns="data/train-*", batch_size=32, shuffle=True, seed=7)
    ReaderConfig(input_patterns="data/train-*", batch_size=32, shuffle=True, batching="pools")

Which shards, in what order, how wide the batches are, and what they look like.
"""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from bert_data.bounds import check_choice, check_integer
from bert_data.objectives.masking_rules import MaskingConfig
from bert_data.objectives.next_sentence import find_objective
from bert_data.reader.planning.config import BATCHINGS, PACKED, is_ascending

if TYPE_CHECKING:
    import tensorflow as tf

Config = TypeVar("Config")

WIDTH_OF_BATCH = "batch"
WIDTH_MAX = "max"
FEATURE_NAMES = ("google", "tfhub")
FORMS = ("features", "supervised", "fit")
STREAM = "stream"
REMOTE_CACHE_BYTES = 4 << 30
LEAST_CACHE_BYTES = 16 << 20
READER_BATCHINGS = (STREAM, *BATCHINGS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReaderConfig(MaskingConfig):
    """Configuration of `read_batches`.

    Attributes:
      input_patterns: patterns of shards, or path@N; a string with commas, or a sequence. Local or
        remote.
      batch_size: rows of a batch, >= 1; None with max_tokens_per_batch. With "stream", of this
        host's batch; otherwise of a planned batch of all hosts together, of which each host gets
        its rows. Under an `input_context`, always of all replicas together, and each takes its
        part.
      batching: "stream": records come as they are read, shards one after the other or, shuffled,
        through a buffer. The others plan the batches of an epoch from the indexes of the shards
        before it begins, shuffle all records fully, and start at any batch at once: "plain":
        consecutive records make a batch; "pools": records of similar length do, sorted in pools of
        `pool_batches` batches; "buckets": records with the same smallest width that holds them;
        "packed": several records share a row. An epoch's last batch may have fewer rows. If hosts
        do not divide a batch evenly, or a damaged record is left out, some rows are empty; all
        planned batches have "next_sentence_weights", 0 for these rows and 1 for the others.
        Compressed shards cannot be planned: "stream" replaces "plain", "pools" and, with given
        widths, "buckets", with a warning. Up to 1 GB of Parquet row groups is kept in memory; row
        groups of larger sets are read again and again. Local TFRecord shards of up to 128 MB
        together are kept in memory from the second epoch on.
      pool_batches: batches of a pool, >= 1.
      num_buckets: widths of "buckets" with width="batch", chosen for the least padding, >= 1.
      max_tokens_per_batch: instead of batch_size, most tokens of a planned batch, padding included.
      max_seq_length: longest row that the model takes, in tokens; None takes it from the manifest
        or from padded records. Longer records are an error.
      max_predictions_per_seq: the same for predictions.
      width: how wide a batch is. "batch": its longest row and its most predictions, at least 1
        each. "max": max_seq_length and max_predictions_per_seq. Ascending widths: the smallest one
        that holds its longest row (max_seq_length is always the last), and max_predictions_per_seq.
        Packed rows always have one width: max_seq_length, or the one in a tuple of one width, which
        may be larger; "batch" has a batch's most predictions and instances, the others round them
        up so that few shapes occur.
      shuffle: whether shards and records come in an order drawn from (seed, epoch), new each epoch;
        otherwise shard after shard.
      shuffle_buffer: records from which the order of a stream is drawn, >= 1.
      seed: any integer; a negative one counts modulo 2**63.
      num_epochs: passes over the records, >= 1; None repeats forever. The batches of a stream run
        across epochs, planned ones do not.
      start_batch: batches to skip at the start, >= 0; the rest is as in a run from 0.
      drop_remainder: whether a last batch of fewer rows is left out.
      num_hosts, host_index: this host reads its part of the records, disjoint from the others'. Of
        a stream, whole shards when the hosts can share them evenly (or within an eighth), else
        every num_hosts-th record; of each planned batch, its part of the rows, with features of the
        same shapes on all hosts; this requires max_predictions_per_seq to be known.
      feature_names: "google", or "tfhub" (input_word_ids, input_mask, input_type_ids).
      form: "features": one dict. "supervised": (features, labels). "fit": (features, labels, sample
        weights) of the outputs "masked_lm" and "next_sentence", for `model.fit`.
      skip_corrupt: leave damaged records out, count them and warn, instead of raising an error.
      vocab_size: size of the model's vocabulary, compared with the manifest and with the ids; it
        may be the vocabulary's rounded up to a multiple of 8 (padding below 128).
      vocab_file: vocabulary, or tokenizer.json, compared with the manifest by its sha256.
      dynamic_masking: whether tokens to predict are chosen anew each epoch, from (seed, epoch,
        record) and by the settings of `MaskingConfig`, instead of those stored in the records, if
        any. Needs planned batches, vocab_file
        and max_predictions_per_seq >= 1, by default the manifest's; it may be below that of the
        records.
      next_sentence: the records' objective for two segments: "nsp", "sop" or "none", compared with
        the manifest; None takes it from there, or else "nsp".
      remote_cache_bytes: planned batches of remote TFRecord shards keep records in a local file of
        at most so many bytes, >= 16 MiB (16777216), in the system's folder for temporary files. If
        all shards fit, each is fetched once; otherwise those of larger sets in random order are
        fetched again several times an epoch.
    """

    input_patterns: str | Sequence[str]
    batch_size: int | None = None
    batching: str = STREAM
    pool_batches: int = 64
    num_buckets: int = 8
    max_tokens_per_batch: int | None = None
    max_seq_length: int | None = None
    max_predictions_per_seq: int | None = None
    width: str | tuple[int, ...] = WIDTH_OF_BATCH
    shuffle: bool = False
    shuffle_buffer: int = 8192
    seed: int = 0
    num_epochs: int | None = 1
    start_batch: int = 0
    drop_remainder: bool = False
    num_hosts: int = 1
    host_index: int = 0
    feature_names: str = "google"
    form: str = "features"
    skip_corrupt: bool = False
    vocab_size: int | None = None
    vocab_file: str | None = None
    dynamic_masking: bool = False
    next_sentence: str | None = None
    remote_cache_bytes: int = REMOTE_CACHE_BYTES

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.next_sentence is not None:
            find_objective(self.next_sentence)
        if not self.patterns or not all(self.patterns):
            raise ValueError(f"input_patterns is {self.input_patterns!r}; must name files")
        at_least_one = ("shuffle_buffer", "num_hosts", "pool_batches", "num_buckets")
        for name in (*at_least_one, "start_batch", "host_index"):
            check_integer(name, getattr(self, name), int(name in at_least_one))
        check_integer("remote_cache_bytes", self.remote_cache_bytes, LEAST_CACHE_BYTES, 1 << 50)
        if not isinstance(self.seed, int):
            raise ValueError(f"seed is {self.seed!r}; it must be an integer")
        or_none = ("batch_size", "max_tokens_per_batch", "num_epochs", "max_seq_length")
        for name in (*or_none, "max_predictions_per_seq", "vocab_size"):
            least = 0 if name == "max_predictions_per_seq" else 1
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), least)
        if self.host_index >= self.num_hosts:
            allowed = f"it must be below num_hosts, {self.num_hosts}"
            raise ValueError(f"host_index is {self.host_index}; {allowed}")
        chosen = (("feature_names", FEATURE_NAMES), ("form", FORMS), ("batching", READER_BATCHINGS))
        for name, choices in chosen:
            check_choice(name, getattr(self, name), choices)
        self._check_size()
        self._check_width()
        self._check_masking()

    def _check_masking(self) -> None:
        if not self.dynamic_masking:
            if self.own_flags():
                raise ValueError(f"masking is {self.masking}; it needs dynamic_masking")
            return
        if not self.is_planned:
            allowed = f"it needs planned batches: batching={', '.join(BATCHINGS)}"
            raise ValueError(f"dynamic_masking is True; {allowed}")
        if self.vocab_file is None:
            raise ValueError("vocab_file is None; it must be given because dynamic_masking is True")

    def _check_size(self) -> None:
        bound = f"max_tokens_per_batch is {self.max_tokens_per_batch}"
        if (self.batch_size is None) == (self.max_tokens_per_batch is None):
            both = f"batch_size is {self.batch_size} and {bound}"
            raise ValueError(f"{both}; give exactly one of them")
        if self.max_tokens_per_batch is not None and not self.is_planned:
            raise ValueError(f"{bound}; it needs planned batches: batching={', '.join(BATCHINGS)}")

    def _check_width(self) -> None:
        width = self.width
        if width in (WIDTH_OF_BATCH, WIDTH_MAX):
            return
        if not isinstance(width, tuple) or not is_ascending(width):
            allowed = "'batch', 'max' or a tuple of ascending widths >= 1"
            raise ValueError(f"width is {width!r}; it must be {allowed}")
        if self.batching == PACKED:
            if len(width) > 1 or width[0] < (self.max_seq_length or 0):
                allowed = "for packed rows one width, at least max_seq_length"
                raise ValueError(f"width is {width!r}; it must be {allowed}")
            return
        if self.max_seq_length is not None and width[-1] > self.max_seq_length:
            limit = f"max_seq_length, {self.max_seq_length}"
            raise ValueError(f"width is {width!r}; it must not exceed {limit}")

    @property
    def is_planned(self) -> bool:
        """Whether batches are planned."""
        return self.batching != STREAM

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns, as a tuple."""
        if isinstance(self.input_patterns, str):
            return tuple(self.input_patterns.split(","))
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
