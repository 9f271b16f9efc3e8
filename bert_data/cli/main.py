"""The console command: `bert-data NAME --flag=value` runs the command of that name.

    bert-data tokenize --input_file=web.jsonl   ->   python -m bert_data.cli.tokenize --input_...

`python -m bert_data NAME` does the same where nothing is installed.
"""

import contextlib
import gc
import runpy
import sys

from bert_data import __version__, interrupts

COMMANDS = {  # in the order of a user's way
    "curate": "select the documents worth training on",
    "train-classifier": "train a classifier of documents, such as of their quality",
    "train-vocab": "train a WordPiece vocabulary on text",
    "create": "make BERT pretraining records from text",
    "tokenize": "make token stores from text",
    "build-samples": "draw GPT samples from token stores",
    "inspect": "show records, token stores or texts as words",
    "check": "say whether a set of records is whole and sound",
    "card": "write a dataset card for Hugging Face",
    "label": "make records of labelled texts",
    "fine-tune": "train a classifier of texts on such records",
    "plan": "show the batches that a recipe would make",
    "train": "train a BERT on records, and evaluate it",
    "export-hub": "write SavedModels for TF Hub",
    "export-hf": "write a folder for Hugging Face transformers",
}
"""Names, each that of a module of this package, and what they do."""

_MISTAKE = 2  # the exit status, as of a mistyped flag
_LEAST_NEARNESS = 0.6  # of a command that is suggested
_ELSEWHERE = {
    "create-pretraining-data": "create",
    "run-pretraining": "train",
    "preprocess-data": "tokenize",
    "run-classifier": "fine-tune",
    "train-tokenizer": "train-vocab",
}
"""What others call the work of a command, by names that are not similar."""


def main() -> int:
    """Run the command that the command line names; return the exit status if it names none."""
    if len(sys.argv) == 1:
        if sys.stderr is not None:  # None: it is closed
            sys.stderr.write(_page())
        return _MISTAKE
    name, rest = sys.argv[1], sys.argv[2:]
    if name == "help" and rest:
        name, rest = rest[0], ["--help"]
    if name in ("-h", "--help", "-help", "--helpfull", "help"):
        return show_page(_page())
    if name in ("--version", "-version"):
        return show_page(f"bert_data {__version__}\n")
    command = name.replace("_", "-")
    if command not in COMMANDS:
        interrupts.say_error("bert-data", f"{_unknown(name)} (--help lists the commands)")
        return _MISTAKE
    sys.argv = [f"bert-data {command}", *rest]
    interrupts.raise_on_signals()
    gc.disable()  # until `entry.run`: imports leave no garbage
    try:
        runpy.run_module(f"bert_data.cli.{command.replace('-', '_')}", run_name="__main__")
    except KeyboardInterrupt as interrupt:  # while it imports what it needs
        return interrupts.end(sys.argv[0], interrupt)
    finally:
        gc.enable()
        gc.freeze()  # what is left ends with the process
    return 0


def show_page(page: str) -> int:
    """Write a page to standard output, which a pager may close; return the exit status."""
    if sys.stdout is None:  # it is closed
        return 0
    try:
        sys.stdout.write(page)
        sys.stdout.flush()
    except OSError as error:
        with contextlib.suppress(OSError):  # or Python would flush it again
            sys.stdout.close()
        if not isinstance(error, BrokenPipeError):
            interrupts.say_error("bert-data", f"standard output: {error.strerror}")
            return 1
    return 0


def _unknown(name: str) -> str:
    if name.startswith("-"):
        return f"{name!r} is not a command; the command comes first: bert-data NAME --flag=value"
    from difflib import SequenceMatcher  # here, as few commands need it

    typed = name.lower().removesuffix(".py").replace("_", "-")
    typed = _ELSEWHERE.get(typed, typed)
    nearness = {name: SequenceMatcher(None, typed, name).ratio() for name in COMMANDS}
    best = max(nearness.values())
    close = [each for each in nearness if nearness[each] == best]
    hint = f"; did you mean {' or '.join(close)}?" if best >= _LEAST_NEARNESS else ""
    return f"{name!r} is not a command{hint}"


def _page() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(
        [
            "usage: bert-data COMMAND --flag=value ...",
            "",
            "From text to pretraining data for BERT-like models, and to a trained model.",
            "",
            *lines,
            "",
            "bert-data COMMAND --help shows what a command does, its flags, and examples.\n",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
