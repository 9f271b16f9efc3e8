"""A recipe with its stores open: where each batch of a run is.

    stage 0: 1,000,000 sequences   windows 0 to 61     batches of 256
    stage 1:   200,000 sequences   windows 62 to 74    ...

Stages that cut a store alike go on in its epoch. A place in a run is a window and a batch of it.
Batches are numbered in the run, where packed rows of stages that do not end by steps are counted.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.config import check_start
from bert_data.reader.saved_places import open_state, sealed
from bert_data.recipes.recipe import RECIPE_VERSION, TOKENS_ONLY, Recipe, Stage
from bert_data.recipes.sequences.fetched_tokens import FetchedTokens, Fetcher
from bert_data.recipes.sequences.opened_stores import Opened, open_stores
from bert_data.recipes.sequences.store_source import CutRule, StoreSource
from bert_data.recipes.stage_run import Planned, StageRun, Window
from bert_data.tokens.corpus_warnings import warn_of_characters
from bert_data.tokens.store_files import noted_words
from bert_data.tokens.tokenizer_file import read_vocabulary
from bert_data.tokens.vocabulary import TokenTable


class Place(NamedTuple):
    """A place in a run: the next batch.

    Attributes:
      batch: its number in the run.
      window: the window that it is in.
      in_window: its number there.
      stage_begin: the number of the first batch of its stage.
      carried: the sequences of the window before that come first in it.
    """

    batch: int = 0
    window: int = 0
    in_window: int = 0
    stage_begin: int = 0
    carried: int = 0

    def after(self) -> "Place":
        """Return the place behind its batch."""
        return self._replace(batch=self.batch + 1, in_window=self.in_window + 1)


START = Place()


class Run:
    """A recipe with its stores open.

    Attributes:
      random_words: int32[any], ids that are shown in place of tokens to predict.
    """

    def __init__(self, recipe: Recipe) -> None:
        """Open the stores, and count what each stage reads."""
        self.recipe = recipe
        path = recipe.vocab_file or recipe.tokenizer_file
        assert path is not None
        with recipe.named():
            self.vocabulary = read_vocabulary(path)
            self.random_words = _random_words(self.vocabulary)
        used = {name for stage in recipe.stages for name in recipe.names_of(stage)}
        paths = {name: path for name, path in recipe.stores.items() if name in used}
        opened = open_stores(paths, recipe.named, identify=recipe.cache_dir is not None)
        for each in opened.values():
            each.check_vocabulary(self.vocabulary.sha256, path)
        notes = (part.notes for each in opened.values() for part in each.parts)
        self.vocabulary = self.vocabulary.of_words(noted_words(notes))
        if any(stage.masking.config.masks_words for stage in recipe.stages):
            warn_of_characters(self.vocabulary)
        for stage in recipe.stages:  # before anything is read for long
            for name in recipe.names_of(stage) if stage.asked.num_segments == 2 else ():
                opened[name].check_pairs(stage.asked.name)
        sources: dict[tuple[str, CutRule], StoreSource] = {}
        taken: dict[tuple[str, CutRule], int] = {}
        self.stages: list[StageRun] = []
        first_window = 0
        for number, stage in enumerate(recipe.stages):
            cut = _cut_of(stage)
            names = recipe.names_of(stage)
            for name in names:
                if (name, cut) not in sources:
                    sources[name, cut] = _source(recipe, opened[name], cut, len(names))
            own = [sources[name, cut] for name in names]
            before = [taken.get((name, cut), 0) for name in names]
            run = StageRun(number, stage, own, before, recipe.seed)
            run.first_window = first_window
            first_window += run.num_windows
            counts = run.dealer.counts(run.num_sequences)
            for name, begin, count in zip(names, before, counts, strict=True):
                taken[name, cut] = begin + count
            self.stages.append(run)
        self.num_windows = first_window

    def stage_of(self, window: int) -> StageRun:
        """Return the stage that a window of the run belongs to."""
        return next(each for each in reversed(self.stages) if each.first_window <= window)

    def window(self, number: int) -> Window:
        """Return a window of the run."""
        stage = self.stage_of(number)
        return stage.window(number - stage.first_window)

    def planned(
        self, start: Place, end: int | None = None
    ) -> Iterator[tuple[Window, Planned, Place]]:
        """Yield windows from a place on, each with its first place, until stage `end`."""
        batch, in_window, before = start.batch - start.in_window, start.in_window, start.carried
        for stage in self.stages[self.stage_of(start.window).number : end]:
            first = max(0, start.window - stage.first_window)
            begin = start.stage_begin if first else batch
            left = None if stage.num_batches is None else begin + stage.num_batches - batch
            for window, planned, carried in stage.windows(first, before, left):
                place = Place(batch + in_window, window.number, in_window, begin, carried)
                yield window, planned, place
                batch, in_window = batch + planned.plan.num_batches, 0
            in_window = before = 0

    def fetched(self, start: Place) -> Iterator[tuple[Window, Planned, Place]]:
        """Yield the same to the end of the run, with the tokens of stores in buckets."""
        fetcher = Fetcher(source for stage in self.stages for source in stage.sources)
        for window, planned, place in self.planned(start):
            stage = self.stages[window.stage]
            if any(source.opened.is_fetched for source in stage.sources):
                fetched = _fetch(stage, window.first, window.last, fetcher)
                planned = planned._replace(fetched=fetched)
            yield window, planned, place

    def start(self, batch: int) -> Place:
        """Return the place of a run's first batch, which may be its end, with nothing left."""
        place = self.place(batch)
        check_start(batch, place.batch)
        return place

    def place(self, batch: int) -> Place:
        """Return the place of a batch of the run, which is its end for one that is too high.

        It is found at once, but for packed rows: those are counted, window by window, from the
        beginning of their stage.
        """
        before = 0
        for stage in self.stages:
            begin, count = before, stage.num_batches
            if count is not None and batch >= begin + count:
                before += count
            elif not stage.is_packed:
                window = stage.window_with(batch - begin)
                in_window = batch - begin - stage.batches_before(window)
                return Place(batch, stage.first_window + window, in_window, begin)
            else:
                start = Place(begin, stage.first_window)
                for _, planned, place in self.planned(start, stage.number + 1):
                    before = place.batch + planned.plan.num_batches
                    if batch < before:
                        return place._replace(batch=batch, in_window=batch - place.batch)
        return Place(before, self.num_windows, 0, before)


