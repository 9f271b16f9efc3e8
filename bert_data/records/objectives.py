"""Objectives: what a model learns of two segments, each with its definition in plain Python.

nsp, BERT's next sentence prediction (Devlin et al. 2018, arXiv 1810.04805, section 3.1), draw for
draw as google-research/bert makes it:

    document  s0 s1 s2 s3 s4 ...
    chunk     s0 s1 s2            sentences until the target length is met or the document ends
    A         s0                  a random number of them, at least one
    B         s1 s2               the rest; or, half of the time, sentences from elsewhere, and the
                                  rest begins the next chunk

sop, ALBERT's sentence order prediction (Lan et al. 2019, arXiv 1909.11942, section 3.1.3), as
google-research/albert makes it. A chunk of one sentence has no halves; then B is from another
document, as in nsp, with the label 1:

    chunk  s0 s1 s2    A s0, B s1 s2    or, half of the time,    A s1 s2, B s0

none, no question: an instance is one segment, [CLS] A [SEP]. This is RoBERTa's DOC-SENTENCES (Liu
et al. 2019, arXiv 1907.11692, section 4.2): full sentences of one document. In that paper it does
better than FULL-SENTENCES, which fills up with the next document to keep batches of one size; here,
packed rows and batches bounded by tokens do that. A sentence too long to fit continues in the next
instance:

    document  s0 s1 s2 s3 s4 ...     A  s0 s1 | s2 s3 s4 | ...    as many sentences as fit
"""

import dataclasses
import functools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from bert_data.checks import check_choice
from bert_data.records import choices
from bert_data.records.fields import NEXT_SENTENCE_LABELS, SENTENCE_ORDER_LABELS, Field

_MAX_DRAWS = 10  # of a document other than this one

TokenizedDocument = Sequence[Sequence[str]]
"""Sentences of tokens."""


Segments = tuple[list[str], list[str], bool | None]
"""The tokens of A and B, and whether B does not follow A; no B and None for a single segment."""


DrawSegments = Callable[[Sequence[TokenizedDocument], int, int, random.Random], Iterator[Segments]]
"""(all documents, the place of one, target length, random numbers) -> its segments, untruncated."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Objective:
    """A task about the segments of an instance.

    Attributes:
      draw_segments: its definition in plain Python; the kernel of `making_rows` follows it. None:
        records do not have it.
      num_segments: 2, or 1: no B.
      swaps: whether a B that does not follow A is what precedes it; else it is from elsewhere. A
        chunk of one sentence gets a B from elsewhere in any case.
      label: the field of a record with the answer; None: nothing is asked.
      task: the name of the model's output, loss and accuracy, if anything is asked.
    """

    name: str
    draw_segments: DrawSegments | None = None
    num_segments: int = 2
    swaps: bool = False
    label: Field | None = None
    task: str | None = None

    @property
    def num_special(self) -> int:
        """Number of special tokens of an instance: [CLS], and [SEP] behind each segment."""
        return 1 + self.num_segments

    @property
    def title(self) -> str:
        """The task's name for people."""
        return (self.task or "").replace("_", " ")


def gather_chunk(document: TokenizedDocument, start: int, target_length: int) -> TokenizedDocument:
    """Return the sentences from `start` that together reach the target length."""
    length = 0
    for end in range(start, len(document)):
        length += len(document[end])
        if length >= target_length:
            return document[start : end + 1]
    return document[start:]


def join_sentences(sentences: Iterable[Sequence[str]]) -> list[str]:
    """Return the tokens of sentences."""
    return [token for sentence in sentences for token in sentence]


def draw_pairs(
    all_documents: Sequence[TokenizedDocument],
    document_index: int,
    target_length: int,
    rng: random.Random,
    *,
    swaps: bool = False,
) -> Iterator[Segments]:
    """Yield A and B of each chunk of a document, untruncated, and whether B does not follow A.

    Half of the time it does not: either both are swapped, or B is taken from elsewhere, and the
    rest is used again. A single sentence has no rest, so B is from elsewhere.
    """
    document = all_documents[document_index]
    start = 0
    while start < len(document):
        chunk = gather_chunk(document, start, target_length)
        num_sentences_a = rng.randint(1, len(chunk) - 1) if len(chunk) > 1 else 1
        tokens_a, tokens_b = (
            join_sentences(chunk[:num_sentences_a]),
            join_sentences(chunk[num_sentences_a:]),
        )
        is_random_next = len(chunk) == 1 or rng.random() < 0.5
        start += len(chunk)
        if is_random_next and swaps and tokens_b:
            tokens_a, tokens_b = tokens_b, tokens_a
        elif is_random_next:
            missing = target_length - len(tokens_a)
            start -= len(chunk) - num_sentences_a
            tokens_b = _draw_random_next(all_documents, document_index, missing, rng)
        yield tokens_a, tokens_b, is_random_next


def _draw_random_next(
    all_documents: Sequence[TokenizedDocument], document_index: int, length: int, rng: random.Random
) -> list[str]:
    """Return sentences from a random place: `length` tokens, or as many as the document has.

    They are from another document, unless ten draws in a row give this one.
    """
    for _ in range(_MAX_DRAWS):
        index = rng.randint(0, len(all_documents) - 1)
        if index != document_index:
            break
    document = all_documents[index]
    start = rng.randint(0, len(document) - 1)
    return join_sentences(gather_chunk(document, start, length))


NSP = Objective(
    name=choices.NSP,
    draw_segments=draw_pairs,
    label=NEXT_SENTENCE_LABELS,
    task="next_sentence",
)

SOP = Objective(
    name=choices.SOP,
    draw_segments=functools.partial(draw_pairs, swaps=True),
    swaps=True,
    label=SENTENCE_ORDER_LABELS,
    task="sentence_order",
)


def draw_full_sentences(
    all_documents: Sequence[TokenizedDocument],
    document_index: int,
    target_length: int,
    rng: random.Random,
) -> Iterator[Segments]:
    """Yield A, which is all following sentences that fit, without B and label.

    If a single sentence does not fit, A is the part that fits, and the rest counts as a sentence.
    """
    del rng
    sentences = list(map(list, reversed(all_documents[document_index])))
    while sentences:
        tokens = sentences.pop()
        if len(tokens) > target_length:
            sentences.append(tokens[target_length:])
            del tokens[target_length:]
        while sentences and len(tokens) + len(sentences[-1]) <= target_length:
            tokens += sentences.pop()
        yield tokens, [], None


NO_OBJECTIVE = Objective(
    name=choices.NONE,
    draw_segments=draw_full_sentences,
    num_segments=1,
)

OBJECTIVES = {objective.name: objective for objective in (NSP, SOP, NO_OBJECTIVE)}


def find_objective(name: str) -> Objective:
    """Return an objective, or refuse a name that none has."""
    check_choice("next_sentence", name, OBJECTIVES)
    return OBJECTIVES[name]


def objective_with_label(columns: Iterable[str]) -> Objective:
    """Return the objective whose label is among columns of Parquet; without one, `NO_OBJECTIVE`."""
    by_label = {each.label.column: each for each in OBJECTIVES.values() if each.label is not None}
    return next((by_label[name] for name in columns if name in by_label), NO_OBJECTIVE)
