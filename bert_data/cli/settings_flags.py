"""Flags made of settings, configurations made of flags, and sentences that name flags.

define([Section("training", settings(OptimizerConfig))])   --optimizer=adamw|lamb, ...
from_flags(OptimizerConfig)                                OptimizerConfig(optimizer="lamb", ...)
name_flags("needs `append_eod=False`")                     "needs --noappend_eod"
"""

import dataclasses
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from absl import flags, logging

from bert_data.settings import REQUIRED, OneOf, Setting, Within, settings_of
from bert_data.written_values import read_typed

_Config = TypeVar("_Config")
_NAMED = re.compile(r"`(?P<name>[a-z]\w*)(?:=(?P<value>[^`\n]*))?`")
_OTHERS = "more"
_OF_ABSL = "absl and logging"
_COLUMN = 28  # where the help of a flag begins
_MIN_WIDTH = 40  # of that help, in terminals however narrow
_MAX_PROSE = 100  # columns of what the page says before the flags
_PAGE_FLAGS = ("help", "h", "helpshort", "helpfull", "helpxml", "version")
_NOT_NONE = "other than None"  # what absl says of a flag that is required
_QUOTE = "'"
_LAST_LINE = "  -h, --help: this page; --helpfull: with all flags of logging; --version\n"


class Repeated(list[str]):
    """The values of a flag that may be given several times."""


class Section(NamedTuple):
    """Flags that stand together on the page of --help; those with the title "" come last.

    Attributes:
      one_of: names of flags of which only one may be set.
    """

    title: str
    settings: tuple[Setting, ...]
    one_of: tuple[str, ...] = ()


_KINDS = (bool, int, float, str, list[str], Repeated, Sequence[int], Sequence[float])
"""Of settings that can be flags."""

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
    """Return the settings of a configuration that can be flags: those named, or all.

    Args:
      changes: what is different for the command, by the name of a setting: its default, help,
        "more_help", what it is "only_with", or choices.
    """
    declared = dict(settings_of(config))
    for name in without.split():
        del declared[name]
    chosen = [declared[name] for name in names.split()] or [
        setting for setting in declared.values() if setting.kind in _KINDS
    ]
    every = {setting.name: setting for setting in chosen}
    for name, change in (changes or {}).items():
        values = dict(change)
        if "choices" in values:
            values["constraint"] = OneOf(values.pop("choices"))
        if "only_with" in values and "=" not in values["only_with"]:
            values["help"] = f"with `{values['only_with']}`: {every[name].help}"
        if "more_help" in values:
            values["help"] = values.get("help", every[name].help) + values.pop("more_help")
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
    name, values, is_required = setting.name, flags.FLAGS, setting.default is REQUIRED
    default = None if is_required else setting.default
    if setting.kind == list[str]:
        flags.DEFINE_list(name, default, setting.help, values, required=is_required)
    elif setting.kind is Repeated:
        flags.DEFINE_multi_string(name, default, setting.help, values, required=is_required)
    else:
        of_setting: flags.Flag[Any] = flags.Flag(
            _Parser(setting), None, name, default, setting.help, boolean=setting.kind is bool
        )
        flags.DEFINE_flag(of_setting, values, required=is_required)


class _Parser(flags.ArgumentParser[Any]):
    """Converts the text of a flag as `settings.convert` converts all values."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        if isinstance(setting.constraint, OneOf):
            self.enum_values = setting.constraint.words

    def parse(self, argument: Any) -> Any:
        kind = self._setting.kind
        return self._setting.convert(
            read_typed(argument, kind) if isinstance(argument, str) else argument
        )

    def flag_type(self) -> str:
        return {bool: "bool", int: "int", float: "float"}.get(self._setting.kind, "string")


def warn_of_former_names() -> None:
    """Warn of flags that were given by the names that they had before."""
    for name, (setting, _) in DEFINED.items():
        if setting.former and flags.FLAGS[setting.former].present:
            logging.warning(
                "--%s is called --%s now; the next release does not know the old name",
                *(setting.former, name),
            )


def check_companions() -> None:
    """Check that each flag that is set has the one that it goes with."""
    for name, (setting, _) in DEFINED.items():
        given, (other, _, values) = flags.FLAGS[name], setting.only_with.partition("=")
        if not other or given.value == given.default:
            continue
        allowed, value = values.split(","), flags.FLAGS[other].value
        if not (value in allowed if values else value):
            raise ValueError(f"{name} needs `{other}{f'={allowed[0]}' * bool(values)}`")


def refuse_beside(mode: str, allowed: str) -> None:
    """Refuse flags that have no effect beside one that says what the command does.

    Args:
      allowed: names, separated by spaces, of those with an effect, and limits that it keeps.
    """
    for name in sorted(DEFINED.keys() - {mode, *allowed.split()}):
        if flags.FLAGS[name].present:
            raise ValueError(f"`{name}` has no effect with `{mode}`; leave it out")


def from_flags(config: Callable[..., _Config], **others: Any) -> _Config:
    """Return a configuration: `others`, the flags of its other fields' names, and its defaults."""
    assert isinstance(config, type)
    names = {field.name for field in dataclasses.fields(config)} - others.keys()
    return config(**{name: flags.FLAGS[name].value for name in names & DEFINED.keys()}, **others)


