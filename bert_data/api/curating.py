"""Curate documents: keep those worth training on, and say why others are rejected.

curate(["Hi.", "The miller went ..."], steps=["gopher_quality:min_words=5"])
->  kept      [KeptDocument(index=1, text="The miller went ...")]
rejected  [RejectedDocument(index=0, rule="min_words", value=1.0, threshold=5.0, ...)]
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bert_data.api.documents import Documents, as_files
from bert_data.api.python_errors import with_python_errors
from bert_data.api.text import Path
from bert_data.curation import PACKAGES
from bert_data.packages import load_package
from bert_data.plain_values import plain
from bert_data.storage import scratch_folder

if TYPE_CHECKING:
    from bert_data.api.curation_run import StepEntry

if TYPE_CHECKING:
    pass


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeptDocument:
    """A document that all steps kept.

    Attributes:
      index: its place among the documents, from 0; None if they came from files.
      id: of its file and row.
      text: as the steps leave it.
      fields: of its row, and those that steps add, such as its language.
    """

    index: int | None
    id: str
    text: str
    fields: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RejectedDocument:
    """A document that a step rejected.

    Attributes:
      index, id: see `KeptDocument`.
      text: as it reached the step; None if it could not be read, or was empty.
      step: that rejected it; "read" for reading.
      rule: that it failed first.
      value: its measure.
      threshold: that the rule compares with.
      measured: everything that the step measured, by rule.
    """

    index: int | None
    id: str
    text: str | None
    step: str
    rule: str
    value: float | str
    threshold: float | str
    measured: Mapping[str, float | str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Curated:
    """The result of `curate`.

    Attributes:
      num_documents, num_kept, num_rejected: numbers of documents.
      kept, rejected: the documents in their order, if they were not written to files.
      files: that were written, if an output_file was named.
      ledger: file with all measures of rejected documents, path@N for N files, or None.
      ledger_files: those files.
    """

    num_documents: int
    num_kept: int
    num_rejected: int
    kept: Sequence[KeptDocument] = dataclasses.field(default=(), repr=False)
    rejected: Sequence[RejectedDocument] = dataclasses.field(default=(), repr=False)
    files: tuple[str, ...] = ()
    ledger: str | None = None
    ledger_files: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """The texts of the documents that were kept."""
        return [document.text for document in self.kept]


@with_python_errors
def curate(
    documents: Documents,
    *,
    steps: "StepEntry | Sequence[StepEntry]" = (),
    preset: str | None = None,
    output_file: Path | None = None,
    rejected_file: Path | None = None,
    overwrite: bool = False,
    num_workers: int = 0,
    **options: object,
) -> Curated:
    """Select the documents worth training on.

    Args:
      documents: texts, lists of sentences, or names of files.
      steps: in their order: "gopher_quality:min_words=30" as of --steps, or {"gopher_quality":
        {"min_words": 30}}, or a step or its class, such as one of your own (`DocumentStep`).
      preset: published steps, which come first: c4, gopher, fineweb, refinedweb or wikipedia.
      output_file: files to write, "path@N" means N; None: all documents are returned, so they must
        fit in memory.
      rejected_file: with output_file: file, or path@N, for the rejected documents, JSON Lines.
      overwrite: whether to replace existing files.
      num_workers: processes; 0: all cores. Steps of a script or a notebook itself run in this one.
      options: split_sentences, max_document_bytes and others, as the flags of `bert-data curate`.
    """
    for package in PACKAGES:
        load_package(package, "curation")
    from bert_data.api.curation_run import CurationRun, make_steps

    chosen = make_steps(steps, preset)
    run = CurationRun(options, chosen, plain(num_workers))
    target, rejected = plain(output_file), plain(rejected_file)
    if target is None and rejected is not None:
        raise ValueError(
            "rejected_file needs output_file; without it, the result has the documents"
        )
    with as_files(documents, target) as files:
        if target is not None:
            return run.to_files(files, target, rejected, overwrite=bool(overwrite))
        with scratch_folder() as folder:
            return run.in_memory(files, folder)
