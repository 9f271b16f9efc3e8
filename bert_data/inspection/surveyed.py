"""A set that was read whole: what all parts of the judgement look at."""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from bert_data.datasets.manifest import Manifest
from bert_data.inspection.figures import Figure
from bert_data.inspection.measuring import COUNTS, FAULTS
from bert_data.inspection.repeats import Repeats
from bert_data.inspection.rules import Settings
from bert_data.inspection.surveying import Survey
from bert_data.objectives.objective import Objective
from bert_data.reader.files.shards import Shard


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Surveyed:
    """A set that was read whole.

    Attributes:
      shards, settings, surveys: one each for every shard.
      repeats: records that occur more than once.
      knows_unknown: whether [UNK] could be counted in the records.
      same_document: of a sample of random next sentences, those of the same document; None without
        the corpus.
      unknown_words: frequent words of the corpus that are [UNK].
    """

    shards: Sequence[Shard]
    settings: Sequence[Settings]
    surveys: Sequence[Survey]
    repeats: Repeats
    knows_unknown: bool
    same_document: Figure | None = None
    unknown_words: Sequence[str] = ()

    @functools.cached_property
    def counts(self) -> dict[str, int]:
        """What was counted, by the names of `COUNTS`."""
        total = np.sum([survey.counts for survey in self.surveys], axis=0)
        return dict(zip(COUNTS, total.tolist(), strict=True))

    @functools.cached_property
    def faults(self) -> dict[str, int]:
        """Records with each fault, by the names of `FAULTS`."""
        total = np.sum([survey.num_faults for survey in self.surveys], axis=0)
        return dict(zip(FAULTS, total.tolist(), strict=True))

    @property
    def objective(self) -> Objective:
        """What is asked about the records' segments."""
        return self.shards[0].objective

    @functools.cached_property
    def limits(self) -> "Limits":
        """What max_predictions_per_seq does to the set."""
        num_unlimited = at_limit = 0
        for settings, survey in zip(self.settings, self.surveys, strict=True):
            lengths = np.arange(survey.num_of_length.size)
            most = settings.masking.num_to_predict(lengths).astype(np.int64)
            num_unlimited += int(most @ survey.num_of_length)
            limit = settings.max_predictions_per_seq
            at_limit += 0 if limit is None else int(survey.num_of_length[most >= limit].sum())
        return Limits(num_unlimited, at_limit)

    @property
    def manifests(self) -> Sequence[Manifest | None]:
        """The manifest of every shard, each once; None if a shard has none."""
        return list({id(shard.manifest): shard.manifest for shard in self.shards}.values())

    def from_manifests(self, group: str, name: str) -> int | None:
        """Return a count of all manifests together; None if one is missing, or does not have it."""
        total = 0
        for manifest in self.manifests:
            count = manifest.counts.get(group, {}).get(name) if manifest is not None else None
            if not isinstance(count, int):
                return None
            total += count
        return total


@dataclasses.dataclass(frozen=True)
class Limits:
    """What max_predictions_per_seq does.

    Attributes:
      num_unlimited: predictions if there were no limit.
      num_at_limit: records that reach it by their length.
    """

    num_unlimited: int
    num_at_limit: int
