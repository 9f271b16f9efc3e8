"""Make instances from a token store: rows in a spool file, and the order of the records.

All draws come from one stream, as in the reference: the shuffle of the documents, the instances of
`dupe_factor` passes over them, the shuffle of the instances.
"""

import dataclasses
import mmap
from collections.abc import Callable, Iterator
from typing import IO

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.progress import progress
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.instances.making_rows import (
    DOCUMENT,
    NO_SENTENCE,
    NUM_COUNTS,
    SENTENCE,
    SegmentRule,
    Sentences,
    make_rows,
)
from bert_data.records.instances.mersenne import (
    RandomStream,
    reserve_for,
    seeded_stream,
    shuffled_indices,
    stream_of,
)
from bert_data.records.instances.rows import HEADER_WORDS, check_row_fits, code_bits
from bert_data.records.masking.making_rule import masking_rule, numpy_state
from bert_data.records.masking.rule import MaskingRule, masking_scratch
from bert_data.storage import naming
from bert_data.tokens.store import TokenStore
from bert_data.tokens.vocabulary import TokenTable

Look = Callable[[NDArray[np.uint32], int], None]
"""Is given the first rows, and about how many there will be."""

_ROWS_BYTES = 2 << 20  # of rows between two writes
_PAGES_OF_ROW = 6  # of the store that an instance reads: sentences and tokens of both segments


@dataclasses.dataclass(frozen=True, kw_only=True)
class InstanceCounts:
    """Counts of what was made.

    Attributes:
      num_random_next: those whose second segment comes from elsewhere.
      num_swapped: those with swapped segments; None if the objective never swaps them.
      num_tokens: in all of them, without padding.
      num_masked, num_kept, num_replaced: tokens to predict, by what is shown in their place.
    """

    num_instances: int
    num_random_next: int
    num_swapped: int | None
    num_tokens: int
    num_masked: int
    num_kept: int
    num_replaced: int


def warn_of_few(counts: InstanceCounts, config: InstanceConfig) -> None:
    """Warn where whole words leave out most of the tokens that are to be predicted."""
    predicted = counts.num_masked + counts.num_kept + counts.num_replaced
    most = config.max_predictions_per_seq * counts.num_instances
    asked = min(config.masked_lm_prob * counts.num_tokens, most)
    if config.masks_words and predicted < asked / 2:
        logging.warning(
            "%.1f%% of the tokens are to be predicted, where %.1f%% are asked for: words have more"
            " tokens than an instance may predict; `words=spaces` needs text with spaces between"
            " words",
            100 * predicted / counts.num_tokens,
            100 * asked / counts.num_tokens,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Instances:
    """Instances on disk; `order` is uint32[instances], the row of each record."""

    counts: InstanceCounts
    num_words: int
    order: NDArray[np.uint32]


def make_instances(
    store: TokenStore,
    vocabulary: TokenTable,
    config: InstanceConfig,
    spool: IO[bytes],
    *,
    max_store_bytes: int,
    look: Look = lambda *_: None,
) -> Instances:
    """Make all instances of a token store.

    Args:
      store: at sentence level, with at least one document.
      spool: file that rows are appended to.
      look: called once with the first rows, uint32[rows, num_words], and about how many rows there
        will be, of all.
    """
    check_row_fits(config.max_seq_length, vocabulary.size)
    rule = masking_rule(
        config,
        vocabulary,
        max_seq_length=config.max_seq_length,
        max_predictions_per_seq=config.max_predictions_per_seq,
    )
    num_words = HEADER_WORDS + int(rule.num_to_predict.max())
    most_rows = max_store_bytes // (_PAGES_OF_ROW * mmap.PAGESIZE)
    most_rows = max(1, min(most_rows, _ROWS_BYTES // (4 * num_words)))
    rows = np.empty((most_rows, num_words), np.uint32)
    stream = seeded_stream(config.random_seed, reserve=reserve_for(config.max_seq_length))
    counts = np.zeros(NUM_COUNTS, np.int64)
    for num_rows in _fill(rows, store, vocabulary, config, rule, stream, counts, look):
        with naming(spool.name):
            spool.write(rows[:num_rows].data)
        store.release_memory(max_store_bytes)
    masked, kept, replaced, instances, tokens, _, random_next, swapped = counts.tolist()
    return Instances(
        counts=InstanceCounts(
            num_instances=instances,
            num_random_next=random_next,
            num_swapped=swapped if config.objective.swaps else None,
            num_tokens=tokens,
            num_masked=masked,
            num_kept=kept,
            num_replaced=replaced,
        ),
        num_words=num_words,
        order=shuffled_indices(stream, instances),
    )


def _fill(
    rows: NDArray[np.uint32],
    store: TokenStore,
    vocabulary: TokenTable,
    config: InstanceConfig,
    rule: MaskingRule,
    stream: RandomStream,
    counts: NDArray[np.int64],
    look: Look,
) -> Iterator[int]:
    """Fill the rows anew, until all instances are made; yield how many, and add to the counts."""
    reserve = reserve_for(config.max_seq_length)
    sentences = Sentences(
        ids=store.ids,
        lengths=store.lengths,
        offsets=store.offsets,
        bounds=store.documents,
        order=shuffled_indices(stream, store.num_documents),
    )
    segment_rule = SegmentRule(
        num_segments=config.objective.num_segments,
        swaps=config.objective.swaps,
        short_seq_prob=float(config.short_seq_prob),
        max_num_tokens=config.max_seq_length - config.objective.num_special,
        reserve=reserve,
    )
    numpy_stream = stream_of(np.zeros(0, np.uint32), reserve=0)
    if config.rule.gathers:  # it draws sizes
        numpy_stream = stream_of(numpy_state(config.random_seed), reserve=reserve)
    scratch = masking_scratch(config.max_seq_length, np.uint16)
    total = config.dupe_factor * store.num_documents
    is_first = True
    with progress("make instances", total=total, unit="document") as advance:
        for _ in range(config.dupe_factor):
            cursor = np.array([0, NO_SENTENCE, 0, 0], np.int64)
            while (before := int(cursor[DOCUMENT])) < store.num_documents:
                store.check_sizes()
                num_rows = make_rows(
                    stream, numpy_stream, sentences, cursor, segment_rule, rule,
                    code_bits(vocabulary.size), scratch, counts, rows,
                )  # fmt: skip
                store.check_sizes()
                if is_first:
                    passes = config.dupe_factor / _share_used(sentences, cursor)
                    look(rows[:num_rows], round(num_rows * passes))
                    is_first = False
                yield num_rows
                advance(int(cursor[DOCUMENT]) - before)


def _share_used(sentences: Sentences, cursor: NDArray[np.int64]) -> float:
    """Return the share of the tokens that come before the place of a cursor, > 0 and <= 1."""
    offsets, bounds, order = sentences.offsets, sentences.bounds, sentences.order
    done, sentence = int(cursor[DOCUMENT]), int(cursor[SENTENCE])
    lasts = bounds[order[:done] + 1] - 1
    num_bytes = int((offsets[lasts] - offsets[bounds[order[:done]]]).sum())
    if sentence != NO_SENTENCE:
        num_bytes += int(offsets[sentence] - offsets[bounds[order[done]]])
    used = num_bytes // sentences.ids.itemsize + int(sentences.lengths[lasts].sum())
    return max(1, used) / sentences.ids.size
