"""Pipelines as published: their steps, in their order, with their parameters.

preset_steps("fineweb")  ->  [UrlFilter(), Extract(), Language(...), GopherRepetition(), ...]

They leave out what a publication did by hand, with a service, or with lists that it did not publish
(SafeSearch, its own lists of domains); the steps' parameters take such lists.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bert_data.curation.step import Step, make_step

Entries = Sequence[tuple[str, Mapping[str, Any]]]

PRESETS: dict[str, Entries] = {
    # Raffel et al. 2020, section 2.2, and their code: rules of lines and pages (give `bad_words`
    # for their list), all but one of equal lines, English. They ask for a probability of 0.99, of
    # langdetect, which is that certain of nearly all prose; lid.176 is not, so this is its usual
    # threshold.
    "c4": (
        ("c4", {}),
        ("line_duplicates", {"ignore_digits": False}),
        ("language", {"languages": ["en"], "min_score": 0.65}),
    ),
    # Rae et al. 2021, appendix A.1: quality, repetition, and then near duplicates, of 13-grams and
    # a Jaccard similarity of 0.8.
    "gopher": (
        ("gopher_quality", {}),
        ("gopher_repetition", {}),
        ("near_duplicates", {"ngram_size": 13, "max_similarity": 0.8}),
    ),
    # Penedo et al. 2024, section 3 (and their code, datatrove): Gopher's rules, C4's without
    # that of terminal marks, their own, MinHash of 5-grams in 14 bands of 8, personal data.
    "fineweb": (
        ("url_filter", {}),
        ("extract", {}),
        ("language", {"languages": ["en"], "min_score": 0.65}),
        ("gopher_repetition", {}),
        ("gopher_quality", {"symbols_are_words": True}),
        ("c4", {"terminal_punctuation": []}),
        ("fineweb", {}),
        ("near_duplicates", {"ngram_size": 5, "num_bands": 14, "rows_per_band": 8}),
        ("privacy", {}),
    ),
    # Penedo et al. 2023, section 3 and appendix G: MinHash of 5-grams, 20 buckets of 450 hashes,
    # whose banding curve is steep at 0.8 (here so similar ones are looked for by fewer hashes, and
    # compared themselves); then substrings of 50 tokens.
    "refinedweb": (
        ("url_filter", {}),
        ("extract", {}),
        ("language", {"languages": ["en"], "min_score": 0.65}),
        ("gopher_repetition", {}),
        ("gopher_quality", {}),
        ("line_corrections", {}),
        ("near_duplicates", {"ngram_size": 5, "max_similarity": 0.8}),
        ("substring_duplicates", {"length": 50}),
    ),
    # Soldaini et al. 2024 (Dolma), section 5.1: pages of few words are left out of Wikipedia, which
    # is clean otherwise.
    "wikipedia": (
        ("repair", {}),
        ("length", {"min_words": 26}),
        ("exact_duplicates", {}),
    ),
    # The corpora of `bert_data.text.corpora`, after their readers have cleaned them; Touvron et al.
    # 2023 (LLaMA), section 2.1: what they did to each source beyond that.
    "wikipedia-dump": (
        ("repair", {}),
        ("length", {"min_words": 26}),
        ("exact_duplicates", {}),
    ),
    # Licences, lengths of lines and share of letters, headers, equal files; near duplicates as
    # in The Stack (Kocetkov et al. 2022), of 5-grams and a Jaccard similarity of 0.7.
    "code": (
        ("licence", {"allowed": ["apache-2.0", "bsd-2-clause", "bsd-3-clause", "mit"]}),
        ("code_header", {}),
        ("code_quality", {}),
        ("exact_duplicates", {}),
        ("near_duplicates", {"ngram_size": 5, "max_similarity": 0.7}),
    ),
    "arxiv": (
        ("repair", {}),
        ("length", {"min_words": 100}),
        ("exact_duplicates", {}),
    ),
    "stackexchange": (
        ("repair", {}),
        ("length", {"min_words": 20}),
        ("exact_duplicates", {}),
    ),
    # Books that share more than 90% of their content are one.
    "books": (
        ("repair", {}),
        ("length", {"min_words": 1_000}),
        ("near_duplicates", {"ngram_size": 5, "max_similarity": 0.9}),
    ),
}


def preset_steps(name: str) -> list[Step]:
    """Return the steps of a preset.

    Raises:
      ValueError: there is no preset of that name.
    """
    if name not in PRESETS:
        raise ValueError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    return [make_step(step, dict(parameters)) for step, parameters in PRESETS[name]]
