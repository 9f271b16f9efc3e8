"""Judge a set that was surveyed: figures with what is expected of them, and findings."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence

import numpy as np

from bert_data.inspection.figures import (
    CERTAIN,
    DOUBTFUL,
    HARMFUL,
    Figure,
    Finding,
    harmful,
    share_text,
    wilson,
)
from bert_data.inspection.measuring import COUNTS, FAULTS
from bert_data.inspection.rules import ShardSettings
from bert_data.inspection.surveying import CopyCounts, Survey
from bert_data.reader.files.shards import Shard
from bert_data.records.masking.config import MaskingConfig
from bert_data.records.masking.rule import GOOGLES_SHOWN
from bert_data.records.objectives import Objective
from bert_data.records.sets.manifest import Manifest
from bert_data.tokens.corpus_warnings import MOST_UNKNOWN

_HARMFUL_UNKNOWN = 0.2
_MOST_RANDOM, _MOST_SAME = 0.8, 0.01
_MOST_COPIES, _MOST_BEYOND = 0.001, 0.01
_MOST_UNBALANCED = 1.5  # times the mean, or the mean that many times the smallest
_LEAST_DEVIATION = 0.005  # of shares of a large set; less is no finding, however certain
# For a token to predict, in the order of `Shown`: the count, its names in figures and findings.
_SHOWN_AS = (
    ("masked", "shown as [MASK]", "[MASK]"),
    ("replaced", "shown as another token", "a random token"),
    ("kept", "shown as they are", "the token itself"),
)
_MOST_LOST = 0.05  # of the predictions, to max_predictions_per_seq
_DEVIATIONS = 6  # that are no chance
_FEWEST_RUNS, _MOST_RUNS = 0.95, 0.95  # of those by chance, where tokens are alone or side by side
_SPARSE = 0.3  # of the tokens: of more, most stand side by side by chance


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Surveyed:
    """A set that was read whole.

    Attributes:
      shards, settings, surveys: one each for every shard.
      knows_unknown: whether [UNK] could be counted in the records.
      same_document: of a sample of random next sentences, those of the same document; None without
        the corpus.
      unknown_words: frequent words of the corpus that are [UNK].
    """

    shards: Sequence[Shard]
    settings: Sequence[ShardSettings]
    surveys: Sequence[Survey]
    repeats: CopyCounts
    knows_unknown: bool
    same_document: Figure | None = None
    unknown_words: Sequence[str] = ()

    @functools.cached_property
    def counts(self) -> dict[str, int]:
        """Counts by the names of `COUNTS`."""
        total = np.sum([survey.counts for survey in self.surveys], axis=0)
        return dict(zip(COUNTS, total.tolist(), strict=True))

    @functools.cached_property
    def faults(self) -> dict[str, int]:
        """Records with each fault, by the names of `FAULTS`."""
        total = np.sum([survey.num_faults for survey in self.surveys], axis=0)
        return dict(zip(FAULTS, total.tolist(), strict=True))

    @property
    def objective(self) -> Objective:
        """The objective of the records."""
        return self.shards[0].objective

    @property
    def is_own(self) -> bool:
        """Whether functions of a program chose tokens and sentences, by rules of their own."""
        return any(each.is_own for each in self.settings)

    @functools.cached_property
    def limits(self) -> tuple[int, int]:
        """Predictions if max_predictions_per_seq did not limit them; records at it by length."""
        num_unlimited = at_limit = 0
        for settings, survey in zip(self.settings, self.surveys, strict=True):
            lengths = np.arange(survey.num_of_length.size)
            most = settings.masking.num_to_predict(lengths).astype(np.int64)
            num_unlimited += int(most @ survey.num_of_length)
            limit = settings.max_predictions_per_seq
            at_limit += 0 if limit is None else int(survey.num_of_length[most >= limit].sum())
        return num_unlimited, at_limit

    @property
    def manifests(self) -> Sequence[Manifest | None]:
        """The manifest of every shard, each once; None if a shard has none."""
        return list({id(shard.manifest): shard.manifest for shard in self.shards}.values())

    def from_manifests(self, group: str, name: str) -> int | None:
        """Return a count of all manifests together; None if one is missing, or does not have it."""
        total = 0
        for manifest in self.manifests:
            count = manifest.counts.get(group, {}).get(name) if manifest is not None else None
            if not isinstance(count, int):
                return None
            total += count
        return total


def figures_of(set_: Surveyed) -> list[Figure]:
    """Return the figures of a set, in the order in which they are shown."""
    num_faulty = sum(survey.num_faulty for survey in set_.surveys)
    faulty = Figure("records with a fault", num_faulty, set_.counts["records"], "0.0%")
    return [faulty, *_masking_figures(set_), *_sentence_figures(set_), *_other_figures(set_)]


def _sentence_figures(set_: Surveyed) -> Iterator[Figure]:
    if set_.objective.label is None:
        return
    records = set_.counts["records"]
    counted = [
        set_.from_manifests("instances", each)
        for each in ("num_random_next", "num_swapped", "num_instances")
    ]
    expected = "" if set_.is_own else "50% or more"
    if counted[0] is not None and counted[2] == records:
        expected = share_text((counted[0] + (counted[1] or 0)) / max(1, records))
    random = set_.counts["random_next"]
    yield Figure(_name_of_ones(set_.objective), random, records, expected, is_sample=True)
    if set_.same_document is not None:
        yield set_.same_document


def _other_figures(set_: Surveyed) -> Iterator[Figure]:
    unknown = _unknown(set_)
    if unknown is not None:
        yield unknown
    repeats = set_.repeats
    yield Figure(
        "exact copies of other records",
        repeats.num_copies,
        repeats.num_compared,
        f"below {share_text(_MOST_COPIES)}",
    )
    yield Figure(
        "records of a text beyond dupe_factor",
        repeats.num_beyond,
        repeats.num_compared,
        f"below {share_text(_MOST_BEYOND)}",
    )


def _unknown(set_: Surveyed) -> Figure | None:
    """Return the share of [UNK]: in the records, or else in the text by the manifest."""
    part, whole = set_.counts["unknown"], set_.counts["text_tokens"]
    if not set_.knows_unknown:
        numbers = (set_.from_manifests("text", name) for name in ("num_unknown", "num_tokens"))
        counted = [count for count in numbers if count is not None]
        if len(counted) < 2:
            return None
        part, whole = counted
    expected = f"below {share_text(MOST_UNKNOWN)}"
    return Figure("[UNK]", part, whole, expected)


def findings_of(set_: Surveyed) -> Iterator[Finding]:
    """Yield what is wrong with the records of a set, except for damage and single records."""
    judges = [_judge_unknown, _judge_repeats, _judge_balance]
    if not set_.is_own:
        judges = [_same_document, _judge_masks, _judge_sentences, _judge_limit, *judges]
    for judge in judges:
        yield from judge(set_)


def asks_for_next(objective: Objective) -> bool:
    """Whether B of every record with the label 1 is from elsewhere."""
    return objective.label is not None and not objective.swaps


def _name_of_ones(objective: Objective) -> str:
    """Return what the records with the label 1 are."""
    return "segments not in order" if objective.swaps else "random next sentences"


def _same_document(set_: Surveyed) -> Iterator[Finding]:
    random, records = set_.counts["random_next"], set_.counts["records"]
    if not asks_for_next(set_.objective) or not random:
        return
    share = set_.same_document
    if share is not None:
        if share.interval(CERTAIN)[0] > _MOST_SAME:
            yield harmful(
                "same_document",
                f"{share.part:,} of {share.whole:,} random next sentences are of the same document"
                " as the first segment; is there a blank line between documents?",
            )
    elif set_.from_manifests("text", "num_documents") == 1:
        yield harmful(
            "same_document",
            f"all random next sentences ({share_text(random / records)} of the records) are of the"
            " same document, because the text is a single document; put a blank line between"
            " documents",
        )


def _judge_sentences(set_: Surveyed) -> Iterator[Finding]:
    random, records = set_.counts["random_next"], set_.counts["records"]
    if set_.objective.label is None or not records:
        return
    what, share = _name_of_ones(set_.objective), random / records
    low, high = wilson(random, records, CERTAIN)
    if share < 0.5 - _LEAST_DEVIATION and high < 0.5:
        yield harmful(
            "next_sentence_share",
            f"{share_text(share)} of the records have the label 1 ({what}); at least half should",
        )
    elif low > _MOST_RANDOM:
        yield Finding(
            "next_sentence_share",
            HARMFUL if random == records else DOUBTFUL,
            f"{share_text(share)} of the records have the label 1 ({what}): a chunk of one"
            " sentence always gets a random one; are documents single sentences, or lines whole"
            " paragraphs?",
        )


def _judge_unknown(set_: Surveyed) -> Iterator[Finding]:
    figure = _unknown(set_)
    share = None if figure is None else figure.share
    words = ", ".join(set_.unknown_words)
    such_as = f" (words such as {words})" if words else ""
    if share is not None and share > MOST_UNKNOWN:
        yield Finding(
            "unknown",
            HARMFUL if share > _HARMFUL_UNKNOWN else DOUBTFUL,
            f"{share_text(share)} of the tokens of text are [UNK]{such_as}; does the vocabulary fit"
            " the language and the case of the text?",
        )


def _judge_repeats(set_: Surveyed) -> Iterator[Finding]:
    repeats = set_.repeats
    if repeats.example and repeats.num_copies > _MOST_COPIES * repeats.num_compared:
        (shard, record), (other, copy) = repeats.example
        yield harmful(
            "copies",
            f"{share_text(repeats.num_copies / repeats.num_compared)} of the records are exact"
            f" copies of others, masks included, such as record {copy} of"
            f" {set_.shards[other].path}, which equals record {record} of"
            f" {set_.shards[shard].path}; is the same set there twice?",
        )
    elif repeats.num_beyond > _MOST_BEYOND * repeats.num_compared:
        passes = max(each.num_passes for each in set_.settings)
        yield Finding(
            "repeated_text",
            DOUBTFUL,
            f"{share_text(repeats.num_beyond / repeats.num_compared)} of the records have a"
            f" text that {passes} or more others have (dupe_factor is {passes}); the corpus repeats"
            " itself, and curate's exact_duplicates removes copies",
        )


def _judge_balance(set_: Surveyed) -> Iterator[Finding]:
    sizes = [survey.num_records for survey in set_.surveys]
    mean = sum(sizes) / len(sizes)
    is_uneven = max(sizes) > _MOST_UNBALANCED * mean or min(sizes) < mean / _MOST_UNBALANCED
    if len(sizes) > 1 and mean >= 10 and is_uneven:
        largest, smallest = int(np.argmax(sizes)), int(np.argmin(sizes))
        yield Finding(
            "balance",
            DOUBTFUL,
            f"{set_.surveys[largest].path} holds {max(sizes):,} records and"
            f" {set_.surveys[smallest].path} {min(sizes):,}; hosts that read whole shards wait for"
            " the largest",
        )


def uncertain(settings: Sequence[ShardSettings]) -> str:
    """Return what is assumed where no manifest says it; "" if all do."""
    if all(each.are_known for each in settings):
        return ""
    prob = MaskingConfig.masked_lm_prob
    return f", if masked_lm_prob is {prob} and not of whole words (no manifest says so)"


def _masking_figures(set_: Surveyed) -> Iterator[Figure]:
    counts = set_.counts
    predictions, records = counts["predictions"], counts["records"]
    expected = share_text(counts["expected_predictions"] / max(1, counts["tokens"]))
    limits = [each.max_predictions_per_seq for each in set_.settings]
    knows = not set_.is_own and limits != [None] * len(limits)
    yield Figure("tokens to predict", predictions, counts["tokens"], expected if knows else "")
    for (key, name, _), share in zip(_SHOWN_AS, GOOGLES_SHOWN, strict=True):
        expected = "" if set_.is_own else share_text(share)
        yield Figure(name, counts[key], predictions, expected, is_sample=True)
    if knows:
        yield Figure(
            "records at max_predictions_per_seq",
            counts["at_limit"],
            records,
            share_text(set_.limits[1] / max(1, records)),
        )
    if counts["predicted_words"] and any(each.masks_words for each in set_.settings):
        expected = share_text(_most_partial_words(set_) / counts["predicted_words"])
        yield Figure(
            "words predicted in part", counts["partial_words"], counts["predicted_words"], expected
        )


def _most_partial_words(set_: Surveyed) -> int:
    """Return how many words may be predicted in part: spans may end in the middle of one."""
    cuts_words = any(each.masking.rule.of_words for each in set_.settings)
    return set_.counts["records"] if cuts_words else 0


def _tokens_per_choice(set_: Surveyed) -> float:
    """Return for how many tokens one choice of [MASK], random and kept counts, >= 1."""
    if not any(each.masking.rule.shows_alike for each in set_.settings):
        return 1.0
    return set_.counts["run_squares"] / max(1, set_.counts["predictions"])


def _judge_masks(set_: Surveyed) -> Iterator[Finding]:
    counts, size = set_.counts, _tokens_per_choice(set_)
    for (key, _, name), expected in zip(_SHOWN_AS, GOOGLES_SHOWN, strict=True):
        figure = Figure(name, round(counts[key] / size), round(counts["predictions"] / size))
        (low, high), share = figure.interval(CERTAIN), figure.share
        if share is None or abs(share - expected) < _LEAST_DEVIATION or low <= expected <= high:
            continue
        yield harmful(
            f"{key}_share",
            f"{share_text(share)} of the tokens to predict are shown as {name};"
            f" {share_text(expected)} should be",
        )
    partial, words = counts["partial_words"], counts["predicted_words"]
    if partial > _most_partial_words(set_) and all(each.masks_words for each in set_.settings):
        rule = max((each.masking for each in set_.settings), key=lambda each: each.rule.of_words)
        made = f"masking {rule.masking}" if rule.rule.of_words else "do_whole_word_mask"
        yield harmful(
            "partial_words",
            f"{partial:,} of {words:,} predicted words are predicted in part, although the set"
            f" was made with {made}",
        )
    yield from _judge_runs(set_)


def _judge_runs(set_: Surveyed) -> Iterator[Finding]:
    rules = {each.masking for each in set_.settings}
    if len(rules) > 1 or not all(each.are_known for each in set_.settings):
        return
    masking, counts = rules.pop(), set_.counts
    runs, by_chance = counts["runs"], counts["expected_runs"] / 1000
    compared = f"tokens to predict stand in {runs:,} groups side by side, by chance in"
    compared += f" {by_chance:,.0f}; masking {masking.masking}"
    noise = _DEVIATIONS * by_chance**0.5
    gathers = masking.rule.gathers and masking.largest_size > 1
    if not gathers and not masking.masks_words and runs < _FEWEST_RUNS * by_chance - noise:
        yield harmful("gathered", f"{compared} chooses each token by itself")
    is_sparse = masking.masked_lm_prob <= _SPARSE
    if gathers and is_sparse and runs - noise > _MOST_RUNS * by_chance:
        yield harmful("scattered", f"{compared} chooses tokens side by side")
    if masking.rule.shows_alike:
        sizes = [manifest.vocabulary.size for manifest in set_.manifests if manifest is not None]
        # A random word may be [MASK], or the token itself.
        chance = 2 * GOOGLES_SHOWN.random * counts["predictions"] / min(sizes)
        if counts["mixed_runs"] > chance + _DEVIATIONS * (chance + 1) ** 0.5:
            yield harmful(
                "mixed_spans",
                f"{counts['mixed_runs']:,} groups of tokens to predict side by side are shown in"
                f" different ways; masking {masking.masking} shows each of them in one way",
            )


def _judge_limit(set_: Surveyed) -> Iterator[Finding]:
    (num_unlimited, num_at_limit), counts = set_.limits, set_.counts
    limits = [each.max_predictions_per_seq for each in set_.settings]
    unsure = any(each.masks_words for each in set_.settings)
    if not all(limits) or not num_unlimited or unsure:
        return  # without predictions, the reader chooses them
    lost = 1 - counts["expected_predictions"] / num_unlimited
    lengths = [np.array([each.max_seq_length or 0]) for each in set_.settings]
    useful = map(lambda each, n: int(each.masking.num_to_predict(n)[0]), set_.settings, lengths)
    if lost > _MOST_LOST:
        yield Finding(
            "prediction_limit",
            DOUBTFUL,
            f"max_predictions_per_seq leaves out {share_text(lost)} of the tokens to predict:"
            f" {share_text(num_at_limit / counts['records'])} of the records are at the"
            f" limit, {max(each for each in limits if each)}; masked_lm_prob"
            f" {max(each.masking.masked_lm_prob for each in set_.settings)} allows"
            f" {max(useful)}",
        )
