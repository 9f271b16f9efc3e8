"""What is compared before a batch is made.

    max_seq_length=128, records of 512  ->  ValueError: max_seq_length is 128, but the first ...

The configuration is held against the manifests and each shard's first record.
"""

import dataclasses
from collections.abc import Sequence

from bert_data.datasets.manifest import Manifest
from bert_data.errors import CorruptDataError
from bert_data.reader.config import WIDTH_OF_BATCH, ReaderConfig
from bert_data.reader.files.blocks import FirstRecord, look_at_first, read_blocks
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.shards import Shard
from bert_data.schema import fields
from bert_data.tokens.tokenizer_json import vocabulary_sha256

_LIMITS = ("max_seq_length", "max_predictions_per_seq")
_PADDING_UNIT, _MAX_PADDING = 8, 128  # how models round their vocabulary up


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """The most that a row may hold; None where nothing tells and nothing needs it.

    Attributes:
      max_seq_length: tokens.
      max_predictions_per_seq: predictions.
    """

    max_seq_length: int | None
    max_predictions_per_seq: int | None


def check_shards(shards: Sequence[Shard], config: ReaderConfig) -> Limits:
    """Compares the configuration with what the shards hold.

    Raises:
      ValueError: they contradict each other, there is no record at all, or a limit must be given.
      CorruptDataError: a shard has not the size that its manifest or index tells, or its first
        record is damaged (unless config.skip_corrupt).
    """
    _check_next_sentences(shards, config)
    found: list[tuple[int, int]] = []
    has_records = False
    path = config.vocab_file
    vocab_digest = vocabulary_sha256(path) if path is not None else None
    checked: set[int] = set()
    for shard in shards:
        if shard.manifest is not None and id(shard.manifest) not in checked:
            checked.add(id(shard.manifest))
            if shard.manifest.record_layout == fields.LABELLED:
                raise ValueError(
                    f"{shard.path} holds labelled texts, which bert_data.reader.labelled reads"
                )
            _check_vocabulary(shard, shard.manifest, config, vocab_digest)
            lengths = shard.manifest.max_seq_length, shard.manifest.max_predictions_per_seq
            _check_stored(lengths, f"the manifest of {shard.path} tells of", config)
            found.append(lengths)
        if not config.skip_corrupt:
            check_size(shard)
        first = look_at_first(shard, skip_corrupt=config.skip_corrupt)
        has_records |= first is not None
        if first is not None:
            _check_first(first, shard, config)
            if not first.is_ragged:
                found.append((first.num_tokens, first.num_predictions))
    if not has_records:
        raise ValueError(_no_records(shards, config))
    return _limits(found, config)


def _check_next_sentences(shards: Sequence[Shard], config: ReaderConfig) -> None:
    asked = f"next_sentence is {config.next_sentence}"
    for shard in shards:
        told = f"{shard.path} was made with next_sentence {shard.next_sentence}"
        if config.next_sentence not in (None, shard.next_sentence):
            raise ValueError(f"{asked}, but {told}")
        if shard.next_sentence != shards[0].next_sentence:
            other = f"{shards[0].path} with {shards[0].next_sentence}"
            raise ValueError(f"{told}, but {other}; they cannot share batches")


def _no_records(shards: Sequence[Shard], config: ReaderConfig) -> str:
    damage = Damage(skip=True)
    for shard in shards:
        for _ in read_blocks(shard, damage):
            pass
    damage.tell()
    lost = damage.num_records
    why = f"{lost} damaged or missing record(s) left out" if lost else "all empty"
    return f"no records in {', '.join(config.patterns)} ({len(shards)} file(s), {why})"


def _limits(found: list[tuple[int, int]], config: ReaderConfig) -> Limits:
    limits = {}
    for i, name in enumerate(_LIMITS):
        limits[name] = getattr(config, name)
        if limits[name] is None:
            limits[name] = max((lengths[i] for lengths in found), default=None)
        if limits[name] is None and config.width != WIDTH_OF_BATCH:
            because = f"width is {config.width!r} and no manifest tells it"
            raise ValueError(f"{name} is None; must be given, as {because}")
    return Limits(**limits)


def check_lengths(found: tuple[int, int], what: str, limits: Limits | ReaderConfig) -> None:
    """Compares tokens and predictions with the limits.

    Args:
      found: tokens and predictions.
      what: of which they are, for the error.
      limits: where they are not None, the most that is allowed.

    Raises:
      ValueError: there are more.
    """
    for name, unit, number in zip(_LIMITS, ("tokens", "predictions"), found, strict=True):
        limit = getattr(limits, name)
        if limit is not None and limit < number:
            raise ValueError(f"{name} is {limit}, but {what} {number} {unit}")


def _check_first(first: FirstRecord, shard: Shard, config: ReaderConfig) -> None:
    how = "holds" if first.is_ragged else "is padded to"
    lengths = first.num_tokens, first.num_predictions
    _check_stored(lengths, f"the first record of {shard.path} {how}", config)


def _check_stored(found: tuple[int, int], what: str, config: ReaderConfig) -> None:
    """Compares stored tokens and predictions; those that are drawn anew have their own limit."""
    check_lengths((found[0], 0) if config.dynamic_masking else found, what, config)


def _check_vocabulary(
    shard: Shard, manifest: Manifest, config: ReaderConfig, digest: str | None
) -> None:
    if digest is not None and digest != manifest.vocab_sha256:
        raise ValueError(
            f"vocabulary {config.vocab_file} has sha256 {digest}, but {shard.path} was made with a "
            f"vocabulary of sha256 {manifest.vocab_sha256}"
        )
    size = config.vocab_size
    if size is None or size == manifest.vocab_size:
        return
    padding = size - manifest.vocab_size
    if not 0 < padding < _MAX_PADDING or size % _PADDING_UNIT:
        raise ValueError(
            f"vocab_size is {size}, but {shard.path} was made with a vocabulary of size "
            f"{manifest.vocab_size}"
        )


def check_size(shard: Shard) -> None:
    """Compares a shard's size with what its manifest or index tells, and finds the damage.

    Raises:
      CorruptDataError: they differ.
    """
    if shard.expected_bytes is None or shard.expected_bytes == shard.num_bytes:
        return
    num_records = 0
    for block in read_blocks(shard, Damage(skip=False)):
        num_records += block.num_records
    reason = f"has {shard.num_bytes} bytes; its manifest or index tells of {shard.expected_bytes}"
    raise CorruptDataError(shard.path, shard.num_bytes, reason, num_records)
