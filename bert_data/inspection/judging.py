"""Judge what was surveyed: figures with what is expected of them, and findings.

counts of a set, its settings  ->  [MASK] 79.9%, expected 80.0%
                                   random next 53.2%, all of the same document: harmful
"""

from collections.abc import Iterator, Sequence

import numpy as np

from bert_data.inspection.figures import (
    CERTAIN,
    DOUBTFUL,
    HARMFUL,
    Figure,
    Finding,
    harmful,
    percent,
    wilson,
)
from bert_data.inspection.judging_masks import (
    LEAST_DEVIATION,
    judge_limit,
    judge_masks,
    masking_figures,
)
from bert_data.inspection.rules import Settings
from bert_data.inspection.surveyed import Surveyed
from bert_data.objectives.masking_rules import MaskingConfig
from bert_data.tokens.corpus_warnings import MOST_UNKNOWN

_HARMFUL_UNKNOWN = 0.2
_MOST_RANDOM, _MOST_SAME = 0.8, 0.01
_MOST_COPIES, _MOST_BEYOND = 0.001, 0.01
_MOST_UNBALANCED = 1.5  # times the mean, or the mean that many times the smallest


def figures_of(set_: Surveyed) -> list[Figure]:
    """Return the figures of a set, in the order in which they are shown."""
    faulty = Figure(
        "records with a fault",
        sum(survey.num_faulty for survey in set_.surveys),
        set_.counts["records"],
        "0.0%",
    )
    return [faulty, *masking_figures(set_), *_sentence_figures(set_), *_other_figures(set_)]


def _sentence_figures(set_: Surveyed) -> Iterator[Figure]:
    if set_.objective.label is None:
        return
    records = set_.counts["records"]
    counted = [
        set_.from_manifests("instances", each)
        for each in ("num_random_next", "num_swapped", "num_instances")
    ]
    expected = "50% or more"
    if counted[0] is not None and counted[2] == records:
        expected = percent((counted[0] + (counted[1] or 0)) / max(1, records))
    random = set_.counts["random_next"]
    yield Figure(set_.objective.ones, random, records, expected, is_sample=True)
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
        f"below {percent(_MOST_COPIES)}",
    )
    yield Figure(
        "records of a text beyond dupe_factor",
        repeats.num_beyond,
        repeats.num_compared,
        f"below {percent(_MOST_BEYOND)}",
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
    expected = f"below {percent(MOST_UNKNOWN)}"
    return Figure("[UNK]", part, whole, expected)


def findings_of(set_: Surveyed) -> Iterator[Finding]:
    """Yield what is wrong with the records of a set, except for damage and single records."""
    yield from _same_document(set_)
    yield from judge_masks(set_)
    yield from _judge_sentences(set_)
    yield from _judge_unknown(set_)
    yield from _judge_repeats(set_)
    yield from judge_limit(set_)
    yield from _judge_balance(set_)


def _same_document(set_: Surveyed) -> Iterator[Finding]:
    random, records = set_.counts["random_next"], set_.counts["records"]
    if not set_.objective.ones_are_elsewhere or not random:
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
            f"all random next sentences ({percent(random / records)} of the records) are of the"
            " same document, because the text is a single document; put a blank line between"
            " documents",
        )


def _judge_sentences(set_: Surveyed) -> Iterator[Finding]:
    random, records = set_.counts["random_next"], set_.counts["records"]
    if set_.objective.label is None or not records:
        return
    what, share = set_.objective.ones, random / records
    low, high = wilson(random, records, CERTAIN)
    if share < 0.5 - LEAST_DEVIATION and high < 0.5:
        yield harmful(
            "next_sentence_share",
            f"{percent(share)} of the records have the label 1 ({what}); at least half should",
        )
    elif low > _MOST_RANDOM:
        yield Finding(
            "next_sentence_share",
            HARMFUL if random == records else DOUBTFUL,
            f"{percent(share)} of the records have the label 1 ({what}): a chunk of one"
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
            f"{percent(share)} of the tokens of text are [UNK]{such_as}; does the vocabulary fit"
            " the language and the case of the text?",
        )


def _judge_repeats(set_: Surveyed) -> Iterator[Finding]:
    repeats = set_.repeats
    if repeats.num_copies > _MOST_COPIES * repeats.num_compared:
        (shard, record), (other, copy) = repeats.examples[0]
        yield harmful(
            "copies",
            f"{percent(repeats.num_copies / repeats.num_compared)} of the records are exact copies"
            f" of others, masks included, such as record {copy} of {set_.shards[other].path}, which"
            f" equals record {record} of {set_.shards[shard].path}; is the same set there twice?",
        )
    elif repeats.num_beyond > _MOST_BEYOND * repeats.num_compared:
        passes = max(each.num_passes for each in set_.settings)
        yield Finding(
            "repeated_text",
            DOUBTFUL,
            f"{percent(repeats.num_beyond / repeats.num_compared)} of the records have a"
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


def uncertain(settings: Sequence[Settings]) -> str:
    """Return what is assumed where no manifest says it; "" if all do."""
    if all(each.are_known for each in settings):
        return ""
    prob = MaskingConfig.masked_lm_prob
    return f", if masked_lm_prob is {prob} and not of whole words (no manifest says so)"
