"""Run a command: absl's flags and logging, and one line for errors of the user or the data."""

import contextlib
import errno
import functools
import gc
import io
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from logging import ERROR, WARNING, Formatter, LogRecord
from textwrap import shorten
from typing import NamedTuple

from absl import app, flags, logging

from bert_data import __version__, interrupts
from bert_data.cli.main import show_page
from bert_data.cli.settings_flags import (
    check_companions,
    define,
    help_page,
    name_flags,
    warn_of_former_names,
)
from bert_data.errors import CorruptDataError, first_sentence

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # only writing fails so
_MISSING_FLAG = re.compile(r"Flag (--\w+) must have a value other than None")
_FLAGFILE = re.compile(r"ERROR:: Unable to open (flagfile): \[Errno \d+\] ")
_OPTION = re.compile(r"(\w+) (?:is|needs|has) ")  # as `check_bounds` begins
_TYPED_FLAG = re.compile(r"--?([A-Za-z][\w-]*)")
_LEVELS = {ERROR: "error: ", WARNING: "warning: "}  # from the most severe one
_FLAG_CHARACTERS = 300  # of an error of absl, which quotes the flag's value


def run(
    main: Callable[[Sequence[str]], object],
    *,
    groups: Mapping[str, str] | None = None,
    is_filter: bool = False,
    error_status: int = 1,
) -> None:
    """Define and parse the flags, run `main` and exit; never returns.

    The flags are the `SECTIONS` of the module that defines `main`; --help shows its docstring, and
    the flags. The log has sentences alone; with --alsologtostderr, or --verbosity from 0 on, absl's
    lines.

    Args:
      main: takes the positional arguments, argv[0] first. A ValueError, OSError, MemoryError or
        CorruptDataError that it raises is printed as one line, with exit status 1, and so is an
        error of TensorFlow's operations. Ctrl-C, SIGTERM and SIGHUP raise KeyboardInterrupt in it;
        further ones are ignored while it cleans up. An integer that it returns is the exit status.
      groups: titles and flags, separated by spaces, that the page of --help shows first:
        {"common": "input_file output_file"}.
      is_filter: whether it writes its result to standard output, which a reader such as `head` may
        close; then it ends without a word, with the status of a program that SIGPIPE ended.
      error_status: the exit status of errors.
    """

    def guarded(argv: Sequence[str]) -> int:
        logging.use_absl_handler()
        logging.get_absl_handler().addFilter(_name_flags_in)
        is_wordy = flags.FLAGS["verbosity"].present and flags.FLAGS.verbosity >= 0
        if not (flags.FLAGS.alsologtostderr or is_wordy):
            logging.get_absl_handler().setFormatter(_LogLines())
        warn_of_former_names()
        try:
            interrupts.raise_on_signals()
            if is_filter and isinstance(sys.stdout, io.TextIOWrapper):
                sys.stdout.reconfigure(errors="backslashreplace")  # for terminals without UTF-8
            check_companions()
            status = main(argv)
            if is_filter:
                sys.stdout.flush()
        except (ValueError, OSError, MemoryError, CorruptDataError) as error:
            interrupts.limit_end(error)
            if is_filter and isinstance(error, OSError):
                _drop_output()
                if isinstance(error, BrokenPipeError):
                    return interrupts.SIGNAL_STATUS + signal.SIGPIPE
                if error.filename is None and error.errno in _NO_SPACE:
                    error.filename = "standard output"  # errors of writing files name them
            return _say(argv[0], _sentence(error), error_status)
        except KeyboardInterrupt as interrupt:
            return interrupts.end(_program(argv[0]), interrupt)
        except Exception as error:
            if not _is_of_tensorflow(error):
                raise
            return _say(argv[0], f"TensorFlow: {first_sentence(error)}", error_status)
        return status if isinstance(status, int) else 0

    def parse_flags(argv: Sequence[str]) -> list[str]:
        def page(*, is_full: bool) -> str:
            description = main.__globals__["__doc__"] or ""
            return help_page(_program(argv[0]), description, groups or {}, is_full=is_full)

        for name in ("help", "h", "helpshort"):
            flags.DEFINE_flag(_PageFlag(name, lambda: page(is_full=False)))
        flags.DEFINE_flag(_PageFlag("helpfull", lambda: page(is_full=True)))
        flags.DEFINE_flag(_PageFlag("version", lambda: f"bert_data {__version__}\n"))
        return _parse_flags(argv)

    define(main.__globals__.get("SECTIONS", ()))
    gc.freeze()  # what is imported stays: no collection need look at it, nor the last one
    gc.enable()
    app.run(guarded, flags_parser=parse_flags)


class _PageFlag(flags.BooleanFlag):
    """A flag that writes a page and ends the program; absl's own end it with status 1."""

    def __init__(self, name: str, page: Callable[[], str]) -> None:
        super().__init__(name, False, "show a page and exit")
        self.allow_override = True  # --help and --helpfull are absl's
        self._page = page

    def parse(self, argument: str | bool) -> None:
        super().parse(argument)
        if self.value:
            sys.exit(show_page(self._page()))


