"""The flags that say how a command shows what it found: in the terminal, as JSON, or on a page.

output = define_output_flags("Write the plan as JSON.")
plan = output("Batches of train@2", reads, lambda: plan_set(config), show_plan, SetPlan.as_json)
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from absl import flags

if TYPE_CHECKING:
    from bert_data.inspection.content import Output

GROUP = "how it is shown"  # the title of these flags in --help

_Result = TypeVar("_Result")


class ShowFunction(Protocol):
    """A function that shows what a command finds, as the flags say."""

    def __call__(
        self,
        title: str,
        reads: Sequence[str],
        find: Callable[[], _Result],
        show: "Callable[[Output, _Result], object]",
        as_json: Callable[[_Result], Any],
    ) -> _Result:
        """Find something, show it, and return it.

        Args:
          title: of the page.
          reads: files that are read, which the page must not replace.
          find: finds it, once it is known that the page can be written.
          show: shows it on a page or in the terminal.
          as_json: returns it as values of JSON; those of an iterator become JSON Lines.
        """


def define_output_flags(json_help: str) -> ShowFunction:
    """Define --json, --html and --overwrite; return what shows as they say."""
    as_rows = flags.DEFINE_bool("json", False, json_help)
    html = flags.DEFINE_string("html", None, "Write a self-contained page to this file instead.")
    overwrite = flags.DEFINE_bool("overwrite", False, "Replace the file of --html.")
    flags.register_multi_flags_validator(
        ["json", "html"],
        lambda values: not (values["json"] and values["html"]),
        message="--json and --html are both set; choose one",
    )

    def output(
        title: str,
        reads: Sequence[str],
        find: Callable[[], _Result],
        show: "Callable[[Output, _Result], object]",
        as_json: Callable[[_Result], Any],
    ) -> _Result:
        # Imported here so that --help and a mistyped flag are answered at once.
        from bert_data.inspection.page import open_page
        from bert_data.inspection.terminal import Terminal

        if html.value is None:
            result = find()
            if as_rows.value:
                values = as_json(result)
                for row in values if isinstance(values, Iterator) else ():
                    sys.stdout.write(json.dumps(row) + "\n")
                if not isinstance(values, Iterator):
                    sys.stdout.write(json.dumps(values, indent=1) + "\n")
            else:
                show(Terminal(sys.stdout), result)
            return result
        with open_page(html.value, title, reads=reads, overwrite=overwrite.value) as page:
            result = find()
            show(page, result)
        return result

    return output
