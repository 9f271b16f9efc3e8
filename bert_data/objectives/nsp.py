"""Next sentence prediction: whether B follows A, or is from another document.

    document  s0 s1 s2 s3 s4 ...
    chunk     s0 s1 s2            sentences until the target length is met or the document ends
    A         s0                  a random number of them, at least one
    B         s1 s2               the rest; or, half of the time, sentences from elsewhere, and the
                                  rest begins the next chunk

This is BERT's task (Devlin et al. 2018, arXiv 1810.04805, section 3.1), draw for draw as
google-research/bert makes it.
"""

import random
from collections.abc import Iterator, Sequence

from bert_data.objectives.objective import Document, Objective, Segments, gather_chunk, join
from bert_data.schema.fields import NEXT_SENTENCE_LABELS

_MAX_DRAWS = 10  # of a document other than this one


def draw_pairs(
    all_documents: Sequence[Document],
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
        tokens_a, tokens_b = join(chunk[:num_sentences_a]), join(chunk[num_sentences_a:])
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
    all_documents: Sequence[Document], document_index: int, length: int, rng: random.Random
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
    return join(gather_chunk(document, start, length))


NSP = Objective(
    name="nsp",
    draw_segments=draw_pairs,
    label=NEXT_SENTENCE_LABELS,
    task="next_sentence",
    meanings=("B follows A", "B is from elsewhere"),
    short_meanings=("it follows", "random"),
    ones="random next sentences",
    ones_are_elsewhere=True,
)
