"""The flags that say how a command shows what it found: in the terminal, as JSON, or on a page.

output_section("Write the plan as JSON.")
plan = show_result("Batches of train@2", reads, lambda: plan_set(config), show_plan, as_json)
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from absl import flags

from bert_data.cli.settings_flags import Section, flag

if TYPE_CHECKING:
    from bert_data.inspection.content import Output

FLAGS = flags.FLAGS

_Result = TypeVar("_Result")


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
    show: "Callable[[Output, _Result], object]",
    as_json: Callable[[_Result], Any],
) -> _Result:
    """Find something, show it as the flags say, and return it.

    Args:
      reads: files that are read, which the page must not replace.
      find: finds it, once it is known that the page can be written.
      show: shows it on a page or in the terminal.
      as_json: returns it as values of JSON; those of an iterator become JSON Lines.
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
