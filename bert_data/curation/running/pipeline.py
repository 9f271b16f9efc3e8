"""A pipeline: data sets, steps in their order, and the output.

    Pipeline(data_sets=(DataSet(name="web", files="*.jsonl"),),
             steps=label_steps([make_step("gopher_quality", {})]), output=Output(files="out@4"))

The fingerprint of `describe_work` names the folder of a run's unfinished work. The steps up to the
next CorpusStep are one pass over the documents.

    repair, language, near_duplicates, privacy, mix
      ->  pass 0: read, repair, language | near_duplicates observes
          pass 1: near_duplicates judges, privacy | mix observes      pass 2: mix judges
"""

import contextlib
import dataclasses
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import bert_data
from bert_data.curation.own_steps import read_sources
from bert_data.curation.parameters import Share, Within, convert_fields
from bert_data.curation.running.data_sets import DataSet, TextShard
from bert_data.curation.running.ledger import LEDGER_MODES, REJECTED
from bert_data.curation.step import CorpusStep, Step
from bert_data.errors import named_in_errors
from bert_data.settings import check_choice
from bert_data.storage import (
    Status,
    absolute_path,
    escape,
    exists,
    glob,
    is_file,
    read_bytes,
    read_statuses,
)
from bert_data.text.documents import ON_ERROR, SKIP
from bert_data.text.sentences import DEFAULT_LANGUAGE, check_language

AUTO = "auto"
LINES, JSONL, PARQUET = "lines", "jsonl", "parquet"
OUTPUT_FORMATS = (AUTO, LINES, JSONL, PARQUET)
_ENDINGS = {".jsonl": JSONL, ".ndjson": JSONL, ".parquet": PARQUET}
COMPRESSIONS = (".gz", ".zst")

_PROGRAM = (
    *("curation/*.py", "curation/*/*.py", "text/*.py", "text/*/*.py", "text/*/*.txt", "work/*.py"),
    *("tokens/*.py", "reader/planning/*.py", "training/*.py", "hub/*.py"),
)
"""Files of the code that decides what a run writes."""


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
      files: names, or path@N.
      output_format: one of `OUTPUT_FORMATS`; "auto": by the ending; lines for any other ending.
      split_sentences: whether to write one sentence per line.
      language: whose rules split documents without a field "language".
      rejected_file: names, or path@N, for the rejected documents in JSON Lines; None: they are not
        written.
    """

    files: str
    output_format: str = AUTO
    split_sentences: bool = False
    language: str = DEFAULT_LANGUAGE
    rejected_file: str | None = None

    def __post_init__(self) -> None:
        check_choice("format", self.output_format, OUTPUT_FORMATS)
        check_language(self.language)

    def format_of(self, paths: Sequence[str]) -> str:
        """Return the format of the files.

        Raises:
          ValueError: their endings are those of several formats, or of Parquet and a compression.
        """
        formats = {path: self._format_of_name(path) for path in paths}
        for path, name in formats.items():
            if name != formats[paths[0]]:
                raise ValueError(
                    f"the outputs are of several formats ({paths[0]} is {formats[paths[0]]}, {path}"
                    f" is {name}); one is allowed"
                )
            if name == PARQUET and path.endswith(COMPRESSIONS):
                raise ValueError(f"output {path!r}: Parquet is compressed inside; drop the ending")
        return formats[paths[0]]

    def _format_of_name(self, name: str) -> str:
        if self.output_format != AUTO:
            return self.output_format
        for ending in COMPRESSIONS:
            name = name.removesuffix(ending)
        return next((f for ending, f in _ENDINGS.items() if name.endswith(ending)), LINES)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Configuration of a run.

    Attributes:
      data_sets: in the order of their priority, the highest first.
      steps: in their order.
      output: files to write.
      on_error: how documents that a step cannot judge are handled: one of `ON_ERROR`.
      max_document_bytes: a longer text is rejected when it is read.
      ledger: one of `LEDGER_MODES`.
      shard_bytes: about the size of a shard, in bytes on disk.
      max_memory_bytes: about the memory of a task that decides over all documents.
      count_words: whether to count words at each step.
      vocab_file: vocabulary, or file of a tokenizer, for counting tokens; None: they are not
        counted.
      do_lower_case: whether that vocabulary is of lower-cased text.
      with_examples: whether to collect examples of what each rule rejects and keeps.
      warn_share: warn if a step rejects or removes more than this share of the documents, or of
        the text, that reach it.
    """

    data_sets: tuple[DataSet, ...]
    steps: tuple[LabelledStep, ...]
    output: Output
    on_error: str = SKIP
    max_document_bytes: Annotated[int, Within(1)] = 10_000_000
    ledger: str = REJECTED
    shard_bytes: Annotated[int, Within(1000)] = 16_000_000
    max_memory_bytes: Annotated[int, Within(1)] = 1_000_000_000
    count_words: bool = True
    vocab_file: str | None = None
    do_lower_case: bool = True
    with_examples: bool = False
    warn_share: Share = 0.9

    def __post_init__(self) -> None:
        convert_fields(self)
        if not self.data_sets:
            raise ValueError("a pipeline needs a data set to read")
        doubled = [name for name, n in Counter(d.name for d in self.data_sets).items() if n > 1]
        if doubled:
            raise ValueError(f"two data sets have the name {doubled[0]!r}")
        check_choice("on_error", self.on_error, ON_ERROR)
        check_choice("ledger", self.ledger, LEDGER_MODES)
        names = [data_set.name for data_set in self.data_sets]
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


