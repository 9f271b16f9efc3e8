"""The fast tokenizer against the definition: any text, any vocabulary, any damage to the bytes."""

import hashlib
import itertools
import json
import pickle
import random
import threading
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tokenization
from bert_data.tokens.block_run import TokenBlock, UndecodableLineError
from bert_data.tokens.definition import BasicTokenizer, WordpieceTokenizer, convert_to_unicode
from bert_data.tokens.tokenizer import FastTokenizer, tokenize_sentences
from bert_data.tokens.vocabulary import TokenTable, load_vocabulary
from tests.hypotheses import examples
from tests.rows import mostly_slow
from tests.tokens.odd_texts import (
    EVERY_LETTER,
    code_points,
    defined_ids,
    few_letters,
    make_vocabulary,
    odd_texts,
    pieces_of_odd,
    texts,
)

COVERS = ("tokens/block_run", "tokens/block_kernel")


TOKENIZERS = {lower: FastTokenizer(EVERY_LETTER, lower) for lower in (False, True)}
"""They stay, so that their caches get filled by one example and used by others."""

ANY = st.one_of(
    texts,
    st.text(max_size=10),  # with surrogates
    st.lists(st.one_of(odd_texts.map(str.encode), st.binary(max_size=4))).map(b"".join),
)


@pytest.mark.slow
@examples(300)
@given(batch=st.lists(ANY, max_size=6), lower=st.booleans())
@example(batch=["", "\n", "\u200b", "a\r\nb", "Σ", "ΑΣ", ".", "", " . "], lower=True)
@example(batch=["a", "b\ud800", b"\xffa\xe4\xb8", "e\x00\u0301\u00ad\u0323x"], lower=False)
@example(batch=["ΑΣ\u0345Σ' Σ'ς AΣ\u00ad\u0345a\u2028Σ aΣ東Σ Σ\xa0Σa"], lower=True)
@example(batch=["a\U0001d165\u0301\u302ea a\u302e\U0001d165 a\u302e\u0488\U0001d165"], lower=True)
@example(batch=["\U0001d15f\u0301\U0001d16d\U0001d165"], lower=True)
def test_each_text_has_the_ids_of_the_definition(batch, lower):
    expected = [defined_ids(EVERY_LETTER, lower, convert_to_unicode(text)) for text in batch]
    assert TOKENIZERS[lower].encode_batch(iter(batch)) == expected
    assert [TOKENIZERS[lower].encode(text) for text in batch] == expected


@pytest.mark.slow
@examples(150)
@given(
    pieces=pieces_of_odd, samples=st.lists(odd_texts | few_letters, max_size=5), lower=st.booleans()
)
@example(pieces=[], samples=["a b", ""], lower=True)
@example(pieces=["##", "#", "", "a", "a", "##a", "##aa", "aaa"], samples=["aaaaa##a"], lower=True)
@example(pieces=["aaaa", "##aab", "##a", "a"], samples=["aaaab aaaaa aaa"], lower=True)
def test_ids_with_any_vocabulary(pieces: list[str], samples: list[str], lower: bool) -> None:
    vocabulary = make_vocabulary(pieces[1:], first=pieces[:1])
    tokenizer = FastTokenizer(vocabulary, lower)
    for text in samples:
        assert tokenizer.encode(text) == defined_ids(vocabulary, lower, text)


@pytest.mark.slow
def test_ids_beyond_16_bits() -> None:
    vocabulary = make_vocabulary([f"[unused{i}]" for i in range(70_000)] + ["a", "##b", "##c"])
    tokenizer = FastTokenizer(vocabulary)
    text = "a ab abc abcb abcbc x " * 3
    expected = defined_ids(vocabulary, True, text)
    assert max(expected) == 70_007
    assert tokenizer.encode(text) == expected
    block = tokenizer.tokenize_block(text.encode())
    assert block.ids.dtype == np.int32
    assert block.ids.tolist() == expected


