"""Levels, end-of-document tokens and empty documents: Megatron-LM's and Curator's files, and an
oracle that writes the bytes of a store from lists.
"""

import itertools
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.tokens.store import DROP, EMPTY_DOCUMENTS, StoreShape, open_store, token_dtype
from bert_data.tokens.store_writer import StoreWriter, fitting_ids
from tests.goldens.reading import MEGATRON

Documents = list[list[list[int]]]
EOD = 49999


def oracle(documents: Documents, shape: StoreShape, dtype: str) -> tuple[bytes, bytes]:
    """(.bin, .idx) as the contract says them, one document after the other."""
    sequences: list[list[int]] = []
    bounds = [0]
    for document in documents:
        bos, eod = ([] if mark is None else [mark] for mark in (shape.bos_id, shape.eod_id))
        if shape.level == "document":
            parts = [[token for sentence in document for token in sentence]] if document else []
        else:
            parts = [list(sentence) for sentence in document]
        if parts:
            parts[-1] += eod
            parts[0] = bos + parts[0]
        elif shape.empty_documents == "curator":
            parts = [bos + eod]
        elif shape.empty_documents == DROP:
            continue
        sequences += parts
        bounds.append(len(sequences))
    size = np.dtype(dtype).itemsize
    code = {"<u2": 8, "<i4": 4}[dtype]
    header = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, code, len(sequences), len(bounds))
    lengths = [len(sequence) for sequence in sequences]
    offsets = [size * sum(lengths[:i]) for i in range(len(lengths))]
    index = header + struct.pack(f"<{len(lengths)}i", *lengths)
    index += struct.pack(f"<{len(lengths)}q", *offsets) + struct.pack(f"<{len(bounds)}q", *bounds)
    return np.array(sum(sequences, []), dtype).tobytes(), index  # noqa: RUF017


def write(
    prefix: Path, documents: Documents, shape: StoreShape, dtype: str, cuts: list[int]
) -> StoreWriter:
    """Adds blocks that are cut between the given sentences."""
    sentences = [sentence for document in documents for sentence in document]
    ends = np.cumsum([len(document) for document in documents], dtype=np.int64)
    edges = [0, *sorted(min(cut, len(sentences)) for cut in cuts), len(sentences)]
    with StoreWriter(str(prefix), np.dtype(dtype), shape) as writer:
        num_reached = 0  # an end between two blocks is told once: with the first that reaches it
        for number, (start, stop) in enumerate(itertools.pairwise(edges)):
            is_last = number == len(edges) - 2
            reached = int(np.searchsorted(ends, stop, side="right" if is_last else "left"))
            part = sentences[start:stop]
            writer.add(
                np.array([token for sentence in part for token in sentence], dtype),
                np.array([len(sentence) for sentence in part], np.int32),
                ends[num_reached:reached] - start,
            )
            num_reached = reached
    return writer


def files(prefix: Path) -> tuple[bytes, bytes]:
    return prefix.with_suffix(".bin").read_bytes(), prefix.with_suffix(".idx").read_bytes()


SHAPES = st.builds(
    StoreShape,
    level=st.sampled_from(["document", "sentence"]),
    eod_id=st.sampled_from([None, 7]),
    bos_id=st.sampled_from([None, 5]),
    empty_documents=st.sampled_from(EMPTY_DOCUMENTS),
)
DOCUMENTS = st.lists(
    st.lists(st.lists(st.integers(0, 65535), min_size=1, max_size=4), max_size=3), max_size=7
)


