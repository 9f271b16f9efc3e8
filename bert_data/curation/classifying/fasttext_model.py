"""fastText's models of text: their files (.bin, quantized .ftz), and the mean vector of a text.

    read_arrays("model.bin")  ->  words  the</s>cat    labels  __label__hq __label__cc
                                  vectors of words, then of n-grams    outputs, one a label

Such a model classifies bags of n-grams (Joulin et al. 2016, "Bag of tricks for efficient text
classification" and "FastText.zip"). A text is the mean of the vectors of its known words, of the
n-grams of characters within "<word>", and of its n-grams of words, except those that were pruned.
Everything happens in fastText's order and precision.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.classifying.fasttext_file import Header, ModelFile
from bert_data.curation.classifying.fasttext_kernels import END_BYTES, Arrays, Settings, fill_slots


def read_arrays(path: str) -> Arrays:
    """Read a supervised model.

    Raises:
      CorruptDataError: it is damaged, or not a supervised model of fastText.
    """
    file = ModelFile(path)
    header = file.read_header()
    dictionary = file.read_dictionary()
    num_words, num_labels = dictionary.num_words, len(dictionary.counts)
    uses_ngrams = header.word_ngrams > 1 or header.max_characters > 0
    file.refuse_unless(header.num_buckets > 0 or not uses_ngrams, "n-grams without buckets")
    rows, num_ngrams = _place_ngrams(file, num_words, header.num_buckets, dictionary.kept)
    vectors, is_quantized = file.read_matrix(header.dim, num_words + num_ngrams)
    outputs, _ = file.read_matrix(header.dim, num_labels, is_quantized)
    file.check_end()
    arrays = dictionary_arrays(header, num_words, dictionary.names, dictionary.ends)
    return arrays._replace(counts=dictionary.counts, rows=rows, vectors=vectors, outputs=outputs)


def dictionary_arrays(
    header: Header, num_words: int, names: NDArray[np.uint8], ends: NDArray[np.int32]
) -> Arrays:
    """Return what `list_rows` needs of a model, without its vectors.

    Args:
      num_words: how many of the names are words.
      ends: int32 [names + 1], 0 and the end of each.
    """
    slots = np.zeros(1 << (2 * len(ends)).bit_length(), np.int32)
    end = int(fill_slots(names, ends, slots, END_BYTES))
    arguments = {name: value for name, value in header._asdict().items() if name != "dim"}
    nothing = np.zeros((0, 0), np.float32)
    return Arrays(
        settings=Settings(end=end if end < num_words else -1, num_words=num_words, **arguments),
        names=names,
        ends=ends,
        counts=np.zeros(0, np.int64),
        slots=slots,
        rows=np.zeros(0, np.uint16),
        vectors=nothing,
        outputs=nothing,
    )


def wrap_words(text: str) -> tuple[bytes, int]:
    """Return the words of a text as the kernels take them: b"<the> <cat> "; and their number.

    As in fastText, spaces of ASCII separate words, and so does the null character.
    """
    words = text.encode(errors="replace").replace(b"\0", b" ").split()
    return (b"<%b> " % b"> <".join(words) if words else b""), len(words)


def _place_ngrams(
    file: ModelFile, num_words: int, num_buckets: int, kept: NDArray[np.int32] | None
) -> tuple[NDArray[Any], int]:
    """Return the row of each bucket (`Arrays.rows`), and the number of rows of n-grams."""
    if kept is None:
        return np.zeros(0, np.uint16), num_buckets
    buckets, places = kept.T
    file.refuse_unless(
        bool((kept >= 0).all())
        and bool((buckets < num_buckets).all())
        and bool((places < len(kept)).all()),
        "the list of n-grams has some that are not there",
    )
    is_small = num_words + len(kept) <= np.iinfo(np.uint16).max
    rows = np.zeros(num_buckets, np.uint16 if is_small else np.uint32)
    rows[buckets] = num_words + places
    return rows, len(kept)


def huffman_tree(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the children of all nodes of fastText's Huffman tree.

    Args:
      counts: of the leaves, decreasing.

    Returns:
      int32 [2 * leaves - 1, 2]; the leaves come first, with -1.
    """
    sums = counts.tolist()
    children = np.full((2 * len(sums) - 1, 2), -1, np.int32)
    leaf = len(sums) - 1
    node = len(sums)
    for parent in range(len(counts), len(children)):
        for side in range(2):
            if leaf >= 0 and (node == parent or sums[leaf] < sums[node]):
                children[parent, side], leaf = leaf, leaf - 1
            else:
                children[parent, side], node = node, node + 1
        sums.append(sum(sums[child] for child in children[parent]))
    return children
