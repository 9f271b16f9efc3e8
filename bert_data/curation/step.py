"""The interface of a curation step, and the registry of steps by name.

    @register
    class Length(DocumentStep):
        '''Keeps documents of a sensible length.'''
        name = "length"
        min_words: int = 50

        def values(self, document):
            return {"min_words": len(document.words)}

A step is a frozen dataclass in `bert_data/curation/steps/`, whose fields are its parameters, with
defaults wherever there is a sensible one. Their annotations say which values are
allowed (`parameters`); what depends on several fields is checked in `__post_init__` (ValueError:
field, value, what is allowed). It is picklable and stateless: several processes work on shards, and
may repeat work.
"""

import abc
import dataclasses
import importlib.util
import pkgutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np

from bert_data.checks import did_you_mean
from bert_data.curation.document import Document, Measured, Verdict, measure
from bert_data.curation.own_steps import installed_steps, load_step
from bert_data.curation.parameters import names_of_new_fields
from bert_data.settings import check_settings, make_record
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.rounds import Part, Rounds
from bert_data.work.sorted_records import SortedRecords

Value = str | int | float

_PACKAGE = "bert_data.curation.steps"


@dataclasses.dataclass(frozen=True)
class Table:
    """A table that a step makes of what it did, for the summary, the report and the summary's file.

    The head of a column has two parts; columns with the same first part belong together.
    """

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Value, ...], ...]

    def as_json(self) -> list[dict[str, Any]]:
        """Return a mapping a row: {"part": "web", "bytes": {"reached": 120, "wanted": 0.25}}."""
        return [self._row(row) for row in self.rows]

    def _row(self, row: tuple[Value, ...]) -> dict[str, Any]:
        described: dict[str, Any] = {}
        for (group, name), value in zip(self.columns, row, strict=True):
            if name:
                described.setdefault(group, {})[name] = value
            else:
                described[group] = value
        return described

    def as_text(self) -> list[list[str]]:
        """Return two rows of heads, and the rows of formatted values."""
        groups = [group for group, _ in self.columns]
        heads = [group if group not in groups[:i] else "" for i, group in enumerate(groups)]
        return [heads, [name for _, name in self.columns], *([*map(_shown, r)] for r in self.rows)]


