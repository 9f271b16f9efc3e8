"""Trace a document through a run of curation: what each step decided of it, and what it changed.

Rejected documents are in the run's ledger, by the name that the run gave them; kept ones in its
output. A document's own id is looked for in the output, among the rejected documents if they were
written, and in the input, where it is still there.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Sequence, Set
from typing import Any, NamedTuple, NotRequired, TypedDict

from absl import logging

from bert_data.curation.running.ledger import OUTCOME_KEPT, OUTCOME_REJECTED
from bert_data.curation.running.output_files import output_paths
from bert_data.errors import CorruptDataError
from bert_data.inspection.configs import TraceConfig
from bert_data.inspection.sources.opening import expand_names
from bert_data.inspection.sources.shard_items import parquet_of
from bert_data.storage import (
    absolute_path,
    common_folder,
    escape,
    exists,
    glob,
    is_remote,
    read_json,
)
from bert_data.text.documents import SKIP, TextConfig, TextDocument
from bert_data.text.formats import read_documents

_READING = TextConfig(keep_fields=True, on_error=SKIP, encoding_errors="replace")


class _DataSet(TypedDict):
    name: str
    files: list[str]


class _Step(TypedDict):
    step: str
    parameters: dict[str, Any]


class _Named(TypedDict):
    name: str


class _Input(TypedDict):
    id_field: str | None


class _RunSettings(TypedDict):
    inputs: list[_Input]


class _RunSummary(TypedDict):
    data_sets: list[_DataSet]
    settings: NotRequired[_RunSettings]
    steps: list[_Step]
    files: list[_Named]
    ledger: _Named
    rejected_file: NotRequired[str]


class Measure(NamedTuple):
    """A rule of a step, and what it measured."""

    rule: str
    value: float | str | None
    threshold: float | str | None
    failed: bool


class Decision(NamedTuple):
    """Decision of a step.

    Attributes:
      num_bytes: of the text when it reached the step; None: not in the ledger.
      measures: those in the ledger, which has a kept document's with `ledger=all` alone.
    """

    step: str
    outcome: str
    num_bytes: int | None
    measures: list[Measure]


@dataclasses.dataclass(kw_only=True)
class CuratedDocument:
    """A document of a run of curation.

    Attributes:
      name: in the ledger.
      id: its own; None: it has none, or it is not known.
      written: FILE:ROW of the output, one for each copy; it is not known of lines of text.
      num_bytes: of the text in the output.
      num_bytes_read: of the text in the input; None: the input is not there.
      new_fields: of the output that the input has not, with values.
    """

    name: str
    id: str | None = None
    source: str | None = None
    outcome: str = OUTCOME_KEPT
    written: list[str] = dataclasses.field(default_factory=list)
    decisions: list[Decision] = dataclasses.field(default_factory=list)
    num_bytes: int | None = None
    num_bytes_read: int | None = None
    new_fields: dict[str, Any] = dataclasses.field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        told = dataclasses.asdict(self)
        told["decisions"] = [
            each._asdict() | {"measures": [m._asdict() for m in each.measures]}
            for each in self.decisions
        ]
        return told


class CuratedSet:
    """The output of a run of curation, its ledger and its summary."""

    def __init__(self, names: str, summary: str, told: _RunSummary) -> None:
        self.names, self._told, self._folder = names, told, os.path.dirname(summary)
        inputs = told["settings"]["inputs"] if "settings" in told else ()
        self._id_fields = [each["id_field"] for each in inputs] or [None] * len(told["data_sets"])
        self._has_ids = False  # the output, unless it is lines of text

    def _beside(self, specification: str) -> list[str]:
        return output_paths(os.path.join(self._folder, specification))[1]

    def trace(self, config: TraceConfig) -> list[CuratedDocument]:
        """Find documents, and what each step decided of them."""
        if config.text is not None:
            raise ValueError("`text` finds documents of token stores and records; use `document`")
        wanted = set(config.ids()) or {str(config.row)}
        found: dict[str, CuratedDocument] = {}
        is_row = config.row is not None
        if is_row and any(self._id_fields):  # names do not say rows
            row = f"/{config.row}"
            wanted |= {name for place, name, _ in self._input_rows() if place.endswith(row)}
        self._find_kept(wanted, found, is_row=is_row)
        names = wanted | found.keys()
        if is_row:
            names |= {f"{each['name']}/{config.row}" for each in self._told["data_sets"]}
        else:
            names |= self._names_of_others(wanted, found)
        self._read_ledger(names, found)
        if not found:
            raise ValueError(
                f"{config.sought} is {getattr(config, config.sought)!r}; neither the documents of"
                f" {self.names} nor the run's ledger, input and rejected documents have it, as far"
                " as they are there"
            )
        for document in found.values():
            self._add_steps(document)
            if document.written:
                self._compare_with_input(document)
        known = found.keys() | {each.id for each in found.values()}
        missing = sorted(set(config.ids()) - known)
        if missing:
            others = f" and {len(missing) - 1:,} more" if missing[1:] else ""
            logging.warning("%s is no document of the run%s", missing[0], others)
        return [found[name] for name in sorted(found)]

    def _find_kept(
        self, wanted: Set[str], found: dict[str, CuratedDocument], *, is_row: bool
    ) -> None:
        for file in self._told["files"]:
            path = os.path.join(self._folder, file["name"])
            for row in _rows([path]):
                if row.fields is None:
                    return
                self._has_ids, fields, own = True, dict(row.fields), row.fields.get("id")
                name = str(fields.get("input_row") or own)
                has_it = name.endswith(tuple(f"/{each}" for each in wanted)) if is_row else False
                if has_it or name in wanted or str(own) in wanted:
                    document = found.setdefault(name, CuratedDocument(name=name))
                    document.id = None if str(own) == name else str(own)
                    document.source = fields.get("source")
                    document.written.append(f"{file['name']}:{row.row}")
                    document.num_bytes = len(row.whole_text.encode())
                    document.new_fields = fields

    def _names_of_others(self, wanted: Set[str], found: dict[str, CuratedDocument]) -> set[str]:
        """Return the names of documents with some ids of their own that may have been rejected."""
        ids: dict[str, str] = {}
        if "rejected_file" in self._told:
            for row in _rows([p for p in self._beside(self._told["rejected_file"]) if exists(p)]):
                fields = row.fields or {}
                own = str((fields.get("fields") or {}).get("input_id"))
                if own in wanted:
                    ids[str(fields["id"])] = own
        else:
            for _, name, row in self._input_rows():
                own = str((row.fields or {}).get("id"))
                if own in wanted:
                    ids[name] = own
        for name in ids.keys() - found.keys():
            found[name] = CuratedDocument(name=name, id=ids[name])
        return set(ids)

    def _input_rows(self, only: str | None = None) -> Iterator[tuple[str, str, TextDocument]]:
        """Yield the input's rows that are there: place, name in the run, row.

        Args:
          only: name of a document; files that cannot have it are left out.
        """
        for data_set, id_field in zip(self._told["data_sets"], self._id_fields, strict=True):
            folder = common_folder(data_set["files"])
            for path in data_set["files"]:
                file = f"{data_set['name']}/{absolute_path(path)[len(folder) + 1 :]}"
                if not exists(path) or not (
                    only is None or id_field or only.rpartition(":")[0] == file
                ):
                    continue
                for row in _rows([path]):
                    place = f"{file}:{row.row}"
                    own = (row.fields or {}).get(id_field) if id_field else None
                    yield place, place if own is None else str(own), row

    def _read_ledger(self, names: Set[str], found: dict[str, CuratedDocument]) -> None:
        import pyarrow as pa
        from pyarrow import compute

        of_ledger = pa.array(sorted(names), pa.string())
        for path in self._beside(self._told["ledger"]["name"]):
            with parquet_of(path) as file:
                for batch in file.iter_batches():
                    own = batch.filter(compute.is_in(batch.column("document"), of_ledger))
                    for row in own.to_pylist():
                        name = row["document"]
                        document = found.setdefault(name, CuratedDocument(name=name))
                        document.source = row["source"]
                        _add_measure(document, row)
        of_others = [n for n, each in found.items() if not (each.written or each.decisions)]
        for name in of_others if self._has_ids else ():
            del found[name]  # of the input, but of neither output nor ledger

    def _add_steps(self, document: CuratedDocument) -> None:
        """Add the steps that judged a document without a row in the ledger."""
        known = {each.step: each for each in document.decisions}
        steps: list[Decision] = []
        read: _Step = {"step": "read", "parameters": {}}
        for each in (read, *self._told["steps"]):
            label, judged = each["step"], each["parameters"].get("data_sets")
            if label in known:
                steps.append(known[label])
            elif not judged or document.source in judged:
                steps.append(Decision(label, OUTCOME_KEPT, None, []))
            if steps and steps[-1].outcome == OUTCOME_REJECTED:
                document.outcome = OUTCOME_REJECTED
                break
        document.decisions = steps

    def _compare_with_input(self, document: CuratedDocument) -> None:
        """Note what the steps changed of a document that is written, if its row is still there."""
        fields, document.new_fields = document.new_fields, {}
        for _, name, row in self._input_rows(only=document.name):
            if name == document.name:
                document.num_bytes_read = len(row.whole_text.encode())
                had = {"id", "source", "input_row", *(row.fields or {})}
                had |= {f"input_{each}" for each in had}
                document.new_fields = {k: v for k, v in fields.items() if k not in had}
                return


def _add_measure(document: CuratedDocument, row: dict[str, Any]) -> None:
    if not document.decisions or document.decisions[-1].step != row["step"]:
        document.decisions.append(Decision(row["step"], row["outcome"], row["num_bytes"], []))
    value = row["value"] if row["value_text"] is None else row["value_text"]
    threshold = row["threshold"] if row["threshold_text"] is None else row["threshold_text"]
    document.decisions[-1].measures.append(
        Measure(row["rule"], value, threshold, bool(row["failed"]))
    )


def _rows(paths: Sequence[str]) -> Iterator[TextDocument]:
    for block in read_documents(paths, _READING) if paths else ():
        yield from block.documents


def open_curated(names: str) -> CuratedSet | None:
    """Open the output of a run of curation; None: no summary beside the files lists them."""
    paths = expand_names(names)
    folder = os.path.dirname(paths[0])
    if is_remote(paths[0]):
        return None
    for summary in glob(os.path.join(escape(folder), "curation.*.json")):
        with contextlib.suppress(CorruptDataError):
            told = read_json(summary, _RunSummary)
            if os.path.basename(paths[0]) in {each["name"] for each in told["files"]}:
                return CuratedSet(names, summary, told)
    return None
