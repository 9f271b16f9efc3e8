"""Special tokens of texts: found among ids, however they lie, and counted."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.tokens.special_tokens import count_special, describe_counts, ordinary_range
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.vocabulary import load_vocabulary

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")


@given(st.data(), st.integers(1, 70), st.sampled_from(["<u2", "<i4"]))
def test_ids_are_counted_wherever_special_ones_lie(data, num_ids, dtype):
    special_ids = data.draw(st.frozensets(st.integers(0, num_ids - 1)))
    ids = data.draw(st.lists(st.integers(0, num_ids - 1)))
    begin, size = ordinary_range(special_ids, num_ids)
    assert special_ids.isdisjoint(range(begin, begin + size))
    assert begin >= 0 and begin + size <= num_ids
    expected = Counter(number for number in ids if number in special_ids)
    assert count_special(np.array(ids, dtype), special_ids, num_ids) == expected


def test_the_largest_ids():
    for dtype, num_ids in (("<u2", 1 << 16), ("<i4", (1 << 31) - 1)):
        ids = np.array([0, num_ids - 1, 1, num_ids - 1], dtype)
        assert count_special(ids, frozenset([num_ids - 1]), num_ids) == {num_ids - 1: 2}


PIECES = st.sampled_from(
    [
        *SPECIAL,
        "[UNK]",
        "[CLS",
        "[sep]",
        "ba",
        "zzz",
        "é",
        " ",
        "\n",
        "\n\n",
        "\u0300",
        "\x01",
        "\r",
    ]
)


@pytest.mark.parametrize("added", [None, (), SPECIAL, (*SPECIAL, "[UNK]")])
@given(st.lists(PIECES).map("".join))
def test_tokens_of_a_block(small_vocabulary, added, text):
    tokenizer = FastTokenizer(load_vocabulary(small_vocabulary), added=added)
    block = tokenizer.tokenize_block(text.encode())
    special_ids = {tokenizer.ids[token] for token in SPECIAL}
    assert block.special == Counter(n for n in block.ids.tolist() if n in special_ids)
    expected = Counter({token: text.count(token) for token in SPECIAL if token in text})
    assert block.special == ({tokenizer.ids[t]: n for t, n in expected.items()} if added else {})


def test_the_most_frequent_tokens_are_named():
    assert describe_counts({"[SEP]": 2, "[MASK]": 3_000}) == "[MASK] 3,000, [SEP] 2"
    named = describe_counts({f"<{n}>": 1 for n in range(30)})
    assert named.endswith("<9> 1, ...") and "<10>" not in named
