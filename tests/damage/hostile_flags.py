"""Runs the data commands with hostile numbers in each numeric flag.

    python -m tests.damage.hostile_flags   ->  train_vocab --vocab_size=2147483648: traceback ...

A run must succeed, or end in one sentence that names the flag or a file. It prints those that do
neither.
"""

import contextlib
import functools
import importlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from absl import flags, logging

from bert_data.cli import settings_flags
from tests.damage import sandbox
from tests.damage.kinds_of_sets import make_set
from tests.damage.materials import write_vocabulary

NUMBERS = ("0", "-1", "1", "1024", "10000000", "1000000000", "2147483647", "2147483648",
           "9223372036854775807", "9223372036854775808", "1" + "0" * 30, "-9223372036854775809",
           "nan", "inf", "-inf", "1e308", "1e-320", "9" * 5000, "")  # fmt: skip
_TEXT, _RECORDS = "--input_file={room}/text-0.txt", "--input_file={room}/set/a"
COMMANDS = {
    "bert_data.cli.create": f"{_TEXT} --vocab_file={{room}}/vocab.txt --output_file={{out}}/r",
    "bert_data.cli.tokenize": f"{_TEXT} --vocab_file={{room}}/vocab.txt --output_prefix={{out}}/s",
    "bert_data.cli.train_vocab": f"{_TEXT} --output_file={{out}}/vocab.txt",
    "bert_data.cli.train_classifier": "--positive_file={room}/text-0.txt"
    " --negative_file={room}/vocab.txt --output_file={out}/m.bin --buckets=20 --dimension=4",
    "bert_data.cli.check": f"{_RECORDS} --json",
    "bert_data.cli.inspect": _RECORDS,
}
"""Modules, and the flags of each run."""
_OF_ABSL = ("verbosity", "stderrthreshold", "v")


@functools.cache
def _load(name: str) -> ModuleType:
    """Defines a command's flags, which can be done for one command in a process."""
    logging.set_verbosity(logging.FATAL)
    module = importlib.import_module(name)
    settings_flags.define(module.main.__globals__["SECTIONS"])
    return module


def _numeric_flags(name: str, _: int) -> str:
    _load(name)
    kinds = {flag: flags.FLAGS[flag].flag_type() for flag in flags.FLAGS}
    return json.dumps(sorted(f for f, k in kinds.items() if k in ("int", "float")))


def _run(name: str, room: Path, cases: list[tuple[str, str]], number: int) -> str:
    module, (flag, value) = _load(name), cases[number]
    with tempfile.TemporaryDirectory(dir=room) as out:
        argv = COMMANDS[name].format(room=room, out=out).split()
        flags.FLAGS.unparse_flags()
        with contextlib.suppress(flags.Error, SystemExit):  # absl's own sentence; status of check
            flags.FLAGS([name, *argv, f"--{flag}={value}"])
            settings_flags.check_companions()
            module.main([name])
    return ""


def _prepare(room: Path, _: int) -> str:
    (room / "set").mkdir()
    make_set(room / "set", 0)
    write_vocabulary(room / "vocab.txt")
    return ""


def bad_runs(name: str, room: Path) -> Iterator[str]:
    """Runs that neither succeed nor say what is wrong with the flag."""
    ((_, names),) = sandbox.run(functools.partial(_numeric_flags, name), range(1))
    numeric = [flag for flag in json.loads(names.text) if flag not in _OF_ABSL]
    assert numeric
    cases = [(flag, value) for flag in numeric for value in NUMBERS]
    results = sandbox.run(functools.partial(_run, name, room, cases), range(len(cases)))
    for number, result in results:
        flag, value = cases[number]
        is_sentence = flag.removeprefix("num_") in result.sentence or str(room) in result.sentence
        if result.kind != "value" and not is_sentence:
            reason = result.sentence or result.text
            yield f"{name} --{flag}={value[:30]}: {result.kind}: {reason[-300:]}"


def main() -> None:
    """Exit status 1 if a run is bad."""
    with tempfile.TemporaryDirectory() as parent:
        room = Path(parent)
        ((_, inputs),) = sandbox.run(functools.partial(_prepare, room), range(1))
        assert inputs.kind == "value", inputs.text
        bad = [sentence for name in COMMANDS for sentence in bad_runs(name, room)]
    print("\n".join(bad))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
