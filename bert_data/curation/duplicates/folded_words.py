"""Words in lower case.

words of "The CAT"   ->  "the" "cat", at the same places, with the hashes of these
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.words import Words, hash_codes
from bert_data.kernels import kernel

_TWO_IN_LOWER_CASE = (
    "\u0130"  # the only character with two characters in lower case: an i with a dot above
)


def folded_words(words: Words) -> Words:
    """Return the same words in lower case, at the same positions."""
    lower = words.text.replace(_TWO_IN_LOWER_CASE, "i").lower()
    if lower == words.text:
        return words
    codes = np.frombuffer(lower.encode("utf-32-le", "surrogatepass"), np.uint32)
    hashes = np.empty_like(words.hashes)
    hash_spans(codes, words.starts, words.ends, hashes)
    return dataclasses.replace(words, text=lower, codes=codes, hashes=hashes)


@kernel
def hash_spans(
    codes: NDArray[np.uint32],
    starts: NDArray[np.int32],
    ends: NDArray[np.int32],
    hashes: NDArray[np.uint64],
) -> None:
    """Write the hashes of words, at int32[words] positions in uint32[characters] of code points."""
    for word in range(len(hashes)):
        hashes[word] = hash_codes(codes, starts[word], ends[word])
