"""The flags that say how what is found is shown: in a terminal, as JSON, or as a page."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from absl import flags, logging

from bert_data.cli.settings_flags import Section, flag

if TYPE_CHECKING:
    from bert_data.inspection.terminal import Terminal

FLAGS = flags.FLAGS

_Result = TypeVar("_Result")


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
    from bert_data.inspection.page import open_page
    from bert_data.inspection.terminal import Terminal

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
