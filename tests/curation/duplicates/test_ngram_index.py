"""An index of n-grams, against sets of tuples."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates.ngram_index import ngrams_of, open_index, write_index
from bert_data.curation.duplicates.normal_text import folded_words
from bert_data.curation.words import split_words

texts = st.lists(st.sampled_from(["a", "B", "b", ",", "c1", "机", "机器"]), max_size=9).map(
    " ".join
)


def plain_ngrams(text: str, size: int) -> list[tuple[str, ...]]:
    words = [w for w in split_words(text.lower()).strings() if w[0].isalnum()]
    return [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]


@given(st.lists(st.lists(texts, max_size=3), min_size=1, max_size=4), texts, st.integers(1, 4))
def test_what_is_found_is_in_these_files(tmp_path_factory, files, text, size):
    folder = tmp_path_factory.mktemp("index")
    hashed = [[ngrams_of(folded_words(split_words(each)), size) for each in file] for file in files]
    named = [
        (str(number), np.concatenate([*each, np.empty(0, np.uint64)]))
        for number, each in enumerate(hashed)
    ]
    write_index(folder, named)
    index = open_index(folder)
    groups = index.find(ngrams_of(folded_words(split_words(text)), size))
    files_of_groups = [list(index.files[group]) if group >= 0 else [] for group in groups]
    sets = [{ngram for each in file for ngram in plain_ngrams(each, size)} for file in files]
    assert files_of_groups == [
        [str(number) for number, each in enumerate(sets) if ngram in each]
        for ngram in plain_ngrams(text, size)
    ]
