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
from collections.abc import Sequence
from typing import Any

from bert_data.curation.running.pipeline_settings import Output, PipelineSettings
from bert_data.curation.step import CorpusStep, Step
from bert_data.errors import named_in_errors
from bert_data.text.text_config import TextConfig
from bert_data.tokens.store_config import StoreSettings

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
class Pipeline(PipelineSettings):
    """Configuration of a run.

    Attributes:
      data_sets: in the order of their priority, the highest first.
      steps: in their order.
      output: files to write.
    """

    data_sets: tuple[DataSet, ...]
    steps: tuple[LabelledStep, ...]
    output: Output

    def __post_init__(self) -> None:
        super().__post_init__()
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
