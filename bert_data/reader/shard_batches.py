"""What streamed and planned reading share: checked shards, and groups of decoded batches."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.config import ReaderConfig
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.decode import Rows, decode_records
from bert_data.reader.files.checks import Limits, check_lengths, check_shards
from bert_data.reader.files.shards import Shard
from bert_data.reader.layout import (
    BatchGroup,
    BatchLayout,
    Bounds,
    layout_of,
    make_table,
    new_buffer,
)
from bert_data.records.fields import Field

GROUP_WORDS = 1 << 20
"""About how many words of 4 bytes the batches of a group take."""

_MAX_ID = 2**31 - 1


class ShardBatches:
    """The batches of a configuration: its shards, which are checked, and what decodes records.

    Attributes:
      limits: the most tokens and predictions of a record.
      shapes_differ: whether the batches of a group differ in shape.
    """

    shapes_differ = False

    def __init__(self, config: ReaderConfig, shards: Sequence[Shard], *added: Field) -> None:
        """Check the shards.

        Args:
          added: fields that batches have besides those of the records.
        """
        self.config = config
        self.shards: tuple[Shard, ...] = tuple(shards)
        self.limits: Limits = check_shards(self.shards, config)
        self.objective = self.shards[0].objective
        self.layout: BatchLayout = layout_of(self.shards[0].kind, *added)

    @property
    def names(self) -> str:
        """The patterns of the shards, for errors."""
        return ", ".join(self.config.patterns)

    @property
    def bounds(self) -> Bounds:
        """What no record exceeds, by the configuration or the manifests."""
        vocab_size = self.config.vocab_size
        if vocab_size is None:
            manifests = [shard.manifest for shard in self.shards]
            sizes = [each.vocabulary.size for each in manifests if each is not None]
            vocab_size = max(sizes) if len(sizes) == len(manifests) else None
        return Bounds(self.limits.max_seq_length, vocab_size)

    def check_longest(self, num_tokens: int, num_predictions: int) -> None:
        """Compare the longest of some records with the limits."""
        check_lengths((num_tokens, num_predictions), f"a record of {self.names} holds", self.limits)

    def decode(
        self,
        parts: Iterable[tuple[RecordBlock, Rows]],
        shapes: Sequence[Sequence[int]] | NDArray[np.integer],
    ) -> BatchGroup:
        """Decode consecutive batches, whose records may lie in several blocks.

        Args:
          parts: blocks of records, and the rows that they fill.
          shapes: int[batches, 1 + sections], see `Shape`.
        """
        table, num_words = make_table(shapes, self.layout, alone=self.shapes_differ)
        words, first = new_buffer(num_words), 0
        for block, rows in parts:
            last = first + rows.batch_splits.size - 1
            largest_id, is_outside = decode_records(
                block, rows, self.layout, table[first:last], words
            )
            self._check_values(largest_id, is_outside)
            first = last
        return BatchGroup(words, table)

    def _check_values(self, largest_id: int, is_outside: bool) -> None:
        """Check that a model can take the ids and positions of some records."""
        where, size = f"a record of {self.names}", self.config.vocab_size
        if largest_id > _MAX_ID:
            raise ValueError(f"{where} holds a token id that is not in [0, 2**31)")
        if size is not None and largest_id >= size:
            raise ValueError(f"vocab_size is {size}, but {where} holds the token id {largest_id}")
        if is_outside:
            raise ValueError(f"{where} predicts a position outside its batch's tokens")
