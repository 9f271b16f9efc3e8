"""Write the tables of the pages that follow from declarations: `python docs/tables.py`.

    <!-- flags create masking max_ngram -->     flags of a command
    <!-- settings reader.ReaderConfig form -->  settings of a configuration, as Python has them
    <!-- foreign train transformers -->         flags of another program, and ours
    <!-- fields records -->                     fields of a record

A table begins below its marker and ends before the next blank line. A test compares.
"""

import importlib
import re
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path

from absl import flags

from bert_data.cli.entry import foreign_flags
from bert_data.cli.settings_flags import name_flags
from bert_data.records import fields
from bert_data.settings import REQUIRED, NotEmpty, OneOf, Setting, settings_of

GUIDES = Path(__file__).resolve().parent
_MARKED = re.compile(r"(<!-- (\w+) ([^\n:]*) -->\n).*?(?=\n\n|\Z)", re.DOTALL)
_FLAG = re.compile(r"(?<![\w`-])--(?:no)?(\w+)(?:=(?:'[^']*'|[\w./-]*\w))?")


def fill(page: str) -> str:
    """Return a page with its tables as they should be."""
    return _MARKED.sub(lambda at: at[1] + _TABLES[at[2]](*at[3].split()), page)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (f"| {' | '.join(row)} |".replace("|  |", "| |") for row in (head, *rows))
    first = next(lines)
    return "\n".join([first, "|---" * len(head) + "|", *lines])


def _flags(command: str, *names: str) -> str:
    module = importlib.import_module(f"bert_data.cli.{command}")
    every = {each.name: each for section in module.SECTIONS for each in section.settings}
    known = flags.FlagValues()
    for name, setting in every.items():
        define = flags.DEFINE_bool if setting.kind is bool else flags.DEFINE_string
        define(name, None, "", flag_values=known)
    rows = (
        (
            f"`--{name}`",
            _values(every[name]),
            _code(name_flags(every[name].help, known), set(every)),
        )
        for name in names
    )
    return _table(("flag", "values", ""), rows)


def _settings(config: str, *names: str) -> str:
    module, _, name = config.rpartition(".")
    every = settings_of(getattr(importlib.import_module(f"bert_data.{module}"), name))
    rows = ((f"`{name}`", _values(every[name]), every[name].help) for name in names)
    return _table(("setting", "values", ""), rows)


def _values(setting: Setting) -> str:
    constraint, default = setting.constraint, setting.default
    if isinstance(constraint, NotEmpty):
        constraint = None
    words = constraint.words if isinstance(constraint, OneOf) else [str(constraint or "")]
    parts = [", ".join(words)]
    if default is REQUIRED:
        parts.append("required")
    elif default not in (None, "", []) and not isinstance(default, tuple):
        parts.append(f"default: {default}")
    return "; ".join(filter(None, parts))


def _code(text: str, known: Container[str] | None = None) -> str:
    """Return a text with its flags, or with those that are known, as code."""
    return _FLAG.sub(lambda m: f"`{m[0]}`" if known is None or m[1] in known else m[0], text)


def _foreign(command: str, *program: str) -> str:
    rows = (
        (f"`--{flag.name}`", _code(flag.ours) or "none", _code(flag.remark))
        for flag in foreign_flags()[command]
        if flag.program == " ".join(program)
    )
    return _table(("flag", "here", ""), rows)


def _fields(guide: str) -> str:
    records = fields.masked_lm_records(
        fields.RAGGED, max_seq_length=128, max_predictions_per_seq=20
    )
    described = {
        "records": records.fields,
        "reading": fields.MADE_BY_READER,
        "classify": fields.labelled_records().fields,
    }[guide]
    return _table(
        ("field", "one value per", "Example", "Parquet", "tensor"), map(_row_of_field, described)
    )


def _row_of_field(field: fields.Field) -> tuple[str, ...]:
    kind = "bytes" if field.dtype == fields.BYTES else field.dtype.name
    return (
        f"`{field.name}`",
        field.axis.removesuffix("s") + (", and one" if field.role is fields.Role.SPLITS else ""),
        "-" if field in fields.MADE_BY_READER else field.feature_kind,
        f"`{field.column}` {kind}" if field.column else "-",
        "string" if field.dtype == fields.BYTES else field.tensor_dtype.name,
    )


_TABLES: dict[str, Callable[..., str]] = {
    "flags": _flags,
    "settings": _settings,
    "foreign": _foreign,
    "fields": _fields,
}


if __name__ == "__main__":
    for path in GUIDES.glob("**/*.md"):
        page = path.read_text(encoding="utf-8")
        path.write_text(fill(page), encoding="utf-8")
