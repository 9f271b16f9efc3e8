"""The page of --help: what a command does, and its flags, the common ones first.

    tokenize flags, {"common": "input_file output_prefix"}  ->

    common:
      --input_file=TEXT        Text: files or patterns, separated by commas.
      --output_prefix=TEXT     The store is PREFIX.bin and PREFIX.idx.

    reading text:
      --language=en            ...

Flags that several commands share have a group of their own. All other flags come last; absl's own,
such as those of logging, only on the page of --helpfull.
"""

import textwrap
from collections.abc import Iterator, Mapping

from absl import flags

from bert_data.cli.settings_flags import DEFINED, name_flags
from bert_data.settings import OneOf, Within

_OTHERS = "more"
_OF_ABSL = "absl and logging"
_COLUMN = 28  # where the help of a flag begins
_MIN_WIDTH = 40  # of that help, in terminals however narrow
_PAGE_FLAGS = ("help", "h", "helpshort", "helpfull", "helpxml", "version")
_NOT_NONE = "other than None"  # what absl says of a flag that is required
_QUOTE = "'"
_LAST_LINE = "  -h, --help: this page; --helpfull: with all flags of logging; --version\n"


def help_page(
    program: str,
    description: str,
    groups: Mapping[str, str],
    *,
    values: flags.FlagValues = flags.FLAGS,
    is_full: bool = False,
) -> str:
    """Return the page.

    Args:
      program: what the user types to run the command.
      description: the docstring of its module.
      groups: titles, and the names of their flags, separated by spaces.
      values: the flags.
      is_full: whether the flags of absl are on it.

    Raises:
      KeyError: a group names a flag that is not defined.
    """
    parts = [f"usage: {program} --flag=value ...\n", f"{description.strip()}\n"]
    for title, members in _grouped(values, groups):
        if title != _OF_ABSL or is_full:
            lines = "".join(_describe(flag, values) for flag in members)
            parts.append(f"{title}:\n{lines}")
    return "\n".join([*parts, _LAST_LINE])


def _grouped(
    values: flags.FlagValues, groups: Mapping[str, str]
) -> "Iterator[tuple[str, list[flags.Flag]]]":
    """Give the groups in their order on the page."""
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
    """Return all flags by their groups."""
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
    """Return the lines of a flag."""
    name = f"  {_usage(flag)}"
    lines = textwrap.wrap(
        f"{name_flags(_help(flag), values)} {_remarks(flag)}",
        max(_MIN_WIDTH, flags.get_help_width() - _COLUMN),
        break_long_words=False,
        break_on_hyphens=False,
    )
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
    """Return the values of all flags that have choices."""
    constraints = (setting.constraint for setting, _ in DEFINED.values())
    return {word for each in constraints if isinstance(each, OneOf) for word in each.words}


def _usage(flag: "flags.Flag") -> str:
    if flag.boolean:
        return f"--[no]{flag.name}"
    if isinstance(flag.parser, flags.EnumParser):
        return f"--{flag.name}={'|'.join(flag.parser.enum_values)}"
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
