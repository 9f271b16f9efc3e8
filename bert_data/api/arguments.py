"""Documents as Python has them: an iterable, or names of files.

    ["One. Two.", ["First.", "Second."]]   ->  documents.jsonl: {"text": "One. Two."} ...
    "corpus/*.txt", Path("corpus.txt")     ->  the files themselves

The stages read files. An iterable is written to one, document by document, so that memory stays
bounded, whatever the iterable produces, and the output is that of the same documents in a file.
"""

import contextlib
import dataclasses
import difflib
import importlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple, TypeVar, cast

from bert_data.settings import Setting, plain, settings_of, with_present_names
from bert_data.storage import is_file, is_remote, open_scratch, scratch_folder
from bert_data.work import ENGINE_SETTINGS, THIS_MACHINE, Engine, make_engine

Documents = str | os.PathLike[str] | Iterable[str | Sequence[str] | os.PathLike[str]]
"""Names of files (a string, or paths), or texts, or lists of sentences."""

_NAME = "documents.jsonl"
Config = TypeVar("Config")
Value = TypeVar("Value")
Function = TypeVar("Function", bound=Callable[..., Any])


class TextFiles(NamedTuple):
    """Files to read.

    Attributes:
      names: of the files, or patterns, separated by commas.
      are_spooled: whether the documents were written to them here, one a row.
    """

    names: str
    are_spooled: bool = False


@contextlib.contextmanager
def as_files(documents: Documents, output: str | None) -> Iterator[TextFiles]:
    """Give documents as files, which the stages read; texts are written beside the output."""
    if isinstance(documents, str | os.PathLike):
        yield TextFiles(documents if isinstance(documents, str) else file_name(documents))
        return
    if isinstance(documents, bytes) or not isinstance(documents, Iterable):
        raise ValueError(
            f"documents is {type(documents).__name__}; texts, lists of sentences or names of files"
            " are allowed"
        )
    rest = iter(documents)
    first = next(rest, rest)
    if first is rest:
        raise ValueError("documents is empty; there is nothing to read")
    if isinstance(first, os.PathLike):
        yield TextFiles(",".join(map(file_name, [first, *rest])))
        return
    if isinstance(first, str) and _is_file(first):
        raise ValueError(
            f"document 0 is {first!r}, the name of a file; to read files, pass one string or"
            " pathlib.Path objects"
        )
    with scratch_folder(output) as folder:
        path = os.path.join(folder, _NAME)
        with open_scratch(path) as file:
            _write(file, first, rest)
        yield TextFiles(path, are_spooled=True)


def _is_file(text: str) -> bool:
    if is_remote(text):
        return False
    with contextlib.suppress(OSError, ValueError):  # too long for a name, or has a null character
        return is_file(text)
    return False


def checked(name: str, value: Any, kind: type[Value]) -> Value:
    """Return an argument that no configuration checks; paths are strings."""
    value = plain(value)
    Setting(name=name, kind=kind, is_optional=False).check(value)
    return cast(Value, value)


def file_name(path: Any) -> str:
    """Return a path as a string that names one file."""
    name = os.fspath(path)
    if not isinstance(name, str) or "," in name:
        raise ValueError(f"the path {name!r} has a comma, or is not a string; rename the file")
    return name


def _write(file: IO[bytes], first: Any, rest: Iterator[Any]) -> None:
    for number, document in enumerate(itertools.chain([first], rest)):
        text = _text(number, document)
        try:
            file.write(json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n")
        except UnicodeEncodeError:
            raise ValueError(
                f"document {number} contains a lone surrogate, which is no character"
            ) from None


def _text(number: int, document: Any) -> str | list[str]:
    if isinstance(document, str):
        return document
    if isinstance(document, Iterable) and not isinstance(document, bytes | Mapping):
        sentences = list(document)
        if all(isinstance(each, str) for each in sentences):
            return sentences
    is_row = isinstance(document, Mapping)
    hint = "; take its text, as in (row['text'] for row in rows)" if is_row else ""
    raise ValueError(
        f"document {number} is {type(document).__name__}; a string or a list of sentences is"
        f" allowed{hint}"
    )


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
      files: that were written, if an output_file was named.
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
