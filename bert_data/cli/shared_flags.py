"""Flags that several commands share: how text is read, the tokenizer, the engine, what is shown."""

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from absl import flags, logging

from bert_data.cli.settings_flags import Section, flag, settings
from bert_data.settings import REQUIRED, Setting, settings_of
from bert_data.text.formats import text_format_names
from bert_data.text.text_config import TextConfig
from bert_data.tokens.tokenizer_config import TokenizingConfig
from bert_data.work import ENGINE_SETTINGS, ENGINES, THIS_MACHINE, Engine, make_engine

if TYPE_CHECKING:
    from bert_data.inspection.terminal import Terminal

FLAGS = flags.FLAGS

RECORDS = flag(
    "input_file", REQUIRED, "Shards: files, folders, patterns or set@N, separated by commas."
)
TOKENIZER_FILE = flag(
    "tokenizer_file",
    None,
    "A tokenizer in place of `vocab_file`: a tokenizer.json, a Hugging Face folder that contains"
    " it, a .model or a .tiktoken file.",
)

_Result = TypeVar("_Result")


def text_section(
    more_formats: Sequence[str] = (), changes: Mapping[str, Mapping[str, Any]] | None = None
) -> Section:
    """Return the flags that say what text is like; `more_formats` are values of --input_format."""
    formats = {"input_format": {"choices": (*text_format_names(), *more_formats)}}
    names = (
        "input_format text_field text_template rows language document_end templates_file on_error"
        " encoding_errors"
    )
    return Section(
        "reading text", settings(TextConfig, names, changes={**formats, **(changes or {})})
    )


TOKENIZER = Section(
    "the tokenizer",
    settings(TokenizingConfig, "tokenizer_file special_tokens_in_text tokenizer_backend words"),
)


def _engine_settings() -> tuple[Setting, ...]:
    return tuple(
        dataclasses.replace(
            settings_of(engine)[name],
            help=f"with `engine={engine.name}`: {settings_of(engine)[name].help}",
        )
        for name, engine in ENGINE_SETTINGS.items()
    )


ENGINE = Section(
    "where it runs",
    (
        flag(
            "engine",
            THIS_MACHINE.name,
            "What runs the tasks: local, processes of this machine; ray, a Ray cluster; slurm, job"
            " arrays of a Slurm cluster. All nodes must see the input and the output under the same"
            " paths. The output does not depend on it. On a cluster, `num_workers` is the number of"
            " tasks at a time (in each job array), each on one core; 0, and commands without that"
            " flag, use the whole cluster, including nodes that join later.",
            choices=tuple(ENGINES),
        ),
        *_engine_settings(),
    ),
)


def engine_of_flags() -> Engine:
    """Return the engine that the flags name."""
    return make_engine(FLAGS.engine, **{name: FLAGS[name].value for name in ENGINE_SETTINGS})


def model_settings() -> tuple[Setting, ...]:
    """Return the flags that name a trained model: weights, sizes and vocabulary."""
    from bert_data.hub.export_config import TrainedModel
    from bert_data.training.bert_config import BertConfig

    beside = " By default, the bert_config.json or config.json beside the weights."
    changes = {"bert_config_file": {"help": BertConfig.describe_file() + beside}}
    return settings(TrainedModel, changes=changes)


def refuse_with_recipe(names: str) -> None:
    """Refuse flags, named and separated by spaces, of what a recipe says itself."""
    for name in names.split():
        if FLAGS[name].present:
            raise ValueError(f"`{name}` is set, and so is `recipe`, which says it itself")


def one_vocabulary(vocab_file: str | None, tokenizer_file: str | None) -> str | None:
    """Return the one of two flags that is set, for what reads a file of either kind."""
    if vocab_file and tokenizer_file:
        raise ValueError("`vocab_file` and `tokenizer_file` are both set; choose one")
    return vocab_file or tokenizer_file


def output_section(json_help: str) -> Section:
    """Return --json, --html and --overwrite."""
    return Section(
        "how it is shown",
        (
            flag("json", False, json_help),
            flag("html", None, "Write what the terminal shows to this file, as HTML."),
            flag("overwrite", False, "With `html`: replace the file.", only_with="html"),
        ),
        one_of=("json", "html"),
    )


def show_result(
    title: str,
    reads: Sequence[str],
    find: Callable[[], _Result],
    show: "Callable[[Terminal, _Result], object]",
    as_json: Callable[[_Result], Any],
) -> _Result:
    """Find something, show it as the flags say, and return it.

    Args:
      reads: files that are read, which the page must not replace.
      find: is called once it is known that the page can be written.
      as_json: returns values of JSON; those of an iterator become JSON Lines.
    """
    import json

    from bert_data.inspection.terminal import Terminal, open_page

    if FLAGS.html is not None:
        with open_page(FLAGS.html, title, reads=reads, overwrite=FLAGS.overwrite) as page:
            result = find()
            show(page, result)
        logging.info("wrote %s", FLAGS.html)
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
