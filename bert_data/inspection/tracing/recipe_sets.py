"""Sets of records that `create` made by a recipe: which record is which sequence of a stage."""

import bisect
import dataclasses
import itertools
import os

from bert_data.inspection.sources.opening import expand_records
from bert_data.reader.config import ReaderConfig
from bert_data.reader.files.shards import find_shards
from bert_data.recipes.finding import (
    record_of_sequence,
    sequence_of_record,
    skipped_sequences,
)
from bert_data.recipes.recipe import VERSION
from bert_data.recipes.recipe_run import Run, digest_of_stages


@dataclasses.dataclass(frozen=True)
class SetShards:
    """The shards of a set.

    Attributes:
      shards: their names.
      splits: the first record of each shard, and the number of all.
    """

    name: str
    shards: list[str]
    splits: list[int]

    def place(self, record: int) -> tuple[int, int]:
        """Return the number of a record's shard, and the record's number there."""
        shard = bisect.bisect_right(self.splits, record) - 1
        return shard, record - self.splits[shard]

    def number_of(self, record: str) -> int:
        """Return the number in the set of a record that is named N, or SHARD:N."""
        shard, _, number = record.rpartition(":")
        names = {os.path.basename(name): n for n, name in enumerate(self.shards)}
        own = names.get(os.path.basename(shard), -1) if shard else 0
        if not number.isdecimal() or own < 0:
            raise ValueError(
                f"record is {record!r}; it must be a number, or SHARD:N, such as"
                f" {self.shards[0]}:17"
            )
        most = self.splits[own + 1] - self.splits[own] if shard else self.splits[-1]
        if int(number) >= most:
            where = shard or self.name
            raise ValueError(f"record is {record!r}; {where} has records 0 to {most - 1:,}")
        return self.splits[own] + int(number)


@dataclasses.dataclass(frozen=True)
class RecipeSet(SetShards):
    """A set of records of a stage, see `recipes.recipe_records`.

    Attributes:
      stage: of the run, from 0.
      skipped: see `skipped_sequences`.
    """

    stage: int
    skipped: list[tuple[int, int]]

    def place_of(self, sequence: int) -> tuple[str, int, int]:
        """Return the shard of a sequence of the stage, its number there, and in the set."""
        record = record_of_sequence(sequence, self.skipped)
        shard, place = self.place(record)
        return self.shards[shard], place, record

    def sequence_of(self, record: str) -> int:
        """Return the sequence of the stage that a record is: N, or SHARD:N."""
        return sequence_of_record(self.number_of(record), self.skipped)


def open_recipe_set(names: str, run: Run, recipe: str) -> RecipeSet:
    """Open a set of records, and compare it with the recipe that is to have made it."""
    paths = expand_records(names)
    shard = find_shards(ReaderConfig(input_patterns=paths[:1], batch_size=1))[0]
    manifest = shard.manifest
    made_by = None if manifest is None else manifest.flags.get("recipe")
    if manifest is None or not isinstance(made_by, dict):
        raise ValueError(
            f"{paths[0]} is no shard that `create` made by a recipe; of others, `record` with"
            " `stores` finds the documents by their text"
        )
    stage = made_by.get("stage")
    if (
        made_by.get("version") != VERSION
        or not isinstance(stage, int)
        or not 1 <= stage <= len(run.stages)
        or made_by.get("digest") != digest_of_stages(run, stage)
    ):
        raise ValueError(f"{paths[0]} was made by another recipe than {recipe}, or of other stores")
    return RecipeSet(
        name=names,
        stage=stage - 1,
        shards=[file.name for file in manifest.files],
        splits=list(itertools.accumulate((f.num_records for f in manifest.files), initial=0)),
        skipped=skipped_sequences(run, stage - 1),
    )
