"""Settings: fields of a configuration, each declared once, with its type, default and bounds.

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class DrawConfig:
        '''Configuration of `draw`.

        Attributes:  # the texts of --help
          dupe_factor: passes over the text.
        '''

        dupe_factor: Annotated[int, Within(1, 1_000_000)] = 10

        def __post_init__(self) -> None:
            check_settings(self)

    DrawConfig(dupe_factor=0)
      -> ValueError: dupe_factor is 0; 1 to 1,000,000 is allowed
    settings_of(DrawConfig)["dupe_factor"]
      -> Setting(name="dupe_factor", kind=int, default=10, help="passes over the text.", ...)

The command line makes its flags of these, with their lines of --help.

An error or a line of the log that names a setting begins with its name (`dupe_factor is 0; ...`),
or has it in backticks, as a program would write it: "`overwrite` replaces it", "`append_eod=False`
is needed". Programs read it as it is; the command line prints flags instead (--noappend_eod).
"""

import dataclasses
import functools
import inspect
import math
import operator
import os
import reprlib
import sys
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Annotated, Any, NamedTuple, TypeVar

_Config = TypeVar("_Config")

MAX_INT32 = 2**31 - 1
REQUIRED = dataclasses.MISSING
"""The default of a setting that has none."""


class Within(NamedTuple):
    """The range of a number, both ends inclusive."""

    low: float
    high: float = MAX_INT32

    def __str__(self) -> str:
        if self.high >= MAX_INT32:
            return f"{self.low:,} or more" if self.low > -MAX_INT32 else ""
        return f"{self.low:,} to {self.high:,}"


class OneOf(NamedTuple):
    """The words that are allowed, or a function that returns them."""

    source: tuple[str, ...] | Callable[[], Iterable[str]]

    @property
    def words(self) -> tuple[str, ...]:
        """The words."""
        return tuple(self.source() if callable(self.source) else self.source)


class NotEmpty(NamedTuple):
    """Of texts: "" is not allowed."""


class Formerly(NamedTuple):
    """Of any setting: its name before, which is still understood."""

    name: str


Share = Annotated[float, Within(0, 1)]

