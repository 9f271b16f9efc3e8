"""The flags that name a set, a store or a text to look at, and say how what is found is shown."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from absl import flags

from bert_data.cli.settings_flags import Section, flag, from_flags, settings, value_of
from bert_data.cli.shared_flags import TOKENIZER_FILE, one_vocabulary
from bert_data.inspection.configs import SampleConfig, SourceConfig
from bert_data.settings import Within
from bert_data.text.documents import TextConfig

if TYPE_CHECKING:
    from bert_data.inspection.content import Medium
    from bert_data.inspection.readable_ids import TokenNames
    from bert_data.inspection.sources.items import Source

FLAGS = flags.FLAGS

_Result = TypeVar("_Result")

MAX_TOKENS = flag(
    "max_tokens",
    1024,
    "Tokens of a text to show; `json` writes all.",
    constraint=Within(1),
)
_NAMES = "seq_length weights num_samples split split_name seed cache_dir"
_CHANGES: dict[str, dict[str, Any]] = {
    name: {"default": None, "only_with": "seq_length"} for name in _NAMES.split()
}
_CHANGES["seq_length"] = {"default": None}
_CHANGES["seed"] |= {"name": "sample_seed", "more_help": " By default 1234."}
SAMPLES = settings(SampleConfig, _NAMES, changes=_CHANGES)
"""Of the samples of stores; `seed` is that of a random choice."""

SOURCE = Section(
    "",
    (
        *settings(SourceConfig),
        flag("vocab_file", None, "The vocabulary, to show words; without it, ids are shown."),
        TOKENIZER_FILE,
        *SAMPLES,
    ),
)
"""Of a set, a store or a text."""


def open_source(
    path: str | None = None, vocabulary: str | None = None
) -> "tuple[Source, TokenNames]":
    """Open what the flags name, or other files, and the words of its vocabulary."""
    from bert_data.inspection.readable_ids import load_words
    from bert_data.inspection.sources import opening

    vocabulary = vocabulary or one_vocabulary(FLAGS.vocab_file, FLAGS.tokenizer_file)
    config = SourceConfig(
        input_file=FLAGS.input_file if path is None else path,
        text=from_flags(TextConfig, keep_fields=True),
        next_sentence=FLAGS.next_sentence,
        samples=sample_config(),
    )
    source = opening.open_source(config)
    return source, load_words(vocabulary, source.description.special_tokens)


def sample_config() -> SampleConfig | None:
    """Return what the flags say of the samples of stores; None: nothing."""
    values = {each.name: value_of(each.name) for each in SAMPLES}
    given = {name: value for name, value in values.items() if value is not None}
    if "sample_seed" in given:
        given["seed"] = given.pop("sample_seed")
    return SampleConfig(**given) if given else None


def output_section(json_help: str) -> Section:
    """Return --json, --html and --overwrite."""
    return Section(
        "how it is shown",
        (
            flag("json", False, json_help),
            flag("html", None, "Write a self-contained page to this file instead."),
            flag("overwrite", False, "Replace the file of `html`."),
        ),
        one_of=("json", "html"),
    )


def show_result(
    title: str,
    reads: Sequence[str],
    find: Callable[[], _Result],
    show: "Callable[[Medium, _Result], object]",
    as_json: Callable[[_Result], Any],
) -> _Result:
    """Find something, show it as the flags say, and return it.

    Args:
      reads: files that are read, which the page must not replace.
      find: is called once it is known that the page can be written.
      as_json: returns values of JSON; those of an iterator become JSON Lines.
    """
    from bert_data.inspection.page import open_page
    from bert_data.inspection.terminal import Terminal

    if FLAGS.html is not None:
        with open_page(FLAGS.html, title, reads=reads, overwrite=FLAGS.overwrite) as page:
            result = find()
            show(page, result)
        return result
    result = find()
    if not FLAGS.json:
        show(Terminal(sys.stdout), result)
        return result
    values = as_json(result)
    if isinstance(values, Iterator):
        for row in values:
            sys.stdout.write(json.dumps(row) + "\n")
    else:
        sys.stdout.write(json.dumps(values, indent=1) + "\n")
    return result