def _parse_flags(argv: Sequence[str]) -> list[str]:
    """Parse as absl does, but report a mistyped flag in one line, without the whole help."""
    try:
        rest = flags.FLAGS(list(argv))
        if len(rest) > 1:
            raise flags.Error(f"not a flag: {' '.join(rest[1:])}; flags begin with --")
        return rest
    except flags.Error as error:
        missing = _MISSING_FLAG.findall(str(error))
        reason = _FLAGFILE.sub(r"--\1: ", str(error))
        if isinstance(error.__context__, ValueError) and _OPTION.match(str(error.__context__)):
            reason = _sentence(error.__context__)  # of the setting, without "flag --name=value:"
        reason = shorten(reason, _FLAG_CHARACTERS)
        if isinstance(error, flags.UnrecognizedFlagError):
            reason = "; ".join(map(_explain, _unknown_flags(argv))) or reason
        sentence = f"missing: {', '.join(missing)}" if missing else reason
        _say(argv[0], f"{sentence} (see --help)")
        sys.exit(2)


def _unknown_flags(argv: Sequence[str]) -> list[str]:
    words = list(argv[1 : argv.index("--")] if "--" in argv else argv[1:])
    names = [match[1] for word in words if (match := _TYPED_FLAG.match(word))]
    known = set(flags.FLAGS)
    return [
        name
        for name in dict.fromkeys(names)
        if not ({name, name.removeprefix("no")} & known or name in ("undefok", "flagfile"))
    ]


def _explain(name: str) -> str:
    modules = {flag: str(flags.FLAGS.find_module_defining_flag(flag)) for flag in flags.FLAGS}
    known = {flag for flag, module in modules.items() if module.partition(".")[0] != "absl"}
    explained = explain_foreign(name, known)
    if explained:
        return f"unknown flag: {explained}"
    import difflib  # here, as few commands need it

    close = difflib.get_close_matches(name, known, n=1)
    return f"unknown flag --{name}" + (f"; did you mean --{close[0]}?" if close else "")


def _name_flags_in(record: LogRecord) -> bool:
    if isinstance(record.msg, str):
        record.msg, record.args = name_flags(record.getMessage()), ()
    return True


class _LogLines(Formatter):
    """Log lines for people: sentences, without absl's level, time, thread and place."""

    def format(self, record: LogRecord) -> str:
        """Return the message, after a word for its level if that is a warning or an error."""
        level = next((w for n, w in _LEVELS.items() if record.levelno >= n), "")
        return level + super().format(record)


def _is_of_tensorflow(error: Exception) -> bool:
    """Whether one of TensorFlow's operations raised an error; nothing is imported to find out."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and isinstance(error, tensorflow.errors.OpError)


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return name_flags(f"{error.filename}: {error.strerror}")
    if isinstance(error, MemoryError):
        return f"out of memory: {error}".rstrip(": ")
    sentence = name_flags(" ".join(str(error).split())) or type(error).__name__
    option = _OPTION.match(sentence)
    return f"--{sentence}" if option is not None and option[1] in flags.FLAGS else sentence


def _drop_output() -> None:
    """Close standard output, whatever it still holds, so that Python does not flush it at exit."""
    with contextlib.suppress(OSError):
        sys.stdout.close()


def _say(program: str, sentence: str, status: int = 1) -> int:
    interrupts.say_error(_program(program), sentence)
    return status


def _program(path: str) -> str:
    return path.rsplit("/", 1)[-1].removesuffix(".py")


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
    import pkgutil  # here, as few commands need it
    import tomllib

    tables = tomllib.loads((pkgutil.get_data(__name__, "foreign_flags.toml") or b"").decode())
    return {
        command: tuple(
            ForeignFlag(program, name, *row)
            for program, rows in programs.items()
            for name, row in rows.items()
        )
        for command, programs in tables.items()
    }


def explain_foreign(name: str, known: Set[str]) -> str | None:
    """Return a sentence about a flag that a command does not have, or None."""
    plain = name.replace("-", "_")
    if plain in known:
        return f"--{name} is written --{plain} here"
    bare = plain.removeprefix("no") if plain.startswith("no") else plain
    for command, table in foreign_flags().items():
        for flag in table:
            if flag.name.replace("-", "_") in (plain, bare):
                named, ours = f"--{flag.name} of {flag.program}", re.findall(r"--(\w+)", flag.ours)
                if not flag.ours:
                    return f"{named} has no counterpart here: {flag.remark}"
                if name in ours:  # of another command of ours, not of another program
                    return None
                ours_of = f"of bert-data {command.replace('_', '-')}"
                where = "here" if set(ours) <= known else ours_of
                remark = f", {flag.remark}" if flag.remark else ""
                return f"{named} is {flag.ours} {where}{remark}"
    return None
