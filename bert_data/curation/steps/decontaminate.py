"""Remove evaluation data: documents that share long runs of words with evaluation sets."""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.document import Document, Measured, Verdict, measure
from bert_data.curation.duplicates.ngram_index import NgramIndex, ngrams_of, open_index, write_index
from bert_data.curation.duplicates.normal_form import compared_words
from bert_data.curation.parameters import Names
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.words import Words, mark_runs, runs_of_marked, split_words
from bert_data.progress import how_many
from bert_data.settings import Share, Within
from bert_data.storage import expand_inputs
from bert_data.text.formats import read_documents
from bert_data.text.text_config import SKIP, STRICT, TextConfig

_OWN_TEXTS = "evaluation_texts"
_MAX_SHOWN_CHARACTERS = 1000  # a match may run to the last word
_MAX_NAMED = 10  # evaluation sets of a match
MATCHED_NGRAM = "matched_ngram"
"""Name of the measure that holds the first matching n-gram and the files that contain it."""


@register
class Decontaminate(DocumentStep):
    """Drops or cuts documents that share runs of 13 words with evaluation sets.

    The method is that of Brown et al. 2020, "Language models are few-shot learners"
    (arXiv:2005.14165), appendix C: n-grams of 13 words in lower case without punctuation, here
    after normalization (NFKC, straight quotes, no invisible characters). With `action: drop`, as in
    most later work, a document is rejected if too large a share of its words lies in matches. With
    `action: cut`, as for GPT-3, a match is removed together with 200 characters on each side;
    remaining pieces of fewer than 200 characters are removed too, and a document that falls into
    more than 10 pieces is rejected. (GPT-3 also ignored n-grams that occur in more than 10
    documents; this step does not.)

    A Chinese or Japanese character counts as a word. Thirteen characters say less than thirteen
    words, so choose a larger `ngram_size` for these languages.

    The measured value is the share of words in matches, or the number of pieces. The ledger also
    records the first n-gram that matched and up to ten evaluation sets that contain it. Evaluation
    texts with fewer words than an n-gram cannot be found; a warning counts them.

    The n-grams of the evaluation sets are sorted on disk and memory-mapped: they take about 22
    bytes of disk for each distinct n-gram, and memory does not grow with the sets.

    Attributes:
      evaluation_sets: paths and patterns of files in any text format.
      evaluation_texts: further texts to look for.
      text_fields: fields (JSON) or columns (Parquet) that hold the texts; all are used. If there
        are several, a row may lack some.
      ngram_size: words per n-gram, >= 2.
      action: "drop" or "cut".
      max_overlap: largest share of words in matches that a kept document may have, in [0, 1].
      max_pieces: largest number of pieces that a document may be cut into.
      margin: characters that are removed on each side of a match.
      shortest_piece: least number of characters of a remaining piece.
    """

    name = "decontaminate"
    evaluation_sets: tuple[str, ...] = ()
    evaluation_texts: tuple[str, ...] = ()
    text_fields: Names = ("text",)
    ngram_size: Annotated[int, Within(2)] = 13
    action: Literal["drop", "cut"] = "drop"
    max_overlap: Share = 0.0
    max_pieces: int = 10
    margin: Annotated[int, Within(0)] = 200
    shortest_piece: Annotated[int, Within(0)] = 200

    step_examples = (
        ("As we know, what is the capital of France? It is Paris.", None),
        ("What, is THE capital of France?", None),
        ("Paris is in France, of which it is the capital.",) * 2,
    )
    example_parameters = {"evaluation_texts": ("What is the capital of France?",), "ngram_size": 5}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.evaluation_sets or self.evaluation_texts):
            raise ValueError("evaluation_sets is empty; name files, or give evaluation_texts")

    def prepare(self, folder: Path) -> None:
        sets = self._sets().items()
        write_index(folder, ((path, self._ngrams_of(path, texts)) for path, texts in sets))

    def _sets(self) -> dict[str, Iterable[str]]:
        paths = dict.fromkeys(path for each in self.evaluation_sets for path in expand_inputs(each))
        sets: dict[str, Iterable[str]] = {p: _read_fields(p, self.text_fields) for p in paths}
        return sets | ({_OWN_TEXTS: self.evaluation_texts} if self.evaluation_texts else {})

    def _ngrams_of(self, path: str, texts: Iterable[str]) -> Iterator[NDArray[np.uint64]]:
        num_texts, num_short = 0, 0
        for text in texts:
            hashes = ngrams_of(compared_words(split_words(text)), self.ngram_size)
            num_texts, num_short = num_texts + 1, num_short + (len(hashes) == 0)
            yield hashes
        if num_short == num_texts:
            raise ValueError(
                f"evaluation set {path} has no text of {self.ngram_size} words; a smaller"
                " ngram_size would find some"
            )
        if num_short:
            logging.warning(
                "%s: %d of %d texts of %s have fewer than %d words and cannot be found",
                *(self.name, num_short, num_texts, path, self.ngram_size),
            )

    def open(self, folder: str) -> Callable[[Document], Verdict]:
        return functools.partial(self._judge, open_index(folder))

    def _judge(self, index: NgramIndex, document: Document) -> Verdict:
        words = compared_words(document.words)
        groups = index.find(ngrams_of(words, self.ngram_size))
        hits = np.flatnonzero(groups >= 0)
        if len(hits) == 0:
            return Verdict(document, self._measured(0.0, 1))
        plain = np.flatnonzero(~words.is_symbol)
        begins, covered = np.zeros((2, len(plain)), bool)
        begins[hits] = True
        mark_runs(begins, self.ngram_size, covered)
        first = plain[hits[0]], plain[hits[0] + self.ngram_size - 1]
        matched = document.text[words.starts[first[0]] : words.ends[first[1]]]
        counted: Counter[str] = Counter()
        for group, number in zip(*np.unique(groups[hits], return_counts=True), strict=True):
            counted.update({matches_of(path): int(number) for path in index.files_of(group)})
        first_match = Measured(
            MATCHED_NGRAM,
            matched[:_MAX_SHOWN_CHARACTERS],
            _name_some(index.files_of(groups[hits[0]])),
        )
        runs = runs_of_marked(covered)
        pieces = self._pieces(words, plain, runs)
        measured = (*self._measured(float(covered.mean()), len(pieces)), first_match)
        if self.action == "cut":
            text = "\n".join(document.text[begin:end].strip() for begin, end in pieces)
            return Verdict(document.with_text(text), measured, {"matches": len(runs)}, counted)
        return Verdict(document, measured, counted=counted)

    def _measured(self, overlap: float, num_pieces: int) -> tuple[Measured, ...]:
        if self.action == "cut":
            return (measure("max_pieces", num_pieces, self.max_pieces),)
        return (measure("max_overlap", overlap, self.max_overlap),)

    def _pieces(
        self, words: Words, plain: NDArray[np.int64], runs: NDArray[np.int64]
    ) -> list[tuple[int, int]]:
        """Return the bounds of the pieces of text between matches and their margins."""
        pieces, place = [], 0
        for begin, end in runs.tolist():
            until = int(words.starts[plain[begin]]) - self.margin
            until = int(words.starts[np.searchsorted(words.ends, max(until, 0), "right")])
            pieces.append((place, until))
            after = int(words.ends[plain[end - 1]]) + self.margin
            last = int(np.searchsorted(words.starts, after, "left")) - 1
            place = max(place, int(words.ends[last]))
        pieces.append((place, len(words.text)))
        return [(begin, end) for begin, end in pieces if end - begin >= max(self.shortest_piece, 1)]

    def describe_use(self, counted: dict[str, int]) -> str | None:
        idle = [path for path in self._sets() if not counted.get(matches_of(path))]
        if not idle:
            return None
        return f"no document shares {self.ngram_size} words with {', '.join(idle)}"


def _name_some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""
    return f"{', '.join(paths[:_MAX_NAMED])}{more}"


def matches_of(path: str) -> str:
    """Return the name under which matches with an evaluation set are counted."""
    return f"n-grams of {path}"


def _read_fields(path: str, fields: Sequence[str]) -> Iterator[str]:
    """Yield the texts in some fields of a file, one field after the other.

    If there are several fields, rows may lack some; the log counts them.
    """
    on_error = SKIP if len(fields) > 1 else STRICT
    for field in fields:
        num_skipped = 0
        try:
            for block in read_documents([path], TextConfig(text_field=field, on_error=on_error)):
                num_skipped += len(block.skipped)
                yield from (document.whole_text for document in block.documents)
        except ValueError as error:
            if on_error == STRICT:
                raise ValueError(f"text_fields {field}: {error}") from None
            logging.warning("evaluation set: %s", error)  # a Parquet file without this column
        if num_skipped:
            rows = how_many(num_skipped, "row")
            logging.warning("evaluation set %s: %s without %r", path, rows, field)