def _shown(value: Value) -> str:
    if isinstance(value, str):
        return value if value.isprintable() else ascii(value)[1:-1]
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step(abc.ABC):
    """Common base of all steps.

    Attributes:
      data_sets: names of the data sets that the step applies to; documents of others pass
        unchanged. []: all.
      name: of the step, in pipelines; by default that of its class.
      step_examples: for documentation and test: pairs of a text and the text that is kept, or None
        if it is rejected.
      example_parameters: of the step in its examples.
      example_fields: of the documents in its examples.
      accepts_markup: whether it may come before `extract` when pages with tags come in.
      is_meant_to_shorten: whether it may reject or remove most of what reaches it as a matter of
        course, so that no warning is due.
      own_fields: names of the fields that it gives to documents, besides those that parameters
        name (`NewField`).
      draws_by_seed: whether it draws documents by its parameter `seed`, so that two steps of its
        name need different ones.
    """

    name: ClassVar[str]
    step_examples: ClassVar[Sequence[tuple[str, str | None]]] = ()
    example_parameters: ClassVar[Mapping[str, Any]] = {}
    example_fields: ClassVar[Mapping[str, Any]] = {}
    accepts_markup: ClassVar[bool] = False
    is_meant_to_shorten: ClassVar[bool] = False
    own_fields: ClassVar[Sequence[str]] = ()
    draws_by_seed: ClassVar[bool] = False

    data_sets: tuple[str, ...] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__ != __name__ and not hasattr(cls, "name"):
            cls.name = cls.__name__

    def __post_init__(self) -> None:
        """Convert and check the parameters by their annotations."""
        check_settings(self)

    def measure_rules(self, values: Mapping[str, float]) -> tuple[Measured, ...]:
        """Compare values, by rule, with the parameters that hold the rules' thresholds."""
        return tuple(measure(rule, value, getattr(self, rule)) for rule, value in values.items())

    def prepare(self, folder: Path) -> None:  # noqa: B027 (most steps have nothing to prepare)
        """Prepare, once and before all else, what judging needs: lists, a language model.

        Args:
          folder: an empty folder for this step alone.
        """

    def files(self) -> Sequence[str]:
        """Return the files that the step reads, besides those that its parameters name."""
        return ()

    def check_data_sets(self, names: Sequence[str]) -> None:
        """Refuse parameters that name unknown data sets, before anything is read."""
        for name in self.data_sets:
            if name not in names:
                raise ValueError(f"data_sets has {name!r}; the data sets are {', '.join(names)}")

    def judges(self, data_set: str) -> bool:
        """Whether it judges the documents of a data set, or passes them."""
        return not self.data_sets or data_set in self.data_sets

    def written_fields(self) -> Sequence[str]:
        """Return the names of the fields that it gives to documents."""
        return (*self.own_fields, *names_of_new_fields(self))

    def describe_use(self, counted: dict[str, int]) -> str | None:
        """Return a warning if the step had no effect although one was asked for.

        Args:
          counted: over all documents: edits, other counts of the step, and documents by the rules
            that rejected them.
        """
        return None

    @property
    def needs_tokens(self) -> bool:
        """Whether it needs the documents' numbers of tokens, which a vocabulary gives."""
        return False

    def tabulate(self, counted: Mapping[str, int]) -> Table | None:
        """Return a table that says, in place of the other counts, what the step did; or None."""
        return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class DocumentStep(Step):
    """A step that judges each document by itself."""

    def open(self, folder: str) -> Callable[[Document], Verdict]:
        """Return, in a worker, the function that judges documents with what `prepare` left."""
        return self.judge

    def judge(self, document: Document) -> Verdict:
        """Judge a document by the values of its rules; pure."""
        return Verdict(document, self.measure_rules(self.values(document)))

    def values(self, document: Document) -> Mapping[str, float]:
        """Return the values of the rules that apply to a document, by rule."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decisions:
    """Decisions of a `CorpusStep` over all documents.

    Attributes:
      tables: records, by name; the first field of each is `document`, the number of a document.
      notes: decisions that concern all documents, JSON values of bounded size.
    """

    tables: Mapping[str, SortedRecords] = dataclasses.field(default_factory=dict)
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShardDecisions:
    """Decisions about the documents of a shard.

    Attributes:
      tables: by name, its own records with named fields, sorted; `document` counts from 0.
      notes: see `Decisions`.
      observed: what `observe` wrote for the shard.
    """

    tables: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    observed: str = ""


def read_decisions(decisions: Decisions, part: Part) -> ShardDecisions:
    """Read what is decided about the documents of a shard; opens nothing of the others."""
    tables = {}
    for name, records in decisions.tables.items():
        tables[name] = RangeReader(records, Range(part.first, part.end), 1 << 62).records()
        tables[name]["document"] -= np.uint64(part.first)
    return ShardDecisions(tables=tables, notes=decisions.notes, observed=part.path)


class CorpusStep(Step):
    """A step that must see all documents before it judges one.

        observe(prepared, shard 0's documents, path 0) ┬─▶ decide(rounds)  ─▶ Decisions
        observe(prepared, shard 1's documents, path 1) ┘     over what `observe` wrote
        judge_shard(ShardDecisions of shard 0, its documents) ─▶ Verdicts, one each, in order

    `observe` and `judge_shard` run in workers, one shard at a time, and see the same documents in
    the same order. `decide` starts rounds of tasks (`bert_data.work.rounds`), whose memory is
    bounded; a part of a round is a shard: `path` is what `observe` wrote, `source` the name of its
    data set, and the numbers are those of its documents. The shards of a data set are consecutive;
    those of data sets that the step does not judge are left out.
    """

    @abc.abstractmethod
    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        """Write what `decide` must know about a shard's documents to a path (a file or a folder).

        Args:
          folder: filled by `prepare`.
          documents: of the shard, in their order.
          path: does not exist yet; the caller moves it to its final name.
        """

    @abc.abstractmethod
    def decide(self, rounds: Rounds) -> Decisions:
        """Decide over all documents; a killed run calls it again, and finds the tasks done."""

    @abc.abstractmethod
    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        """Judge the documents of a shard by the decisions.

        Args:
          decided: about the shard.
          documents: of the shard, the ones that `observe` saw.
        """


PROSE_EXAMPLE = (
    "The miller went down to the river at noon, and nobody saw him come back.\n"
    "His daughter asked the ferryman, who had been asleep."
)
"""For `step_examples`."""

_STEPS: dict[str, type[Step]] = {}
StepClass = TypeVar("StepClass", bound=type[Step])


@dataclass_transform(frozen_default=True, kw_only_default=True)
def register(step: StepClass) -> StepClass:
    """Make a class a frozen dataclass, and add it under its name, which is not taken."""
    if step.name in _STEPS:
        raise ValueError(f"a step {step.name!r} is already registered")
    _STEPS[step.name] = dataclasses.dataclass(frozen=True, kw_only=True)(step)
    return step


def steps_by_name() -> dict[str, type[Step]]:
    """Return all steps, after loading every file of `bert_data/curation/steps/`."""
    package = importlib.import_module(_PACKAGE)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{_PACKAGE}.{module.name}")
    return dict(sorted(_STEPS.items()))


def find_step(name: str) -> type[Step]:
    """Return the step of a name, of an entry point, or of "module.Class", see `own_steps`.

    It loads the step's own module alone, as some take long.
    """
    if "." in name:
        return load_step(name, Step)
    modules = importlib.import_module(_PACKAGE).MODULES
    module = f"{_PACKAGE}.{modules.get(name, name)}"
    if name.isidentifier() and importlib.util.find_spec(module):
        importlib.import_module(module)
    if name in _STEPS:
        return _STEPS[name]
    installed = installed_steps()
    if name not in installed:
        known = [*steps_by_name(), *installed]
        hint = did_you_mean(name, known)
        raise ValueError(
            f"step {name!r:.60} is unknown{hint}; the steps are {', '.join(known)}, or module.Class"
        )
    return load_step(installed[name], Step)


def make_step(name: str, parameters: Mapping[str, Any]) -> Step:
    """Make a step of its parameters, as `settings.convert` takes them."""
    return make_record(f"step {name}", find_step(name), parameters, "parameter")


def missing_parameters(step: type[Step], parameters: Collection[str]) -> list[str]:
    """Return the parameters without a default that are not among those given."""
    return [
        each.name
        for each in dataclasses.fields(step)
        if each.name not in parameters
        and each.default is dataclasses.MISSING
        and each.default_factory is dataclasses.MISSING
    ]