def describe_step(step: Step) -> dict[str, Any]:
    """Return all parameters of a step."""
    return {field.name: getattr(step, field.name) for field in dataclasses.fields(step)}


def describe_work(pipeline: Pipeline, shards: Sequence[TextShard], name: str) -> dict[str, Any]:
    """Return everything that decides what the tasks of a run write."""
    paths = sorted({span.path for shard in shards for span in shard.spans})
    steps = [
        {"step": each.label, "parameters": describe_step(each.step)} for each in pipeline.steps
    ]
    of_steps = (path for each in pipeline.steps for path in each.step.files())
    lists = sorted({*_files_named(steps), *of_steps, *filter(None, [pipeline.vocab_file])})
    return {
        "version": bert_data.__version__,
        "program": _digest_of_program(pipeline.steps),
        "output": absolute_path(name),
        "split_sentences": [pipeline.output.split_sentences, pipeline.output.language],
        "max_document_bytes": pipeline.max_document_bytes,
        "ledger": pipeline.ledger,
        "on_error": pipeline.on_error,
        "notes": [pipeline.with_examples, pipeline.output.rejected_file is not None],
        "counted": [pipeline.count_words, pipeline.vocab_file, pipeline.do_lower_case],
        "data_sets": [repr(data_set) for data_set in pipeline.data_sets],
        "steps": steps,
        "max_memory_bytes": pipeline.max_memory_bytes,
        "shards": [[[span.path, span.start, span.end] for span in shard.spans] for shard in shards],
        "files": list(map(_identity, paths, read_statuses(paths))),
        "lists": list(map(_identity, lists, read_statuses(lists))),
    }


def _identity(path: str, status: Status | None) -> list[Any]:
    numbers = [status.num_bytes, status.modified_ns, status.inode] if status else []
    return [absolute_path(path), *numbers]


def _files_named(value: Any) -> Iterator[str]:
    """Yield the files whose names occur in parameters: lists, models."""
    if isinstance(value, dict):
        for each in value.values():
            yield from _files_named(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _files_named(each)
    elif isinstance(value, str | os.PathLike) and value and "\0" not in str(value):
        for name in [str(value), *str(value).split(",")]:
            with contextlib.suppress(OSError, ValueError):  # ValueError: https://..., not a file
                yield from filter(is_file, [name] if exists(name) else glob(name))


def _digest_of_program(steps: Sequence[LabelledStep]) -> str:
    """Return a digest of the code, as other code cannot resume its unfinished work."""
    package = escape(os.path.dirname(bert_data.__file__))
    digest = hashlib.sha256()
    for part in _PROGRAM:
        for path in glob(f"{package}/{part}"):
            digest.update(read_bytes(path))
    for source in read_sources(type(each.step) for each in steps):
        digest.update(source)
    return digest.hexdigest()