@given(DOCUMENTS, SHAPES, st.sampled_from(["<u2", "<i4"]), st.lists(st.integers(0, 12), max_size=5))
@example([[], [[1]], []], StoreShape(level="document", eod_id=7), "<u2", [0, 0, 1])
@example([[[1], [2]], [], [[3]], [], [[4, 5]]], StoreShape(), "<u2", [2, 2, 3])
@example([[], [[1]], [[2]]], StoreShape(bos_id=5, eod_id=7, empty_documents="curator"), "<u2", [1])
def test_equals_the_oracle_however_it_is_cut(tmp_path_factory, documents, shape, dtype, cuts):
    prefix = tmp_path_factory.mktemp("store") / "s"
    writer = write(prefix, documents, shape, dtype, cuts)
    assert files(prefix) == oracle(documents, shape, dtype)
    kept = [d for d in documents if d or shape.empty_documents != DROP]
    assert writer.num_documents == len(kept)
    assert writer.num_empty == sum(not document for document in kept)
    store = open_store(str(prefix))
    assert (writer.num_sentences, writer.num_tokens) == (store.lengths.size, store.ids.size)
    sums = [(len(content), zlib.crc32(content)) for content in files(prefix)]
    assert [(each.num_bytes, each.crc32) for each in writer.files.values()] == sums
    assert sorted(path.name for path in prefix.parent.iterdir()) == ["s.bin", "s.idx"]


def megatron_documents(numbers: range) -> Documents:
    """The corpus of sentences that Megatron's files were made from, see goldens/megatron.json."""
    return [
        [
            [(i * 1009 + s * 97 + j * 31) % 50000 for j in range((i * 37 + s * 13) % 41 + 1)]
            for s in range(i * 5 % 7)
        ]
        for i in numbers
    ]


def corpus(number: int) -> list[int]:
    """A document of the corpus that Megatron's files were made from, see goldens/megatron.json."""
    return [(number * 1009 + j * 31) % 50000 for j in range(number * 37 % 101 + 1)]


@pytest.mark.parametrize("eod", ["eod", "noeod"])
@pytest.mark.parametrize(("golden", "policy"), [("curator", "curator"), ("preprocess", "megatron")])
def test_empty_documents_as_the_peers_write_them(tmp_path, golden, policy, eod):
    documents = [[corpus(number)] if number != 4 else [] for number in range(10)]
    shape = StoreShape(
        level="document", eod_id=EOD if eod == "eod" else None, empty_documents=policy
    )
    write(tmp_path / "s", documents, shape, "<u2", [3])
    assert files(tmp_path / "s") == files(MEGATRON / f"{golden}10_{eod}")


def test_sentences_as_megatron_writes_them(tmp_path):
    documents = megatron_documents(range(30))
    write(tmp_path / "s", documents, StoreShape(empty_documents="megatron"), "<u2", [5, 50])
    assert files(tmp_path / "s") == files(MEGATRON / "sent30_uint16")


def test_which_dtype():
    rules = {
        "curator": {30522: "<u2", 65536: "<u2", 65537: "<i4"},
        "megatron": {30522: "<u2", 65499: "<u2", 65500: "<i4", 151936: "<i4"},
    }
    for rule, sizes in rules.items():
        for size, dtype in sizes.items():
            assert token_dtype(size, rule) == np.dtype(dtype)


def test_ids_that_do_not_fit():
    assert fitting_ids(np.array([0, 65535]), np.dtype("<u2")).tolist() == [0, 65535]
    for bad in (65536, -1):
        with pytest.raises(ValueError, match=f"token id {bad} does not fit uint16"):
            fitting_ids(np.array([3, bad]), np.dtype("<u2"))
    with pytest.raises(ValueError, match="token id 70000 does not fit uint16"):
        StoreWriter("s", np.dtype("<u2"), StoreShape(eod_id=70000))


def test_a_document_that_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr("bert_data.tokens.store_writer.MAX_LENGTH", 5)
    with pytest.raises(ValueError, match="a document has more than 5 tokens"):
        write(tmp_path / "s", [[[1] * 3, [2] * 3]], StoreShape(level="document"), "<u2", [1])


@pytest.mark.parametrize("field", ["level", "empty_documents"])
def test_shapes_that_are_refused(field):
    with pytest.raises(ValueError, match=f"^{field} is 'x'; it must be one of "):
        StoreShape(**{field: "x"})
