"""Try another threshold on a ledger: how many documents would pass a step, by data set.

    gopher_quality.min_words=30  ->  web: 1,200 documents more, 0.2 MB; wiki: 3 more, ...

Rules of the step that are not asked about count as the ledger recorded them.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyarrow import Table, compute

from bert_data.curation.document import MAX, MIN
from bert_data.curation.running.ledger import OUTCOME_KEPT, SCHEMA
from bert_data.curation.running.output_files import output_paths
from bert_data.curation.step import CorpusStep, steps_by_name
from bert_data.errors import CorruptDataError
from bert_data.progress import how_many
from bert_data.text.parquet import open_parquet

_COLUMNS = ("rule", "value", "threshold", "failed", "measure", "outcome", "source", "num_bytes")
_QUESTION = re.compile(r"(?:(?P<step>[\w#]+)\.)?(?P<rule>\w+)=(?P<value>[^=]+)")


class Question(NamedTuple):
    """A threshold to try for a rule; without a step, for the only step that has the rule."""

    step: str | None
    rule: str
    value: float


class SourceChange(NamedTuple):
    """Change for a data set at a step: documents and bytes, more and fewer."""

    source: str
    num_more: int
    num_more_bytes: int
    num_fewer: int
    num_fewer_bytes: int


class StepChange:
    """Changes at a step, by its label, when thresholds are tried on its rows of a ledger.

    Attributes:
      had_thresholds: rules that were compared with numbers.
      num_rejected: documents that the step rejected in the run.
      has_kept: whether the ledger holds the measures of documents that the step kept.
      may_tighten: whether a threshold might reject documents that were kept.
    """

    def __init__(self, step: str, questions: Sequence[Question]) -> None:
        self.step, self.questions = step, questions
        self._by_source: dict[str, NDArray[np.int64]] = {}
        self.had_thresholds: set[str] = set()
        self.num_rejected = 0
        self.has_kept = self.may_tighten = False

    @property
    def sources(self) -> list[SourceChange]:
        """Changes by data set."""
        return [SourceChange(name, *map(int, n)) for name, n in sorted(self._by_source.items())]

    @property
    def weighs_verdicts(self) -> bool:
        """See `CorpusStep`."""
        kind = steps_by_name().get(self.step.split("#")[0])
        return kind is not None and issubclass(kind, CorpusStep) and kind.weighs_verdicts

    def add(self, rows: Table) -> None:
        """Try the thresholds on rows, which are those of whole entries."""
        rule, value, threshold, failed, measure, outcome, source, num_bytes = (
            rows[name].to_numpy() for name in _COLUMNS
        )
        failed = np.array(failed, bool)
        for question in self.questions:
            mine = rule == question.rule
            is_min = question.rule.startswith(MIN)
            failed[mine] = (value < question.value if is_min else value > question.value)[mine]
            self._compare(question, threshold[mine], is_min=is_min)
        starts = np.flatnonzero(measure == 0)
        if not starts.size:
            return
        passes = ~np.logical_or.reduceat(failed, starts)
        passed = (outcome == OUTCOME_KEPT)[starts]
        self.num_rejected += int((~passed).sum())
        self.has_kept |= bool(passed.any())
        source, num_bytes = source[starts], num_bytes[starts]
        for name in set(source.tolist()):
            more = (source == name) & passes & ~passed
            fewer = (source == name) & ~passes & passed
            numbers = [more.sum(), num_bytes[more].sum(), fewer.sum(), num_bytes[fewer].sum()]
            self._by_source[name] = self._by_source.get(name, 0) + np.array(numbers, np.int64)

    def _compare(self, question: Question, old: NDArray[np.float64], *, is_min: bool) -> None:
        """Compare with the old thresholds: several, if the step has some for each language."""
        old = old[~np.isnan(old)]
        if old.size:
            self.had_thresholds.add(question.rule)
            tightens = question.value > old.min() if is_min else question.value < old.max()
            self.may_tighten |= bool(tightens)


def parse_question(text: str) -> Question:
    """Parse a value of the flag --what_if."""
    match = _QUESTION.fullmatch(text)
    if not match:
        raise ValueError(f"what_if is {text!r}; it must be STEP.RULE=VALUE")
    try:
        value = float(match["value"])
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ValueError(f"what_if is {text!r}; {match['value']!r} is not a number")
    return Question(step=match["step"], rule=match["rule"], value=value)


def retry_thresholds(ledger: str, questions: Sequence[Question]) -> list[StepChange]:
    """Try thresholds on a ledger of any size: its file, or path@N."""
    rules = _rules_of_steps(ledger)
    by_step: dict[str, dict[str, Question]] = {}
    for question in questions:
        step = question.step or _only_step(ledger, rules, question.rule)
        if step not in rules:
            raise ValueError(
                f"{ledger} has nothing of step {step!r}, which has rejected no document or was not"
                f" in the pipeline; it has {', '.join(sorted(rules)) or 'none'}"
            )
        if question.rule not in rules[step]:
            names = ", ".join(sorted(rules[step]))
            raise ValueError(f"{ledger}: step {step} has no rule {question.rule!r}; it has {names}")
        if not question.rule.startswith((MIN, MAX)):
            raise ValueError(
                f"what_if asks for {step}.{question.rule}; only rules named {MIN}... or {MAX}..."
                f" can be tried again; those of {ledger} are {_list_rules(rules, (MIN, MAX))}"
            )
        if question.rule in by_step.setdefault(step, {}):
            raise ValueError(f"what_if asks twice for {step}.{question.rule}")
        by_step[step][question.rule] = question
    return [_retry(ledger, step, list(by_rule.values())) for step, by_rule in by_step.items()]


def _read_groups(ledger: str, columns: Sequence[str]) -> Iterator[Table]:
    """Yield some columns of each row group of a ledger; none of them divides an entry."""
    for path in output_paths(ledger)[1]:
        try:
            with open_parquet(path) as whole:
                if whole.schema_arrow.names != SCHEMA.names:
                    raise CorruptDataError(path, 0, "not a ledger of curation")
                for group in range(whole.num_row_groups):
                    table = whole.read_row_group(group, columns=columns)
                    table.validate(full=True)  # that its texts are UTF-8
                    yield table
        except UnicodeDecodeError as error:  # in the name of a column
            raise CorruptDataError(path, 0, f"not a readable Parquet file ({error})") from error


def _rules_of_steps(ledger: str) -> dict[str, set[str]]:
    """Return the steps in a ledger, and the rules of each."""
    rules: dict[str, set[str]] = {}
    for pairs in _read_groups(ledger, ["step", "rule"]):
        for row in pairs.group_by(["step", "rule"]).aggregate([]).to_pylist():
            rules.setdefault(row["step"], set()).add(row["rule"])
    return rules


def _list_rules(rules: Mapping[str, set[str]], prefixes: tuple[str, ...] = ("",)) -> str:
    names = (f"{step}.{rule}" for step, of_step in rules.items() for rule in of_step)
    return (
        ", ".join(sorted(name for name in names if name.split(".")[1].startswith(prefixes)))
        or "none"
    )


def _only_step(ledger: str, rules: Mapping[str, set[str]], rule: str) -> str:
    steps = sorted(step for step, names in rules.items() if rule in names)
    if not steps:
        raise ValueError(
            f"{ledger}: no step in it has the rule {rule!r}; its rules are {_list_rules(rules)}"
        )
    if len(steps) > 1:
        raise ValueError(
            f"{ledger}: {', '.join(steps)} have the rule {rule!r}; STEP.RULE=VALUE names the step"
        )
    return steps[0]


def _retry(ledger: str, step: str, questions: Sequence[Question]) -> StepChange:
    change = StepChange(step, questions)
    for table in _read_groups(ledger, ["step", *_COLUMNS]):
        change.add(table.filter(compute.equal(table["step"], step)))
    for question in questions:
        if question.rule not in change.had_thresholds:
            raise ValueError(f"{ledger}: the thresholds of {step}.{question.rule} are not numbers")
    return change


def describe_changes(changes: Sequence[StepChange]) -> str:
    """Format the changes as lines, with a note on what the ledger cannot tell."""
    return "\n".join(line for change in changes for line in _describe(change))


def _describe(change: StepChange) -> Iterator[str]:
    thresholds = ", ".join(f"{each.rule}={each.value:g}" for each in change.questions)
    yield f"{change.step} with {thresholds}, of {change.num_rejected:,} documents that it rejected:"
    for each in change.sources:
        yield (
            f"  {each.source}: {how_many(each.num_more, 'document')} more"
            f" ({each.num_more_bytes / 1e6:,.3f} MB), {each.num_fewer:,} fewer"
            f" ({each.num_fewer_bytes / 1e6:,.3f} MB)"
        )
    if change.may_tighten and not change.has_kept:
        yield (
            "  How many fewer pass is not known: the ledger has only what was rejected; a run with"
            " `ledger=all` measures those that were kept, too."
        )
    if change.weighs_verdicts:
        yield "  The step weighs documents against each other, so a run may decide differently."
    yield "  What later steps would say of documents that pass now was not measured."
