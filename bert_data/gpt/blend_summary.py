"""A summary of what a data set takes of each token store."""

import dataclasses
from collections.abc import Sequence

from bert_data.gpt.blending import check_weights
from bert_data.gpt.building import BlendedDataset, weighted_blend
from bert_data.gpt.dataset import GptDataset

_HEADS = ("wanted", "reached", "samples", "per epoch", "epochs", "tokens")


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetPart:
    """Documents, samples and tokens taken of one data set.

    Attributes:
      wanted_share, reached_share: of all samples, in [0, 1].
      samples_per_epoch: that one pass over its documents gives.
    """

    name: str
    wanted_share: float
    reached_share: float
    num_samples: int
    samples_per_epoch: float

    @property
    def num_epochs(self) -> float:
        """Passes over its documents that the samples are."""
        return self.num_samples / self.samples_per_epoch


def parts_of_blend(dataset: GptDataset | BlendedDataset) -> list[DatasetPart]:
    """Return what a data set takes of each token store."""
    datasets: Sequence[GptDataset] = (
        [dataset] if isinstance(dataset, GptDataset) else dataset.datasets
    )
    shares: Sequence[float] = [1.0]
    counts = [len(dataset)]
    if isinstance(dataset, BlendedDataset):
        shares, counts = dataset.blend.shares, dataset.blend.counts.tolist()
    names = [part.documents.prefix for part in datasets]
    return _parts(names, shares, counts, [part.plan.samples_per_epoch for part in datasets])


def plan_blend(
    names: Sequence[str],
    samples_per_epoch: Sequence[float],
    weights: Sequence[float],
    num_samples: int,
) -> list[DatasetPart]:
    """Return what a blend would take of data sets that need not exist yet."""
    check_weights(weights, len(names))
    if len(samples_per_epoch) != len(names):
        raise ValueError(
            f"samples_per_epoch has {len(samples_per_epoch)} for {len(names)} data set(s);"
            " give one for each"
        )
    for name, number in zip(names, samples_per_epoch, strict=True):
        if not 0 < number < float("inf"):
            raise ValueError(f"{name} has {number!r} samples per epoch; more than 0 is allowed")
    blend = weighted_blend(weights, num_samples)
    return _parts(names, blend.shares, blend.counts.tolist(), samples_per_epoch)


def _parts(
    names: Sequence[str],
    shares: Sequence[float],
    counts: Sequence[int],
    samples_per_epoch: Sequence[float],
) -> list[DatasetPart]:
    total = sum(counts)
    return [
        DatasetPart(
            name=name,
            wanted_share=share,
            reached_share=count / total,
            num_samples=count,
            samples_per_epoch=per_epoch,
        )
        for name, share, count, per_epoch in zip(
            names, shares, counts, samples_per_epoch, strict=True
        )
    ]


def describe_parts(parts: Sequence[DatasetPart], split: str, seq_length: int) -> str:
    """Return the lines of the summary of a split."""
    total = sum(part.num_samples for part in parts)
    sets = f"{len(parts):,} data set{'s' if len(parts) > 1 else ''}"
    width = max(8, *(len(part.name) for part in parts))
    lines = [
        f"{split}: {total:,} samples of {seq_length:,} tokens from {sets}, "
        f"{total * seq_length:,} tokens",
        _row("data set", _HEADS, width),
    ]
    for part in parts:
        cells = (
            f"{part.wanted_share:.2%}",
            f"{part.reached_share:.2%}",
            f"{part.num_samples:,}",
            _decimal(part.samples_per_epoch),
            f"{part.num_epochs:,.2f}",
            f"{part.num_samples * seq_length:,}",
        )
        lines.append(_row(part.name, cells, width))
    return "\n".join(lines)


def _decimal(number: float) -> str:
    return f"{number:,.1f}".removesuffix(".0")


def _row(name: str, cells: Sequence[str], width: int) -> str:
    columns = zip(cells, (9, 9, 12, 12, 9, 17), strict=True)
    return f"  {name:<{width}}" + "".join(f"{cell:>{room}}" for cell, room in columns)


def describe_repeats(parts: Sequence[DatasetPart], max_repeats: float) -> list[str]:
    """Return a sentence for each data set that is read more than `max_repeats` times."""
    return [
        f"{part.name} is repeated {part.num_epochs:,.2f} times, more than {max_repeats:g}: its "
        f"share of {part.wanted_share:.2%} takes {part.num_samples:,} samples of "
        f"{_decimal(part.samples_per_epoch)} an epoch"
        for part in parts
        if part.num_epochs > max_repeats
    ]
