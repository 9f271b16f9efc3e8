"""Pipelines as published: their steps, in their order, with their parameters.

They leave out what a publication did by hand, with a service, or with lists that it did not publish
(SafeSearch, its own lists of domains); the steps' parameters take such lists.

The preset of a publication with several sources (`SOURCES`) names these as its steps' `data_sets`;
a data set is of the source that has its name, or that a user says it is of. A step whose files the
user must give (a model) is left out without them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from absl import logging

from bert_data.curation.step import Step, find_step, make_step, missing_parameters

LARGEST_SITES = (
    *("stackoverflow.com", "math.stackexchange.com", "superuser.com", "askubuntu.com"),
    *("serverfault.com", "ru.stackoverflow.com", "es.stackoverflow.com", "pt.stackoverflow.com"),
    *("unix.stackexchange.com", "tex.stackexchange.com", "stats.stackexchange.com"),
    *("physics.stackexchange.com", "electronics.stackexchange.com", "english.stackexchange.com"),
    *("mathoverflow.net", "apple.stackexchange.com", "gis.stackexchange.com"),
    *("dba.stackexchange.com", "wordpress.stackexchange.com", "magento.stackexchange.com"),
    *("salesforce.stackexchange.com", "ell.stackexchange.com", "drupal.stackexchange.com"),
    *("sharepoint.stackexchange.com", "softwareengineering.stackexchange.com"),
    *("blender.stackexchange.com", "gaming.stackexchange.com", "meta.stackexchange.com"),
)
"""28 large sites of Stack Exchange, of all topics and four languages. LLaMA kept the 28 largest and
does not name them: by the sizes in a dump's listing, the last of these may not be among them."""

_LICENCES = ("apache-2.0", "bsd-2-clause", "bsd-3-clause", "mit")
_WIKIPEDIAS = "bg ca cs da de en es fr hr hu it nl pl pt ro ru sl sr sv uk"

SOURCES: Mapping[str, Sequence[str]] = {
    "llama": ("commoncrawl", "c4", "github", "wikipedia", "books", "arxiv", "stackexchange"),
}
"""The sources of presets whose steps are for one source each."""

Entries = Sequence[tuple[str, Mapping[str, Any]]]


def _prose(min_words: int) -> Entries:
    """Return the steps for a corpus that its reader has cleaned already."""
    return (("repair", {}), ("length", {"min_words": min_words}), ("exact_duplicates", {}))


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
    "wikipedia": _prose(min_words=26),
    # The corpora of `bert_data.text.corpora`, after their readers have cleaned them; Touvron et al.
    # 2023 (LLaMA), section 2.1: what they did to each source beyond that.
    "wikipedia-dump": _prose(min_words=26),
    # Licences, lengths of lines and share of letters, headers, equal files; near duplicates as
    # in The Stack (Kocetkov et al. 2022), of 5-grams and a Jaccard similarity of 0.7.
    "code": (
        ("licence", {"allowed": _LICENCES}),
        ("code_header", {}),
        ("code_quality", {}),
        ("exact_duplicates", {}),
        ("near_duplicates", {"ngram_size": 5, "max_similarity": 0.7}),
    ),
    "arxiv": _prose(min_words=100),
    "stackexchange": _prose(min_words=20),
    # Books that share more than 90% of their content are one.
    "books": (
        ("repair", {}),
        ("length", {"min_words": 1_000}),
        ("near_duplicates", {"ngram_size": 5, "max_similarity": 0.9}),
    ),
    # Touvron et al. 2023 (LLaMA), section 2.1, source by source. The readers of `corpora` do the
    # rest: markup of Wikipedia, LaTeX, the order of answers.
    "llama": (
        # CCNet (Wenzek et al. 2020): lines, English (its threshold is 0.5), perplexity; and pages
        # of the kind that Wikipedia cites.
        ("line_duplicates", {"data_sets": ["commoncrawl"]}),
        ("language", {"data_sets": ["commoncrawl"], "languages": ["en"], "min_score": 0.5}),
        ("perplexity", {"data_sets": ["commoncrawl"]}),
        ("classifier", {"data_sets": ["commoncrawl"], "label": "positive", "min_score": 0.5}),
        # C4's rules, as the preset c4 has them.
        ("c4", {"data_sets": ["c4"]}),
        ("line_duplicates", {"data_sets": ["c4"], "ignore_digits": False}),
        ("language", {"data_sets": ["c4"], "languages": ["en"], "min_score": 0.65}),
        ("licence", {"data_sets": ["github"], "allowed": _LICENCES}),
        ("code_header", {"data_sets": ["github"]}),
        ("code_quality", {"data_sets": ["github"]}),
        ("exact_duplicates", {"data_sets": ["github"]}),
        (
            "field_values",
            {
                "data_sets": ["wikipedia"],
                "field": "language",
                "allowed": _WIKIPEDIAS.split(),
                "missing": "keep",
            },
        ),
        ("near_duplicates", {"data_sets": ["books"], "ngram_size": 5, "max_similarity": 0.9}),
        (
            "field_values",
            {"data_sets": ["stackexchange"], "field": "site", "allowed": LARGEST_SITES},
        ),
    ),
}


