"""Text in, token stores out: one of all the text, or one of each partition.

    a.jsonl --plan_partitions--> [Span ...] [Span ...]
    each    --fill_store-->      PREFIX-00000-of-00002.bin, .idx, .store.json      by rename

A store that is whole and was made from the same text with the same settings is left as it is, so
that a run that was killed goes on where it was.
"""

import dataclasses
import hashlib
import os
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from absl import logging

from bert_data.errors import CorruptDataError
from bert_data.storage import OutputSet, expand_inputs, expand_outputs, remove_left_overs
from bert_data.text.documents import DOCUMENT, TextConfig
from bert_data.text.formats import TextFormat, find_plain_format
from bert_data.text.partitions import plan_partitions
from bert_data.text.spans import Span
from bert_data.tokens.end_of_document import find_eod
from bert_data.tokens.filling import fill_store
from bert_data.tokens.store_format import CURATOR, DROP, MEGATRON, StoreShape, token_dtype
from bert_data.tokens.store_notes import (
    ENDINGS,
    StoreNotes,
    check_files,
    notes_path,
    read_notes,
    store_paths,
)
from bert_data.tokens.tokenizer_file import Tokenizer, load_tokenizer
from bert_data.work import open_threads

_EDGE_BYTES = 1 << 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreConfig:
    """What token stores are made from, and how.

    Attributes:
      input_file: comma-separated patterns, see `bert_data.storage`.
      output_prefix: of the store; of partitions, PREFIX-00000-of-0000N.
      vocab_file, tokenizer_file, do_lower_case: of the tokenizer, see `load_tokenizer`.
      text: how the input is read.
      level: what a sequence is; "document" or "sentence".
      append_eod: whether a token stands at the end of each document.
      eod_token: which one; None: the one that the vocabulary has, see `find_eod`.
      dtype_rule: see `token_dtype`.
      empty_documents: "megatron" or "curator", see `EMPTY_DOCUMENTS`. Of lines there are none.
      num_partitions: stores, >= 1.
      num_workers: threads, >= 1. The files do not depend on it.
      overwrite: whether stores that exist are replaced.
    """

    input_file: str
    output_prefix: str
    vocab_file: str | None = None
    tokenizer_file: str | None = None
    do_lower_case: bool = True
    text: TextConfig = dataclasses.field(default_factory=TextConfig)
    level: str = DOCUMENT
    append_eod: bool = False
    eod_token: str | None = None
    dtype_rule: str = CURATOR
    empty_documents: str = MEGATRON
    num_partitions: int = 1
    num_workers: int = 1
    overwrite: bool = False

    def __post_init__(self) -> None:
        token_dtype(1, self.dtype_rule)
        if self.empty_documents == DROP:
            raise ValueError("empty_documents is 'drop'; one of megatron, curator is allowed")
        StoreShape(level=self.level, empty_documents=self.empty_documents)
        for field in ("num_partitions", "num_workers"):
            if getattr(self, field) < 1:
                raise ValueError(f"{field} is {getattr(self, field)}; 1 or more is allowed")
        if os.path.basename(self.output_prefix) in ("", ".", ".."):
            raise ValueError(
                f"output_prefix is {self.output_prefix!r}; it must end with the name of a store"
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class MadeStore:
    """A store that is there.

    Attributes:
      prefix: of its files.
      notes: what it was made from, and its counts.
      seconds: that it took; 0 if it was whole before.
    """

    prefix: str
    notes: StoreNotes
    seconds: float


def make_stores(config: StoreConfig) -> list[MadeStore]:
    """Makes the stores of all partitions, one after the other; each appears when it is whole.

    Raises:
      ValueError: a setting or the text cannot serve; stores of partitions before it are whole.
      OSError: a file cannot be read or written, or exists and is of other text or settings.
      CorruptDataError: an input is damaged.
    """
    paths = expand_inputs(config.input_file)
    text_format = find_plain_format(paths, config.text.input_format)
    tokenizer = load_tokenizer(
        config.vocab_file, config.tokenizer_file, do_lower_case=config.do_lower_case
    )
    eod = find_eod(tokenizer, config.append_eod, config.eod_token)
    is_lines = text_format.read_lines is not None
    shape = StoreShape(
        level=config.level,
        eod_id=eod,
        empty_documents=DROP if is_lines else config.empty_documents,
    )
    settings = _settings(config, tokenizer, text_format, shape)
    prefixes = partition_prefixes(config.output_prefix, config.num_partitions)
    partitions = plan_partitions(paths, text_format, config.num_partitions)
    jobs = [
        _Job(prefix=prefix, spans=spans, settings=settings, shape=shape)
        for prefix, spans in zip(prefixes, partitions, strict=True)
    ]
    whole = [None if config.overwrite else _find_whole(job, tokenizer) for job in jobs]
    return [found or _make(config, tokenizer, job) for found, job in zip(whole, jobs, strict=True)]


def partition_prefixes(prefix: str, num_partitions: int) -> Sequence[str]:
    """The prefixes of the stores of all partitions."""
    if num_partitions == 1:
        return (prefix,)
    return expand_outputs(f"{prefix}@{num_partitions}").paths


def curator_prefix(folder: str, source_files: Sequence[str], task_id: str) -> str:
    """The prefix that NeMo Curator's MegatronTokenizerWriter gives a store.

    Args:
      folder: that it is in.
      source_files: names of the files that the text is from, in any order.
      task_id: of the writer's task.
    """
    key = f"{'|'.join(sorted(source_files))}|{task_id}"
    return os.path.join(folder, hashlib.sha256(key.encode()).hexdigest()[:12])


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Job:
    prefix: str
    spans: Sequence[Span]
    settings: Mapping[str, Any]
    shape: StoreShape

    @property
    def paths(self) -> list[str]:
        """The files of the store, in the order in which they get their names."""
        return store_paths(self.prefix)

    def inputs(self) -> list[dict[str, Any]]:
        """The files that are read, as notes say it."""
        return [
            {
                "name": os.path.basename(span.path),
                "num_bytes": os.path.getsize(span.path),
                "edges_crc32": _edges_crc32(span.path),
                "start": span.start,
                "end": span.end,
            }
            for span in self.spans
        ]

    def made_from(self, tokenizer: Tokenizer) -> dict[str, Any]:
        return {
            "vocabulary": {"size": tokenizer.num_ids, "sha256": tokenizer.sha256},
            "settings": dict(self.settings),
            "inputs": self.inputs(),
        }


def _edges_crc32(path: str) -> int | None:
    """CRC-32 of the first and last bytes of a file, which tells most others; None of a pipe."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        first = file.read(_EDGE_BYTES)
        file.seek(max(0, os.path.getsize(path) - _EDGE_BYTES))
        return zlib.crc32(file.read(_EDGE_BYTES), zlib.crc32(first))


def _settings(
    config: StoreConfig, tokenizer: Tokenizer, text_format: TextFormat, shape: StoreShape
) -> dict[str, Any]:
    return {
        **dataclasses.asdict(shape),
        "dtype": token_dtype(tokenizer.num_ids, config.dtype_rule).name,
        "id_limit": tokenizer.id_limit,
        "do_lower_case": tokenizer.do_lower_case,
        "max_word_letters": tokenizer.max_word_letters,
        **dataclasses.asdict(config.text),
        "input_format": text_format.name,
    }


def _find_whole(job: _Job, tokenizer: Tokenizer) -> MadeStore | None:
    """The store of a job if it is there and whole; None if there is nothing.

    Raises:
      FileExistsError: there is something else under its names.
    """
    remove_left_overs(job.prefix)
    if not any(map(os.path.lexists, job.paths)):
        return None
    try:
        notes = read_notes(job.prefix)
        if notes is None:
            reason = "is there without notes of what made it"
        else:
            check_files(job.prefix, notes)
            reason = _difference(notes.made_from, job.made_from(tokenizer))
            noted = os.path.getmtime(notes_path(job.prefix))
            changed = [s.path for s in job.spans if os.path.getmtime(s.path) > noted]
            if not reason and changed:
                reason = f"was made before {changed[0]} was changed"
    except (FileNotFoundError, CorruptDataError) as error:
        reason = f"is not whole ({error})"
    if not reason:
        assert notes is not None
        logging.info("%s: is there already, whole", job.prefix)
        return MadeStore(prefix=job.prefix, notes=notes, seconds=0.0)
    raise FileExistsError(f"{job.prefix}: a token store {reason}; --overwrite replaces it")


def _difference(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    if there["vocabulary"] != wanted["vocabulary"]:
        return "was made with another vocabulary"
    for name, value in wanted["settings"].items():
        if there["settings"].get(name) != value:
            return f"was made with {name} {there['settings'].get(name)!r}, not {value!r}"
    return "" if there["inputs"] == wanted["inputs"] else "was made from other text"


def _make(config: StoreConfig, tokenizer: Tokenizer, job: _Job) -> MadeStore:
    start = time.monotonic()
    made_from = job.made_from(tokenizer)
    *data_paths, notes_file = job.paths
    reads = [span.path for span in job.spans]
    reads += filter(None, (config.vocab_file, config.tokenizer_file))
    with (
        OutputSet(job.prefix, job.paths, reads=reads, overwrite=config.overwrite) as outputs,
        open_threads(config.num_workers) as executor,
    ):
        prefix = os.path.join(outputs.work_dir, "store")
        filled = fill_store(
            job.spans,
            tokenizer,
            prefix,
            text=config.text,
            shape=job.shape,
            dtype=token_dtype(tokenizer.num_ids, config.dtype_rule),
            executor=executor,
        )
        notes = StoreNotes(
            vocab_size=made_from["vocabulary"]["size"],
            vocab_sha256=made_from["vocabulary"]["sha256"],
            settings=job.settings,
            inputs=made_from["inputs"],
            counts=dataclasses.asdict(filled.counts),
            files=filled.files,
        )
        for ending, path in zip(ENDINGS, data_paths, strict=True):
            outputs.take_in(path, f"{prefix}.{ending}")
        with outputs.open(notes_file) as file:
            file.write(notes.to_json().encode())
        outputs.commit(data_paths[:1], [data_paths[1], notes_file])
    return MadeStore(prefix=job.prefix, notes=notes, seconds=time.monotonic() - start)
