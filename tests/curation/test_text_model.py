"""Texts become rows, each once, in batches that hardly have padding."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.text_model import RowMaker, planned
from bert_data.tokens.tokenizer_file import read_tokenizer
from tests.curation.tiny_models import TEXTS, windows_of, write_vocabulary


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = write_vocabulary(tmp_path_factory.mktemp("rows"))
    return read_tokenizer(path, do_lower_case=True)


def rows_in_batches(rows, width=None):
    """The ids of each row by its number, without padding."""
    found = {}
    for batch in rows.batches(width):
        assert batch.ids.shape == batch.mask.shape
        assert batch.ids.dtype == batch.mask.dtype == np.int32
        widest = int(batch.mask.sum(axis=1).max())
        assert batch.ids.shape[1] == (width or widest)
        for number, ids, mask in zip(batch.rows.tolist(), batch.ids, batch.mask, strict=True):
            length = int(mask.sum())
            assert mask[:length].all()
            assert not mask[length:].any()
            assert not ids[length:].any()  # [PAD]
            assert number not in found
            found[number] = ids[:length].tolist()
    return [found[number] for number in range(len(found))]


@given(
    texts=st.lists(
        st.one_of(
            st.sampled_from(TEXTS),
            st.lists(st.sampled_from(["good", "badly", "film"]), max_size=30).map(" ".join),
        ),
        min_size=1,
        max_size=12,
    ),
    width=st.integers(3, 9),
    max_windows=st.integers(1, 3),
    is_fixed=st.booleans(),
)
def test_rows_are_the_windows_of_the_texts(tokenizer, texts, width, max_windows, is_fixed):
    rows = RowMaker(tokenizer, width, max_windows).make(texts)
    expected = [windows_of(text, width)[:max_windows] for text in texts]
    assert rows.texts.tolist() == [
        number for number, windows in enumerate(expected) for _ in windows
    ]
    assert rows_in_batches(rows, width if is_fixed else None) == [*itertools.chain(*expected)]


@given(lengths=st.lists(st.integers(2, 512), min_size=1, max_size=300))
def test_rows_share_batches_of_bounded_size_by_length(lengths):
    seen = []
    for rows, width in planned(np.array(lengths)):
        assert width == max(lengths[row] for row in rows)
        assert len(rows) * width <= 1024
        seen.append(rows.tolist())
    order = [lengths[row] for rows in seen for row in rows]
    assert order in (sorted(lengths), sorted(lengths, reverse=True))
    assert sorted(itertools.chain(*seen)) == list(range(len(lengths)))
    # No two neighbours would fit into one batch.
    for one, other in itertools.pairwise(seen):
        widest = max(lengths[row] for row in one + other)
        assert (len(one) + len(other)) * widest > 1024


def test_another_tokenizer_gives_the_same_rows(tokenizer, tmp_path):
    from bert_data.tokens.hugging_face_files import tokenizer_json
    from bert_data.tokens.tokenizer_file import load_tokenizer

    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json(tokenizer.vocabulary.tokens, do_lower_case=True))
    other = load_tokenizer(None, str(path), backend="tokenizers")
    texts = ["good film", "", "badly " * 20, " "]
    rows, others = (RowMaker(each, 6, 2).make(texts) for each in (tokenizer, other))
    assert rows_in_batches(rows) == rows_in_batches(others)
    assert rows.texts.tolist() == others.texts.tolist()
