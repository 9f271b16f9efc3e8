"""What each way to batch records pads, from their lengths.

lengths  12 to 128 tokens, 97.4 on average of 1,000 records; in batches of 32 rows:
plain    9.9% padding
pools    2.5% padding
"""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.inspection.configs import CheckConfig
from bert_data.inspection.figures import share_text
from bert_data.inspection.sources.instances import InstanceSource
from bert_data.inspection.terminal import Terminal
from bert_data.progress import how_many
from bert_data.reader.planning import PlanConfig, make_plan
from bert_data.reader.planning.plan_config import BATCHINGS, PLAIN, WIDTH_MAX

MAX = "max"
"""The way whose speed is 1: every row as wide as the longest allowed."""

BATCH_SIZE = CheckConfig.batch_size
"""Rows of batches, where nothing else is said."""

_MOST_RECORDS = 1 << 16  # that `inspect` looks at
_HIDDEN_SIZE = 768  # of BERT-Base: the smaller, the more the attention of long rows weighs


@dataclasses.dataclass(frozen=True, kw_only=True)
class Batching:
    """One way to batch a set.

    Attributes:
      num_tokens, num_padded: of all batches of an epoch, without and with padding.
      num_shapes: different rows and widths.
      speed: records a second of BERT-Base's matrix products, compared with the way `MAX`.
    """

    name: str
    num_batches: int
    num_tokens: int
    num_padded: int
    min_width: int
    max_width: int
    num_widths: int
    num_shapes: int
    speed: float

    @property
    def padding(self) -> float:
        """The share of tokens that are padding."""
        return 1 - self.num_tokens / self.num_padded

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**dataclasses.asdict(self), "padding": self.padding}


def compare_batchings(
    lengths: NDArray[np.unsignedinteger], *, batch_size: int, max_seq_length: int | None = None
) -> list[Batching]:
    """Plan an epoch of records of these lengths, uint[records], in every way; [] without any."""
    if not lengths.size:
        return []
    longest = max(max_seq_length or 0, int(lengths.max()))  # which a faulty record may exceed
    config = PlanConfig(batch_size=batch_size, max_seq_length=longest, shuffle=True)
    batchings: list[Batching] = []
    cost_of_max = 0.0
    ways: dict[str, dict[str, Any]] = {MAX: {"batching": PLAIN, "width": WIDTH_MAX}}
    ways |= {name: {"batching": name} for name in BATCHINGS}
    for name, options in ways.items():
        plan = make_plan(lengths, dataclasses.replace(config, **options))
        epoch = plan.epoch(0)
        rows, widths = np.diff(epoch.batch_splits), epoch.widths.astype(np.int64)
        # In the operations of a token without attention.
        cost = float(np.sum(rows * widths * (1 + widths / (6 * _HIDDEN_SIZE))))
        cost_of_max = cost_of_max or cost
        batchings.append(
            Batching(
                name=name,
                num_batches=epoch.num_batches,
                num_tokens=plan.num_tokens,
                num_padded=epoch.num_padded_tokens,
                min_width=int(widths.min()),
                max_width=int(widths.max()),
                num_widths=int(np.unique(widths).size),
                num_shapes=int(np.unique(rows << 32 | widths).size),
                speed=cost_of_max / cost,
            )
        )
    return batchings


def lengths_of_histogram(num_of_length: NDArray[np.int64], most: int) -> NDArray[np.uint32]:
    """Return the lengths of records, or of about `most` of them, from how many have each length."""
    total = int(num_of_length.sum())
    counts = num_of_length
    if total > most:
        counts = np.diff(np.cumsum([0, *num_of_length.tolist()]) * most // total)
    return np.repeat(np.arange(counts.size, dtype=np.uint32), counts)


def show_batchings(output: Terminal, source: InstanceSource) -> bool:
    """Show the lengths of the first records, and what ways to batch them pad.

    Returns:
      Whether they end in damage, which is shown, too.
    """
    lengths, damage = source.first_lengths(_MOST_RECORDS)
    if damage is not None:
        output.labelled("damaged", f"{damage}; bert-data check counts what is lost")
    if not lengths.size:
        return damage is not None
    limit = source.description.settings.get("max_seq_length")
    batchings = compare_batchings(
        lengths.astype(np.uint32),
        batch_size=BATCH_SIZE,
        max_seq_length=limit if isinstance(limit, int) else None,
    )
    which = "the first " if lengths.size >= _MOST_RECORDS else ""
    output.labelled(
        "lengths",
        f"{lengths.min()} to {lengths.max()} tokens, {lengths.mean():.1f} on average of"
        f" {which}{how_many(lengths.size, 'record')}; in batches of {BATCH_SIZE} rows:",
    )
    for batching in batchings[1:]:
        output.labelled(f"{batching.name:7}", f"{share_text(batching.padding)} padding")
    return damage is not None
