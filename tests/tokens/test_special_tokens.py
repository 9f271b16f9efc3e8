"""Special tokens of texts: counted wherever they lie, encoded as text, or refused."""

import functools
import json
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from bert_data.text.documents import TextDocument
from bert_data.text.text_config import DOCUMENT
from bert_data.tokens.block_run import TokenBlock
from bert_data.tokens.special_tokens import (
    SpecialTokenError,
    count_special,
    describe_counts,
    ordinary_range,
)
from bert_data.tokens.tiktoken_ranks import ranks_to_json
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_config import REFUSE, TEXT, TOKEN
from bert_data.tokens.tokenizer_file import load_tokenizer
from bert_data.tokens.vocabulary import load_vocabulary
from tests.tokens.json_files import byte_pairs, ranks, wordpiece

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
ENDS = ("<|endoftext|>", "<|endofprompt|>")


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
    [*SPECIAL, "[UNK]", "[CLS", "[sep]", "ba", "zzz", "é", " ", "\n", "\n\n", "\u0300", "\r"]
)


@pytest.mark.parametrize("added", [None, (), SPECIAL, (*SPECIAL, "[UNK]")])
@given(st.lists(PIECES).map("".join))
def test_tokens_of_a_block_of_lines(small_vocabulary, added, text):
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


def unigram(path: Path, special: Sequence[str] = (), unknown: str = "<unk>") -> Tokenizer:
    """Unigram, saved to a path, whose pieces end with special tokens, which are likely."""
    pieces = [(unknown, 0.0), ("\u2581", -2.0), *((letter, -4.0) for letter in "acdnot<>/|[]")]
    tokenizer = Tokenizer(models.Unigram([*pieces, *((t, 0.0) for t in special)], unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens([unknown, *special])
    tokenizer.save(str(path))
    return tokenizer


Encode = Callable[[str], list[int]]


def encode_by(library: Tokenizer, *, as_text: bool = False) -> Encode:
    library.encode_special_tokens = as_text
    return lambda text: library.encode(text, add_special_tokens=False).ids


def make_kind(folder: Path, kind: str) -> tuple[str, Sequence[str], Encode, Encode]:
    """A tokenizer's file, its special tokens, and what encodes a text as TOKEN and as TEXT."""
    path, special = folder / "t.json", ENDS
    if kind == "unigram":
        # In the library, the model itself finds the special pieces; here it has none.
        without = unigram(folder / "without.json", unknown="\0")
        return str(path), ENDS, encode_by(unigram(path, ENDS)), encode_by(without)
    if kind == "tiktoken":
        path = folder / "cl100k_base.tiktoken"
        path.write_bytes(ranks([*(bytes([byte]) for byte in range(256)), b"th", b"<|", b"|>"]))
        load = functools.partial(Tokenizer.from_str, ranks_to_json(str(path), path.read_bytes()))
    else:
        load = functools.partial(Tokenizer.from_file, str(path))
        if kind == "byte_pairs":
            byte_pairs(path, ENDS)
        else:
            special = SPECIAL
            tokens = [*SPECIAL, "[UNK]", "a", "##a", "cat", "cls", "[", "]", "<", "|"]
            changes = {} if kind == "bert" else {"normalizer__handle_chinese_chars": False}
            wordpiece(path, tokens, **changes)
    return str(path), special, encode_by(load()), encode_by(load(), as_text=True)


TEXTS = st.lists(
    st.sampled_from(
        [*SPECIAL, *ENDS, "[UNK]", "<unk>", "[CLS", "|>", "cat", "a", "zz", " ", "\u00e9", "<", "]"]
    )
).map("".join)


def tokenize(tokenizer, texts: Sequence[str]) -> TokenBlock:
    documents = [TextDocument(1, text) for text in texts]
    return pickle.loads(pickle.dumps(tokenizer)).tokenize_documents(documents, DOCUMENT, "en")


@pytest.mark.parametrize("kind", ["bert", "wordpiece", "byte_pairs", "tiktoken", "unigram"])
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_ids_are_those_of_the_library(tmp_path_factory, kind, texts):
    path, special, as_tokens, as_text = make_kind(tmp_path_factory.mktemp("t"), kind)
    tokenizer = load_tokenizer(None, path)
    special_ids = {tokenizer.ids[token] for token in special}
    ids = [as_tokens(text) for text in texts]
    block = tokenize(tokenizer, texts)
    assert block.ids.tolist() == [number for each in ids for number in each]
    assert block.special == Counter(n for each in ids for n in each if n in special_ids)
    block = tokenize(load_tokenizer(None, path, in_text=TEXT), texts)
    assert block.ids.tolist() == [number for text in texts for number in as_text(text)]
    assert not block.special
    refusing = load_tokenizer(None, path, in_text=REFUSE)
    first = next((n for n, each in enumerate(ids) if special_ids.intersection(each)), None)
    if first is None:
        assert tokenize(refusing, texts).ids.tolist() == sum(ids, [])  # noqa: RUF017
        return
    token = next(tokenizer.tokens[n] for n in ids[first] if n in special_ids)
    with pytest.raises(SpecialTokenError, match="the text has ") as caught:
        tokenize(refusing, texts)
    assert repr(token) in caught.value.reason
    assert caught.value.document == first


def test_a_vocabulary_file_makes_text_of_them(small_vocabulary):
    texts = ["ba [SEP] do", "[MASK]"]
    blocks = [
        tokenize(load_tokenizer(str(small_vocabulary), in_text=each), texts)
        for each in (TOKEN, TEXT, REFUSE)
    ]
    assert blocks[0].ids.tolist() == blocks[1].ids.tolist() == blocks[2].ids.tolist()
    assert not blocks[0].special


def test_a_token_that_merges_make_cannot_be_text(tmp_path):
    path = Path(byte_pairs(tmp_path / "t.json"))
    definition = json.loads(path.read_text())
    number = definition["model"]["vocab"]["the"]
    definition["added_tokens"].append(
        {**definition["added_tokens"][0], "id": number, "content": "the"}
    )
    path.write_text(json.dumps(definition))
    tokenizer = load_tokenizer(None, str(path), in_text=TEXT)
    tokenize(tokenizer, ["a <|endoftext|>"])
    with pytest.raises(SpecialTokenError, match=r"'the', which .*t\.json makes a token of in any"):
        tokenize(tokenizer, ["a <|endoftext|>", "a the b"])


def test_control_symbols_of_sentencepiece_are_text_and_others_cannot_be(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    path = tmp_path / "m.model"
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["the cat sat on the mat"] * 9), model_writer=file,
            vocab_size=16, user_defined_symbols=["[MASK]"], minloglevel=2,
        )  # fmt: skip
    library = sentencepiece.SentencePieceProcessor(model_file=str(path))
    for in_text in (TOKEN, TEXT, REFUSE):
        tokenizer = load_tokenizer(None, str(path), in_text=in_text)
        text = "the </s> <s> <unk>"
        assert tokenize(tokenizer, [text]).ids.tolist() == library.EncodeAsIds(text)
        if in_text == TOKEN:
            assert tokenize(tokenizer, ["a [MASK]"]).special == {tokenizer.ids["[MASK]"]: 1}
        else:
            with pytest.raises(SpecialTokenError, match=r"^the text has '\[MASK\]', "):
                tokenize(tokenizer, ["a [MASK]"])
