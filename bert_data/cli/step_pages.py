"""The output of --list_steps and --explain: the steps, their parameters, examples."""

import dataclasses
import inspect
import json
import math
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from bert_data.checks import did_you_mean
from bert_data.curation.own_steps import installed_steps
from bert_data.curation.running.presets import PRESETS, SOURCES
from bert_data.curation.step import CorpusStep, Step, find_step, steps_by_name
from bert_data.declarations import attribute_texts

_WIDTH = 96
_DATA_SETS = "data_sets"
_ATTRIBUTES = re.compile(r"^Attributes:\n(?: .*(?:\n|\Z)|\n)*", re.MULTILINE)


def list_steps() -> str:
    """Return one line per step, and the presets."""
    steps = steps_by_name()
    wide = max(map(len, steps), default=0)
    lines = ["steps:", *(f"  {name:<{wide}}  {_first_line(step)}" for name, step in steps.items())]
    lines += [f"  {name}  {where}, installed" for name, where in installed_steps().items()]
    lines.append("presets:")
    wide = max(map(len, PRESETS))
    for preset in PRESETS:
        chains = {
            source: ", ".join(name for name, _ in entries) or "no steps"
            for source, entries in _entries_by_source(preset).items()
        }
        lines.append(f"  {preset:<{wide}}  {chains.pop('', 'for data sets of these names:')}")
        lines += [f"  {'':<{wide}}  {source}: {names}" for source, names in chains.items()]
    lines.append(
        "--explain=NAME describes a step or a preset."
        " A step of your own is named module.Class (docs/python.md)."
    )
    return "\n".join(lines)


def _entries_by_source(preset: str) -> dict[str, list[tuple[str, Mapping[str, Any]]]]:
    """Return the steps of a preset for each of its sources; "" if it has none."""
    if preset not in SOURCES:
        return {"": list(PRESETS[preset])}
    grouped: dict[str, list[tuple[str, Mapping[str, Any]]]] = {s: [] for s in SOURCES[preset]}
    for name, parameters in PRESETS[preset]:
        others = {key: value for key, value in parameters.items() if key != _DATA_SETS}
        for source in parameters[_DATA_SETS]:
            grouped[source].append((name, others))
    return grouped


def explain_step(name: str) -> str:
    """Return what a step does, its parameters with their defaults, and examples.

    Of a preset, return its steps with the parameters that are not their defaults, and where there
    are sources, for each of these; of a name that is both, the step first.
    """
    lines: list[str] = []
    try:
        lines += _explain(name, find_step(name))
    except ValueError as error:
        if name not in PRESETS:
            presets = f"; the presets are {', '.join(PRESETS)}{did_you_mean(name, PRESETS)}"
            raise ValueError(f"{error}{presets if '.' not in name else ''}") from None
    if name in PRESETS:
        lines += [*([""] if lines else []), *_explain_preset(name)]
    return "\n".join(lines)


def _explain_preset(preset: str) -> Iterator[str]:
    """Yield the steps of a preset, as a pipeline file would have them."""
    yield f"preset {preset}:"
    for source, entries in _entries_by_source(preset).items():
        indent = "  "
        if source:
            yield f"  data sets of {source}:" if entries else f"  data sets of {source}: no steps"
            indent *= 2
        for name, parameters in entries:
            shown = f": {_as_yaml(parameters)}" if parameters else ""
            yield textwrap.fill(
                f"- {name}{shown}",
                _WIDTH,
                initial_indent=indent,
                subsequent_indent=f"{indent}    ",
                break_long_words=False,
                break_on_hyphens=False,
            )


def _explain(name: str, step: type[Step]) -> Iterator[str]:
    needs_all = issubclass(step, CorpusStep)
    yield f"{name}: {'reads all documents, then decides' if needs_all else 'judges each document'}"
    yield ""
    described = _ATTRIBUTES.sub("", inspect.cleandoc(step.__doc__ or ""))
    yield textwrap.indent(described.strip(), "  ")
    fields, texts = dataclasses.fields(step), attribute_texts(step)
    yield ""
    yield "parameters:" if fields else "parameters: none"
    for field in fields:
        yield f"  {field.name} = {_default(field)}"
        if text := texts.get(field.name):
            yield textwrap.indent(textwrap.fill(text, _WIDTH - 6), "      ")
    if step.step_examples:
        with_parameters = (
            f" with {_as_yaml(dict(step.example_parameters))}" if step.example_parameters else ""
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
        return _as_yaml(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return _as_yaml(field.default_factory())
    return "(required)"


def _as_yaml(value: Any) -> str:
    """Return a value as a pipeline file would have it."""
    return ".inf" if value == math.inf else json.dumps(value, ensure_ascii=False, default=str)


def _first_line(step: type[Step]) -> str:
    return inspect.cleandoc(step.__doc__ or "").split("\n")[0]


def _shown(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 4]}...'"
