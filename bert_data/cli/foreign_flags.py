"""Flags of other programs, and what they are called here: for errors, and for docs/migrating.md.

    bert-data create --gzip_compress
      ->  --gzip_compress of tensorflow/models is --compression=gzip here

A flag of Google's programs has its name here, so those are not in the tables.
"""

import functools
import pkgutil
import re
import tomllib
from collections.abc import Mapping, Set
from typing import NamedTuple


class ForeignFlag(NamedTuple):
    """A flag of another program.

    Attributes:
      ours: what has its effect here; "" if nothing has.
      remark: what else to know: a clause, which follows the rest of the sentence.
    """

    program: str
    name: str
    ours: str
    remark: str = ""


@functools.cache
def foreign_flags() -> Mapping[str, tuple[ForeignFlag, ...]]:
    """Return what `foreign_flags.toml` lists, by the command that does here what a program does."""
    tables = tomllib.loads((pkgutil.get_data(__name__, "foreign_flags.toml") or b"").decode())
    return {
        command: tuple(
            ForeignFlag(program, name, *row)
            for program, rows in programs.items()
            for name, row in rows.items()
        )
        for command, programs in tables.items()
    }


def explain(name: str, known: Set[str]) -> str | None:
    """Return a sentence about a flag that a command does not have, or None."""
    plain = name.replace("-", "_")
    if plain in known:
        return f"--{name} is written --{plain} here"
    bare = plain.removeprefix("no") if plain.startswith("no") else plain
    for command, table in foreign_flags().items():
        for flag in table:
            if flag.name.replace("-", "_") in (plain, bare):
                ours = re.findall(r"--(\w+)", flag.ours)
                if name in ours:  # of another command of ours, not of another program
                    return None
                where = "here" if set(ours) <= known else f"of bert-data {command}"
                return _sentence(flag, where)
    return None


def _sentence(flag: ForeignFlag, where: str) -> str:
    if not flag.ours:
        return f"--{flag.name} of {flag.program} has no counterpart here: {flag.remark}"
    remark = f", {flag.remark}" if flag.remark else ""
    return f"--{flag.name} of {flag.program} is {flag.ours} {where}{remark}"
