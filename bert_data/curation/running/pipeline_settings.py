"""The settings of a run of curation and of its output, without its data sets and steps."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from bert_data import storage
from bert_data.checks import check_choice
from bert_data.settings import AUTO, OneOf, Share, Within, check_settings, settings_of
from bert_data.storage import TEXT, kinds_of, refuse_other_endings
from bert_data.text.text_config import DEFAULT_LANGUAGE, ON_ERROR, SKIP, check_language
from bert_data.text.without import WithoutConfig
from bert_data.tokens.store_config import StoreSettings, check_prefix

LINES, JSONL, PARQUET, STORE = "lines", "jsonl", "parquet", "store"
OUTPUT_FORMATS = (AUTO, LINES, JSONL, PARQUET, STORE)
GZIP, ZSTD = "gzip", "zstd"
_TEXT = (TEXT, GZIP, ZSTD)
_ALONE = (PARQUET, STORE)  # files that no further ending says anything of
_NUMBER_OF_FILES = re.compile(r"@\d+$")

REJECTED, ALL = LEDGER_MODES = ("rejected", "all")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Output:
    """The output of a run.

    Attributes:
      files: names, or path@N; of stores, their prefixes.
      output_format: lines: the lines of a document followed by an empty one, for
        create_pretraining_data.py. jsonl, parquet: id, source, text and all other fields. store:
        token stores, PREFIX.bin and PREFIX.idx, the same as `tokenize` makes of those rows of
        jsonl. auto: by the ending, or else lines. .gz and .zst are compressed.
      split_sentences: write one sentence per line, by the rules of `language`.
      language: whose rules split documents without a field "language".
      rejected_file: write the rejected documents to this file, or to path@N, JSON Lines: id,
        source, step, rule, value, threshold, text, all measured rules, fields. .gz and .zst are
        compressed. Takes room for all their texts in the folder for unfinished work.
      store: of the stores, with `output_format=store`.
    """

    files: str
    output_format: Annotated[str, OneOf(OUTPUT_FORMATS)] = AUTO
    split_sentences: bool = False
    language: str = DEFAULT_LANGUAGE
    rejected_file: str | None = None
    store: StoreSettings | None = None

    def __post_init__(self) -> None:
        check_choice("format", self.output_format, OUTPUT_FORMATS)
        check_settings(self)
        check_language(self.language)
        assert (self.store is not None) == (self.output_format == STORE)
        for name in storage.split_names(self.files):
            output_format = self._format_of_name(name)
            held = [output_format] if output_format in _ALONE else [output_format, *_TEXT]
            refuse_other_endings([name], held, dict.fromkeys((JSONL, PARQUET), "output_format"))
            if output_format == STORE:
                check_prefix("output_file", _NUMBER_OF_FILES.sub("", name))
        rejected = () if self.rejected_file is None else storage.split_names(self.rejected_file)
        refuse_other_endings(rejected, (JSONL, *_TEXT))

    def format_of(self, paths: Sequence[str]) -> str:
        """Return the format of the files."""
        formats = {path: self._format_of_name(path) for path in paths}
        for path, name in formats.items():
            if name != formats[paths[0]]:
                raise ValueError(
                    f"the outputs are of several formats ({paths[0]} is {formats[paths[0]]}, {path}"
                    f" is {name}); one is allowed"
                )
        return formats[paths[0]]

    def _format_of_name(self, name: str) -> str:
        if self.output_format != AUTO:
            return self.output_format
        return next((each for each in (JSONL, PARQUET) if each in kinds_of(name)), LINES)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PipelineSettings(WithoutConfig):
    """Settings of a run.

    Attributes:
      on_error: what to do with documents that a step cannot judge.
      shard_mb: about the largest size, in MB on disk, of the parts that files are cut into. Their
        number is a multiple of 12 if each then has 1 MB or more, so that workers end together. One
        process works on each part; a resumed run repeats unfinished parts. Compressed files are not
        cut.
      max_memory_mb: approximate memory, in MB, of each task that decides over all documents, such
        as on duplicates and percentiles. Pages of mapped files, which the system reclaims when it
        needs them, are not counted. With less memory there are more tasks. The output does not
        depend on it.
      ledger: documents whose measures the ledger holds: the rejected ones, or all.
      warn_share: warn if a step rejects or removes more than this share of the documents, or of the
        text, that reach it. The steps extract and mix may.
      count_words: count the words after each step; steps that need words have split them anyway.
      vocab_file: a WordPiece vocabulary: also count tokens after each step (slower). With
        `output_format=store`, it is that of the stores, and tokens are counted only if a step needs
        them.
      do_lower_case: with `vocab_file`: lower-case the text. Not set: true, but refused if the
        vocabulary says otherwise.
      max_document_bytes: reject longer texts when they are read; rows of more than four times this
        size are not even held in memory.
      with_examples: whether to collect examples of what each rule rejects and keeps.
    """

    on_error: Annotated[str, OneOf(ON_ERROR)] = SKIP
    shard_mb: Annotated[float, Within(0.001, 1_000_000)] = 16.0
    max_memory_mb: Annotated[int, Within(250, 1_000_000)] = 300
    ledger: Annotated[str, OneOf(LEDGER_MODES)] = REJECTED
    warn_share: Share = 0.9
    count_words: bool = True
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    max_document_bytes: Annotated[int, Within(1)] = 10_000_000
    with_examples: bool = False

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def shard_bytes(self) -> int:
        """About the size of a shard, on disk."""
        return round(self.shard_mb * 1e6)

    @property
    def max_memory_bytes(self) -> int:
        """About the memory of a task that decides over all documents."""
        return round(self.max_memory_mb * 1e6)


def store_settings(output_format: str, given: Mapping[str, Any]) -> StoreSettings | None:
    """Return the settings of stores of an output of this format, or refuse those that differ.

    Args:
      given: settings by their names; without those that are not given, or with their defaults.
    """
    store = StoreSettings(**given)
    if output_format == STORE:
        return store
    for name, setting in settings_of(StoreSettings).items():
        if getattr(store, name) != setting.default:
            raise ValueError(f"{name} needs `output_format={STORE}`")
    return None
