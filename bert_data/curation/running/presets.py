"""Pipelines as published: their steps, in their order, with their parameters.

`presets.yaml` has them. They leave out what a publication did by hand, with a service, or with
lists that it did not publish (SafeSearch, its own lists of domains); the steps' parameters take
such lists.

The preset of a publication with several sources (`SOURCES`) names these as its steps' `data_sets`;
a data set is of the source that has its name, or that a user says it is of. A step whose files the
user must give (a model) is left out without them.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from absl import logging

from bert_data.checks import did_you_mean
from bert_data.curation.step import Step, find_step, make_step, missing_parameters
from bert_data.storage import read_bytes
from bert_data.yaml_files import load_yaml

SOURCES: Mapping[str, Sequence[str]] = {
    "llama": ("commoncrawl", "c4", "github", "wikipedia", "books", "arxiv", "stackexchange"),
}
"""The sources of presets whose steps are for one source each."""

Entries = Sequence[tuple[str, Mapping[str, Any]]]


def _entries(steps: Sequence[str | Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for each in steps:
        yield from [(each, {})] if isinstance(each, str) else each.items()


_FILE = Path(__file__).with_suffix(".yaml")
PRESETS: Mapping[str, Entries] = {
    name: tuple(_entries(steps)) for name, steps in load_yaml(read_bytes(_FILE)).items()
}


def preset_steps(
    name: str,
    data_sets: Sequence[str] = (),
    *,
    sources: Mapping[str, str | None] | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Step]:
    """Return the steps of a preset.

    Args:
      sources: which source of the preset a data set is of, by its name, None for one that the
        preset leaves alone; others are of the source of their own name.
      parameters: of steps, by their names, besides those of the preset or in their place; of the
        step for one source, where a preset has several of a name, by "source.step".
    """
    if not isinstance(name, str) or name not in PRESETS:
        hint = did_you_mean(str(name), PRESETS)
        raise ValueError(f"there is no preset {name!r:.60}{hint}; there are {', '.join(PRESETS)}")
    parameters = parameters or {}
    names = {key: None for step, published in PRESETS[name] for key in _keys(step, published)}
    for step, values in parameters.items():
        if step not in names:
            raise ValueError(
                f"parameters are for {step!r}{did_you_mean(step, names)}; the steps of preset"
                f" {name} are {', '.join(names)}"
            )
        if name in SOURCES and "data_sets" in values:
            raise ValueError(
                f"parameters of {step} have data_sets; preset {name} takes them from sources"
            )
    of_source = _data_sets_by_source(name, data_sets, sources or {})
    steps = []
    for step, published in PRESETS[name]:
        values = dict(published)
        for key in _keys(step, published):
            values |= parameters.get(key, {})
        if name in SOURCES:
            values["data_sets"] = [each for s in published["data_sets"] for each in of_source[s]]
            if not values["data_sets"]:
                continue
        missing = missing_parameters(find_step(step), values)
        if missing:
            logging.warning(
                "preset %s: the step %s is left out, as it needs %s; set them in a pipeline file:"
                " parameters: {%s: {%s: ...}}",
                *(name, step, " and ".join(missing), step, missing[0]),
            )
            continue
        steps.append(make_step(step, values))
    return steps


def _keys(step: str, published: Mapping[str, Any]) -> list[str]:
    """Return the names by which parameters are given to a step: "c4", and "github.licence"."""
    return [step, *(f"{source}.{step}" for source in published.get("data_sets", ()))]


def _data_sets_by_source(
    preset: str, data_sets: Sequence[str], sources: Mapping[str, str | None]
) -> dict[str, list[str]]:
    if preset not in SOURCES:
        if sources:
            raise ValueError(
                f"sources are for the presets {', '.join(SOURCES)}, not for preset {preset}"
            )
        return {}
    known = ", ".join(SOURCES[preset])
    if not data_sets:
        raise ValueError(f"preset {preset} needs data sets named after its sources: {known}")
    for name in sources:
        if name not in data_sets:
            raise ValueError(f"sources has {name!r}; the data sets are {', '.join(data_sets)}")
    grouped: dict[str, list[str]] = {source: [] for source in SOURCES[preset]}
    for name in data_sets:
        source = sources.get(name, name)
        if source is None:
            continue
        if source not in grouped:
            raise ValueError(
                f"preset {preset}: data set {name} is of source {source!r}; it must be one of"
                f" {known} (in a pipeline file: sources: {{{name}: {SOURCES[preset][0]}}})"
            )
        grouped[source].append(name)
    return grouped
