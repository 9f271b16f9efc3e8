"""Runs a command: absl's flags and logging, errors of the user and of the data in one line."""

import sys
from collections.abc import Callable, Sequence

from absl import app, flags, logging

from bert_data.errors import CorruptDataError

INTERRUPTED = 130  # the shell's status for a program ended by Ctrl-C


def run(main: Callable[[Sequence[str]], object]) -> None:
    """Parses the flags, runs `main` and exits; never returns.

    Args:
      main: takes the positional arguments, argv[0] first. A ValueError, OSError, MemoryError or
        CorruptDataError that leaves it is printed as one line, with exit status 1.
    """

    def guarded(argv: Sequence[str]) -> int:
        logging.use_absl_handler()
        logging.set_verbosity(max(logging.get_verbosity(), logging.INFO))
        if len(argv) > 1:
            raise app.UsageError(f"not a flag: {' '.join(argv[1:])}; flags begin with --")
        try:
            main(argv)
        except (ValueError, OSError, MemoryError, CorruptDataError) as error:
            return _say(argv[0], _sentence(error))
        except KeyboardInterrupt:
            _say(argv[0], "interrupted; nothing was left half-written")
            return INTERRUPTED
        return 0

    app.run(guarded, flags_parser=_parse_flags)


def _parse_flags(argv: Sequence[str]) -> list[str]:
    """Parses as absl does, with a mistyped flag told in one line and without the whole help."""
    try:
        return flags.FLAGS(list(argv))
    except flags.Error as error:
        _say(argv[0], " ".join(str(error).split()))
        sys.exit(2)


def _sentence(error: BaseException) -> str:
    """One line that a user understands."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"out of memory: {error}".rstrip(": ")
    return " ".join(str(error).split()) or type(error).__name__


def _say(program: str, sentence: str) -> int:
    name = program.rsplit("/", 1)[-1].removesuffix(".py")
    sys.stderr.write(f"{name}: error: {sentence}\n")
    return 1
