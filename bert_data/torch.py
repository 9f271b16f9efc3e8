"""Batches of a recipe for PyTorch, which must be installed; bert_data does not bring it along.

    dataset = RecipeDataset(recipe, form="transformers", attention="flash")
    loader = dataset.loader(num_workers=2, pin_memory=True)
    for batch in loader:
        loss = model(**batch).loss
        ...
        torch.save({"model": model.state_dict(), "data": loader.state_dict()}, path)

The batches and their order are those of `iterate_arrays`, for any number of workers.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from bert_data.checks import check_choice
from bert_data.recipes.recipe import FLAT, PACKED, Recipe
from bert_data.recipes.recipe_run import Place, Run, load_place, save_place
from bert_data.recipes.run_batches import CU_SEQLENS, iterate_placed
from bert_data.records import fields

try:
    import torch
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info
except ImportError as error:
    raise ImportError(
        f"bert_data.torch needs PyTorch, which cannot be loaded ({error}); install it with"
        " pip install torch"
    ) from None

__all__ = [
    "RecipeDataset",
    "RecipeLoader",
    "block_diagonal_mask",
    "for_modernbert",
    "for_transformers",
]

NOT_PREDICTED = -100
"""The label of what is not predicted, which losses of PyTorch leave out."""

_Tensors = dict[str, Any]
_OF_WORKER = {"num_workers": int, "ahead": int}  # in the state of a worker


def block_diagonal_mask(
    instance_ids: "torch.Tensor", window: int | None = None
) -> "torch.Tensor | dict[str, torch.Tensor]":
    """Return bool[rows, 1, width, width], true where two tokens are of the same sequence.

    Padding is a sequence of its own, so that no token is without any to attend to.

    Args:
      instance_ids: int[rows, width], the number of each token's sequence in its row.
      window: of a model in some of whose layers tokens see so many others on each side, such as
        ModernBERT's `config.sliding_window`; the masks of both kinds of layers are returned, by
        their names, `full_attention` and `sliding_attention`.
    """
    whole = instance_ids[:, None, :, None] == instance_ids[:, None, None, :]
    if window is None:
        return whole
    places = torch.arange(instance_ids.shape[1], device=instance_ids.device)
    is_near = (places[:, None] - places[None, :]).abs() <= window
    return {"full_attention": whole, "sliding_attention": whole & is_near}


def for_transformers(
    batch: _Tensors, *, attention: str | None = None, window: int | None = None
) -> _Tensors:
    """Return a batch as the keyword arguments of a masked language model of transformers.

    Rows of one sequence get `attention_mask`, `token_type_ids`, `position_ids` and, if something is
    asked about the segments, `next_sentence_label` as BERT's (ALBERT's is `sentence_order_label`).
    Packed rows get a block-diagonal mask, bool[rows, 1, width, width], for attention `sdpa`; to
    move less to a device, move the arrays, and call this there. Flat rows get what `attention`
    takes. Models take one label of segments a row: packed and flat rows of pairs are refused.

    A model's loss is the mean over labels, and that of none is not a number. If nothing is to be
    predicted, as when each word of few short rows has more pieces than may be masked, one token
    that is shown, an ordinary one if there is any, is its own label, like those that masking keeps.

    Args:
      batch: tensors of `RecipeDataset`, on any device.
      attention: of flat rows. flash: what `DataCollatorWithFlattening` returns, lengths by which
        flash attention ends where a sequence ends. sdpa: a block-diagonal mask, bool[1, 1, width,
        width].
      window: of block-diagonal masks, see `block_diagonal_mask`.
    """
    ids = batch[fields.INPUT_IDS.name]
    given = {"input_ids": ids.long(), "labels": _labels(batch)}
    if fields.INSTANCE_IDS.name in batch:
        if fields.NEXT_SENTENCE_LABELS.name in batch:
            raise ValueError(_REFUSED_PAIRS)
        given["position_ids"] = batch[fields.POSITION_IDS.name].long()
        if CU_SEQLENS in batch:
            check_choice("attention", attention, ATTENTIONS)
        if CU_SEQLENS in batch and attention == FLASH:
            splits, longest = _sequences(batch)
            given["cu_seq_lens_q"] = given["cu_seq_lens_k"] = splits
            given["max_length_q"] = given["max_length_k"] = longest
            return given
        mask = block_diagonal_mask(batch[fields.INSTANCE_IDS.name], window)
        given["attention_mask"] = mask
        if CU_SEQLENS not in batch:
            given["token_type_ids"] = batch[fields.SEGMENT_IDS.name].long()
        return given
    given["token_type_ids"] = batch[fields.SEGMENT_IDS.name].long()
    given["attention_mask"] = batch[fields.INPUT_MASK.name].long()
    given["attention_mask"][:, 0] = 1  # an empty row attends to something, too
    given["position_ids"] = torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)
    if fields.NEXT_SENTENCE_LABELS.name in batch:
        is_there = batch[fields.NEXT_SENTENCE_WEIGHTS.name] > 0
        labels = batch[fields.NEXT_SENTENCE_LABELS.name].long()
        given["next_sentence_label"] = labels.masked_fill(~is_there, NOT_PREDICTED).view(-1)
    return given


def for_modernbert(batch: _Tensors) -> _Tensors:
    """Return a flat batch as ModernBERT's own code takes it: unpadded, all sequences in one axis.

    Args:
      batch: tensors of `RecipeDataset`, on any device, of a stage with `batching=flat` whose
        sequences are no pairs.
    """
    if CU_SEQLENS not in batch:
        raise ValueError("the form modernbert needs `batching=flat`")
    if fields.NEXT_SENTENCE_LABELS.name in batch:
        raise ValueError(_REFUSED_PAIRS)
    splits, longest = _sequences(batch)
    return {
        "input_ids": batch[fields.INPUT_IDS.name].long().view(-1),
        "position_ids": batch[fields.POSITION_IDS.name].long().view(-1),
        "labels": _labels(batch).view(-1),
        "cu_seqlens": splits,
        "max_seqlen": longest,
    }


def _labels(batch: _Tensors) -> "torch.Tensor":
    """Return int64[rows, width], the token where one is predicted; if nowhere, one shown."""
    ids = batch[fields.INPUT_IDS.name]
    rows, width = ids.shape
    is_there = batch[fields.MASKED_LM_WEIGHTS.name] > 0
    places = batch[fields.MASKED_LM_POSITIONS.name].long().masked_fill(~is_there, width)
    labels = places.new_full((rows, width + 1), NOT_PREDICTED)
    labels.scatter_(1, places, batch[fields.MASKED_LM_IDS.name].long())
    place = batch[fields.INPUT_MASK.name][0, 2:3].any().long()  # behind [CLS], if there is one
    labels[0, place] = torch.where(is_there.any(), labels[0, place], ids[0, place].long())
    return labels[:, :width].contiguous()


def _sequences(batch: _Tensors) -> tuple["torch.Tensor", int]:
    """Return where each sequence of a flat row begins, and the length of the longest."""
    splits = batch[CU_SEQLENS].clone()
    splits[-1] = batch[fields.INPUT_IDS.name].shape[1]  # which an empty row has, too
    return splits, int(splits.diff().max())


ARRAYS, TRANSFORMERS, MODERNBERT = FORMS = ("arrays", "transformers", "modernbert")
FLASH, SDPA = ATTENTIONS = ("flash", "sdpa")
_REFUSED_PAIRS = (
    "models take one label of segments a row, and packed and flat rows have several; nsp and sop"
    " need `batching=pools`, or form=arrays, which has the label and the position of each [CLS]"
)


class RecipeDataset(IterableDataset):
    """The batches of a recipe, as dictionaries of tensors.

    For a `DataLoader`, batches are made already: `DataLoader(dataset, batch_size=None)`. Each
    iteration begins at the beginning of the run, or at the place that was loaded.
    """

    def __init__(
        self,
        recipe: Recipe,
        *,
        form: str = ARRAYS,
        attention: str | None = None,
        window: int | None = None,
        num_hosts: int | None = None,
        host_index: int | None = None,
    ) -> None:
        """Open the stores of a recipe.

        Args:
          form: arrays: as `iterate_arrays` gives them; transformers: see `for_transformers`;
            modernbert: see `for_modernbert`.
          attention, window: with form=transformers, see there; flat rows need `attention`.
          num_hosts, host_index: this process reads its part of the rows of each batch; by default
            those of torch.distributed, if it is initialized by now. A rank for which a batch has no
            row gets padding of weight 0 in arrays, and another rank's row in the other forms.
        """
        if not isinstance(recipe, Recipe):
            raise ValueError(f"recipe is {recipe!r}; Recipe.from_file reads one from a file")
        _check_form(recipe, form, attention, window)
        self.recipe, self.form, self.attention, self.window = recipe, form, attention, window
        self.num_hosts, self.host_index = _find_rank(num_hosts, host_index)
        self._is_of_group = num_hosts is None
        self._run: Run | None = Run(recipe)
        self._start = self._place = Place()
        self._saved_by: tuple[int, int] | None = None
        self._ahead: int | None = None  # until an iteration begins
        self._is_read_by_workers = torch.zeros(1, dtype=torch.bool).share_memory_()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_run": None}

    @property
    def run(self) -> Run:
        """The recipe with its stores open; a process that does not inherit them opens them anew."""
        if self._run is None:
            self._run = Run(self.recipe)
        return self._run

    def __iter__(self) -> Iterator[_Tensors]:
        """Yield batches; a worker of a DataLoader those that fall to it."""
        if get_worker_info() is not None:
            self._is_read_by_workers.fill_(True)
        for _, batch in self.placed():
            yield batch

    def placed(self) -> Iterator[tuple[Place, _Tensors]]:
        """Yield batches, each with the place behind it."""
        group = _rank_of_group()
        if self._is_of_group and group and group != (self.num_hosts, self.host_index):
            raise ValueError(
                f"the dataset was made for rank {self.host_index} of {self.num_hosts}, but"
                f" torch.distributed has rank {group[1]} of {group[0]}: make it after"
                " init_process_group"
            )
        worker = get_worker_info()
        every, ahead = (worker.num_workers, worker.id) if worker else (1, 0)
        if self._saved_by is not None:
            num_workers, ahead = self._saved_by
            if num_workers != every:
                raise ValueError(
                    f"the state is that of one of {num_workers} workers; this DataLoader has"
                    f" {every if worker else 0}"
                )
        self._place, start, self._ahead = self._start, self._start, ahead
        self._begin_anew()  # in the next iteration
        batches = iterate_placed(
            self.run,
            start,
            num_hosts=self.num_hosts,
            host_index=self.host_index,
            first=ahead,
            every=every,
            lends=self.form != ARRAYS,
        )
        for place, batch in batches:
            tensors = {name: torch.from_numpy(values) for name, values in batch.items()}
            self._place = place.after()
            self._ahead = every - 1
            yield self._place, self._convert(tensors)

    def _begin_anew(self) -> None:
        self._start, self._saved_by = Place(), None

    def _convert(self, batch: _Tensors) -> _Tensors:
        if self.form == TRANSFORMERS:
            return for_transformers(batch, attention=self.attention, window=self.window)
        return for_modernbert(batch) if self.form == MODERNBERT else batch

    def loader(self, **options: Any) -> "RecipeLoader":
        """Return a DataLoader of these batches, with its options (num_workers, pin_memory)."""
        return RecipeLoader(self, **options)

    def state_dict(self) -> dict[str, Any]:
        """Return the place behind the last batch: numbers, and strings, as JSON has them."""
        worker = get_worker_info()
        if worker is None and self._is_read_by_workers:
            raise ValueError(
                "the batches were read by workers of a DataLoader, so the place is not known here;"
                " use the state_dict of dataset.loader(num_workers=...)"
            )
        own: tuple[int, ...] = ()
        if worker:
            ahead = worker.id if self._ahead is None else self._ahead
            own = self._saved_by or (worker.num_workers, ahead)
        return save_place(self.run, self._place, dict(zip(_OF_WORKER, own, strict=False)))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begin the next iteration at a place that was saved, and later ones at the beginning.

        A DataLoader whose workers are made anew for each iteration begins each of them there; that
        of `loader` does not.

        Raises:
          ValueError: the recipe differs in a stage that had begun by then.
        """
        self._start = self._place = load_place(self.run, state, _OF_WORKER)
        self._ahead = None
        own = [state[name] for name in _OF_WORKER if name in state]
        self._saved_by = (own[0], own[1]) if own else None