Constraint = Within | OneOf | NotEmpty


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting: a field of a configuration, or a flag that only the command line has.

    Attributes:
      kind: its type, without None.
      default: its value if none is given, or `REQUIRED`.
      help: its meaning.
      constraint: the values that are allowed, besides None for an optional one; None: any.
      former: its name before, which is still understood; "": it had no other.
      only_with: of a flag: the flag that must be set with it, or its values with which it has an
        effect: "batching=pools,auto"; "": none.
    """

    name: str
    kind: Any = str
    default: Any = None
    help: str = ""
    constraint: Constraint | None = None
    is_optional: bool = True
    former: str = ""
    only_with: str = ""

    def check(self, value: Any) -> None:
        """Check a value."""
        constraint = self.constraint
        if value is None and self.is_optional:
            return
        if self.kind is bool and not isinstance(value, bool):  # "no" would be true
            raise ValueError(f"{self.name} is {reprlib.repr(value)}; True or False is allowed")
        if self.kind is str and not isinstance(constraint, OneOf) and not isinstance(value, str):
            raise ValueError(f"{self.name} is {reprlib.repr(value)}; it must be a string or a path")
        if constraint is None:
            if self.kind is int and (isinstance(value, bool) or not isinstance(value, int)):
                raise ValueError(f"{self.name} is {reprlib.repr(value)}; it must be an integer")
            return
        if isinstance(constraint, OneOf):
            check_choice(self.name, value, constraint.words)
        elif isinstance(constraint, NotEmpty):
            if not value:
                raise ValueError(f"{self.name} is {value!r}; it must not be empty")
        elif self.kind is int:
            check_integer(self.name, value, *constraint)
        else:
            check_bounds(self.name, value, *constraint)


def settings_of(config: type) -> Mapping[str, Setting]:
    """Return the settings of a dataclass, by name and in their order."""
    dataclass: Any = config
    return _read_settings(dataclass)


@functools.cache
def _read_settings(config: type) -> Mapping[str, Setting]:
    hints = typing.get_type_hints(config, include_extras=True)
    texts = attribute_texts(config)
    settings = {}
    for field in dataclasses.fields(config):
        kind, is_optional, extras = _without_extras(hints[field.name])
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        settings[field.name] = Setting(
            name=field.name,
            kind=kind,
            default=default,
            help=texts.get(field.name, ""),
            constraint=next((each for each in extras if isinstance(each, Constraint)), None),
            is_optional=is_optional or default is None,
            former=next((each.name for each in extras if isinstance(each, Formerly)), ""),
        )
    return settings


def _without_extras(hint: Any) -> tuple[Any, bool, list[Any]]:
    """Return an annotation without None and extras, whether it has None, and the extras."""
    is_optional, all_extras = False, []
    while True:
        if typing.get_origin(hint) is Annotated:
            hint, *extras = typing.get_args(hint)
            all_extras += extras
        elif typing.get_origin(hint) in (types.UnionType, typing.Union):
            kinds = [each for each in typing.get_args(hint) if each is not types.NoneType]
            is_optional |= len(kinds) < len(typing.get_args(hint))
            if len(kinds) > 1:
                return functools.reduce(operator.or_, kinds), is_optional, all_extras
            hint = kinds[0]
        else:
            return hint, is_optional, all_extras


def attribute_texts(config: type) -> dict[str, str]:
    """Return the texts under "Attributes:", each in one line, by name; of its base classes, too."""
    inherited = map(attribute_texts, reversed(config.__mro__[1:-1]))
    texts = {name: text for each in inherited for name, text in each.items()}
    lines = inspect.cleandoc(config.__doc__ or "").splitlines()
    start = lines.index("Attributes:") + 1 if "Attributes:" in lines else len(lines)
    names: list[str] = []
    for line in lines[start:]:
        if line and not line.startswith(" "):
            break  # the next section
        if line.startswith("  ") and not line.startswith("   "):
            first, _, text = line.partition(":")
            names = [name.strip() for name in first.split(",")]
            texts |= dict.fromkeys(names, text.strip())
        elif line:
            texts |= {name: f"{texts[name]} {line.strip()}" for name in names}
    return texts


def accept_former_names(config: type[_Config]) -> type[_Config]:
    """Let a dataclass take the former names of its settings, with a warning."""
    make = config.__init__

    @functools.wraps(make)
    def init(self: Any, **values: Any) -> None:
        make(self, **with_present_names(values, [config]))

    config.__init__ = init  # type: ignore[method-assign]
    return config


def with_present_names(values: Mapping[str, Any], configs: Iterable[type]) -> dict[str, Any]:
    """Return keyword arguments by the names of settings, for those by their former names, too."""
    former = {
        setting.former: name
        for config in configs
        for name, setting in settings_of(config).items()
        if setting.former
    }
    for name in former.keys() & values.keys():
        warnings.warn(f"{name} is called {former[name]} now", DeprecationWarning, stacklevel=4)
    return {former.get(name, name): value for name, value in values.items()}


def check_settings(config: Any) -> None:
    """Make the fields of a frozen dataclass plain, and check them; called by `__post_init__`."""
    for name, setting in settings_of(type(config)).items():
        value = getattr(config, name)
        simple = plain(value)
        if simple is not value:
            object.__setattr__(config, name, simple)
        setting.check(simple)


def plain(value: Any) -> Any:
    """Return a value without NumPy's numbers and paths: int, float, bool, str; also in a list.

    plain(np.int64(3)), plain(Path("a/b")), plain([np.float32(0.5)])  ->  3, "a/b", [0.5]
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(map(plain, value))
    return value


def check_bounds(name: str, value: float, low: float, high: float = math.inf) -> None:
    """Check a number; NaN is outside all bounds."""
    if not isinstance(value, Real):
        raise ValueError(
            f"{name} is {reprlib.repr(value)}; a number, {_shown(low, high)}, is allowed"
        )
    if not low <= value <= high:
        shown = reprlib.repr(value) if isinstance(value, int) else value  # not a thousand digits
        raise ValueError(f"{name} is {shown}; {_shown(low, high)} is allowed")


def _shown(low: float, high: float) -> str:
    return f"{low:,} or more" if math.isinf(high) else f"{low:,} to {high:,}"


def check_integer(name: str, value: object, low: float, high: float = MAX_INT32) -> None:
    """Check a number that must be an integer."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(
            f"{name} is {reprlib.repr(value)}; an integer, {_shown(low, high)}, is allowed"
        )
    check_bounds(name, value, low, high)


def check_choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """Check a word."""
    allowed = list(allowed)
    if value not in allowed:
        raise ValueError(f"{name} is {reprlib.repr(value)}; it must be one of {', '.join(allowed)}")
