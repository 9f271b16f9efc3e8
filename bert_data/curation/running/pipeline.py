"""A pipeline: data sets, steps in their order, and the output.

    Pipeline(data_sets=(DataSet(name="web", files="*.jsonl"),),
             steps=label_steps([make_step("gopher_quality", {})]), output=Output(files="out@4"))

The steps up to the next CorpusStep are one pass over the documents.

    repair, language, near_duplicates, privacy, mix
      ->  pass 0: read, repair, language | near_duplicates observes
          pass 1: near_duplicates judges, privacy | mix observes      pass 2: mix judges
"""

import contextlib
import dataclasses
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from bert_data.checks import check_choice
from bert_data.curation.step import CorpusStep, Step
from bert_data.errors import named_in_errors
from bert_data.settings import AUTO, OneOf, Share, Within, check_settings, settings_of
from bert_data.storage import TEXT, kinds_of, refuse_other_endings, split_names
from bert_data.text.text_config import DEFAULT_LANGUAGE, ON_ERROR, SKIP, TextConfig, check_language
from bert_data.text.without import WithoutConfig
from bert_data.tokens.store_config import StoreSettings, check_prefix

LINES, JSONL, PARQUET, STORE = "lines", "jsonl", "parquet", "store"
OUTPUT_FORMATS = (AUTO, LINES, JSONL, PARQUET, STORE)
GZIP, ZSTD = "gzip", "zstd"
_TEXT = (TEXT, GZIP, ZSTD)
_ALONE = (PARQUET, STORE)  # files that no further ending says anything of
_NUMBER_OF_FILES = re.compile(r"@\d+$")

REJECTED, ALL = LEDGER_MODES = ("rejected", "all")

