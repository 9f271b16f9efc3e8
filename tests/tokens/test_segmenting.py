"""Words of text: what stands between spaces, or what jieba finds; tokens stay what they are."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.tokens.bert_rules import google_rules
from bert_data.tokens.definition import BasicTokenizer, split_at_spaces
from bert_data.tokens.segmenting import segment_with_jieba
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_config import JIEBA, SPACES
from tests.tokens.odd_texts import EVERY_LETTER, defined_ids, odd_texts, texts

SIZE = EVERY_LETTER.size
PLAIN = {lower: FastTokenizer(EVERY_LETTER, lower) for lower in (False, True)}
OF_SPACES = {lower: PLAIN[lower].of_words(SPACES) for lower in (False, True)}


def ids_of_words(text: str, lower: bool) -> list[int]:
    """By the definition: a word is what Google's cleaning leaves between two spaces."""
    cleaned = BasicTokenizer(lower)._clean_text(text)
    ids = []
    for word in cleaned.split():
        first, *rest = defined_ids(EVERY_LETTER, lower, word) or [None]
        ids += [] if first is None else [first, *(number + SIZE for number in rest)]
    return ids


def test_what_stands_between_spaces_is_a_word():
    tokenizer = OF_SPACES[True]
    block = tokenizer.tokenize_block("東京a.\u3000東 京々\n".encode())
    names = [
        "+" * (number >= SIZE) + EVERY_LETTER.tokens[number % SIZE] for number in block.ids.tolist()
    ]
    assert names == ["東", "+京", "+a", "+.", "東", "京", "+々"]
    assert tokenizer.encode("東京") == PLAIN[True].encode("東京")
    assert tokenizer.encode_batch(["東京", "a"]) == PLAIN[True].encode_batch(["東京", "a"])


@given(texts, st.booleans())
def test_ids_of_words_are_those_of_the_definition(text, lower):
    line = text.replace("\n", " ").replace("\r", " ")
    block = OF_SPACES[lower].tokenize_block(line.encode())
    assert block.ids.tolist() == ids_of_words(line, lower)
    plain = PLAIN[lower].tokenize_block(line.encode())
    assert (OF_SPACES[lower].vocabulary.plain(block.ids) == plain.ids).all()
    assert (block.num_unknown, block.special) == (plain.num_unknown, plain.special)


@given(texts, st.booleans())
def test_words_are_split_as_the_definition_splits(text, lower):
    rules = google_rules(EVERY_LETTER, lower, 200)
    parts = [number for part in split_at_spaces(text) for number in rules.encode(part)]
    assert parts == rules.encode(text)


def test_a_special_token_inside_a_word_is_still_one():
    added = ("[SEP]",)
    tokenizer = FastTokenizer(EVERY_LETTER, True, 200, added).of_words(SPACES)
    block = tokenizer.tokenize_block(b"a[SEP]a\n")
    sep = EVERY_LETTER.sep_id
    assert sep + SIZE in block.ids.tolist()
    assert block.special == {sep: 1}


def test_a_pickled_tokenizer_keeps_its_words():
    again = pickle.loads(pickle.dumps(OF_SPACES[True]))
    data = "東京 a.a\n".encode()
    assert np.array_equal(again.tokenize_block(data).ids, OF_SPACES[True].tokenize_block(data).ids)


def test_jieba_finds_chinese_words():
    data = "使用语言模型来预测下一个词的概率。\nplain words, 3.5 naïve\n坏\udc80".encode(
        errors="surrogateescape"
    )
    first, second, third = segment_with_jieba(data).split(b"\n")
    assert first.decode() == "使用 语言 模型 来 预测 下 一个 词 的 概率 。"
    assert second == "plain words ,  3.5 naïve".encode()
    assert third == data.split(b"\n")[2]


@pytest.mark.parametrize("added", [None, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")])
@given(text=st.one_of(odd_texts, st.lists(st.sampled_from("东京大学的a.,'Σς[]MASK"), max_size=12)))
def test_jieba_changes_no_token(added, text):
    line = "".join(text).replace("\n", " ").replace("\r", " ")
    for lower in (False, True):
        plain = FastTokenizer(EVERY_LETTER, lower, 200, added)
        of_jieba = plain.of_words(JIEBA)
        ids = of_jieba.tokenize_block(line.encode()).ids
        assert of_jieba.vocabulary.plain(ids).tolist() == plain.encode(line)
