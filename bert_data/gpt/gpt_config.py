"""The settings of GPT samples, of blends of them, and of the files that they are written to."""

import dataclasses
import functools
import math
import operator
from collections.abc import Sequence
from typing import Annotated

from bert_data import storage
from bert_data.records.formats.registry import SHARD_FORMATS, TFRECORD, find_shard_format
from bert_data.settings import OneOf, Within, check_settings
from bert_data.work import MAX_WORKERS, THIS_MACHINE, Engine

SPLITS = ("train", "valid", "test")


def parse_split(split: str) -> list[float]:
    """Parse the shares of the three splits, such as "969,30,1", normalised; missing ones are 0."""
    try:
        shares = [float(part) for part in split.split(",")]
    except ValueError:
        shares = []
    is_valid = 1 <= len(shares) <= len(SPLITS) and all(0 <= share < math.inf for share in shares)
    # Added one by one: since Python 3.12, `sum` rounds differently.
    total = functools.reduce(operator.add, shares, 0.0)
    if not is_valid or not 0 < total < math.inf:
        raise ValueError(
            f"split is {split!r}; one to three numbers >= 0 that are not all 0 are allowed, such "
            "as '969,30,1' for train, valid and test"
        )
    return [share / total for share in shares] + [0.0] * (len(SPLITS) - len(shares))


EOD_OPTIONS = ("reset_position_ids", "reset_attention_mask", "eod_mask_loss")
"""Fields of `GptConfig` that look at ends of documents."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GptConfig:
    """Configuration of GPT data sets; names are Megatron-LM's where it has them.

    Attributes:
      seq_length: tokens per sample.
      seed: seed for the order of documents and samples.
      split: shares of the documents for train, valid and test, such as 969,30,1.
      add_extra_token_to_sequence: draw one more token per sample, the label of the last position.
      drop_last_partial_validation_sequence: drop the last tokens of the valid split if they do not
        fill a sample, instead of padding.
      eod_id: id of the end-of-document token, which the next three settings need.
      reset_position_ids: restart positions at 0 after each end-of-document token.
      reset_attention_mask: let tokens attend to their own document only.
      eod_mask_loss: do not predict the token after the end of a document.
      cache_dir: folder where the indices are kept.
      verify: first check every byte of the stores, by the checksums in their notes, and of the
        indices in `cache_dir`, instead of their sizes and samples of their bytes.
    """

    seq_length: Annotated[int, Within(1, 2**31 - 2)]
    seed: Annotated[int, Within(0, 2**32 - 1)] = 1234
    split: str = "1"
    add_extra_token_to_sequence: bool = True
    drop_last_partial_validation_sequence: bool = True
    eod_id: Annotated[int, Within(0)] | None = None
    reset_position_ids: bool = False
    reset_attention_mask: bool = False
    eod_mask_loss: bool = False
    cache_dir: str | None = None
    verify: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        parse_split(self.split)
        for name in EOD_OPTIONS:
            if getattr(self, name) and self.eod_id is None:
                raise ValueError(f"{name} needs `eod_id`, the id of the end-of-document token")

    @property
    def sample_tokens(self) -> int:
        """Tokens that a sample is drawn with."""
        return self.seq_length + int(self.add_extra_token_to_sequence)

    def drops_last_partial(self, split: str) -> bool:
        """Whether a split has whole samples only."""
        return split != "valid" or self.drop_last_partial_validation_sequence


@dataclasses.dataclass(frozen=True, kw_only=True)
class BlendConfig:
    """The share of each store in a blend.

    Attributes:
      weights: weight of each data set in the blend, separated by commas, with any sum; its
        partitions share it in proportion to their tokens. Without weights, every sample of every
        store occurs once, evenly interleaved.
      num_samples: number of samples for train, valid and test, such as 100000,1000; a split with 0
        or no number is left out. Stores with weights, or a single one, are repeated for as many
        epochs as necessary. By default, whole epochs of every split.
    """

    weights: Sequence[float] | None = None
    num_samples: Sequence[int] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleExportConfig:
    """Configuration of `export_splits`.

    Attributes:
      output_file: file for the samples themselves; path@N means N shards. With several splits the
        name must contain {split}, such as 'data/{split}.parquet@4'.
      output_format: format of `output_file`.
      overwrite: replace existing output files.
      num_workers: workers that write samples; 0 uses all cores. The files do not depend on it.
      num_processes: so many shards are written at a time, each in its own process with its share of
        the threads. More than one process needs a program whose main module can be imported
        (`if __name__ == "__main__"`). A cluster ignores it.
      engine: what writes the shards; a cluster writes each in one thread.
      work_dir: folder or URI for unfinished work, up to about the size of the output; by default a
        hidden one beside the output, or among the temporary files if the output is remote and the
        engine is local.
    """

    output_file: str
    output_format: Annotated[str, OneOf(tuple(SHARD_FORMATS))] = TFRECORD
    overwrite: bool = False
    num_workers: int = 0
    num_processes: Annotated[int, Within(1, MAX_WORKERS)] = 1
    engine: Engine = THIS_MACHINE
    work_dir: str | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        find_shard_format(self.output_format, output_file=self.output_file)
        storage.expand_outputs(self.output_file)
        self.engine.count_workers(self.num_workers)
