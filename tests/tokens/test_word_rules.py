"""The words of chunks are those of the line that they are cut from, for every model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.tokens.word_rules import BPE, MODELS, UNIGRAM, chunks_of, open_rules

# White space of all kinds, marks that join what is before them, and what decomposes into spaces.
texts = st.text("ab1'!. \t\n\x1c\x85\xa0\u3000\u2003é\u0301´ﬁÉ中", max_size=14)


@pytest.mark.parametrize("do_lower_case", [False, True])
@pytest.mark.parametrize("model", MODELS)
@given(line=texts)
def test_chunks_have_the_words_of_their_line(model, do_lower_case, line):
    normalizer, splitter = open_rules(model, do_lower_case=do_lower_case)

    def words(text):
        return [w for w, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)) if w]

    chunks = chunks_of(line, model)
    assert [word for chunk in chunks for word in words(chunk)] == words(line)


def test_words_of_each_model_are_cut_apart():
    for model, first in ((BPE, "ab"), (UNIGRAM, "ab")):
        assert chunks_of("ab cd  e", model) == [first, " cd", "  e"]
