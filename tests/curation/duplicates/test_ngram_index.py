"""An index of n-grams, against sets of tuples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates import ngram_index
from bert_data.curation.duplicates.ngram_index import ngrams_of, open_index, write_index
from bert_data.curation.duplicates.normal_form import compared_words
from bert_data.curation.words import split_words
from tests.hypotheses import examples

texts = st.lists(st.sampled_from(["a", "B", "b", ",", "c1", "机", "机器"]), max_size=9).map(
    " ".join
)


def plain_ngrams(text: str, size: int) -> list[tuple[str, ...]]:
    words = [w for w in split_words(text.lower()).strings() if w[0].isalnum()]
    return [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]


@examples(40)
@given(
    st.lists(st.lists(texts, max_size=3), min_size=1, max_size=4),
    texts,
    st.integers(1, 4),
    st.sampled_from([0, 16, 100]),
)
def test_what_is_found_is_in_these_files(tmp_path_factory, files, text, size, portion_bytes):
    folder = tmp_path_factory.mktemp("index")
    hashed = [
        [ngrams_of(compared_words(split_words(each)), size) for each in file] for file in files
    ]
    with pytest.MonkeyPatch.context() as patch:
        if portion_bytes:
            patch.setattr(ngram_index, "PORTION_BYTES", portion_bytes)
            patch.setattr(ngram_index, "STARTS_AT_A_TIME", 1)
            patch.setattr(ngram_index, "KEYS_AT_A_TIME", 2)
        write_index(folder, [(str(number), each) for number, each in enumerate(hashed)])
    left = {each.name for each in folder.iterdir()}
    assert left == {"files.json", "groups", "keys", "members", "starts"}
    index = open_index(folder)
    groups = index.find(ngrams_of(compared_words(split_words(text)), size))
    files_of_groups = [index.files_of(group) if group >= 0 else [] for group in groups]
    sets = [{ngram for each in file for ngram in plain_ngrams(each, size)} for file in files]
    assert files_of_groups == [
        [str(number) for number, each in enumerate(sets) if ngram in each]
        for ngram in plain_ngrams(text, size)
    ]


def test_extreme_hashes_are_found(tmp_path):
    hashes = np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    write_index(tmp_path, [("a", [hashes, hashes[:3]]), ("b", [hashes[::4]])])
    index = open_index(str(tmp_path))
    groups = index.find(np.concatenate([hashes, np.array([2, 2**64 - 2], np.uint64)]))
    names = [index.files_of(group) if group >= 0 else None for group in groups]
    assert names == [["a", "b"], ["a"], ["a"], ["a"], ["a", "b"], None, None]
