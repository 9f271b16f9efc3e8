"""Divide documents into buckets, and draw some of them.

Buckets(field="perplexity_bucket")                         "head", "middle", "tail"
Buckets(field="score", bounds=(0.2, 0.8))                  0.1 -> "0", 0.2 -> "1", 0.9 -> "2"
Buckets(field="score", percentiles=(90,), names=("rest", "top"))

Percentiles are exact, and found in rounds of bounded memory.
"""

import bisect
import dataclasses
import functools
import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xxhash

from bert_data.curation.document import Document, FieldError
from bert_data.work.array_files import ArrayFile
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.rounds import Own, Part, Rounds, Writers
from bert_data.work.sorted_records import Layout
from bert_data.work.sorting import from_keys, to_keys


def draw(key: str, document: Document) -> float:
    """Return a number in [0, 1) for a data set and an id; other keys' numbers are independent."""
    name = f"{key}\0{document.source}\0{document.id}".encode(errors="surrogatepass")
    return (xxhash.xxh3_64_intdigest(name) >> 11) / 2**53


_MAX_BUCKETS = 1000  # of a data set; a field with more values is a mistake
_MAX_NAME = 100  # characters


@dataclasses.dataclass(frozen=True, kw_only=True)
class Buckets:
    """Division of documents by a field.

    Attributes:
      field: of the documents.
      bounds: a score belongs to the bucket of its number of bounds that are not above it.
      percentiles: the same with bounds at these percentiles of a data set's documents.
      names: of the buckets of a score, from the lowest on; ("0", "1", ...) if there are none.
    """

    field: str
    bounds: tuple[float, ...] = ()
    percentiles: tuple[float, ...] = ()
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.field:
            raise ValueError("bucket_field is ''; it must not be empty")
        if self.bounds and self.percentiles:
            raise ValueError("bucket_bounds and bucket_percentiles are both given; one is allowed")
        _check_ascending("bucket_bounds", self.bounds, -math.inf, math.inf)
        _check_ascending("bucket_percentiles", self.percentiles, 0, 100)
        if not self.names:
            return
        if not self.is_score:
            raise ValueError("bucket_names needs bucket_bounds or bucket_percentiles")
        needed = len(self.bounds or self.percentiles) + 1
        if len(set(self.names)) != needed or len(self.names) != needed:
            raise ValueError(
                f"bucket_names has {', '.join(map(repr, self.names))}; {needed} different names"
                " are needed"
            )

    @property
    def is_score(self) -> bool:
        """Whether the field is a number that is cut into buckets."""
        return bool(self.bounds or self.percentiles)

    @property
    def score_names(self) -> tuple[str, ...]:
        """Names of the buckets of a score, from the lowest on."""
        return self.names or tuple(map(str, range(len(self.bounds or self.percentiles) + 1)))

    def name_of(self, document: Document, bounds: Sequence[float]) -> str:
        """Return the name of a document's bucket; `bounds` are for the percentiles, or its own."""
        if self.is_score:
            return self.score_names[bisect.bisect_right(bounds, self.score_of(document))]
        value = _value(document, self.field)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, str | int):
            numbers = "; bucket_bounds or bucket_percentiles cut numbers into buckets"
            raise FieldError(
                f"{_what(document, self.field)} is {value!r:.60}; it must be a string or a whole"
                f" number{numbers if isinstance(value, float) else ''}"
            )
        name = str(value)
        if len(name) > _MAX_NAME:
            raise FieldError(
                f"{_what(document, self.field)} has {len(name):,} characters; the name of a bucket"
                f" has at most {_MAX_NAME}"
            )
        return name

    def score_of(self, document: Document) -> float:
        """Return a document's score."""
        return read_score(document, self.field)


def read_score(document: Document, field: str) -> float:
    """Return the finite number in a document's field, or raise a FieldError that names both."""
    value = _value(document, field)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and abs(value) <= sys.float_info.max:  # which NaN is not
        return float(value)
    raise FieldError(f"{_what(document, field)} is {value!r:.60}; it must be a finite number")


def _value(document: Document, field: str) -> Any:
    value = document.fields.get(field)
    if value is None:
        there = (name for name, each in document.fields.items() if each is not None)
        names = ", ".join(there) or "none"
        raise FieldError(
            f"document {document.id!r} of {document.source} has no field {field!r}; its fields are"
            f" {names}"
        )
    return value


def _what(document: Document, field: str) -> str:
    return f"document {document.id!r} of {document.source}: field {field!r}"


def check_number(source: str, field: str, number: int) -> None:
    """Refuse more buckets than anybody means."""
    if number > _MAX_BUCKETS:
        raise FieldError(
            f"field {field!r} has more than {_MAX_BUCKETS:,} values in {source}; each is a bucket"
        )


def _check_ascending(name: str, values: Sequence[float], above: float, below: float) -> None:
    inside = all(above < value < below for value in values)
    if not inside or any(a >= b for a, b in itertools.pairwise(values)):
        within = "" if math.isinf(below) else f" between {above:g} and {below:g}"
        raise ValueError(f"{name} is {list(values)}; it must have rising numbers{within}")


SCORE_ARRAY = "scores"
"""Array of a shard's file: float64 [documents], finite."""

_SCORE = Layout(("score",), num_keys=1)
_FOUND = Layout(("place", "score"), num_keys=1)


def find_bounds(
    rounds: Rounds, sources: Sequence[str], percentiles: Sequence[float]
) -> dict[str, list[float]]:
    """Return the scores at percentiles of each data set; others have no scores.

    Percentile p of n scores is the one with n * p / 100 (rounded down) others before it.
    """
    numbers = {source: str(number) for number, source in enumerate(sources)}
    scores = rounds.over_parts(
        "scores", functools.partial(_write, numbers), dict.fromkeys(numbers.values(), _SCORE)
    )
    bounds = {}
    for source, number in numbers.items():
        values = scores[number]
        places = [int(len(values) * percentile / 100) for percentile in percentiles]
        found = rounds.over_ranges(
            "percentiles", functools.partial(_find, sorted(set(places))), values, {"found": _FOUND}
        )["found"]
        records = RangeReader(found, Range(), 1 << 62).records()
        at = dict(zip(records["place"].tolist(), from_keys(records["score"]).tolist(), strict=True))
        bounds[source] = [at[place] for place in places] if len(values) else []
    return bounds


def _write(numbers: Mapping[str, str], part: Part, own: Own, writers: Writers) -> None:
    if part.source in numbers:
        writers[numbers[part.source]].add(score=to_keys(ArrayFile(part.path)[SCORE_ARRAY]))


def _find(places: Sequence[int], reader: RangeReader, writers: Writers) -> None:
    before = reader.num_before
    for portion in reader.portions():
        for place in places:
            if before <= place < before + len(portion):
                score = portion[place - before, 0]
                writers["found"].add(place=np.array([place], np.uint64), score=np.array([score]))
        before += len(portion)
