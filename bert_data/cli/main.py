"""The console command: `bert-data NAME --flag=value` runs the command of that name.

    bert-data tokenize --input_file=web.jsonl   ->   python -m bert_data.cli.tokenize --input_...

`python -m bert_data NAME` does the same where nothing is installed.
"""

import runpy
import sys
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from bert_data import __version__, interrupts


class Command(NamedTuple):
    """A command: its name, the module that is run for it, and what it does."""

    name: str
    module: str
    summary: str


# In the order of a user's way.
COMMANDS = (
    Command("curate", "bert_data.cli.curate", "select the documents worth training on"),
    Command(
        "train-classifier",
        "bert_data.cli.train_classifier",
        "train a classifier of documents, such as of their quality",
    ),
    Command("train-vocab", "bert_data.cli.train_vocab", "train a WordPiece vocabulary on text"),
    Command("create", "bert_data.cli.create", "make BERT pretraining records from text"),
    Command("tokenize", "bert_data.cli.tokenize", "make token stores from text"),
    Command("build-samples", "bert_data.cli.build_samples", "draw GPT samples from token stores"),
    Command("inspect", "bert_data.cli.inspect", "show records, token stores or texts as words"),
    Command("check", "bert_data.cli.check", "say whether a set of records is whole and sound"),
    Command("diff", "bert_data.cli.diff", "compare two sets of records or token stores"),
    Command("plan", "bert_data.cli.plan", "show the batches that training would make of a set"),
    Command("train", "bert_data.cli.train", "train a BERT on records, and evaluate it"),
    Command("extend-vocab", "bert_data.cli.extend_vocab", "give a model new tokens from a text"),
    Command("export-hub", "bert_data.cli.export_hub", "write SavedModels for TF Hub"),
    Command("export-hf", "bert_data.cli.export_hf", "write a folder for Hugging Face transformers"),
)
_MISTAKE = 2  # the exit status, as of a mistyped flag
_LEAST_NEARNESS = 0.6  # of a command that is suggested


def main() -> int:
    """Run the command that the command line names; return the exit status if it names none."""
    name, rest = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("--help", [])
    if name == "help" and rest:
        name, rest = rest[0], ["--help"]
    if name in ("-h", "--help", "-help", "--helpfull", "help"):
        sys.stdout.write(_page())
        return 0
    if name in ("--version", "-version"):
        sys.stdout.write(f"bert_data {__version__}\n")
        return 0
    by_name = {command.name: command for command in COMMANDS}
    command = by_name.get(name.replace("_", "-"))
    if command is None:
        sys.stderr.write(f"bert-data: error: {_unknown(name)} (--help lists the commands)\n")
        return _MISTAKE
    sys.argv = [f"bert-data {command.name}", *rest]
    interrupts.raise_on_signals()
    try:
        runpy.run_module(command.module, run_name="__main__")
    except KeyboardInterrupt as interrupt:  # while it imports what it needs
        return interrupts.end(sys.argv[0], interrupt)
    return 0


def _unknown(name: str) -> str:
    if name.startswith("-"):
        return f"{name!r} is not a command; the command comes first: bert-data NAME --flag=value"
    typed = name.lower().replace("_", "-")
    nearness = {
        command.name: max(SequenceMatcher(None, typed, word).ratio() for word in _words(command))
        for command in COMMANDS
    }
    best = max(nearness.values())
    close = [each for each in nearness if nearness[each] == best]
    hint = f"; did you mean {' or '.join(close)}?" if best >= _LEAST_NEARNESS else ""
    return f"{name!r} is not a command{hint}"


def _words(command: Command) -> Sequence[str]:
    """Return what people may type for a command: its name, and that of its module."""
    return command.name, command.module.rpartition(".")[2].replace("_", "-")


def _page() -> str:
    width = max(len(command.name) for command in COMMANDS)
    lines = [f"  {command.name:<{width}}  {command.summary}" for command in COMMANDS]
    return "\n".join(
        [
            "usage: bert-data COMMAND --flag=value ...",
            "",
            "Text to pretraining data for BERT-like models, and from there to a trained model.",
            "",
            *lines,
            "",
            "bert-data COMMAND --help shows what a command does, with examples, and its flags.\n",
        ]
    )
