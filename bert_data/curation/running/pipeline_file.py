r"""Pipelines as users write them: a YAML file, or flags.

    inputs:                                      --input_file=wiki=wiki.jsonl,web=crawl/*.warc.gz
      - {name: wiki, files: wiki.jsonl}
      - {name: web, files: [crawl/*.warc.gz]}
    steps:                                       --steps=extract --steps=gopher_quality:min_words=30
      - extract
      - gopher_quality: {min_words: 30}
    output: {files: corpus.jsonl@4}              --output_file=corpus.jsonl@4

An unknown key, step or parameter is an error.
"""

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from string import whitespace
from typing import Annotated, Any

from bert_data.curation.own_steps import check_allowed
from bert_data.curation.parameters import Names
from bert_data.curation.running.pipeline import DataSet
from bert_data.curation.running.pipeline_settings import Output, store_settings
from bert_data.curation.running.presets import preset_steps
from bert_data.curation.step import Step, make_step
from bert_data.errors import named_in_errors
from bert_data.settings import AUTO, NotEmpty
from bert_data.storage import expand_inputs, read_bytes, split_names
from bert_data.text.text_config import DEFAULT_LANGUAGE, TextConfig
from bert_data.tokens.store_config import StoreSettings
from bert_data.yaml_files import load_yaml, read_record

_STEP = re.compile(r"(?P<name>[\w.]+)(?::(?P<parameters>.*))?", re.DOTALL)
# A value in quotes, as YAML has them, or a character.
_TOKEN = re.compile(
    r"""(?<=[=\[{,:\s])(?:"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+')(?=[]},:\s]|\Z)|.""", re.DOTALL
)


def parse_step_flags(values: Iterable[str]) -> list[Any]:
    """Parse the flag --steps to entries, as `parse_steps` takes them.

    ["repair gopher_quality:min_words=30,max_words=9000"]
      ->  [{"repair": {}}, {"gopher_quality": {"min_words": 30, "max_words": 9000}}]
    """
    entries: list[Any] = []
    for value in values:
        for word in filter(None, _split(value, whitespace)):
            match = _STEP.fullmatch(word)
            if not match:
                raise ValueError(
                    f"step {word!r} is not of the form NAME or NAME:PARAMETER=VALUE,...; a space"
                    " separates steps"
                )
            entries.append({match["name"]: _parameters(word, match["parameters"])})
    return entries


def _parameters(word: str, text: str | None) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for part in _split(text, ",") if text else []:
        name, sign, value = part.partition("=")
        if not sign or not name:
            raise ValueError(f"step {word!r}: {part!r} is not of the form PARAMETER=VALUE")
        if name in parameters:
            raise ValueError(f"step {word!r} has the parameter {name!r} twice")
        try:
            parameters[name] = load_yaml(value)
        except ValueError as error:
            raise ValueError(f"step {word!r:.60}: {value!r:.60}: {error}") from None
    return parameters


def _split(text: str, separators: str) -> list[str]:
    """Split a text at characters that are neither in brackets nor in quotes."""
    parts, depth = [""], 0
    for token in _TOKEN.findall(text):
        depth += (token in "[{") - (token in "]}")
        if token in separators and depth <= 0:
            parts.append("")
        else:
            parts[-1] += token
    return parts


DEFAULT_NAME = "input"
_MIX = "mix"
_NAMED = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9_.+-]*)=(?P<pattern>.*)", re.DOTALL)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Input:
    files: Names
    name: str | None = None
    format: str | None = None
    text_field: str | None = None
    text_template: str | None = None
    rows: str | None = None
    document_end: str | None = None
    templates_file: str | None = None
    id_field: str | None = None
    weight: float | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Output(StoreSettings):
    """The value of `output`; with the format store, what stores hold, too."""

    files: Names
    format: str = AUTO
    split_sentences: bool = False
    language: str = DEFAULT_LANGUAGE
    rejected_file: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Keys:
    inputs: tuple[_Input | str, ...] = ()
    preset: str | None = None
    sources: Mapping[str, str | None] | None = None
    parameters: Mapping[str, Mapping[str, Any]] | None = None
    steps: Annotated[tuple[Any, ...], NotEmpty()] = ()
    output: _Output | str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class PipelineFile:
    """Contents of a YAML file; what it leaves out is None or empty."""

    data_sets: tuple[DataSet, ...] = ()
    steps: tuple[Step, ...] = ()
    output: Output | None = None