def given(name: str) -> Any:
    """Return the value of a flag that was set, be it to its default; None: it was not."""
    return None if flags.FLAGS[name].using_default_value else flags.FLAGS[name].value


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


def help_page(
    program: str,
    description: str,
    groups: Mapping[str, str],
    *,
    values: flags.FlagValues = flags.FLAGS,
    is_full: bool = False,
) -> str:
    """Return the page of --help; `groups` has titles, and the names of their flags."""
    parts = [f"usage: {program} --flag=value ...\n", f"{_wrap_prose(description.strip())}\n"]
    for title, members in _grouped(values, groups):
        if title != _OF_ABSL or is_full:
            lines = "".join(_describe(flag, values) for flag in members)
            parts.append(f"{title}:\n{lines}")
    return "\n".join([*parts, _LAST_LINE])


def _wrap_prose(text: str) -> str:
    """Wrap lines that are not indented to the width of the terminal; the others are commands."""
    width = min(_MAX_PROSE, max(_MIN_WIDTH, flags.get_help_width()))
    parts = re.split(r"((?:^(?! ).+\n?)+)", text, flags=re.MULTILINE)
    for place in range(1, len(parts), 2):
        end = "\n" * parts[place].endswith("\n")
        parts[place] = textwrap.fill(parts[place], width, break_on_hyphens=False) + end
    return "".join(parts)


def _grouped(
    values: flags.FlagValues, groups: Mapping[str, str]
) -> "Iterator[tuple[str, list[flags.Flag]]]":
    rest = _flags_by_group(values)
    for title, names in groups.items():
        members = [values[name] for name in names.split()]
        rest = {t: [flag for flag in those if flag not in members] for t, those in rest.items()}
        yield title, members
    last = {_OTHERS: 1, _OF_ABSL: 2}
    for title in sorted(rest, key=lambda title: last.get(title, 0)):
        if rest[title]:
            yield title, rest[title]


def _flags_by_group(values: flags.FlagValues) -> "dict[str, list[flags.Flag]]":
    groups: dict[str, list[flags.Flag]] = {}
    former = {setting.former for setting, _ in DEFINED.values()}
    for module, members in values.flags_by_module_dict().items():
        is_of_absl = module.partition(".")[0] == "absl"
        for flag in members:
            if flag.name in _PAGE_FLAGS or flag.name in former:
                continue
            own = DEFINED[flag.name][1] if flag.name in DEFINED else ""
            groups.setdefault(_OF_ABSL if is_of_absl else own or _OTHERS, []).append(flag)
    return groups


def _describe(flag: "flags.Flag", values: flags.FlagValues) -> str:
    width = max(_MIN_WIDTH, flags.get_help_width() - _COLUMN)
    lines = textwrap.wrap(
        f"{name_flags(_help(flag), values)} {_remarks(flag)}", width, break_on_hyphens=False
    )
    choices = textwrap.wrap(
        f"  {_usage(flag)}".replace("|", "| "),
        width + _COLUMN,
        subsequent_indent=" " * len(f"  --{flag.name}="),
    )
    name = "\n".join(choices).replace("| ", "|")
    if len(name) < _COLUMN:
        name = f"{name:<{_COLUMN}}{lines.pop(0)}"
    return "\n".join([name, *(" " * _COLUMN + line for line in lines)]) + "\n"


def _help(flag: "flags.Flag") -> str:
    """Return the help without what absl adds: an enum's values before, "repeat this" after.

    A sentence begins with a capital letter, but for names and the values that it explains.
    """
    text = flag.help or ""
    text = text.partition(">: ")[2] if isinstance(flag.parser, flags.EnumParser) else text
    text = text.partition(";\n")[0] if isinstance(flag, flags.MultiFlag) else text
    explained, colon, _ = text.partition(":")
    if colon and set(explained.split(", ")) <= _choices():
        return text
    return text[:1].upper() + text[1:]


def _choices() -> set[str]:
    constraints = (setting.constraint for setting, _ in DEFINED.values())
    return {word for each in constraints if isinstance(each, OneOf) for word in each.words}


def _usage(flag: "flags.Flag") -> str:
    if flag.boolean:
        return f"--[no]{flag.name}"
    if words := getattr(flag.parser, "enum_values", ()):
        return f"--{flag.name}={'|'.join(words)}"
    kinds = {"int": "N", "float": "NUMBER"}
    return f"--{flag.name}={kinds.get(flag.flag_type(), 'TEXT')}"


def _remarks(flag: "flags.Flag") -> str:
    """Return what the definition says beside the help: bounds, default, required, repeatable."""
    remarks = []
    if flag.name in DEFINED and isinstance(DEFINED[flag.name][0].constraint, Within):
        remarks.append(str(DEFINED[flag.name][0].constraint))
    if flag.default is not None and flag.default not in ("", []):
        remarks.append(f"default: {str(flag.default_as_str).strip(_QUOTE)}")
    elif any(_NOT_NONE in each.message for each in flag.validators):
        remarks.append("required")
    elif isinstance(flag, flags.MultiFlag):
        remarks.append("repeatable")
    shown = "; ".join(filter(None, remarks))
    return f"({shown})" if shown else ""