_DATA_SET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSet:
    """Files of one kind and origin.

    Attributes:
      name: of the data set, the source of its documents.
      files: paths and patterns, separated by commas.
      text: how to read them.
      id_field: field of the rows with the documents' ids; None: their ids are file and row.
      weight: its share in the mix, if there is one.
    """

    name: str
    files: str
    text: TextConfig = TextConfig()  # noqa: RUF009 (frozen)
    id_field: str | None = None
    weight: float | None = None

    def __post_init__(self) -> None:
        if not _DATA_SET_NAME.fullmatch(self.name):
            raise ValueError(f"name is {self.name!r}; it may have letters, digits and _ . + - only")
        if self.weight is not None and not (self.weight > 0 and math.isfinite(self.weight)):
            raise ValueError(f"weight is {self.weight}; it must be a number > 0")


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledStep:
    """A step and its label: its name, with a number unless it is the first of that name."""

    label: str
    step: Step

    def named_in_errors(self) -> contextlib.AbstractContextManager[None]:
        """Put the label before ValueErrors of the step."""
        return named_in_errors(f"step {self.label}")


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
        for name in split_names(self.files):
            output_format = self._format_of_name(name)
            held = [output_format] if output_format in _ALONE else [output_format, *_TEXT]
            refuse_other_endings([name], held, dict.fromkeys((JSONL, PARQUET), "output_format"))
            if output_format == STORE:
                check_prefix("output_file", _NUMBER_OF_FILES.sub("", name))
        rejected = () if self.rejected_file is None else split_names(self.rejected_file)
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
class Pipeline(WithoutConfig):
    """Configuration of a run.

    Attributes:
      data_sets: in the order of their priority, the highest first.
      steps: in their order.
      output: files to write.
      on_error: what to do with documents that a step cannot judge.
      shard_mb: about the largest size, in MB on disk, of the parts that files are cut into. They
        are a multiple of 12, if so many have 1 MB each, so that workers end together. One process
        works on each part; a resumed run repeats unfinished parts. Compressed files are not cut.
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

    data_sets: tuple[DataSet, ...]
    steps: tuple[LabelledStep, ...]
    output: Output
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
        if not self.data_sets:
            raise ValueError("a pipeline needs a data set to read")
        names = [data_set.name for data_set in self.data_sets]
        doubled = [name for name, n in Counter(names).items() if n > 1]
        if doubled:
            raise ValueError(f"two data sets have the name {doubled[0]!r}")
        for labelled in self.steps:
            with labelled.named_in_errors():
                labelled.step.check_data_sets(names)
            if labelled.step.needs_tokens and self.vocab_file is None:
                raise ValueError(
                    f"step {labelled.label} counts tokens, which needs a vocabulary: name a"
                    " vocab_file or a tokenizer_file"
                )
        self._check_fields()
        self._check_seeds()

    @property
    def shard_bytes(self) -> int:
        """About the size of a shard, on disk."""
        return round(self.shard_mb * 1e6)

    @property
    def max_memory_bytes(self) -> int:
        """About the memory of a task that decides over all documents."""
        return round(self.max_memory_mb * 1e6)

    def _check_fields(self) -> None:
        """Refuse two steps that give a document the same field, as the first value would be lost.

        Two of one kind may renew the fields that no parameter names: the language, say, of a text
        that has changed.
        """
        seen: dict[tuple[str, str], LabelledStep] = {}
        for each in self.steps:
            for source in (d.name for d in self.data_sets if each.step.judges(d.name)):
                for field in each.step.written_fields():
                    earlier = seen.setdefault((source, field), each)
                    renews = field in each.step.own_fields and type(each.step) is type(earlier.step)
                    if earlier is not each and not renews:
                        raise ValueError(
                            f"steps {earlier.label} and {each.label} both write the field"
                            f" {field!r}; give one of them another"
                        )

    def _check_seeds(self) -> None:
        """Refuse two steps of one kind that would draw the same numbers for a document."""
        seen: dict[tuple[str, str, int], str] = {}
        for each in self.steps:
            for name in (data_set.name for data_set in self.data_sets):
                if each.step.draws_by_seed and each.step.judges(name):
                    seed = describe_step(each.step)["seed"]
                    earlier = seen.setdefault((name, each.step.name, seed), each.label)
                    if earlier != each.label:
                        raise ValueError(
                            f"steps {earlier} and {each.label} have the same seed, {seed}, and"
                            " would draw the same documents; give one of them another"
                        )


def label_steps(steps: Sequence[Step]) -> tuple[LabelledStep, ...]:
    """Label steps: "privacy", "privacy#2"."""
    seen: Counter[str] = Counter()
    labelled = []
    for step in steps:
        seen[step.name] += 1
        number = f"#{seen[step.name]}" if seen[step.name] > 1 else ""
        labelled.append(LabelledStep(label=f"{step.name}{number}", step=step))
    return tuple(labelled)


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


def counting_vocabulary(steps: Sequence[Step], store: StoreSettings | None) -> dict[str, Any]:
    """Return the settings that count tokens with the tokenizer of stores, if a step needs them."""
    is_needed = store is not None and any(step.needs_tokens for step in steps)
    if store is None or not is_needed:
        return {"vocab_file": None, "do_lower_case": None}
    vocab_file = store.vocab_file or store.tokenizer_file
    return {"vocab_file": vocab_file, "do_lower_case": store.do_lower_case}


def describe_step(step: Step) -> dict[str, Any]:
    """Return all parameters of a step."""
    return {field.name: getattr(step, field.name) for field in dataclasses.fields(step)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class PassSteps:
    """The steps of a pass.

    Attributes:
      judging: numbers of the steps that judge in it, in their order; only the first may be a
        CorpusStep.
      observing: number of the CorpusStep that observes what is left; it judges in the next pass.
    """

    judging: tuple[int, ...]
    observing: int | None = None

    @property
    def all(self) -> tuple[int, ...]:
        """Numbers of all these steps."""
        return self.judging if self.observing is None else (*self.judging, self.observing)


def plan_passes(steps: Sequence[LabelledStep]) -> tuple[PassSteps, ...]:
    """Group steps into passes."""
    passes: list[PassSteps] = []
    judging: list[int] = []
    for number, labelled in enumerate(steps):
        if isinstance(labelled.step, CorpusStep):
            passes.append(PassSteps(judging=tuple(judging), observing=number))
            judging = []
        judging.append(number)
    return (*passes, PassSteps(judging=tuple(judging)))
