"""The sequences of a recipe as sets of records, one of each stage, for those who want files.

    create_recipe_records(RecipeRecordsConfig(recipe=recipe, output_file="train-{stage}@2"))
      -> train-1-00000-of-00002, train-1-00001-of-00002, manifest.train-1.json, train-2-...

The n-th record of a stage is the n-th sequence of its batches, with the masks that it has there.
Each shard holds the records that follow those of the shard before, so that reading them in order
gives the order of the run.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from bert_data.datasets.corpus import STORE, count_tokens
from bert_data.datasets.dataset_config import (
    CHUNKS_OF_GROUP,
    Dataset,
    DatasetConfig,
    TimedStage,
    make_writer,
    rows_of_chunk,
    sum_up,
    with_counts,
)
from bert_data.datasets.manifest import Manifest
from bert_data.datasets.record_set import (
    Chunk,
    RecordSet,
    commit_sets,
    open_record_sets,
    write_shards,
)
from bert_data.formats.registry import COMPRESSIONS, NONE, TFRECORD, find_format, format_names
from bert_data.kernels import clock
from bert_data.objectives import none
from bert_data.objectives.making import InstanceCounts
from bert_data.objectives.masking import GOOGLES_SHOWN
from bert_data.objectives.objectives import DEFAULT, OBJECTIVES
from bert_data.objectives.rows import Instance
from bert_data.recipes.recipe import T5_SPANS, VERSION, Recipe
from bert_data.recipes.recipe_run import Place, Run, digest_of_stages
from bert_data.recipes.record_columns import SequencePart, columns_of, count, instance_of
from bert_data.recipes.run_batches import iterate_groups
from bert_data.recipes.stage_masking import Ramp
from bert_data.recipes.stage_run import StageRun
from bert_data.schema.columns import ColumnBatch
from bert_data.schema.fields import LAYOUTS, RAGGED
from bert_data.settings import OneOf, Within, check_settings
from bert_data.storage import expand_outputs
from bert_data.tokens.filling import TokenCounts
from bert_data.tokens.store import open_store
from bert_data.tokens.store_files import expand_store, read_notes, store_paths
from bert_data.tokens.vocabulary import TokenTable
from bert_data.work import Executor, count_workers, open_threads

_STAGE = "{stage}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecipeRecordsConfig:
    """Configuration of `create_recipe_records`; what is not said here is as of `DatasetConfig`.

    Attributes:
      recipe: its stages are written, each as a set.
      output_file: where several stages are written, {stage} in it stands for the number of each.
      stage: with `recipe`: write only this stage, counted from 1.
      reads: other files that no output may replace.
    """

    recipe: Recipe
    output_file: str
    stage: Annotated[int, Within(1)] | None = None
    output_format: Annotated[str, OneOf(format_names)] = TFRECORD
    record_layout: Annotated[str, OneOf(LAYOUTS)] = RAGGED
    compression: Annotated[str, OneOf(COMPRESSIONS)] = NONE
    num_workers: int = 0
    work_dir: str | None = None
    num_examples: int = DatasetConfig.num_examples
    overwrite: bool = False
    reads: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_settings(self)
        find_format(
            self.output_format,
            record_layout=self.record_layout,
            compression=self.compression,
            output_file=self.output_file,
        )
        count_workers(self.num_workers)
        num_stages = len(self.recipe.stages)
        if self.stage is not None and self.stage > num_stages:
            raise ValueError(f"stage is {self.stage}; the recipe has stages 1 to {num_stages}")
        if len(self.stages) > 1 and _STAGE not in self.output_file:
            raise ValueError(
                f"output_file is {self.output_file!r}; the recipe has {num_stages} stages, so it"
                f" must contain {_STAGE}, or `stage` must choose one of them"
            )
        for number in self.stages:
            if self.recipe.stages[number - 1].objective == T5_SPANS:
                raise ValueError(
                    f"stage {number} of the recipe has objective {T5_SPANS}, whose inputs and"
                    " targets are no records"
                )

    @property
    def stages(self) -> Sequence[int]:
        """The stages to write, counted from 1."""
        return range(1, len(self.recipe.stages) + 1) if self.stage is None else (self.stage,)


class _Extent(NamedTuple):
    """The place where a stage begins in its run, and its number of sequences."""

    begin: Place
    num_sequences: int


def create_recipe_records(config: RecipeRecordsConfig) -> list[Dataset]:
    """Write the records of stages; their sets appear together, or not at all.

    Raises:
      ValueError: a setting or a store cannot be used.
      OSError: a file exists, or cannot be written.
    """
    run = Run(config.recipe)
    names = [
        expand_outputs(config.output_file.replace(_STAGE, str(number))) for number in config.stages
    ]
    with (
        open_record_sets(
            names,
            inputs=[*config.recipe.input_files(), *config.reads],
            has_indexes=find_format(config.output_format).has_index,
            overwrite=config.overwrite,
            work_dir=config.work_dir,
        ) as record_sets,
        open_threads(count_workers(config.num_workers)) as executor,
    ):
        extents = _measure(run, config.stages[-1])
        datasets = [
            _write(config, run, number, extents[number - 1], record_set, executor)
            for number, record_set in zip(config.stages, record_sets, strict=True)
        ]
        commit_sets(record_sets, [dataset.manifest for dataset in datasets])
    return datasets


def _measure(run: Run, num_stages: int) -> list[_Extent]:
    """Return the extents of the first stages; packed rows, and skipped batches, are planned."""
    extents, batch = [], 0
    for stage in run.stages[:num_stages]:
        begin, total = Place(batch, stage.first_window, 0, batch), stage.num_sequences
        if not stage.is_packed and not run.recipe.skip:
            batch += stage.num_batches or 0
        else:
            total, stop = 0, stage.first_window + stage.num_windows
            for _, planned, place in run.planned(begin, stop):
                plan, batch = planned.plan, place.batch + planned.plan.num_batches
                splits = plan.batch_splits
                splits = splits if plan.row_splits is None else plan.row_splits[splits]
                numbers = np.arange(place.batch, batch)
                is_read = np.ones(numbers.size, np.bool_)
                for first, last in run.recipe.skip:
                    is_read &= (numbers < first) | (numbers > last)
                total += int(np.diff(splits)[is_read].sum())
        extents.append(_Extent(begin, total))
    return extents


def _parts(run: Run, stage: StageRun, extent: _Extent) -> Iterator[SequencePart]:
    """Yield the sequences of a stage in order."""
    groups = iterate_groups(run, extent.begin)
    for placed in itertools.takewhile(lambda placed: placed.stage is stage, groups):
        yield SequencePart(placed, 0, int(np.count_nonzero(placed.lengths)))


def _chunks(run: Run, stage: StageRun, extent: _Extent, num_shards: int) -> Iterator[Chunk]:
    """Yield the sequences of a stage, shard after shard."""
    sizes = [len(range(n, extent.num_sequences, num_shards)) for n in range(num_shards)]
    shard, left = 0, sizes[0]
    for part in _parts(run, stage, extent):
        start = 0
        while start < part.stop:
            while not left:
                shard += 1
                left = sizes[shard]
            stop = min(part.stop, start + left)
            yield Chunk(shard, stop - start, part._replace(start=start, stop=stop))
            start, left = stop, left - (stop - start)


def _write(
    config: RecipeRecordsConfig,
    run: Run,
    number: int,
    extent: _Extent,
    record_set: RecordSet,
    executor: Executor,
) -> Dataset:
    """Write the set of a stage, under hidden names."""
    stage, begun = run.stages[number - 1], clock()
    if not extent.num_sequences:
        raise ValueError(f"stage {number} has no records: skip leaves out all of its batches")
    manifest = _describe(config, run, number)
    group_rows = rows_of_chunk(manifest.max_seq_length, manifest.max_predictions_per_seq)
    writer = make_writer(manifest, group_rows * CHUNKS_OF_GROUP)
    counts: list[InstanceCounts] = []

    def encode(part: SequencePart) -> Any:
        columns = columns_of(part, run.vocabulary)
        counts.append(count(columns, run.vocabulary.mask_id, swaps=stage.stage.asked.swaps))
        own = {field.name: columns[field.name] for field in writer.kind.stored}
        return writer.encode(ColumnBatch(kind=writer.kind, columns=own))

    files = write_shards(
        record_set.shards,
        writer,
        _chunks(run, stage, extent, len(record_set.paths)),
        encode,
        num_records=extent.num_sequences,
        executor=executor,
    )
    stores = [source.opened for source in stage.sources]
    tokens = count_text(config.recipe, [each.name for each in stores], run.vocabulary)
    instances = sum_up(InstanceCounts, [dataclasses.asdict(each) for each in counts])
    num_bytes = sum(file.num_bytes for file in files)
    return Dataset(
        inputs=[p for each in stores for prefix in each.prefixes for p in store_paths(prefix)[:2]],
        tokens=tokens,
        instances=instances,
        stages=[TimedStage(name="write records", seconds=clock() - begun, num_bytes=num_bytes)],
        manifest=dataclasses.replace(with_counts(manifest, tokens, instances), files=files),
        paths=record_set.paths,
        examples=_examples(run, stage, extent, config.num_examples),
        vocabulary=run.vocabulary,
    )


def _examples(run: Run, stage: StageRun, extent: _Extent, most: int) -> list[Instance]:
    """Return the first records."""
    found: list[Instance] = []
    parts = _parts(run, stage, extent)
    while len(found) < most and (part := next(parts, None)) is not None:
        columns = columns_of(part, run.vocabulary)
        found += [instance_of(columns, n) for n in range(min(part.stop, most - len(found)))]
    return found


def count_text(recipe: Recipe, names: Iterable[str], vocabulary: TokenTable) -> TokenCounts:
    """Count the text of some stores, by their notes where they have some."""
    counts = []
    for name in names:
        for prefix in expand_store(recipe.stores[name]):
            notes = read_notes(prefix)
            if notes is None or notes.counts.keys() != TokenCounts.__annotations__.keys():
                counts.append(count_tokens(prefix, open_store(prefix), [notes], vocabulary))
            else:
                counts.append(TokenCounts(**notes.counts))
    return sum_up(TokenCounts, [dataclasses.asdict(each) for each in counts])


def _describe(config: RecipeRecordsConfig, run: Run, number: int) -> Manifest:
    """Return the manifest without its files and counts."""
    of_run = run.stages[number - 1]
    stage, masking = of_run.stage, of_run.stage.masking
    rate, stores = masking.rate, [source.opened for source in of_run.sources]
    notes = [read_notes(prefix) for store in stores for prefix in store.prefixes]
    asked = stage.asked.name if stage.objective in OBJECTIVES else none.NONE.name
    cases = {None if each is None else each.settings["do_lower_case"] for each in notes}
    flags: dict[str, Any] = {
        "do_lower_case": cases.pop() if len(cases) == 1 else None,
        "do_whole_word_mask": masking.whole_words,
        "dupe_factor": _num_passes(of_run),
        "masked_lm_prob": masking.highest_rate,
        "next_sentence": None if asked == DEFAULT else asked,
        "input_format": STORE,
        **masking.config.own_flags(),
        # What records made from text never have:
        "objective": None if stage.objective in OBJECTIVES else stage.objective,
        "least_masked_lm_prob": min(rate.start, rate.end) if isinstance(rate, Ramp) else None,
        "shown": None if masking.shown == GOOGLES_SHOWN else masking.shown._asdict(),
        "recipe": {
            "version": VERSION,
            "digest": digest_of_stages(run, number),
            "stage": number,
            "stores": {store.name: config.recipe.stores[store.name] for store in stores},
            **_without_none(dataclasses.asdict(stage)),
            "skip": config.recipe.skip,
        },
    }
    return Manifest(
        output_format=config.output_format,
        record_layout=config.record_layout,
        compression=find_format(config.output_format).compression or config.compression,
        max_seq_length=stage.max_seq_length,
        max_predictions_per_seq=stage.most_predictions,
        random_seed=config.recipe.seed,
        vocabulary=run.vocabulary.note,
        flags=_without_none(flags),
        counts={},
        files=(),
    )


def _without_none(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _num_passes(stage: StageRun) -> int:
    """Return in how many epochs of a store the stage reads, at most."""
    taken = stage.dealer.counts(stage.num_sequences)
    return max(
        -(-(before + count) // source.num_sequences) - before // source.num_sequences
        for source, before, count in zip(stage.sources, stage.before, taken, strict=True)
    )
