"""Ranks become a tokenizer.json with the ids of tiktoken."""

import itertools
import json
import lzma

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from bert_data.tokens.backends import DefinitionFile
from bert_data.tokens.library_tokenizer import choose_backend
from bert_data.tokens.tiktoken_ranks import are_ranks, byte_letters, ranks_to_json
from bert_data.tokens.tokenizer_file import load_tokenizer, read_tokenizer
from tests.tokens.json_files import ranks

BYTES = [bytes([byte]) for byte in range(256)]
TOKENS = [*BYTES, b"th", b"the", b" c", b"at", b" cat", b"zq!zq!"]


def test_ids_and_special_tokens(tmp_path):
    path = tmp_path / "cl100k_base.tiktoken"
    path.write_bytes(ranks(TOKENS))
    tokenizer = load_tokenizer(None, str(path))
    assert tokenizer.encode("the cat<|endoftext|>12") == [257, 260, 100257, ord("1"), ord("2")]
    assert tokenizer.encode("zq!") == [ord("z"), ord("q"), ord("!")]
    assert (tokenizer.ids["<|endofprompt|>"], tokenizer.unk_id) == (100276, -1)
    assert read_tokenizer(str(path), do_lower_case=True).encode("the") == [257]


def test_merges():
    model = json.loads(ranks_to_json("r50k_base.tiktoken", ranks(TOKENS)))["model"]
    letters = byte_letters()
    space = letters[ord(" ")]
    assert model["merges"] == [
        ["t", "h"], ["th", "e"], [space, "c"], ["a", "t"], [space + "c", "at"],
    ]  # fmt: skip
    assert model["vocab"]["zq!zq!"] == 261  # which nothing is merged to


def definition(ranks_of: dict[bytes, int], word: bytes) -> list[int]:
    """What tiktoken does: the pair of the lowest rank is merged, until no pair has one."""
    if word in ranks_of:
        return [ranks_of[word]]
    parts = [bytes([byte]) for byte in word]
    while pairs := [
        (ranks_of[a + b], i)
        for i, (a, b) in enumerate(itertools.pairwise(parts))
        if a + b in ranks_of
    ]:
        _, i = min(pairs)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return [ranks_of[part] for part in parts]


@st.composite
def rank_files(draw) -> list[bytes]:
    """Tokens in any order, so that a token's parts may have higher ranks than the token."""
    longer = draw(st.lists(st.text("abc", min_size=2, max_size=6), unique=True))
    return draw(st.permutations(BYTES + [token.encode() for token in longer]))


@pytest.mark.parametrize("library", ["tokenizers", "fastokens"])
@given(rank_files(), st.lists(st.text("abcd", min_size=1, max_size=20), min_size=1))
@example([*BYTES, b"abc", b"ab"], ["abcd"])
def test_ids_are_tiktokens(library, tokens, words):
    pytest.importorskip(library)
    file = DefinitionFile("cl100k_base.tiktoken", ranks(tokens))
    ids, splits = choose_backend(file, library)[0].encode(words)
    ranks_of = {token: rank for rank, token in enumerate(tokens)}
    expected = [definition(ranks_of, word.encode()) for word in words]
    assert [part.tolist() for part in np.split(ids, splits[1:-1])] == expected


def test_an_unknown_name(tmp_path):
    (tmp_path / "my.tiktoken").write_bytes(ranks(TOKENS))
    with pytest.raises(ValueError, match=r"my\.tiktoken has only ranks; .* one of r50k_base"):
        load_tokenizer(None, str(tmp_path / "my.tiktoken"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (ranks(TOKENS) + b"dGhl\n", r":263: not a token in base64 and its rank"),
        (ranks(TOKENS) + b"a 999\n", r":263: not base64"),
        (ranks(TOKENS[1:]), " has no token for the byte 0"),
        (ranks(TOKENS) + b"YWI= 3\n", " has a rank that occurs twice"),
        (ranks(TOKENS) + b"YWI= 100257\n", r" has the rank 100257, which is the id of .*endoftext"),
    ],
)
def test_damage(content, reason):
    with pytest.raises(ValueError, match=f"cl100k_base{reason}"):
        ranks_to_json("cl100k_base", content)


def test_what_is_not_ranks():
    assert not any(map(are_ranks, [b"", b"{}", b"[PAD]\n[UNK]\n", b"the 1 2\n", b"\n\x0e\n"]))


@pytest.mark.slow
def test_published_ranks(shared, tmp_path):
    folder = shared / "data" / "tokenizers"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data/tokenizers, which is not here")
    names = ("cl100k_base.tiktoken", "cl100k.tokenizer.json", "mix.txt")
    ranks, json_file, mix = (lzma.decompress((folder / f"{n}.xz").read_bytes()) for n in names)
    ours = Tokenizer.from_str(ranks_to_json(names[0], ranks))
    theirs = Tokenizer.from_str(json_file.decode())
    lines = mix.decode().split("\n")[::9]
    found = [[e.ids for e in t.encode_batch_fast(lines)] for t in (ours, theirs)]
    assert found[0] == found[1]