@pytest.mark.parametrize("length", [199, 200, 201])
def test_the_limit_counts_letters_after_decomposition(length: int) -> None:
    vocabulary = make_vocabulary(["a", "##a", "\u1100", "##\u1161"])
    tokenizer = FastTokenizer(vocabulary)
    for text in ("a" * length, "á" * length + "!", "가" * (length // 2) + "a" * (length % 2)):
        assert tokenizer.encode(text) == defined_ids(vocabulary, True, text)
        assert (tokenizer.encode(text)[0] == vocabulary.unk_id) == (length > 200 or "가" in text)


@pytest.mark.slow
@pytest.mark.parametrize("lower", [False, True])
def test_every_character_among_others(lower: bool) -> None:
    for char in code_points(500):  # test_googles_tokens.py has them all
        sample = f"a{char}Σ{char} {char}\u0301b"
        assert TOKENIZERS[lower].encode(sample) == defined_ids(EVERY_LETTER, lower, sample), char


def defined_block(
    vocabulary: TokenTable, lower: bool, data: bytes, errors: str = "strict"
) -> tuple[list[list[int]], list[int], int]:
    """Sentences, breaks and number of lines, read as the reference reads a file."""
    sentences: list[list[int]] = []
    breaks: list[int] = []
    lines = data.replace(b"\r", b"").split(b"\n")
    if not lines[-1]:
        lines.pop()
    for line in lines:
        text = line.decode(errors=errors)
        ids = defined_ids(vocabulary, lower, text.strip())
        if not text.strip():
            breaks.append(len(sentences))
        elif ids:
            sentences.append(ids)
    return sentences, breaks, len(lines)


def assert_block(block: TokenBlock, expected: tuple[list[list[int]], list[int], int]) -> None:
    sentences, breaks, num_lines = expected
    ids = [number for sentence in sentences for number in sentence]
    assert block.ids.tolist() == ids
    assert block.sentence_lengths.tolist() == [len(sentence) for sentence in sentences]
    assert block.breaks.tolist() == breaks
    assert block.num_lines == num_lines
    assert block.num_unknown == ids.count(1)
    assert block.ids.dtype == np.uint16
    assert (block.sentence_lengths.dtype, block.breaks.dtype) == (np.int32, np.int64)


@examples(200)
@given(lines=st.lists(st.one_of(texts, st.sampled_from(["", " \x1c\u3000", "\u200b"]))), end=texts)
@example(lines=["a b", "", "\u200b", "\x85\xa0\u2028", "c"], end="")
@example(lines=["a\rb", "c\r", "\r", "\r\r"], end="\r")
@example(lines=["a"], end=" \r")
@example(lines=["a\n\n\nb"], end="c")
def test_blocks_of_lines(lines: list[str], end: str) -> None:
    data = "".join(f"{line}\n" for line in lines).encode() + end.encode()
    block = TOKENIZERS[True].tokenize_block(data)
    assert_block(block, defined_block(EVERY_LETTER, True, data))
    assert block.num_replaced == 0


@pytest.mark.parametrize("blank", ["", " ", "\t", " \t ", "\r", "\x0b", "\x1f \x85", "\u2028"])
def test_a_blank_line_is_the_first_thing_that_a_tokenizer_sees(blank: str) -> None:
    data = f"{blank}\na\n{blank}\n".encode()
    block = FastTokenizer(EVERY_LETTER).tokenize_block(data)
    assert_block(block, defined_block(EVERY_LETTER, True, data))
    assert block.breaks.tolist() == [0, 1]


@pytest.mark.parametrize("data", [b"", bytearray(b"a b\n"), memoryview(b"xa b\n")[1:]])
def test_any_kind_of_bytes(data) -> None:
    expected = defined_block(EVERY_LETTER, True, bytes(data))
    assert_block(TOKENIZERS[True].tokenize_block(data), expected)


DAMAGE = [b"\x80", b"\xc0\x80", b"\xc3", b"\xe4\xb8", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xf4\x90"]
DAMAGE += [b"\xf5\x80\x80\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xff", b"\xe4\r\xb8\xad"]
damaged = st.lists(
    st.one_of(odd_texts.map(str.encode), st.sampled_from(DAMAGE), st.just(b"\n"), st.binary()),
    max_size=12,
).map(b"".join)


@examples(200)
@given(data=damaged, errors=st.sampled_from(["replace", "ignore"]))
@example(data=b"a \xff\xef\xbf\xbd\xe4\xb8 b\n\xff\n\xc3\r\xa9 \xe4\n\xa0", errors="replace")
@example(data="ς\u302e\u302f\u302e".encode() + b"\xff", errors="replace")
def test_damaged_bytes_are_treated_as_pythons_codec_does(data, errors):
    block = TOKENIZERS[True].tokenize_block(data, encoding_errors=errors)
    assert_block(block, defined_block(EVERY_LETTER, True, data, errors))
    lines = [line.replace(b"\r", b"") for line in data.split(b"\n")]
    replaced = sum(line.decode(errors="replace").count("\ufffd") for line in lines)
    assert block.num_replaced == replaced - sum(line.count(b"\xef\xbf\xbd") for line in lines)


@pytest.mark.slow
def test_utf8_at_the_bounds_of_every_byte() -> None:
    first = (0x80, 0xBF, *range(0xC0, 0x100))
    second, others = (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0), (0x7F, 0x80, 0xBF, 0xC0)
    lines = [b"a%c%c%c%cb" % four for four in itertools.product(first, second, others, others)]
    data = b"\n".join(lines)
    block = TOKENIZERS[True].tokenize_block(data, encoding_errors="replace")
    assert_block(block, defined_block(EVERY_LETTER, True, data, "replace"))
    assert block.num_replaced == data.decode(errors="replace").count("\ufffd")


@examples(150)
@given(data=damaged)
@example(data=b"fine\n\nalso\xe4\xb8\nand not\xff")
@example(data="\n\u302e\u302e".encode() + b"\xff")
def test_strict_names_the_first_damaged_line(data):
    reasons = []
    for number, line in enumerate(data.split(b"\n")):
        try:
            line.replace(b"\r", b"").decode()
        except UnicodeDecodeError as error:
            reasons.append((number, str(error)))
    if not reasons:
        TOKENIZERS[True].tokenize_block(data)
        return
    with pytest.raises(UndecodableLineError) as caught:
        TOKENIZERS[True].tokenize_block(data)
    assert (caught.value.line, caught.value.reason) == reasons[0]
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.line, again.reason, str(again)) == (*reasons[0], str(caught.value))


@pytest.mark.slow
def test_many_different_chunks_drive_each_other_out_of_the_cache() -> None:
    generator = random.Random(5)
    alphabet = "abcdefghij"
    pieces = [*alphabet, *(f"##{a}{b}" for a in alphabet for b in alphabet[::2])]
    vocabulary = make_vocabulary(pieces)
    words = [
        "".join(generator.choices(alphabet, k=generator.randint(1, 18))) for _ in range(70_000)
    ]
    data = " ".join(words * 2).encode()
    block = FastTokenizer(vocabulary).tokenize_block(data)
    pieces_of = tokenization.WordpieceTokenizer(vocabulary.ids)
    expected = [vocabulary.ids[piece] for word in words for piece in pieces_of.tokenize(word)]
    assert block.ids.tolist() == expected * 2


def test_threads_share_a_tokenizer() -> None:
    tokenizer = FastTokenizer(EVERY_LETTER)
    # Each thread comes to pages of code points that the others have not filled in yet.
    samples = [
        "".join(chr(c) for c in range(first, first + 3000)) for first in range(0, 0xD000, 900)
    ]
    results: dict[int, list[int]] = {}
    start = threading.Barrier(4)

    def work(number: int) -> None:
        start.wait()
        for i in range(number, len(samples), 4):
            results[i] = tokenizer.encode(samples[i])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = FastTokenizer(EVERY_LETTER)
    assert [results[i] for i in range(len(samples))] == [again.encode(text) for text in samples]


def test_a_pickled_tokenizer_gives_the_same_ids() -> None:
    tokenizer = pickle.loads(pickle.dumps(FastTokenizer(EVERY_LETTER, do_lower_case=False)))
    assert tokenizer.encode("aA 東") == defined_ids(EVERY_LETTER, False, "aA 東")


@pytest.mark.parametrize("path", ["vocab.txt", Path("vocab.txt")])
def test_a_path_is_refused_with_the_call_that_reads_it(path) -> None:
    with pytest.raises(TypeError, match=r"vocab\.txt.*load_vocabulary\(path\)"):
        FastTokenizer(path)


FLAVORS = {"uncased": (True, "uncased"), "cased": (False, "uncased"), "chinese": (True, "chinese")}


def golden(shared: Path, flavor: str) -> tuple[dict, FastTokenizer]:
    goldens = json.loads((shared / "goldens/tokenization.json").read_text(encoding="utf-8"))
    if unicodedata.unidata_version != goldens["unicodedata"]:
        pytest.skip(f"the goldens are of Unicode {goldens['unicodedata']}")
    lower, name = FLAVORS[flavor]
    vocabulary = load_vocabulary(shared / f"data/vocab/bert-base-{name}.txt")
    return goldens, FastTokenizer(vocabulary, lower)


def digest_of_texts(tokenizer: FastTokenizer, texts: list[str]) -> list:
    """[sha256, number of ids] of the ids of each text, as the goldens have it, from one block.

    Args:
      tokenizer: of a vocabulary that has "~".
      texts: without line breaks.
    """
    # The "~" is a word of one id, so that texts without ids are seen too.
    block = tokenizer.tokenize_block("".join(f"{text} ~\n" for text in texts).encode())
    assert len(block.sentence_lengths) == len(texts)
    numerals = np.array([str(number) for number in range(block.ids.max() + 1)], object)
    ids = numerals[block.ids]
    ids[np.cumsum(block.sentence_lengths) - 1] = "\n"
    lines = " ".join(ids).replace(" \n", "\n").replace("\n ", "\n")
    return [hashlib.sha256(lines.encode()).hexdigest(), len(ids) - len(texts)]


@mostly_slow("flavor", FLAVORS)
def test_ids_of_real_and_edge_texts_equal_the_reference(shared: Path, flavor: str) -> None:
    goldens, tokenizer = golden(shared, flavor)
    for name, digests in goldens["corpora"].items():
        if flavor not in digests:
            continue
        folder = "corpora" if (shared / "data/corpora" / name).exists() else "edge"
        data = (shared / "data" / folder / name).read_bytes().replace(b"\r", b" ")
        texts = data.decode(errors="ignore").split("\n")
        assert digest_of_texts(tokenizer, texts) == digests[flavor], name


def test_a_single_text_is_no_batch():
    for text in ("ab", b"ab"):
        with pytest.raises(ValueError, match="texts is a single text; use encode"):
            TOKENIZERS[True].encode_batch(text)


def test_what_is_no_text():
    for call in (TOKENIZERS[True].encode, lambda text: TOKENIZERS[True].encode_batch([text])):
        with pytest.raises(ValueError, match="Unsupported string type: <class 'int'>"):
            call(7)


ALPHABET = st.sampled_from(
    [*"badokilu .?#[]", "\n", "\r", "\t", "\0", "\u2028", "é", "世", "\u0300"]
)


@pytest.fixture(scope="module")
def tokenizer(small_vocabulary) -> FastTokenizer:
    return FastTokenizer(load_vocabulary(small_vocabulary))


@given(sentences=st.lists(st.text(ALPHABET, max_size=20), max_size=6))
def test_words_and_pieces(tokenizer: FastTokenizer, sentences: list[str]) -> None:
    vocabulary = tokenizer.vocabulary
    basic, pieces_of = BasicTokenizer(True), WordpieceTokenizer(vocabulary.ids)
    expected = [
        [[vocabulary.ids[piece] for piece in pieces_of.tokenize(word)]
         for word in basic.tokenize(sentence)]
        for sentence in sentences
    ]  # fmt: skip
    tokenized = tokenize_sentences(tokenizer, sentences)
    words = np.split(tokenized.ids, tokenized.word_splits[1:-1]) if tokenized.ids.size else []
    bounds = tokenized.sentence_splits
    assert [
        [words[i].tolist() for i in range(*bounds[row : row + 2])] for row in range(len(sentences))
    ] == expected
    assert tokenized.word_splits[0] == 0
    assert tokenized.word_splits[-1] == tokenized.ids.size
