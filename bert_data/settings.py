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

The command line makes its flags of these, with their lines of --help. Flags, YAML files, parameters
of curation steps and keywords in Python are all checked and converted by `convert`.

An error or a line of the log that names a setting begins with its name (`dupe_factor is 0; ...`),
or has it in backticks, as a program would write it: "`overwrite` replaces it", "`append_eod=False`
is needed". Programs read it as it is; the command line prints flags instead (--noappend_eod).
"""

import contextlib
import dataclasses
import functools
import itertools
import math
import reprlib
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from bert_data.checks import (
    LARGEST,
    MAX_INT32,
    NOUNS,
    check_bounds,
    check_choice,
    check_integer,
    did_you_mean,
)
from bert_data.declarations import (
    UNIONS,
    attribute_texts,
    defaults_of,
    extra_of,
    is_record,
    without_extras,
)
from bert_data.errors import named_in_errors
from bert_data.written_values import as_written, items_of, plain

Record = TypeVar("Record")

REQUIRED = dataclasses.MISSING
"""The default of a setting that has none."""

AUTO = "auto"
"""The value of a setting that is chosen from what is there."""

_LISTS = (tuple, list, Sequence)
_MAPPINGS = (dict, Mapping)
_MIN, _MAX = "min_", "max_"


class Within(NamedTuple):
    """The range of a number, both ends inclusive; without `high`, a float has no upper end."""

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


@dataclasses.dataclass(frozen=True)
class NotEmpty:
    """Of texts and lists: an empty one is not allowed."""

    def check(self, name: str, value: Any) -> None:
        """Check a value."""
        if not value:
            raise ValueError(f"{name} is {value!r}; it must not be empty")


class Formerly(NamedTuple):
    """Of any setting: its name before, which is still understood."""

    name: str


class WrittenAs(NamedTuple):
    """Of any setting: its key in files, where Python does not allow that as a name."""

    key: str


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
      key: its name in files and sentences; "": that of the setting.
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
    key: str = ""
    only_with: str = ""

    def convert(self, value: Any) -> Any:
        """Return a value in the form of the setting; see `convert`."""
        if value is None and self.is_optional:
            return None
        return _convert(self.key or self.name, self.kind, self.constraint, value)


def settings_of(config: type) -> Mapping[str, Setting]:
    """Return the settings of a dataclass or a named tuple, by name and in their order."""
    dataclass: Any = config
    return _read_settings(dataclass)


@functools.cache
def _read_settings(config: Any) -> Mapping[str, Setting]:
    hints = typing.get_type_hints(config, include_extras=True)
    texts = attribute_texts(config)
    settings = {}
    for name, default in defaults_of(config):
        kind, is_optional, extras = without_extras(hints[name])
        constraint = extra_of(extras, Constraint)
        if constraint is None and kind in (int, float) and name.startswith((_MIN, _MAX)):
            constraint = Within(0)
        settings[name] = Setting(
            name=name,
            kind=kind,
            default=default,
            help=texts.get(name, ""),
            constraint=constraint,
            is_optional=is_optional or default is None,
            former=(extra_of(extras, Formerly) or [""])[0],
            key=(extra_of(extras, WrittenAs) or [""])[0],
        )
    return settings


def check_settings(config: Any) -> None:
    """Convert and check the fields of a frozen dataclass; called by its `__post_init__`.

    A `min_...` is at most its `max_...`.
    """
    settings = settings_of(type(config))
    for name, setting in settings.items():
        value = getattr(config, name)
        converted = setting.convert(value)
        if converted is not value:
            object.__setattr__(config, name, converted)
    for low in (name for name in settings if name.startswith(_MIN)):
        high = _MAX + low.removeprefix(_MIN)
        least, most = getattr(config, low), getattr(config, high, None)
        if isinstance(least, int | float) and isinstance(most, int | float) and least > most:
            raise ValueError(f"{low} is {least}; it must be at most {high}, {most}")


def convert(name: str, hint: Any, value: Any) -> Any:
    """Return a value, as a person or a program wrote it, in the form of an annotation.

    int                          3, 3.0, np.int8(3)  ->  3
    float                        3, 0.5; finite, but for `max_...`
    str                          "a", Path("a")  ->  "a"; 010 in YAML  ->  "010"
    tuple[str, ...], Sequence    ["a", "b"]  ->  ("a", "b"); "a"  ->  ("a",)
    Mapping[str, float]          {"a": 1}, ["a:1"], "a:1"  ->  {"a": 1}
    a dataclass, a named tuple   one of them, or a mapping with its fields
    ... | None                   None, too
    Annotated[int, Within(1)]    and the like; Literal["a", "b"]
    anything else                any value

    Raises:
      ValueError: the value does not fit: "NAME is VALUE; what is allowed".
    """
    kind, is_optional, extras = without_extras(hint)
    if value is None and is_optional:
        return None
    return _convert(name, kind, extra_of(extras, Constraint), value)


def _convert(name: str, kind: Any, constraint: Constraint | None, value: Any) -> Any:
    value = plain(value)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(constraint, OneOf) or origin is Literal:
        words = constraint.words if isinstance(constraint, OneOf) else arguments
        return check_choice(name, as_written(value), words)
    if origin in UNIONS:
        fitting = next((each for each in arguments if _has_shape(each, value)), None)
        if fitting is None:
            raise _refusal(name, value, kind)
        return convert(name, fitting, value)
    if kind in (int, float):
        within = constraint if isinstance(constraint, Within) else Within(-math.inf, math.inf)
        if kind is int:
            return check_integer(name, value, *within)
        is_open = within.high in (MAX_INT32, math.inf)
        most = math.inf if name.startswith(_MAX) else LARGEST
        return check_bounds(name, value, within.low, most if is_open else within.high)
    if origin in _LISTS:
        value = _convert_list(name, kind, value)
    elif origin in _MAPPINGS:
        value = _convert_mapping(name, kind, value)
    elif is_record(kind):
        value = _convert_record(name, kind, value)
    elif kind in NOUNS:
        value = as_written(value) if kind is str and not isinstance(value, bool) else value
        if not isinstance(value, kind):
            raise _refusal(name, value, kind)
    if isinstance(constraint, NotEmpty):
        constraint.check(name, value)
    return value


def _has_shape(hint: Any, value: Any) -> bool:
    """Whether a value may be meant for one type of a union."""
    kind = without_extras(hint)[0]
    origin = typing.get_origin(kind)
    if origin in _LISTS:
        return isinstance(value, list | tuple)
    if origin in _MAPPINGS or is_record(kind):
        return isinstance(value, (origin or kind, Mapping))
    if kind in (int, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return kind not in NOUNS or isinstance(as_written(value) if kind is str else value, kind)


def _convert_list(name: str, kind: Any, value: Any) -> tuple[Any, ...]:
    arguments = typing.get_args(kind)
    is_any = typing.get_origin(kind) is not tuple or arguments[-1] is ...
    if not isinstance(value, list | tuple):
        inner = without_extras(arguments[0])[0]
        if not (is_any and inner in NOUNS and _has_shape(inner, value)):
            raise _refusal(name, value, kind)
        value = (value,)
    if not is_any and len(value) != len(arguments):
        raise _refusal(name, value, kind)
    if is_any and _are_numbers(arguments[0], value):
        return tuple(tuple(map(int, row)) for row in value)
    one = name.removesuffix("s")
    hints = arguments[:1] * len(value) if is_any else arguments
    return tuple(
        convert(name if without_extras(each)[0] in NOUNS else f"{one} {number}", each, item)
        for number, (each, item) in enumerate(zip(hints, value, strict=True), 1)
    )


def _are_numbers(hint: Any, rows: Sequence[Any]) -> bool:
    """Whether many rows, at once, are known to be integers that their annotation allows."""
    kind = without_extras(hint)[0]
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is not tuple or len(set(arguments)) != 1:
        return False
    of_numbers, _, extras = without_extras(arguments[0])
    within = extra_of(extras, Within)
    if of_numbers is not int or within is None or set(map(type, rows)) - {list, tuple}:
        return False
    flat = list(itertools.chain.from_iterable(rows))
    return (
        {len(arguments)} == set(map(len, rows))
        and all(issubclass(each, int) and each is not bool for each in set(map(type, flat)))
        and within.low <= min(flat)
        and max(flat) <= within.high
    )


def _convert_mapping(name: str, kind: Any, value: Any) -> dict[str, Any]:
    of_values = typing.get_args(kind)[1]
    of_numbers = _has_shape(of_values, 0) and not _has_shape(of_values, "")
    is_mapping = isinstance(value, Mapping)
    if not (is_mapping or isinstance(value, list | tuple | str)):
        raise _refusal(name, value, kind)
    converted: dict[str, Any] = {}
    for key, each in items_of(value, of_numbers=of_numbers):
        key = as_written(key)
        if not isinstance(key, str) or (each is None and not is_mapping):
            raise _refusal(name, value, kind)
        if key in converted:
            raise ValueError(f"{name} has {key!r:.60} twice")
        converted[key] = convert(f"{name}: {key}", of_values, each)
    return converted


def _convert_record(name: str, kind: Any, value: Any) -> Any:
    if isinstance(value, kind):
        if dataclasses.is_dataclass(kind):
            return value
        value = dict(zip(kind._fields, value, strict=True))
    if not isinstance(value, Mapping):
        raise _refusal(name, value, kind)
    return make_record(name, kind, value)


def make_record(
    where: str, kind: type[Record], values: Mapping[Any, Any], noun: str = "key"
) -> Record:
    """Return the dataclass or named tuple that a mapping from the names of its fields describes.

    Args:
      where: what errors begin with; "": the keys alone, of a whole file.
    """
    settings = {each.key or each.name: each for each in settings_of(kind).values()}
    given = {str(as_written(key)): value for key, value in values.items()}
    for key in given:
        if key not in settings:
            raise ValueError(f"{where or 'the file'} has no {noun} {_unknown(key, settings)}")
    for key, setting in settings.items():
        if setting.default is REQUIRED and key not in given:
            raise ValueError(f"{where or 'the file'} has no {key}; it needs one")
    converts = hasattr(kind, "__post_init__")
    with named_in_errors(where) if where else contextlib.nullcontext():
        every = ((settings[key], value) for key, value in given.items())
        return kind(**{each.name: v if converts else each.convert(v) for each, v in every})


def _unknown(key: str, settings: Mapping[str, Setting]) -> str:
    inside = [name for name, each in settings.items() if key in _keys_inside(each.kind)]
    hint = f" (it is one of {inside[0]})" if inside else did_you_mean(key, settings)
    return f"{key[:60]!r}{hint}; there are {', '.join(settings)}"


def _keys_inside(kind: Any) -> set[str]:
    if is_record(kind):
        return {each.key or each.name for each in settings_of(kind).values()}
    inner = (each for each in typing.get_args(kind) if each is not ...)
    return {key for each in inner for key in _keys_inside(without_extras(each)[0])}


def _refusal(name: str, value: Any, kind: Any) -> ValueError:
    return ValueError(f"{name} is {reprlib.repr(value)}; it must be {_noun(kind)}")


def _noun(hint: Any) -> str:
    kind = without_extras(hint)[0]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in UNIONS:
        return " or ".join(map(_noun, arguments))
    if origin is tuple and arguments[-1] is not ...:
        return f"[{', '.join(map(_noun, arguments))}]"
    if origin in _LISTS:
        return ", each ".join(filter(None, ("a list", _noun(arguments[0]))))
    if origin in _MAPPINGS:
        return "a mapping of names, or a list of NAME:VALUE"
    if is_record(kind):
        names = (each.key or each.name for each in settings_of(kind).values())
        return f"a mapping with {', '.join(names)}"
    return NOUNS.get(kind, "")
