"""Check a set of records: whether it is whole, and whether a model can learn from it.

All of the set is read once, and its files a second time for their checksums. Memory: some 100 MB
for hashes of up to four million records, and a few MB for each worker.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.inspection.batchings import Batching, compare_batchings, lengths_of_histogram
from bert_data.inspection.configs import CheckConfig
from bert_data.inspection.figures import DAMAGED, DOUBTFUL, HARMFUL, Figure, Finding, by_harm
from bert_data.inspection.judging import Surveyed, asks_for_next, figures_of, findings_of, uncertain
from bert_data.inspection.measuring import FAULTS
from bert_data.inspection.rules import rule_of, settings_of_shard, special_ids
from bert_data.inspection.same_document import count_same_document
from bert_data.inspection.set_files import (
    check_listed,
    check_listing,
    kind_of_others,
    listed_files,
    survey_any,
)
from bert_data.inspection.surveying import (
    FoundDamage,
    SeenRecords,
    Survey,
    add_padded,
    survey_shard,
)
from bert_data.progress import how_many
from bert_data.reader.files.shards import Shard, find_shards
from bert_data.records.sets.corpus import find_corpus
from bert_data.records.sets.manifest import FORMAT, SAMPLES_FORMAT
from bert_data.text.formats import text_format_names
from bert_data.text.text_config import TextConfig
from bert_data.tokens.casing import describe_cased, is_cased
from bert_data.tokens.corpus_warnings import unknown_words
from bert_data.tokens.tokenizer_file import read_tokenizer, read_vocabulary
from bert_data.tokens.vocabulary import TokenTable
from bert_data.work import count_workers, open_threads

_MOST_LENGTHS = 1_000_000  # that are planned
_MOST_OF_TEXT = 0.01  # of the records, with [SEP] or the like that stands in the text itself
_FORMS = {
    1: "that are not [CLS] A [SEP]",
    2: "that are not [CLS] A [SEP] B [SEP] with segments 0 and 1",
}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """Result of a check.

    Attributes:
      findings: the worst first.
      num_records, num_tokens: of undamaged records.
      num_of_length: int64[any], records of each number of tokens.
      shards: (path, records) of each.
      batch_size: rows of the batches whose padding is shown.
      batchings: each way to make them, from up to a million lengths; none without records.
      faults: records with each fault, by the names of `FAULTS`.
      max_seq_length: None if it is unknown.
      kind: what the records are if not masked words; then only their files are checked.
    """

    findings: Sequence[Finding]
    num_records: int
    num_tokens: int
    num_of_length: NDArray[np.int64]
    shards: Sequence[tuple[str, int]]
    batch_size: int
    batchings: Sequence[Batching] = ()
    figures: Sequence[Figure] = ()
    faults: Mapping[str, int] = dataclasses.field(default_factory=dict)
    max_seq_length: int | None = None
    kind: str | None = None

    @property
    def is_harmful(self) -> bool:
        """Whether a finding is more than doubtful."""
        return any(finding.severity != DOUBTFUL for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            "kind": self.kind,
            "num_records": self.num_records,
            "num_tokens": self.num_tokens,
            "max_seq_length": self.max_seq_length,
            "faults": dict(self.faults),
            "findings": [*map(dataclasses.asdict, self.findings)],
            "figures": [figure.as_json() for figure in self.figures],
            "shards": [{"path": path, "num_records": count} for path, count in self.shards],
            "batch_size": self.batch_size,
            "batchings": [batching.as_json() for batching in self.batchings],
            "num_of_length": {
                str(length): int(self.num_of_length[length])
                for length in np.flatnonzero(self.num_of_length).tolist()
            },
        }


def check_set(config: CheckConfig) -> Report:
    """Read a whole set, and check it."""
    beside = FoundDamage()
    shards = find_shards(config.as_reader(), beside)
    path, special_tokens = config.vocab_file, shards[0].special_tokens
    vocabulary = None if path is None else read_vocabulary(path, special_tokens=special_tokens)
    _refuse_others(shards, vocabulary, config.next_sentence)
    kind = kind_of_others(shards)
    if kind is not None:
        return _check_others(config, shards, kind, beside)
    settings = [settings_of_shard(shard) for shard in shards]
    special, seen = special_ids(vocabulary, shards), SeenRecords()

    def survey(number: int) -> Survey:
        rule = rule_of(shards[number], settings[number], special, vocabulary)
        return survey_shard(shards[number], number, rule, seen)

    same_document, words = _look_at_corpus(config, shards)
    with open_threads(count_workers(config.num_workers)) as executor:
        surveys = list(executor.ordered_map(survey, range(len(shards))))
    set_ = Surveyed(
        shards=shards,
        settings=settings,
        surveys=surveys,
        repeats=seen.count(max(each.num_passes for each in settings)),
        knows_unknown=vocabulary is not None,
        same_document=same_document,
        unknown_words=words,
    )
    damages = [beside, *(survey.damage for survey in surveys)]
    findings = [*_damage(damages), *check_listing(shards, settings), *_faults(set_)]
    findings += _cased_tokens(vocabulary, shards, config.do_lower_case)
    if not set_.counts["records"] and all(f.severity != DAMAGED for f in findings):
        raise ValueError(f"no records in {', '.join(config.as_reader().patterns)}")
    limit = max(filter(None, (each.max_seq_length for each in settings)), default=None)
    num_of_length = functools.reduce(add_padded, (each.num_of_length for each in surveys))
    return Report(
        figures=figures_of(set_),
        findings=by_harm([*findings, *_contradictions(set_), *findings_of(set_)]),
        num_records=set_.counts["records"],
        num_tokens=set_.counts["tokens"],
        faults=set_.faults,
        max_seq_length=limit,
        num_of_length=num_of_length,
        shards=[(each.path, each.num_records) for each in surveys],
        batch_size=config.batch_size,
        batchings=compare_batchings(
            lengths_of_histogram(num_of_length, _MOST_LENGTHS),
            batch_size=config.batch_size,
            max_seq_length=limit,
        ),
    )


def _check_others(
    config: CheckConfig, shards: Sequence[Shard], kind: str, beside: FoundDamage
) -> Report:
    if config.text_file is not None:
        raise ValueError(f"text_file is {config.text_file!r}; {kind} are not compared with a text")
    files = listed_files(shards, FORMAT, SAMPLES_FORMAT)
    with open_threads(count_workers(config.num_workers)) as executor:
        surveyed = list(
            executor.ordered_map(lambda shard: survey_any(shard, files.get(shard.path)), shards)
        )
    num_of_length = functools.reduce(add_padded, (lengths for _, lengths in surveyed))
    findings = _damage([beside, *(damage for damage, _ in surveyed)])
    return Report(
        findings=by_harm([*findings, *check_listed(shards, files)]),
        num_records=int(num_of_length.sum()),
        num_tokens=int(num_of_length @ np.arange(num_of_length.size)),
        num_of_length=num_of_length,
        shards=[
            (shard.path, int(lengths.sum()))
            for shard, (_, lengths) in zip(shards, surveyed, strict=True)
        ],
        batch_size=config.batch_size,
        kind=kind,
    )


def _look_at_corpus(
    config: CheckConfig, shards: Sequence[Shard]
) -> tuple[Figure | None, Sequence[str]]:
    """Return what the corpus shows: `same_document` and `unknown_words` of `Surveyed`."""
    if config.text_file is None:
        return None, ()
    assert config.vocab_file is not None
    flags = next((shard.manifest.flags for shard in shards if shard.manifest is not None), {})
    text = _text_config(flags)
    files = find_corpus(config.text_file, text)
    given = config.do_lower_case
    lower = flags.get("do_lower_case") if given is None else given
    tokenizer = read_tokenizer(config.vocab_file, do_lower_case=lower)
    words = [] if files.stores else unknown_words(files.paths, text, tokenizer)
    if not asks_for_next(shards[0].objective):
        return None, words
    return count_same_document(shards, files, text, tokenizer), words


def _text_config(flags: Mapping[str, Any]) -> TextConfig:
    """Return how a manifest says that the text was read; a store may be there as text, too."""
    names = [field.name for field in dataclasses.fields(TextConfig)]
    settings = {name: flags[name] for name in names if isinstance(flags.get(name), str)}
    if settings.get("input_format") not in text_format_names():
        settings.pop("input_format", None)
    return TextConfig(**settings)


def _refuse_others(
    shards: Sequence[Shard], vocabulary: TokenTable | None, next_sentence: str | None
) -> None:
    for shard in shards:
        manifest = shard.manifest
        if next_sentence not in (None, shard.objective.name):
            raise ValueError(
                f"next_sentence is {next_sentence}, but {shard.path} was made with next_sentence"
                f" {shard.objective.name}"
            )
        if shard.objective != shards[0].objective:
            raise ValueError(
                f"{shard.path} was made with next_sentence {shard.objective.name}, but"
                f" {shards[0].path} with {shards[0].objective.name}; check them one at a time"
            )
        if manifest is None:
            continue
        if vocabulary is not None and vocabulary.sha256 != manifest.vocabulary.sha256:
            raise ValueError(
                f"vocabulary {vocabulary.path} has sha256 {vocabulary.sha256}, but {shard.path} was"
                f" made with a vocabulary of sha256 {manifest.vocabulary.sha256}"
            )


def _cased_tokens(
    vocabulary: TokenTable | None, shards: Sequence[Shard], do_lower_case: bool | None
) -> Iterator[Finding]:
    """Count tokens that the text of the records cannot have."""
    if vocabulary is None:
        return
    flags = [shard.manifest.flags.get("do_lower_case") for shard in shards if shard.manifest]
    told = [each for each in (*flags, vocabulary.do_lower_case) if each is not None]
    lower = all(told) if told else do_lower_case
    if lower is False or not vocabulary.cased_tokens:
        return
    severity = HARMFUL if lower and is_cased(vocabulary) else DOUBTFUL
    reason = "" if lower else ", if do_lower_case was true (no manifest says so)"
    yield Finding("case", severity, f"{describe_cased(vocabulary)}, as that of this set{reason}")


def _damage(damages: Sequence[FoundDamage]) -> Iterator[Finding]:
    errors: dict[str, CorruptDataError] = {}
    for damage in damages:
        errors.update({str(error): error for error in damage.errors})
    for sentence in errors:
        yield Finding("damage", DAMAGED, sentence)
    num_lost = sum(damage.num_records for damage in damages)
    num_places = sum(damage.num_losses for damage in damages)
    if num_lost:
        sentence = f"{num_lost:,} or more records are lost, in {how_many(num_places, 'place')}"
        yield Finding("lost", DAMAGED, sentence)


def _faults(set_: Surveyed) -> Iterator[Finding]:
    for name, total in set_.faults.items():
        if not total:
            continue
        what = FAULTS[name] or _FORMS[set_.objective.num_segments]
        first = next(survey for survey in set_.surveys if name in survey.places)
        is_about_flags = name in ("too_many", "too_few")
        assumed = uncertain(set_.settings) if is_about_flags else ""
        is_of_text = name == "inside" and _are_of_text(set_, total)
        yield Finding(
            name,
            DOUBTFUL if assumed or is_of_text else HARMFUL,
            f"{total:,} of {set_.counts['records']:,} records {what}{assumed}; the first:"
            f" record {first.places[name][0]} of {first.path}",
        )


def _are_of_text(set_: Surveyed, num_records: int) -> bool:
    """Whether special tokens inside segments stand in the text: as manifests say, or as few do."""
    said = (each and each.counts.get("special_tokens") for each in set_.manifests)
    return num_records <= _MOST_OF_TEXT * set_.counts["records"] or all(said)


def _contradictions(set_: Surveyed) -> Iterator[Finding]:
    """Compare what manifests count with the records, if all of theirs were read undamaged."""
    listed = set_.from_manifests("instances", "num_instances")
    num_files = sum(len(manifest.files) for manifest in set_.manifests if manifest is not None)
    if num_files != len(set_.shards) or any(each.damage.num_places for each in set_.surveys):
        return
    if listed is not None and listed != set_.counts["records"]:
        yield Finding(
            "counts",
            HARMFUL,
            f"the manifest counts {listed:,} records; the shards hold {set_.counts['records']:,}",
        )
