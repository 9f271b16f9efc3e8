"""Words of neighbouring tokens are those of the pre-tokenizer that the file has."""

import json

import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from bert_data.tokens.tiktoken_ranks import GPT4
from bert_data.tokens.tokenizer_file import load_tokenizer, read_vocabulary
from bert_data.tokens.word_bits import goes_on, marked_continuations, words_by_mark
from tests.tokens.json_files import unigram

TEXT = [
    "The unbelievable cats, they sat on 12345 mats... Really? (Yes!) don't you'll",
    "camelCase and straße, naïve über Ελλάδα Москва\n\nnew lines  two spaces",
    "snake_case x = f(y)[0]; 3.14 50% #1 a-b c/d",
]


def joined(bits, first, second):
    """Whether two tokens are of one word, as the kernel says it."""
    return bool(goes_on.py_func(bits, np.int64(first), np.int64(second)))


def byte_level(path, pattern=None):
    tokenizer = Tokenizer(models.BPE())
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    tokenizer.pre_tokenizer = last
    if pattern is not None:
        split = pre_tokenizers.Split(Regex(pattern), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, last])
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=["<s>", "</s>", "<mask>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT * 3, trainer)
    tokenizer.save(str(path))
    return tokenizer


@pytest.mark.parametrize("pattern", [None, GPT4], ids=["GPT-2", "cl100k"])
def test_words_are_the_pre_tokens(tmp_path, pattern):
    library = byte_level(tmp_path / "t.json", pattern)
    bits = load_tokenizer(None, str(tmp_path / "t.json")).word_bits
    num_pairs = num_wrong = num_joined = 0
    for encoding in library.encode_batch(TEXT):
        words = encoding.word_ids
        for i in range(1, len(words)):
            is_joined = joined(bits, encoding.ids[i - 1], encoding.ids[i])
            num_pairs += 1
            num_joined += is_joined
            num_wrong += is_joined != (words[i] == words[i - 1])
    assert num_joined > 50 and num_wrong <= 0.05 * num_pairs


def test_byte_level_words(tmp_path):
    library = byte_level(tmp_path / "t.json")
    bits = load_tokenizer(None, str(tmp_path / "t.json")).word_bits

    def is_word(first, second):
        ids = [library.encode(text).ids[0] for text in (first, second)]
        return joined(bits, *ids)

    assert is_word("x", "y") and is_word(" x", "y") and is_word("1", "2")
    assert not any(is_word(*pair) for pair in [("x", " y"), ("x", "."), ("1", "a"), ("x", "\n")])
    assert not is_word("<s>", "a") and not is_word("a", "<mask>")
    inside = library.encode("é").ids
    assert len(inside) == 2 and joined(bits, *inside)  # two bytes of a character


def test_marked_words(tmp_path):
    bits = load_tokenizer(None, unigram(tmp_path / "u.json")).word_bits
    assert joined(bits, 3, 4) and not joined(bits, 4, 3)  # "▁cat" "a", "a" "▁cat"
    tokens = ["<s>", "ca", "t</w>", "s</w>"]
    bits = words_by_mark(tokens, [0], "</w>", at_end=True)
    found = [(i, j) for i in range(4) for j in range(4) if joined(bits, i, j)]
    assert found == [(1, 1), (1, 2), (1, 3)]
    bits = marked_continuations([False, True])
    assert [joined(bits, i, j) for i in (0, 1) for j in (0, 1)] == [False, True, False, True]


def test_ids_without_bits_are_words():
    bits = marked_continuations([True, True])
    assert not any(joined(bits, *pair) for pair in [(-1, 0), (0, 2), (2, 0), (0, -1)])


def test_a_vocabulary_has_the_bits_of_its_file(tmp_path):
    library = byte_level(tmp_path / "t.json")
    vocabulary = read_vocabulary(str(tmp_path / "t.json"))
    assert vocabulary.word_bits.size == vocabulary.size == library.get_vocab_size()
    definition = json.loads(library.to_str())
    definition["pre_tokenizer"] = {"type": "Whitespace"}
    (tmp_path / "w.json").write_text(json.dumps(definition))
    assert not read_vocabulary(str(tmp_path / "w.json")).continuation.any()
