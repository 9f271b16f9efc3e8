"""The arguments of functions for programs, and what `curate` returns."""

import dataclasses
import difflib
import importlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from bert_data.former_names import with_present_names
from bert_data.settings import settings_of
from bert_data.storage import describe_comma
from bert_data.work import ENGINE_SETTINGS, THIS_MACHINE, Engine, make_engine
from bert_data.written_values import plain

Config = TypeVar("Config")
Function = TypeVar("Function", bound=Callable[..., Any])


def file_name(path: Any) -> str:
    """Return a path as a string that names one file."""
    name = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        raise ValueError(f"the path {name!r} is not a string")
    if "," in name:
        raise ValueError(describe_comma(name))
    return name


def list_of_names(names: Any) -> Any:
    """Return a string, which has names with commas, as it is, and a path as one name."""
    return file_name(names) if isinstance(names, os.PathLike) else names


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeptDocument:
    """A document that all steps kept.

    Attributes:
      index: its place among the documents, from 0; None if they came from files.
      id: of its file and row.
      text: as the steps leave it.
      fields: of its row, and those that steps add, such as its language.
    """

    index: int | None
    id: str
    text: str
    fields: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RejectedDocument:
    """A document that a step rejected.

    Attributes:
      index, id: see `KeptDocument`.
      text: as it reached the step; None if it could not be read, or was empty.
      step: that rejected it; "read" for reading.
      rule: that it failed first.
      value: its measure.
      threshold: that the rule compares with.
      measured: everything that the step measured, by rule.
    """

    index: int | None
    id: str
    text: str | None
    step: str
    rule: str
    value: float | str
    threshold: float | str
    measured: Mapping[str, float | str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Curated:
    """The result of `curate`.

    Attributes:
      num_documents, num_kept, num_rejected: numbers of documents.
      kept, rejected: the documents in their order, if they were not written to files.
      files: that were written, or prefixes of token stores, if an output_file was named.
      ledger: file with all measures of rejected documents, path@N for N files, or None.
      ledger_files: those files.
    """

    num_documents: int
    num_kept: int
    num_rejected: int
    kept: Sequence[KeptDocument] = dataclasses.field(default=(), repr=False)
    rejected: Sequence[RejectedDocument] = dataclasses.field(default=(), repr=False)
    files: tuple[str, ...] = ()
    ledger: str | None = None
    ledger_files: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """The texts of the documents that were kept."""
        return [document.text for document in self.kept]


class Takes(NamedTuple):
    """The keyword arguments of a function, besides those that its signature names.

    Attributes:
      sources: configurations that it makes of them; in modules that are loaded later, by name.
      others: arguments that are no settings of these.
      fixed: settings of these that the function decides.
    """

    sources: tuple[type | str, ...]
    others: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()

    @property
    def configs(self) -> list[type[Any]]:
        """The configurations."""
        return [_load(each) if isinstance(each, str) else each for each in self.sources]


def _load(name: str) -> type[Any]:
    module, _, attribute = name.rpartition(".")
    config: type[Any] = getattr(importlib.import_module(module), attribute)
    return config


_TAKES: dict[str, Takes] = {}
"""By the names of functions."""


def takes(
    *sources: type | str, others: Iterable[str] = (), fixed: Iterable[str] = ()
) -> Callable[[Function], Function]:
    """Say what a function's keyword arguments are; keywords.pyi says the same to type checkers."""

    def register(function: Function) -> Function:
        _TAKES[function.__name__] = Takes(sources, tuple(others), tuple(fixed))
        return function

    return register


def taken_by(function: str) -> Takes:
    """Return what a function takes."""
    return _TAKES[function]


class Options:
    """The keyword arguments of a call that its signature does not name."""

    def __init__(self, function: str, options: Mapping[str, Any], *configs: type[Any]) -> None:
        """Hold the options of a function, which `takes` describes unless there are `configs`."""
        self._function = function
        taken = Takes(configs) if configs else taken_by(function)
        given = with_present_names(options, taken.configs)
        self._left = {name: plain(value) for name, value in given.items()}
        settings = (name for config in taken.configs for name in settings_of(config))
        self._known = {*settings, *taken.others} - {*taken.fixed}
        self._refuse(set(self._left) - self._known)

    def config(self, make: type[Config], **fixed: Any) -> Config:
        """Make a configuration of `fixed` and of the options that it has fields for."""
        names = settings_of(make).keys() - fixed.keys()
        return make(**fixed, **{name: self._left.pop(name) for name in names & set(self._left)})

    def take(self, name: str, default: Any) -> Any:
        """Return an option that is no field of a configuration."""
        return self._left.pop(name, default)

    def look(self, name: str, default: Any) -> Any:
        """Return an option that a configuration takes, too."""
        return self._left.get(name, default)

    def engine(self) -> Engine:
        """Return what runs tasks: the option `engine`, an engine or its name, and its settings."""
        engine = self.take("engine", THIS_MACHINE.name)
        if isinstance(engine, Engine):
            return engine
        settings = {name: self._left.pop(name) for name in ENGINE_SETTINGS if name in self._left}
        return make_engine(engine, **settings)

    def last_config(self, make: type[Config], **fixed: Any) -> Config:
        """Make the last configuration, and `end`."""
        config = self.config(make, **fixed)
        self.end()
        return config

    def end(self) -> None:
        """Refuse what nothing has taken: the function's signature has it in another way."""
        self._refuse(self._left)

    def _refuse(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            close = difflib.get_close_matches(name, self._known - {name}, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise TypeError(f"{self._function}() has no option {name!r}{hint}")
