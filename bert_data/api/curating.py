"""Curate documents: keep those worth training on, and say why others are rejected.

curate(["Hi.", "The miller went ..."], steps=["gopher_quality:min_words=5"])
->  kept      [KeptDocument(index=1, text="The miller went ...")]
rejected  [RejectedDocument(index=0, rule="min_words", value=1.0, threshold=5.0, ...)]
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bert_data.api.documents import Curated, Documents, as_files
from bert_data.api.text import Path
from bert_data.curation import PACKAGES
from bert_data.packages import load_package
from bert_data.settings import plain
from bert_data.storage import scratch_folder

if TYPE_CHECKING:
    from bert_data.api.curation_run import StepEntry


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