def read_pipeline_file(
    path: str, text: TextConfig, id_field: str | None = None, allow_steps_from: Collection[str] = ()
) -> PipelineFile:
    """Read a YAML file.

    Args:
      text: how to read data sets whose entries do not say otherwise.
      allow_steps_from: modules and packages whose steps the file may name as "module.Class".
    """
    with named_in_errors(path), read_record(_Keys, read_bytes(path)) as (keys, _):
        inputs = [_Input(files=(e,)) if isinstance(e, str) else e for e in keys.inputs]
        data_sets = tuple(
            _data_set(n, each, text, id_field, is_alone=len(inputs) == 1)
            for n, each in enumerate(inputs, 1)
        )
        entries = [*map(_name_and_parameters, keys.steps)]
        for name, _ in entries:
            check_allowed(name, allow_steps_from)
        steps = (make_step(*entry) for entry in _with_weights(entries, data_sets))
        return PipelineFile(
            data_sets=data_sets,
            steps=(*_preset(keys, data_sets), *steps),
            output=None if keys.output is None else _output(keys.output),
        )


def _preset(keys: _Keys, data_sets: Sequence[DataSet]) -> list[Step]:
    if keys.preset is None:
        for key in ("sources", "parameters"):
            if getattr(keys, key) is not None:
                raise ValueError(f"{key} is for a preset, and there is none")
        return []
    names = [each.name for each in data_sets]
    return preset_steps(keys.preset, names, sources=keys.sources, parameters=keys.parameters)


_Entry = tuple[str, dict[str, Any]]


def parse_steps(entries: Sequence[Any]) -> list[Step]:
    """Return the steps of entries, each a name or {name: parameters}."""
    return [make_step(*_name_and_parameters(entry)) for entry in entries]


def _name_and_parameters(entry: Any) -> _Entry:
    if isinstance(entry, str):
        return entry, {}
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise ValueError(f"step {entry!r:.60} is neither a name nor `name: {{parameters}}`")
    name, parameters = next(iter(entry.items()))
    if not (parameters is None or isinstance(parameters, Mapping)):
        raise ValueError(
            f"step {name}: its parameters are {parameters!r:.60}; it must be a mapping"
        )
    return str(name), {str(key): value for key, value in (parameters or {}).items()}


def _with_weights(entries: Sequence[_Entry], data_sets: Sequence[DataSet]) -> list[_Entry]:
    """Return entries with the weights of the inputs, if they have any, as those of `mix`."""
    weights = {each.name: each.weight for each in data_sets if each.weight is not None}
    if not weights:
        return list(entries)
    mixes = [parameters for name, parameters in entries if name == _MIX]
    if any({"weights", "epochs"} & parameters.keys() for parameters in mixes):
        raise ValueError(f"the inputs and step {_MIX} both have weights; give them in one place")
    if len(mixes) != 1:
        raise ValueError(f"weights of inputs need exactly one step {_MIX}; there are {len(mixes)}")
    return [
        (name, {**parameters, "weights": weights} if name == _MIX else parameters)
        for name, parameters in entries
    ]


def parse_inputs(entries: Iterable[str], text: TextConfig, id_field: str | None) -> list[DataSet]:
    """Parse the flag --input_file: `NAME=pattern,pattern,NAME=pattern`, or patterns alone.

    An entry that is the name of a file does not begin a data set.
    """
    patterns: dict[str, list[str]] = {}
    name = DEFAULT_NAME
    for entry in split_names(",".join(entries)):
        match = _NAMED.fullmatch(entry)
        pattern = entry
        if match and not _is_file(entry):
            name, pattern = match["name"], match["pattern"]
        patterns.setdefault(name, []).append(pattern)
    return [
        DataSet(name=name, files=",".join(each), text=text, id_field=id_field)
        for name, each in patterns.items()
    ]


def _is_file(pattern: str) -> bool:
    try:
        return bool(expand_inputs(pattern))
    except (ValueError, OSError):
        return False


def _data_set(
    number: int, entry: _Input, text: TextConfig, id_field: str | None, *, is_alone: bool
) -> DataSet:
    if entry.name is None and not is_alone:
        raise ValueError(f"input {number} has no name; each of several inputs needs one")
    changes: dict[str, Any] = {
        "input_format": entry.format,
        "text_field": entry.text_field,
        "text_template": entry.text_template,
        "rows": entry.rows,
        "document_end": entry.document_end,
        "templates_file": entry.templates_file,
    }
    with named_in_errors(f"input {number}"):
        return DataSet(
            name=DEFAULT_NAME if entry.name is None else entry.name,
            files=",".join(entry.files),
            text=dataclasses.replace(text, **{k: v for k, v in changes.items() if v is not None}),
            id_field=id_field if entry.id_field is None else entry.id_field,
            weight=entry.weight,
        )


def _output(keys: _Output | str) -> Output:
    if isinstance(keys, str):
        return Output(files=keys)
    of_stores = {each.name: getattr(keys, each.name) for each in dataclasses.fields(StoreSettings)}
    with named_in_errors("output"):
        return Output(
            files=",".join(keys.files),
            output_format=keys.format,
            split_sentences=keys.split_sentences,
            language=keys.language,
            rejected_file=keys.rejected_file,
            store=store_settings(keys.format, of_stores),
        )
