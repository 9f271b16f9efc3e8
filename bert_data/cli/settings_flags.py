"""Flags made of settings, configurations made of flags, and sentences that name flags.

FLAGS_OF_TRAINING = settings(OptimizerConfig, without="clip_norm")     the fields as flags
define([Section("training", FLAGS_OF_TRAINING)])   --optimizer=adamw|lamb, --weight_decay=NUMBER ...
--optimizer=lamb --weight_decay=0.1
from_flags(OptimizerConfig)                      ->  OptimizerConfig(optimizer="lamb", ...)
from_flags(TrainingConfig, optimizer=optimizer)  ->  the other fields from their flags
--weights=0.7,0.3
numbers_of("weights", float)                     ->  [0.7, 0.3]
name_flags("needs `append_eod=False`")           ->  "needs --noappend_eod"
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from absl import flags, logging

from bert_data.settings import REQUIRED, OneOf, Setting, settings_of

_Config = TypeVar("_Config")
_Number = TypeVar("_Number", int, float)
_ALLOWED: dict[type, str] = {int: "whole numbers", float: "numbers"}
_NAMED = re.compile(r"`(?P<name>[a-z]\w*)(?:=(?P<value>[^`\n]*))?`")


class Repeated:
    """The kind of a flag that may be given several times."""


class Section(NamedTuple):
    """Flags that stand together on the page of --help; those with the title "" come last.

    Attributes:
      one_of: names of flags of which only one may be set.
    """

    title: str
    settings: tuple[Setting, ...]
    one_of: tuple[str, ...] = ()


DEFINED: dict[str, tuple[Setting, str]] = {}
"""The settings that flags were made of, and the titles of their sections, by name."""


def flag(name: str, default: Any, help: str, **more: Any) -> Setting:
    """Return a setting that only the command line has; its kind is by default the default's."""
    kind = str if default in (None, REQUIRED) else type(default)
    if "choices" in more:
        more["constraint"] = OneOf(more.pop("choices"))
    return Setting(**{"name": name, "kind": kind, "default": default, "help": help, **more})


def settings(
    config: type,
    names: str = "",
    *,
    without: str = "",
    changes: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Setting, ...]:
    """Return the settings of a configuration that can be flags.

    Args:
      names: of those that are meant, separated by spaces; "": all.
      without: names of those that are not.
      changes: what is different for the command, by the name of a setting: its default, help,
        "more_help", or choices.

    Raises:
      KeyError: there is no setting of a name.
    """
    declared = dict(settings_of(config))
    for name in without.split():
        del declared[name]
    chosen = [declared[name] for name in names.split()] or [
        setting for setting in declared.values() if setting.kind in (bool, int, float, str, list)
    ]
    every = {setting.name: setting for setting in chosen}
    for name, change in (changes or {}).items():
        values = dict(change)
        if "choices" in values:
            values["constraint"] = OneOf(values.pop("choices"))
        if "more_help" in values:
            values["help"] = every[name].help + values.pop("more_help")
        every[name] = dataclasses.replace(every[name], **values)
    return tuple(every.values())


def require(every: Iterable[Setting], names: str) -> tuple[Setting, ...]:
    """Return settings of which some, named and separated by spaces, have no default."""
    return tuple(
        dataclasses.replace(each, default=REQUIRED) if each.name in names.split() else each
        for each in every
    )


def define(sections: Iterable[Section]) -> None:
    """Define flags; those of them that are defined already stay."""
    for title, every, one_of in sections:
        is_new = bool(one_of) and one_of[0] not in DEFINED
        for setting in every:
            if setting.name in DEFINED:
                assert DEFINED[setting.name][0] == setting, setting.name
                continue
            _define(setting)
            DEFINED[setting.name] = setting, title
            if setting.former:
                flags.DEFINE_alias(setting.former, setting.name, flags.FLAGS)
        if is_new:
            flags.register_multi_flags_validator(
                one_of,
                lambda values: sum(map(bool, values.values())) < 2,
                f"{' and '.join(f'--{name}' for name in one_of)} are both set; choose one",
                flags.FLAGS,
            )


def _define(setting: Setting) -> None:
    name = setting.name
    default = None if setting.default is REQUIRED else setting.default
    more: dict[str, Any] = {"flag_values": flags.FLAGS, "required": setting.default is REQUIRED}
    if isinstance(setting.constraint, OneOf):
        words = setting.constraint.words
        flags.DEFINE_enum(name, default, words, setting.help, **more)
    elif setting.kind is bool:
        flags.DEFINE_bool(name, default, setting.help, **more)
    elif setting.kind is int:
        flags.DEFINE_integer(name, default, setting.help, **more)
    elif setting.kind is float:
        flags.DEFINE_float(name, default, setting.help, **more)
    elif setting.kind is list:
        flags.DEFINE_list(name, default, setting.help, **more)
    elif setting.kind is Repeated:
        flags.DEFINE_multi_string(name, default, setting.help, **more)
    else:
        flags.DEFINE_string(name, default, setting.help, **more)


def warn_of_former_names() -> None:
    """Warn of flags that were given by the names that they had before."""
    for name, (setting, _) in DEFINED.items():
        if setting.former and flags.FLAGS[setting.former].present:
            logging.warning(
                "--%s is called --%s now; the next release does not know the old name",
                *(setting.former, name),
            )


def from_flags(config: Callable[..., _Config], **others: Any) -> _Config:
    """Return a configuration: `others`, the flags of its other fields' names, and its defaults."""
    assert isinstance(config, type)
    names = {field.name for field in dataclasses.fields(config)} - others.keys()
    values = {name: flags.FLAGS[name].value for name in names if name in flags.FLAGS}
    return config(**values, **others)


def check_flags(names: str) -> None:
    """Check flags that no configuration checks, by their names, separated by spaces.

    Raises:
      ValueError: the value of one is not allowed.
    """
    for name in names.split():
        DEFINED[name][0].check(flags.FLAGS[name].value)


def numbers_of(name: str, kind: type[_Number]) -> list[_Number] | None:
    """Return the numbers of a flag, which commas separate; None if it is not set.

    Raises:
      ValueError: it has something else.
    """
    text = flags.FLAGS[name].value
    try:
        return None if text is None else [kind(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"{name} is {text!r}; {_ALLOWED[kind]}, comma-separated, are allowed"
        ) from None


def name_flags(sentence: str, values: flags.FlagValues = flags.FLAGS) -> str:
    """Return a sentence with flags for the names of settings that it has in backticks."""

    def as_flag(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        if name not in values:
            return match[0]
        if values[name].boolean and value in ("True", "False"):
            return f"--{name}" if value == "True" else f"--no{name}"
        return f"--{name}" if value is None else f"--{name}={value}"

    return _NAMED.sub(as_flag, sentence)