def preset_steps(
    name: str,
    data_sets: Sequence[str] = (),
    *,
    sources: Mapping[str, str | None] | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Step]:
    """Return the steps of a preset.

    Args:
      sources: which source of the preset a data set is of, by its name, None for one that the
        preset leaves alone; others are of the source of their own name.
      parameters: of steps, by their names, besides those of the preset or in their place; of the
        step for one source, where a preset has several of a name, by "source.step".
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise ValueError(f"there is no preset {name!r:.60}; there are {', '.join(PRESETS)}")
    parameters = parameters or {}
    names = {key: None for step, published in PRESETS[name] for key in _keys(step, published)}
    for step, values in parameters.items():
        if step not in names:
            raise ValueError(
                f"parameters are for {step!r}; the steps of preset {name} are {', '.join(names)}"
            )
        if name in SOURCES and "data_sets" in values:
            raise ValueError(
                f"parameters of {step} have data_sets; sources say which ones preset {name} judges"
            )
    of_source = _data_sets_by_source(name, data_sets, sources or {})
    steps = []
    for step, published in PRESETS[name]:
        values = dict(published)
        for key in _keys(step, published):
            values |= parameters.get(key, {})
        if name in SOURCES:
            values["data_sets"] = [each for s in published["data_sets"] for each in of_source[s]]
            if not values["data_sets"]:
                continue
        missing = missing_parameters(find_step(step), values)
        if missing:
            logging.warning(
                "preset %s: the step %s is left out, as it needs %s; a pipeline file gives them:"
                " parameters: {%s: {%s: ...}}",
                *(name, step, " and ".join(missing), step, missing[0]),
            )
            continue
        steps.append(make_step(step, values))
    return steps


def _keys(step: str, published: Mapping[str, Any]) -> list[str]:
    """Return the names by which parameters are given to a step: "c4", and "github.licence"."""
    return [step, *(f"{source}.{step}" for source in published.get("data_sets", ()))]


def _data_sets_by_source(
    preset: str, data_sets: Sequence[str], sources: Mapping[str, str | None]
) -> dict[str, list[str]]:
    """Return the data sets of each source of a preset."""
    if preset not in SOURCES:
        if sources:
            raise ValueError(
                f"sources are for the presets {', '.join(SOURCES)}, not for preset {preset}"
            )
        return {}
    known = ", ".join(SOURCES[preset])
    if not data_sets:
        raise ValueError(f"preset {preset} needs data sets, which are of its sources {known}")
    for name in sources:
        if name not in data_sets:
            raise ValueError(f"sources has {name!r}; the data sets are {', '.join(data_sets)}")
    grouped: dict[str, list[str]] = {source: [] for source in SOURCES[preset]}
    for name in data_sets:
        source = sources.get(name, name)
        if source is None:
            continue
        if source not in grouped:
            raise ValueError(
                f"preset {preset}: data set {name} is of source {source!r}; it must be one of"
                f" {known} (in a pipeline file: sources: {{{name}: {SOURCES[preset][0]}}})"
            )
        grouped[source].append(name)
    return grouped
