"""No question about segments: an instance is one segment, [CLS] A [SEP].

    document  s0 s1 s2 s3 s4 ...     A  s0 s1 | s2 s3 s4 | ...    as many sentences as fit

This is RoBERTa's DOC-SENTENCES (Liu et al. 2019, arXiv 1907.11692, section 4.2): full sentences of
one document. In that paper it does better than FULL-SENTENCES, which fills up with the next
document to keep batches of one size; here, packed rows and batches bounded by tokens do that. A
sentence too long to fit continues in the next instance.
"""

import random
from collections.abc import Iterator, Sequence

from bert_data.objectives.objective import Document, Objective, Segments


def draw_full_sentences(
    all_documents: Sequence[Document],
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


NONE = Objective(
    name="none",
    draw_segments=draw_full_sentences,
    num_segments=1,
    form="that are not [CLS] A [SEP]",
)
