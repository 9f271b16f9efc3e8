"""The settings that made a shard, and what its records must agree with.

Without a vocabulary, the first records show which ids [CLS], [SEP] and [MASK] have. Without a
manifest, padded records show their limits, and the rest is Google's default.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.inspection.measuring import Rule
from bert_data.inspection.sources.instances import decode_block, short_records
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.files.blocks import look_at_first, read_blocks
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import Shard
from bert_data.records import fields
from bert_data.records.masking.config import MaskingConfig, masking_of_flags
from bert_data.records.objectives import Objective
from bert_data.records.sets.manifest import PROGRAM
from bert_data.tokens.special_tokens import special_table
from bert_data.tokens.vocabulary import TokenTable

GOOGLES_PASSES = 10
"""The default of --dupe_factor."""

_MOST_LENGTH = 1 << 20  # tokens of a record; a manifest that allows more is as if it said this
_SAMPLE_RECORDS = 2000
_SPECIAL_IDS = ("cls_id", "sep_id", "mask_id", "unk_id")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShardSettings:
    """The settings that made a shard, None where they are unknown.

    Attributes:
      masking: how tokens to predict were chosen.
      num_passes: over the text, each with other masks.
      are_known: whether a manifest says so.
      is_own: whether functions of a program chose tokens and sentences, by rules of their own.
    """

    max_seq_length: int | None
    max_predictions_per_seq: int | None
    masking: MaskingConfig
    num_passes: int
    objective: Objective
    are_known: bool
    is_own: bool = False

    @property
    def masks_words(self) -> bool:
        """Whether all pieces of a word are predicted together, as far as that is known."""
        return self.are_known and not self.is_own and self.masking.masks_words

    @property
    def is_exact(self) -> bool:
        """Whether each record predicts as many tokens as its length asks, as far as is known."""
        rule = self.masking.rule
        masks_words = self.masking.do_whole_word_mask and not rule.of_words
        return rule.is_exact and not masks_words and not self.is_own


def settings_of_shard(shard: Shard) -> ShardSettings:
    """Return the settings that made a shard, as far as anything shows them."""
    manifest = shard.manifest
    if manifest is not None:
        flags = manifest.flags
        passes = flags.get("dupe_factor")
        return ShardSettings(
            max_seq_length=min(manifest.max_seq_length, _MOST_LENGTH),
            max_predictions_per_seq=min(manifest.max_predictions_per_seq, _MOST_LENGTH),
            masking=_masking_of(flags),
            num_passes=passes if isinstance(passes, int) else GOOGLES_PASSES,
            objective=shard.objective,
            are_known=True,
            is_own=PROGRAM in flags,
        )
    try:
        first = look_at_first(shard, skip_corrupt=True)
    except (CorruptDataError, ValueError):
        first = None
    padded = first if first is not None and not first.is_ragged else None
    return ShardSettings(
        max_seq_length=None if padded is None else padded.num_tokens,
        max_predictions_per_seq=None if padded is None else padded.num_predictions,
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


def special_ids(vocabulary: TokenTable | None, shards: Sequence[Shard]) -> dict[str, int]:
    """Return the ids of `_SPECIAL_IDS`, the vocabulary's or those of the first records, or -1."""
    if vocabulary is not None:
        return {name: getattr(vocabulary, name) for name in _SPECIAL_IDS}
    unknown = dict.fromkeys(_SPECIAL_IDS, -1)
    for shard in shards:
        for block in map(short_records, read_blocks(shard, Damage(skip=True))):
            if block.num_records:
                first = block.take(slice(0, _SAMPLE_RECORDS))
                return unknown | _guess_ids(first, shard.kind)
    return unknown


def _guess_ids(block: RecordBlock, kind: fields.RecordKind) -> dict[str, int]:
    """Return the commonest first id, last id, and id in place of another that is predicted."""
    rows, batch = block.num_records, decode_block(block, kind)
    ids, last = batch[fields.INPUT_IDS.name], block.lengths[:, 0] - 1
    positions = batch[fields.MASKED_LM_POSITIONS.name]
    is_real = np.arange(positions.shape[1]) < block.lengths[:, 1:]
    is_real &= (positions >= 0) & (positions < ids.shape[1])
    shown = np.take_along_axis(ids, np.where(is_real, positions, 0), axis=1)
    is_real &= shown != batch[fields.MASKED_LM_IDS.name]
    return {
        "cls_id": _commonest(ids[:, 0]),
        "sep_id": _commonest(ids[np.arange(rows), last]),
        "mask_id": _commonest(shown[is_real]),
    }


def _commonest(ids: NDArray[np.generic]) -> int:
    values, counts = np.unique(ids, return_counts=True)
    return int(values[counts.argmax()]) if values.size else -1


def rule_of(
    shard: Shard, settings: ShardSettings, special: Mapping[str, int], vocabulary: TokenTable | None
) -> Rule:
    """Return what the records of a shard must agree with."""
    vocab_size = -1 if shard.manifest is None else shard.manifest.vocabulary.size
    longest, most = settings.max_seq_length, settings.max_predictions_per_seq
    num_to_predict = np.zeros(0, np.int32)
    if longest is not None and most is not None:
        lengths = np.arange(longest + 1)
        asked = lengths if settings.is_own else settings.masking.num_to_predict(lengths)
        num_to_predict = np.minimum(most, asked).astype(np.int32)
    # Ids of records do not say what a word of the text was; row splits do.
    of_words = shard.manifest is not None and "words" in shard.manifest.flags
    never = {special["cls_id"], special["sep_id"]} - {-1}
    return Rule(
        **special,
        vocab_size=vocab_size if vocabulary is None else vocabulary.size,
        max_seq_length=-1 if longest is None else longest,
        max_predictions_per_seq=-1 if most is None else most,
        num_segments=settings.objective.num_segments,
        is_exact=int(settings.is_exact),
        num_to_predict=num_to_predict,
        word_bits=np.zeros(0, np.uint16)
        if vocabulary is None or of_words
        else vocabulary.word_bits,
        special=special_table(never if vocabulary is None else vocabulary.special_ids),
    )
