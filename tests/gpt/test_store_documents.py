"""Stores that cannot serve are refused, and splits have the right documents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.gpt.gpt_config import parse_split
from bert_data.gpt.store_documents import StoreDocuments, split_documents
from bert_data.tokens.store import StoreShape
from tests.goldens.reading import MEGATRON, load_goldens
from tests.gpt.stores import golden_story, write_notes, write_store
from tests.tokens.test_store_writer import megatron_documents, write


def test_documents_are_the_sequences(tmp_path):
    """Curator writes a sequence of no token for an empty document, preprocess_data writes none."""
    goldens = MEGATRON
    stories = [golden_story(i) if i != 4 else [] for i in range(10)]
    curator = StoreDocuments(str(goldens / "curator10_noeod"))
    assert curator.store.lengths.tolist() == [len(story) for story in stories]
    megatron = StoreDocuments(str(goldens / "preprocess10_noeod"))
    assert megatron.store.num_documents == 10
    assert megatron.store.lengths.tolist() == [len(story) for story in stories if story]
    assert (curator.num_documents, megatron.num_documents) == (10, 9)
    assert curator.count_tokens((3, 6)) == len(stories[3]) + len(stories[5])


def test_sentences_are_refused(tmp_path):
    write(tmp_path / "s", megatron_documents(range(30)), StoreShape(), "<u2", [])
    with pytest.raises(ValueError, match="s: a sentence-level token store; GPT samples need"):
        StoreDocuments(str(tmp_path / "s"))


def test_a_document_of_two_sentences_anywhere_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("bert_data.gpt.store_documents.CHECKED_BOUNDS", 3)
    for place in range(8):
        stories = [[[1], [2]] if number == place else [[3]] for number in range(8)]
        write(tmp_path / f"s{place}", stories, StoreShape(), "<u2", [])
        with pytest.raises(ValueError, match="sentence-level"):
            StoreDocuments(str(tmp_path / f"s{place}"))
    write(tmp_path / "s", [[[3]]] * 8, StoreShape(), "<u2", [])
    assert StoreDocuments(str(tmp_path / "s")).num_documents == 8


def test_stores_that_cannot_serve(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        StoreDocuments(str(tmp_path / "none"))
    assert caught.value.filename == str(tmp_path / "none.idx")
    whole = write_store(tmp_path / "whole", [[1, 2, 3]])
    for ending in (".bin", ".idx"):
        with pytest.raises(ValueError, match=r"whole\.(bin|idx): name a token store without"):
            StoreDocuments(whole + ending)
    with pytest.raises(ValueError, match="empty_uint16: the token store holds no documents"):
        StoreDocuments(str(MEGATRON / "empty_uint16"))
    prefix = write_store(tmp_path / "cut", [[1, 2, 3]])
    (tmp_path / "cut.bin").write_bytes(b"\1\0\2\0")
    with pytest.raises(CorruptDataError, match="has 4 bytes; the index says 6"):
        StoreDocuments(prefix)


def replace_tokens(prefix, places, value):
    ids = np.fromfile(f"{prefix}.bin", "<u2")
    ids[places] = value
    ids.tofile(f"{prefix}.bin")


def test_damage_is_found_at_opening_where_notes_tell_or_if_all_is_verified(tmp_path):
    stories = [[*range(1, 60), 9]] * 1000
    prefix = write_store(tmp_path / "s", stories)
    write_notes(prefix, eod_id=9)
    StoreDocuments(prefix)
    StoreDocuments(prefix, verify=True)
    replace_tokens(prefix, [59999], 100)
    with pytest.raises(CorruptDataError, match="byte offset 119998: token id 100 is not in the vo"):
        StoreDocuments(prefix)
    replace_tokens(prefix, [59999], 5)
    with pytest.raises(CorruptDataError, match="a document ends with token 5, not with 9 as its"):
        StoreDocuments(prefix)
    replace_tokens(prefix, [59999], 9)
    replace_tokens(prefix, [30000], 8)
    StoreDocuments(prefix)
    with pytest.raises(CorruptDataError, match="its CRC-32 is not the one in its notes"):
        StoreDocuments(prefix, verify=True)
    replace_tokens(prefix, [30000], stories[500][0])
    index = (tmp_path / "s.idx").read_bytes()
    bounds = np.frombuffer(index, "<i8", offset=len(index) - 8 * 1001).copy()
    bounds[1] = 0  # a document without a sequence, and one of two
    (tmp_path / "s.idx").write_bytes(index[: -8 * 1001] + bounds.tobytes())
    with pytest.raises(CorruptDataError, match=r"s\.idx: .*its CRC-32 is not the one in its notes"):
        StoreDocuments(prefix)
    write_store(tmp_path / "s", stories[1:])
    with pytest.raises(CorruptDataError, match=r"s.store.json says"):
        StoreDocuments(prefix)


def test_an_empty_split_is_named(tmp_path):
    documents = StoreDocuments(write_store(tmp_path / "s", [[1], [2], [], [3]]))
    assert documents.of_split("2,1,1", "train") == (0, 2)
    assert documents.of_split("2,1,1", "test") == (3, 4)
    with pytest.raises(ValueError, match=r"valid split of .*s is empty: '2,1,1' gives it 1 of 4"):
        documents.of_split("2,1,1", "valid")
    with pytest.raises(ValueError, match=r"test split of .*s is empty: '969,30,1' gives it 0 of 4"):
        documents.of_split("969,30,1", "test")
    with pytest.raises(ValueError, match="the test split has a share of 0 in '9,1'"):
        documents.of_split("9,1", "test")
    with pytest.raises(ValueError, match="split 'dev' is not one of train, valid, test"):
        documents.of_split("1", "dev")


def test_the_digest_is_of_lengths_alone(tmp_path):
    digests = [
        StoreDocuments(write_store(tmp_path / name, stories, dtype)).lengths_sha256
        for name, stories, dtype in (
            ("a", [[1, 2], [3]], "<u2"),
            ("b", [[7, 8], [9]], "<i4"),
            ("c", [[7], [8, 9]], "<u2"),
        )
    ]
    assert digests[0] == digests[1] != digests[2]


def test_ranges_are_megatrons():
    for golden in load_goldens("megatron.json")["split"]:
        assert parse_split(golden["split"]) == golden["vector"]
        for num_documents, ranges in golden["doc_ranges"].items():
            ours = split_documents(golden["split"], int(num_documents))
            assert [None if r is None else list(r) for r in ours] == ranges


def test_halves_are_rounded_to_even():
    assert split_documents("1,1", 5) == ((0, 2), (2, 5), None)
    assert split_documents("1,1", 7) == ((0, 4), (4, 7), None)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=3).filter(any), st.integers(0, 10**9))
def test_splits_cover_all_documents_once(shares, num_documents):
    ranges = split_documents(",".join(map(str, shares)), num_documents)
    assert len(ranges) == 3
    at = 0
    for share, documents in zip([*shares, 0, 0], ranges, strict=False):
        assert (documents is None) == (share == 0)
        if documents is not None:
            assert documents[0] == at
            at = documents[1]
    assert at == num_documents


@pytest.mark.parametrize(
    "split", ["", "a", "1,2,3,4", "-1,2", "0,0", "nan", "inf,1", "1e308,1e308", "1;2", "9,,1"]
)
def test_what_is_no_split_is_refused(split):
    with pytest.raises(ValueError, match="one to three numbers >= 0"):
        parse_split(split)