def _random_words(vocabulary: TokenTable) -> NDArray[np.int32]:
    """Return the ids of a vocabulary but special ones and the unknown token, in its order."""
    none = [*vocabulary.special_ids, vocabulary.unk_id]
    words = vocabulary.word_ids[~np.isin(vocabulary.word_ids, none)].astype(np.int32)
    if not words.size:
        raise ValueError(f"{vocabulary.path} has special tokens alone; masking needs others, too")
    return words


def _fetch(stage: StageRun, first: int, last: int, fetcher: Fetcher) -> FetchedTokens:
    starts, stops = stage.dealer.counts(first), stage.dealer.counts(last)
    windows = [
        (number, epoch, window)
        for number, source in enumerate(stage.sources)
        if source.opened.is_fetched
        for epoch, window, _ in source.windows(
            stage.before[number] + starts[number], stage.before[number] + stops[number]
        )
    ]
    fetched = fetcher.fetch([(stage.sources[n], epoch, window) for n, epoch, window in windows])
    return FetchedTokens(stage.sources, dict(zip(windows, fetched, strict=True)))


def _cut_of(stage: Stage) -> CutRule:
    objective = None if stage.objective == TOKENS_ONLY else stage.asked
    return CutRule(stage.max_seq_length - stage.num_special, objective)


def _source(recipe: Recipe, opened: Opened, cut: CutRule, num_stores: int) -> StoreSource:
    window = recipe.window_of(num_stores)
    block, folder = recipe.shuffle_block, recipe.cache_dir
    return StoreSource(opened, cut, recipe.seed, block, window, folder)


_DIGEST, _VERSION = "digest", "version"
_SAVED: dict[str, type] = {**dict.fromkeys(Place._fields, int), _DIGEST: str, _VERSION: int}


def save_place(
    run: Run, place: Place, more: Mapping[str, int | str] | None = None
) -> dict[str, Any]:
    """Return what a checkpoint keeps of a place, and of its reader."""
    digest = digest_of_stages(run, _stages_begun(run, place))
    numbers = {name: int(value) for name, value in place._asdict().items()}
    return sealed({**numbers, _DIGEST: digest, _VERSION: RECIPE_VERSION, **(more or {})})


def load_place(run: Run, saved: Mapping[str, Any], more: Mapping[str, type] | None = None) -> Place:
    """Return a place that was saved, or refuse it if the stages behind it were changed.

    Args:
      more: the names and types of what a reader may have saved with it, all or none.
    """
    if not isinstance(saved, Mapping):
        raise ValueError(f"the state is {saved!r}; it must be a dict from get_state")
    version = saved.get(_VERSION, RECIPE_VERSION)
    if version != RECIPE_VERSION:
        raise ValueError(
            f"the checkpoint has version {version} of the order of recipes; this release has"
            f" {RECIPE_VERSION}"
        )
    has_more = more is not None and not more.keys().isdisjoint(saved)
    state = open_state(saved, {**_SAVED, **more} if more and has_more else _SAVED)
    place = Place(*(state[name] for name in Place._fields))
    count = _stages_begun(run, place)
    if not _is_in(run, place) or state[_DIGEST] != digest_of_stages(run, count):
        behind = "stage" if count == 1 else f"{count} stages"
        raise ValueError(
            f"the checkpoint was made with another recipe: its first {behind}, or a store that they"
            " read, differs; only later stages may change"
        )
    return place


def _is_in(run: Run, place: Place) -> bool:
    """Return whether a run has the window of a place, and so many sequences before it."""
    if place.window >= run.num_windows or not place.carried:
        return place.window <= run.num_windows and not place.carried
    return run.stage_of(place.window).is_packed and place.carried <= run.window(place.window).first


def _stages_begun(run: Run, place: Place) -> int:
    """Return the number of stages of which batches lie before a place."""
    begun = (place.window, place.in_window)
    return sum((stage.first_window, 0) < begun for stage in run.stages)


def digest_of_stages(run: Run, count: int) -> str:
    """Return a digest of all that the first stages' batches depend on."""
    opened = {s.opened.name: s.opened for stage in run.stages[:count] for s in stage.sources}
    stores = [(name, opened[name].contents) for name in sorted(opened)]
    told = f"{run.recipe.digest(count)} {run.vocabulary.sha256} {stores}"
    return hashlib.sha256(told.encode()).hexdigest()[:16]