class _WithPlaces(IterableDataset):
    """The batches of a dataset, each with the place behind it."""

    def __init__(self, dataset: RecipeDataset) -> None:
        self.dataset = dataset

    def __iter__(self) -> Iterator[tuple[Place, _Tensors]]:
        return self.dataset.placed()


class RecipeLoader(DataLoader):
    """A DataLoader of a dataset, whose `state_dict` says the place whatever the workers read."""

    def __init__(self, dataset: RecipeDataset, **options: Any) -> None:
        if not options.get("in_order", True):
            raise ValueError("in_order is False; it must be True, or the place would not be known")
        super().__init__(_WithPlaces(dataset), batch_size=None, **options)
        self._has_begun = False

    def __iter__(self) -> Iterator[_Tensors]:
        self._has_begun = True
        batches = super().__iter__()
        if self.num_workers:  # they have taken the place that was loaded
            self.dataset.dataset._begin_anew()
        for place, batch in batches:
            self.dataset.dataset._place = Place(*place)
            yield batch

    def state_dict(self) -> dict[str, Any]:
        """Return the place behind the last batch that came out."""
        return self.dataset.dataset.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begin at a place that was saved, see `RecipeDataset.load_state_dict`.

        Raises:
          ValueError: the same; or persistent workers have begun, which keep their place.
        """
        if self.persistent_workers and self._has_begun:
            raise ValueError(
                "with persistent_workers, load the state before the first iteration, or into a new"
                " loader"
            )
        self.dataset.dataset.load_state_dict(state)


def _check_form(recipe: Recipe, form: str, attention: str | None, window: int | None) -> None:
    check_choice("form", form, FORMS)
    if attention is not None:
        check_choice("attention", attention, ATTENTIONS)
    if form != TRANSFORMERS and (attention is not None or window is not None):
        raise ValueError(f"attention and window are of form=transformers; form is {form}")
    for number, stage in enumerate(recipe.stages, 1):
        has = f"stage {number} has `batching={stage.batching}`"
        if form == MODERNBERT and stage.batching != FLAT:
            raise ValueError(f"form=modernbert needs `batching=flat`; {has}")
        if form == TRANSFORMERS and stage.batching == FLAT and attention is None:
            raise ValueError(
                f"{has}, so form=transformers needs attention=flash, for models with flash"
                " attention, or attention=sdpa, for others"
            )
        is_packed = stage.batching in (PACKED, FLAT)
        if form != ARRAYS and is_packed and stage.asked.label is not None:
            raise ValueError(f"{has} and `objective={stage.objective}`, but {_REFUSED_PAIRS}")


def _find_rank(num_hosts: int | None, host_index: int | None) -> tuple[int, int]:
    """Return (num_hosts, host_index)."""
    if (num_hosts is None) != (host_index is None):
        raise ValueError("set both `num_hosts` and `host_index`, or neither")
    if num_hosts is None or host_index is None:
        return _rank_of_group() or (1, 0)
    if not 0 <= host_index < num_hosts:
        raise ValueError(f"host_index is {host_index}; 0 to {num_hosts - 1} is allowed")
    return num_hosts, host_index


def _rank_of_group() -> tuple[int, int] | None:
    """Return (num_hosts, host_index) of torch.distributed, if it is initialized."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_world_size(), distributed.get_rank()
    return None
