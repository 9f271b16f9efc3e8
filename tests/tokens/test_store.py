"""The token store's bytes against Megatron-LM's own, and what is refused when one is opened."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bert_data.errors import CorruptDataError
from bert_data.gpt.store_documents import StoreDocuments
from bert_data.records.sets.corpus import check_stores
from bert_data.tokens.store import StoreShape, open_store
from bert_data.tokens.store_writer import StoreWriter, sequence_offsets
from tests.goldens.reading import MEGATRON, load_goldens
from tests.tokens.odd_texts import EVERY_LETTER
from tests.tokens.store_contents import sequences_of
from tests.tokens.test_store_writer import files, megatron_documents, write

HEADER_BYTES = 9 + 8 + 1 + 8 + 8


class TestMegatron:
    def test_sentences(self):
        assert sequences_of(MEGATRON / "sent30_uint16") == megatron_documents(range(30))

    @pytest.mark.parametrize(("name", "dtype"), [("doc50_uint16", "<u2"), ("doc50_int32", "<i4")])
    def test_writes_the_same_bytes(self, tmp_path, name, dtype):
        documents = [
            [[(i * 1009 + j * 31) % 50000 for j in range(i * 37 % 101 + 1)]] for i in range(50)
        ]
        write(tmp_path / name, documents, StoreShape(), dtype, [])
        assert files(tmp_path / name) == files(MEGATRON / name)

    def test_a_repeated_boundary_is_an_empty_document(self, tmp_path):
        facts = load_goldens("megatron.json")
        tiny = facts["bin_idx"]["tiny3_uint16"]
        (tmp_path / "tiny.bin").write_bytes(bytes.fromhex(tiny["bin_hex"]))
        (tmp_path / "tiny.idx").write_bytes(bytes.fromhex(tiny["idx_hex"]))
        assert sequences_of(tmp_path / "tiny") == [[[1, 2, 3]], [], [[4, 5]]]

    def test_a_store_without_documents(self):
        store = open_store(str(MEGATRON / "empty_uint16"))
        assert (store.num_documents, store.ids.size, store.lengths.size) == (0, 0, 0)


def test_an_index_longer_than_what_is_copied_and_checked_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("bert_data.tokens.store_writer.COPY_BYTES", 24)
    monkeypatch.setattr("bert_data.tokens.store.CHECKED", 7)
    documents = [[[d, s] for s in range(1 + d % 4)] for d in range(40)]
    write(tmp_path / "s", documents, StoreShape(), "<u2", [])
    assert sequences_of(tmp_path / "s") == documents


def test_a_writer_that_fails_leaves_no_index(tmp_path):
    with pytest.raises(RuntimeError), StoreWriter(str(tmp_path / "s"), np.dtype("<u2")) as writer:
        writer.add(np.array([1], "<u2"), np.array([1], np.int32), np.array([1]))
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["s.bin"]


NO_SEQUENCES, NO_BOUNDS = "do not lie end to end", "the document bounds do not cover the seq"
DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "bin cut off": (".bin", lambda b: b[:-1], "has 23 bytes; the index says 24"),
    "bin cut off by a token": (".bin", lambda b: b[:-2], "has 22 bytes; the index says 24"),
    "bin empty": (".bin", lambda b: b"", "has 0 bytes; the index says 24"),
    "bin too long": (".bin", lambda b: b + b"\0\0", "has 26 bytes; the index says 24"),
    "idx empty": (".idx", lambda b: b"", "not the index of a token store"),
    "idx cut off in its header": (".idx", lambda b: b[:20], "not the index of a token store"),
    "idx cut off": (".idx", lambda b: b[:-1], "its header says"),
    "idx too long": (".idx", lambda b: b + b"\0", "its header says"),
    "foreign": (".idx", lambda b: b"\x93NUMPY" + b[6:], "not the index of a token store"),
    "version": (".idx", lambda b: b[:9] + struct.pack("<Q", 2) + b[17:], "version 2; version 1"),
    "no dtype": (".idx", lambda b: b[:17] + b"\0" + b[18:], "dtype code 0 is not one of"),
    "of floats": (".idx", lambda b: b[:17] + b"\7" + b[18:], "dtype code 7 is not one of"),
    "another dtype": (".idx", lambda b: b[:17] + b"\4" + b[18:], NO_SEQUENCES),
    "more sentences": (".idx", lambda b: b[:18] + struct.pack("<Q", 2**60) + b[26:], "header says"),
    "first bound": (".idx", lambda b: patched(b, "bounds", 0, 1), NO_BOUNDS),
    "last bound": (".idx", lambda b: patched(b, "bounds", 2, 3), NO_BOUNDS),
    "a bound before the one before": (".idx", lambda b: patched(b, "bounds", 1, -1), NO_BOUNDS),
    "a bound behind the end": (".idx", lambda b: patched(b, "bounds", 1, 9), NO_BOUNDS),
    "a length below zero": (".idx", lambda b: patched(b, "lengths", 1, -3), NO_SEQUENCES),
    "lengths that do not add up": (".idx", lambda b: patched(b, "lengths", 0, 4), NO_SEQUENCES),
    "an offset far away": (".idx", lambda b: patched(b, "offsets", 1, 2**40), NO_SEQUENCES),
    "bounds that wrap around": (".idx", lambda b: patched(b, "bounds", 1, 2**62), NO_BOUNDS),
    "bounds below 0": (".idx", lambda b: patched(b, "bounds", 1, -(2**63) + 1), NO_BOUNDS),
    "an offset inside a token": (".idx", lambda b: patched(b, "offsets", 1, 7), NO_SEQUENCES),
}
# Of the store of four sentences in two documents that is damaged: place of the field, its type.
FIELDS = {
    "lengths": (HEADER_BYTES, "<i"),
    "offsets": (HEADER_BYTES + 16, "<q"),
    "bounds": (HEADER_BYTES + 48, "<q"),
}


def patched(index: bytes, field: str, number: int, value: int) -> bytes:
    start, code = FIELDS[field]
    data = bytearray(index)
    struct.pack_into(code, data, start + number * struct.calcsize(code), value)
    return bytes(data)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_told(tmp_path, damage):
    write(
        tmp_path / "s", [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]], StoreShape(), "<u2", []
    )
    ending, change, reason = DAMAGES[damage]
    path = tmp_path / ("s" + ending)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(CorruptDataError, match=reason) as caught:
        open_store(str(tmp_path / "s"))
    assert Path(caught.value.path).stem == "s"


def test_a_store_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        open_store(str(tmp_path / "none"))
    assert caught.value.filename == str(tmp_path / "none.idx")


def test_memory_that_was_let_go_of_is_read_again(tmp_path):
    write(tmp_path / "s", [[[1, 2, 3]]], StoreShape(), "<u2", [])
    store = open_store(str(tmp_path / "s"))
    for max_bytes in (0, 5, 6, 1000):
        store.release_memory(max_bytes)
        assert store.ids.tolist() == [1, 2, 3]


def test_modes_of_a_multimodal_store():
    store = open_store(str(MEGATRON / "mm10_int32"))
    assert store.modes is not None and store.modes.dtype == np.int8
    assert store.modes.size == store.lengths.size
    sentences = [s for document in megatron_documents(range(10)) for s in range(len(document))]
    assert store.modes.tolist() == [s % 2 for s in sentences]
    assert open_store(str(MEGATRON / "sent30_uint16")).modes is None


def test_a_multimodal_store_is_not_read_as_text():
    prefix = str(MEGATRON / "mm10_int32")
    reason = "mm10_int32: a multimodal token store cannot be read or merged as text"
    with pytest.raises(ValueError, match=reason):
        check_stores([prefix], EVERY_LETTER, do_lower_case=None)
    with pytest.raises(ValueError, match=reason):
        StoreDocuments(prefix)


def test_more_than_two_to_the_31_tokens_and_four_gib(tmp_path):
    """Six documents of 2**29 tokens and some, int32: 12 GiB, all zeros but for the last token."""
    length, num = 2**29 + 1, 6
    lengths = struct.pack(f"<{num}i", *[length] * num)
    offsets = struct.pack(f"<{num}q", *(4 * length * i for i in range(num)))
    bounds = struct.pack(f"<{num + 1}q", *range(num + 1))
    header = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, 4, num, num + 1)
    (tmp_path / "s.idx").write_bytes(header + lengths + offsets + bounds)
    with open(tmp_path / "s.bin", "wb") as file:  # without blocks on disk
        file.seek(4 * length * num - 4)
        file.write(struct.pack("<i", 77))
    store = open_store(str(tmp_path / "s"))
    assert store.ids.size == length * num > 2**31
    start = int(store.offsets[-1]) // 4
    assert store.ids[start + int(store.lengths[-1]) - 1] == 77
    with open(tmp_path / "s.bin", "r+b") as file:
        file.truncate(4 * length * num - 4)
    with pytest.raises(CorruptDataError, match=r"s\.bin: .*the index says 12884901912"):
        open_store(str(tmp_path / "s"))


def test_offsets_beyond_four_gib():
    offsets, end = sequence_offsets(np.full(3, 2**31 - 1, np.int32), 2, 0)
    assert offsets.tolist() == [0, 2**32 - 2, 2**33 - 4]
    assert end == 3 * (2**32 - 2)
    offsets, end = sequence_offsets(np.array([5], np.int32), 4, end)
    assert (offsets.tolist(), end) == ([12884901882], 12884901902)
