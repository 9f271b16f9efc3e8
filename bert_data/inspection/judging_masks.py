"""Judge the tokens to predict of a set: figures with what is expected of them, and findings.

counts of a set, its masking rule  ->  [MASK] 79.9%, expected 80.0%
"""

from collections.abc import Iterator

import numpy as np

from bert_data.inspection.figures import CERTAIN, DOUBTFUL, Figure, Finding, harmful, percent
from bert_data.inspection.rules import Settings
from bert_data.inspection.surveyed import Surveyed
from bert_data.objectives.masking import GOOGLES_SHOWN

LEAST_DEVIATION = 0.005
"""Shares of a large set that deviate by less are no finding, however certain."""

_SHOWN_AS = (
    ("masked", "shown as [MASK]", "[MASK]", GOOGLES_SHOWN.mask),
    ("replaced", "shown as another token", "a random token", GOOGLES_SHOWN.random),
    ("kept", "shown as they are", "the token itself", GOOGLES_SHOWN.keep),
)
"""What is shown for a token to predict: its count, names in figures and findings, the share."""

_MOST_LOST = 0.05  # of the predictions, to max_predictions_per_seq
_DEVIATIONS = 6  # that are no chance
_FEWEST_RUNS, _MOST_RUNS = 0.95, 0.95  # of those by chance, where tokens are alone or side by side
_SPARSE = 0.3  # of the tokens: of more, most stand side by side by chance


def masking_figures(set_: Surveyed) -> Iterator[Figure]:
    """Yield the figures about tokens to predict."""
    counts = set_.counts
    predictions, records = counts["predictions"], counts["records"]
    expected = percent(counts["expected_predictions"] / max(1, counts["tokens"]))
    knows = any(each.max_predictions_per_seq is not None for each in set_.settings)
    yield Figure("tokens to predict", predictions, counts["tokens"], expected if knows else "")
    for key, name, _, share in _SHOWN_AS:
        yield Figure(name, counts[key], predictions, percent(share), is_sample=True)
    if knows:
        yield Figure(
            "records at max_predictions_per_seq",
            counts["at_limit"],
            records,
            percent(set_.limits.num_at_limit / max(1, records)),
        )
    if counts["predicted_words"] and any(each.masks_words for each in set_.settings):
        expected = percent(_most_partial_words(set_) / counts["predicted_words"])
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


def judge_masks(set_: Surveyed) -> Iterator[Finding]:
    """Yield what is wrong with the tokens to predict, and with what is shown in their place."""
    counts, size = set_.counts, _tokens_per_choice(set_)
    for key, _, name, expected in _SHOWN_AS:
        figure = Figure(name, round(counts[key] / size), round(counts["predictions"] / size))
        (low, high), share = figure.interval(CERTAIN), figure.share
        if share is None or abs(share - expected) < LEAST_DEVIATION or low <= expected <= high:
            continue
        yield harmful(
            f"{key}_share",
            f"{percent(share)} of the tokens to predict are shown as {name};"
            f" {percent(expected)} should be",
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
    """Compare predictions side by side with what the masking rule makes of them."""
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
        sizes = [manifest.vocab_size for manifest in set_.manifests if manifest is not None]
        # A random word may be [MASK], or the token itself.
        chance = 2 * GOOGLES_SHOWN.random * counts["predictions"] / min(sizes)
        if counts["mixed_runs"] > chance + _DEVIATIONS * (chance + 1) ** 0.5:
            yield harmful(
                "mixed_spans",
                f"{counts['mixed_runs']:,} groups of tokens to predict side by side are shown in"
                f" different ways; masking {masking.masking} shows each of them in one way",
            )


def judge_limit(set_: Surveyed) -> Iterator[Finding]:
    """Yield what max_predictions_per_seq leaves out, if it is much."""
    num_unlimited, counts = set_.limits.num_unlimited, set_.counts
    limits = [each.max_predictions_per_seq for each in set_.settings]
    if not all(limits) or not num_unlimited or any(each.masks_words for each in set_.settings):
        return  # without predictions, the reader chooses them
    lost = 1 - counts["expected_predictions"] / num_unlimited
    if lost > _MOST_LOST:
        yield Finding(
            "prediction_limit",
            DOUBTFUL,
            f"max_predictions_per_seq leaves out {percent(lost)} of the tokens to predict:"
            f" {percent(set_.limits.num_at_limit / counts['records'])} of the records are at the"
            f" limit, {max(each for each in limits if each)}; masked_lm_prob"
            f" {max(each.masking.masked_lm_prob for each in set_.settings)} allows"
            f" {max(_most_useful(each) for each in set_.settings)}",
        )


def _most_useful(settings: Settings) -> int:
    longest = np.array([settings.max_seq_length or 0])
    return int(settings.masking.num_to_predict(longest)[0])
