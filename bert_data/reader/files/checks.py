"""Compare the configuration with the manifests and each shard's first record.

    max_seq_length=128, records of 512  ->  ValueError: max_seq_length is 128, but the first ...

This happens before the first batch is made.
"""

import dataclasses
import functools
from collections.abc import Sequence

from bert_data.errors import CorruptDataError
from bert_data.progress import how_many
from bert_data.reader.config import ReaderConfig
from bert_data.reader.files.blocks import look_at_first, read_blocks
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import Shard, map_files
from bert_data.reader.layout import stored_fields
from bert_data.records import fields
from bert_data.records.sets.manifest import Manifest
from bert_data.tokens.tokenizer_json import vocabulary_sha256

_LIMITS = ("max_seq_length", "max_predictions_per_seq")
_PADDING_UNIT, _MAX_PADDING = 8, 128
"""Models pad their vocabulary to a multiple of a number up to this, by fewer rows than it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """The largest sizes of a row; None where they are unknown and not needed."""

    max_seq_length: int | None
    max_predictions_per_seq: int | None


def check_shards(shards: Sequence[Shard], config: ReaderConfig) -> Limits:
    """Compare the configuration with what the shards hold, and return the limits of a row."""
    _check_objectives(shards, config)
    known_lengths: list[tuple[int, int]] = []
    has_records = False
    path = config.vocab_file
    vocab_digest = vocabulary_sha256(path) if path is not None else None
    checked: set[int] = set()
    look = functools.partial(look_at_first, skip_corrupt=config.skip_corrupt)
    first_records = map_files(look, shards, [shard.path for shard in shards])
    for shard in shards:
        if shard.manifest is not None and id(shard.manifest) not in checked:
            checked.add(id(shard.manifest))
            if shard.manifest.record_layout == fields.LABELLED:
                raise ValueError(
                    f"{shard.path} holds labelled texts; read them with bert_data.labelled"
                )
            _check_vocabulary(shard, shard.manifest, config, vocab_digest)
            lengths = shard.manifest.max_seq_length, shard.manifest.max_predictions_per_seq
            check_lengths(lengths, f"the manifest of {shard.path} allows", config)
            known_lengths.append(lengths)
        if not config.skip_corrupt:
            check_size(shard)
        first = next(first_records)
        has_records |= first is not None
        if first is not None:
            lengths = first.num_tokens, first.num_predictions
            how = "holds" if first.is_ragged else "is padded to"
            check_lengths(lengths, f"the first record of {shard.path} {how}", config)
            if not first.is_ragged:
                known_lengths.append(lengths)
    if not has_records:
        raise ValueError(_no_records(shards, config))
    return _limits(known_lengths, config)


def _check_objectives(shards: Sequence[Shard], config: ReaderConfig) -> None:
    setting = f"next_sentence is {config.next_sentence}"
    for shard in shards:
        actual = f"{shard.path} was made with next_sentence {shard.objective.name}"
        if config.next_sentence not in (None, shard.objective.name):
            raise ValueError(f"{setting}, but {actual}")
        if shard.objective != shards[0].objective:
            other = f"{shards[0].path} with {shards[0].objective.name}"
            raise ValueError(f"{actual}, but {other}; they cannot share batches")
        if stored_fields(shard.kind.fields) != stored_fields(shards[0].kind.fields):
            raise ValueError(
                f"{shard.path} and {shards[0].path} have other fields; they cannot share batches"
            )


def _no_records(shards: Sequence[Shard], config: ReaderConfig) -> str:
    damage = Damage(skip=True)
    for shard in shards:
        for _ in read_blocks(shard, damage):
            pass
    damage.tell()
    lost = damage.num_records
    why = f"{how_many(lost, 'damaged or missing record')} left out" if lost else "all empty"
    return f"no records in {', '.join(config.patterns)} ({how_many(len(shards), 'file')}, {why})"


def _limits(known_lengths: list[tuple[int, int]], config: ReaderConfig) -> Limits:
    limits = {}
    for i, name in enumerate(_LIMITS):
        limits[name] = getattr(config, name)
        if limits[name] is None:
            limits[name] = max((lengths[i] for lengths in known_lengths), default=None)
        if limits[name] is None and not config.fits_longest_row:
            because = f"width is {config.width!r} and no manifest gives it"
            raise ValueError(f"{name} is None; it must be given because {because}")
    return Limits(**limits)


def check_lengths(lengths: tuple[int, int], what: str, limits: Limits | ReaderConfig) -> None:
    """Compare numbers of tokens and predictions with the limits."""
    for name, unit, number in zip(_LIMITS, ("tokens", "predictions"), lengths, strict=True):
        limit = getattr(limits, name)
        if limit is not None and limit < number:
            raise ValueError(f"{name} is {limit}, but {what} {number} {unit}")


def _check_vocabulary(
    shard: Shard, manifest: Manifest, config: ReaderConfig, digest: str | None
) -> None:
    if digest is not None and digest != manifest.vocabulary.sha256:
        raise ValueError(
            f"vocabulary {config.vocab_file} has sha256 {digest}, but {shard.path} was made with a "
            f"vocabulary of sha256 {manifest.vocabulary.sha256}"
        )
    size = config.vocab_size
    if size is None or size == manifest.vocabulary.size:
        return
    if not is_padding(manifest.vocabulary.size, size):
        raise ValueError(
            f"vocab_size is {size}, but {shard.path} was made with a vocabulary of size "
            f"{manifest.vocabulary.size}"
        )


def is_padding(size: int, vocab_size: int) -> bool:
    """Whether a model of `vocab_size` rows may have a smaller vocabulary, padded for speed."""
    return 0 < vocab_size - size < _MAX_PADDING and vocab_size % _PADDING_UNIT == 0


def check_size(shard: Shard) -> None:
    """Compare a shard's size with its manifest or index; if they differ, locate the damage."""
    if shard.expected_bytes is None or shard.expected_bytes == shard.num_bytes:
        return
    num_records = 0
    for block in read_blocks(shard, Damage(skip=False)):
        num_records += block.num_records
    reason = f"has {shard.num_bytes} bytes; its manifest or index says {shard.expected_bytes}"
    raise CorruptDataError(shard.path, shard.num_bytes, reason, num_records)
