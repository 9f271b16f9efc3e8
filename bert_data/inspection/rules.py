"""What the records of a shard must agree with: from the manifest, the vocabulary and the flags.

    manifest of 128 tokens, masked_lm_prob 0.15, vocab.txt  ->  Rule(cls_id=101, mask_id=103, ...)

Without a vocabulary, the first records show which ids [CLS], [SEP] and [MASK] have. Without a
manifest, padded records show their limits, and the rest is Google's default.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.inspection.any_records import decode_block, short_records
from bert_data.inspection.measuring import Rule
from bert_data.objectives.masking_rules import MaskingConfig, masking_of_flags
from bert_data.objectives.objective import Objective
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.files.blocks import look_at_first, read_blocks
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import Shard
from bert_data.schema import fields
from bert_data.tokens.vocabulary import Vocabulary

GOOGLES_PASSES, GOOGLES_CASE = 10, True
"""The defaults of --dupe_factor and --do_lower_case."""

_MOST_LENGTH = 1 << 20  # tokens of a record; a manifest that allows more is as if it said this
_SAMPLE_RECORDS = 2000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that made a shard.

    Attributes:
      max_seq_length, max_predictions_per_seq: None if they are unknown.
      masking: how tokens to predict were chosen.
      num_passes: over the text, each with other masks.
      objective: of the records.
      are_known: whether a manifest says so.
    """

    max_seq_length: int | None
    max_predictions_per_seq: int | None
    masking: MaskingConfig
    num_passes: int
    objective: Objective
    are_known: bool

    @property
    def masks_words(self) -> bool:
        """Whether all pieces of a word are predicted together, as far as that is known."""
        return self.are_known and self.masking.masks_words

    @property
    def is_exact(self) -> bool:
        """Whether each record predicts as many tokens as its length asks, as far as is known."""
        rule = self.masking.rule
        return rule.is_exact and (rule.of_words or not self.masking.do_whole_word_mask)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpecialIds:
    """Ids of special tokens; -1 where they are unknown."""

    cls_id: int = -1
    sep_id: int = -1
    mask_id: int = -1
    unk_id: int = -1


def settings_of(shard: Shard) -> Settings:
    """Return the settings that made a shard, as far as anything shows them."""
    manifest = shard.manifest
    if manifest is not None:
        flags = manifest.flags
        passes = flags.get("dupe_factor")
        return Settings(
            max_seq_length=min(manifest.max_seq_length, _MOST_LENGTH),
            max_predictions_per_seq=min(manifest.max_predictions_per_seq, _MOST_LENGTH),
            masking=_masking_of(flags),
            num_passes=passes if isinstance(passes, int) else GOOGLES_PASSES,
            objective=shard.objective,
            are_known=True,
        )
    try:
        first = look_at_first(shard, skip_corrupt=True)
    except (CorruptDataError, ValueError):
        first = None
    is_padded = first is not None and not first.is_ragged
    return Settings(
        max_seq_length=first.num_tokens if first is not None and is_padded else None,
        max_predictions_per_seq=first.num_predictions if first is not None and is_padded else None,
        masking=MaskingConfig(),
        num_passes=GOOGLES_PASSES,
        objective=shard.objective,
        are_known=False,
    )


def _masking_of(flags: Mapping[str, Any]) -> MaskingConfig:
    """Return the settings of masking of a manifest, or Google's for those that are not allowed."""
    share = min(1.0, max(0.0, flags.get("masked_lm_prob", MaskingConfig.masked_lm_prob)))
    words = flags.get("do_whole_word_mask") is True
    settings = {**flags, "masked_lm_prob": share, "do_whole_word_mask": words}
    try:
        return masking_of_flags(settings)
    except ValueError:
        return MaskingConfig(masked_lm_prob=share, do_whole_word_mask=words)


def special_ids(vocabulary: Vocabulary | None, shards: Sequence[Shard]) -> SpecialIds:
    """Return the ids of special tokens: the vocabulary's, or those that the first records have."""
    if vocabulary is not None:
        return SpecialIds(
            cls_id=vocabulary.cls_id,
            sep_id=vocabulary.sep_id,
            mask_id=vocabulary.mask_id,
            unk_id=vocabulary.unk_id,
        )
    for shard in shards:
        for block in map(short_records, read_blocks(shard, Damage(skip=True))):
            if block.num_records:
                return _guess_ids(block.take(slice(0, _SAMPLE_RECORDS)), shard.kind)
    return SpecialIds()


def _guess_ids(block: RecordBlock, kind: fields.RecordKind) -> SpecialIds:
    """Return the commonest first id, last id, and id in place of another that is predicted."""
    rows, batch = block.num_records, decode_block(block, kind)
    ids, last = batch[fields.INPUT_IDS.name], block.lengths[:, 0] - 1
    positions = batch[fields.MASKED_LM_POSITIONS.name]
    is_real = np.arange(positions.shape[1]) < block.lengths[:, 1:]
    is_real &= (positions >= 0) & (positions < ids.shape[1])
    shown = np.take_along_axis(ids, np.where(is_real, positions, 0), axis=1)
    is_real &= shown != batch[fields.MASKED_LM_IDS.name]
    return SpecialIds(
        cls_id=_commonest(ids[:, 0]),
        sep_id=_commonest(ids[np.arange(rows), last]),
        mask_id=_commonest(shown[is_real]),
    )


def _commonest(ids: NDArray[np.generic]) -> int:
    values, counts = np.unique(ids, return_counts=True)
    return int(values[counts.argmax()]) if values.size else -1


def rule_of(
    shard: Shard, settings: Settings, special: SpecialIds, vocabulary: Vocabulary | None
) -> Rule:
    """Return what the records of a shard must agree with."""
    vocab_size = -1
    if vocabulary is not None:
        vocab_size = vocabulary.size
    elif shard.manifest is not None:
        vocab_size = shard.manifest.vocab_size
    longest, most = settings.max_seq_length, settings.max_predictions_per_seq
    num_to_predict = np.zeros(0, np.int32)
    if longest is not None and most is not None:
        lengths = np.arange(longest + 1)
        num_to_predict = np.minimum(most, settings.masking.num_to_predict(lengths))
    return Rule(
        special.cls_id,
        special.sep_id,
        special.mask_id,
        special.unk_id,
        vocab_size,
        -1 if longest is None else longest,
        -1 if most is None else most,
        int(settings.objective.num_segments == 2),
        int(settings.is_exact),
        num_to_predict,
        np.zeros(0, np.uint16) if vocabulary is None else vocabulary.word_bits,
    )
