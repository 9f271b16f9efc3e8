"""The output of --list_steps and --explain: the steps, their parameters, examples."""

import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

from bert_data.curation.own_steps import installed_steps
from bert_data.curation.running.presets import PRESETS
from bert_data.curation.step import CorpusStep, Step, find_step, steps_by_name

_WIDTH = 96


def list_steps() -> str:
    """Return one line per step, and the presets."""
    steps = steps_by_name()
    wide = max(map(len, steps), default=0)
    lines = ["steps:", *(f"  {name:<{wide}}  {_first_line(step)}" for name, step in steps.items())]
    lines += [f"  {name}  {where}, installed" for name, where in installed_steps().items()]
    lines.append("presets:")
    wide = max(map(len, PRESETS))
    for preset, entries in PRESETS.items():
        names = ", ".join(name for name, _ in entries)
        lines.append(f"  {preset:<{wide}}  {names}")
    lines.append(
        "--explain=STEP tells more of one. A step of your own is module.Class (docs/python.md)."
    )
    return "\n".join(lines)


def explain_step(name: str) -> str:
    """Return what a step does, its parameters with their defaults, and examples.

    Raises:
      ValueError: the step is unknown.
    """
    return "\n".join(_explain(name, find_step(name)))


def _explain(name: str, step: type[Step]) -> Iterator[str]:
    yield f"{name}: {'looks at all documents' if issubclass(step, CorpusStep) else 'a document'}"
    yield ""
    yield textwrap.indent(inspect.cleandoc(step.__doc__ or ""), "  ")
    fields = dataclasses.fields(step)
    yield ""
    yield "parameters:" if fields else "parameters: none"
    for field in fields:
        yield f"  {field.name} = {_default(field)}"
    if step.step_examples:
        with_parameters = (
            f" with {dict(step.example_parameters)}" if step.example_parameters else ""
        )
        yield ""
        yield f"examples{with_parameters}:"
    for text, kept in step.step_examples:
        yield f"  {_shown(text)}"
        if kept is None:
            yield "    -> rejected"
        else:
            yield "    -> kept" if kept == text else f"    -> {_shown(kept)}"


def _default(field: "dataclasses.Field[Any]") -> str:
    if field.default is not dataclasses.MISSING:
        return repr(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return repr(field.default_factory())
    return "(required)"


def _first_line(step: type[Step]) -> str:
    return inspect.cleandoc(step.__doc__ or "").split("\n")[0]


def _shown(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 4]}...'"
