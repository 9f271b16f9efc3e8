"""Merged stores, and stores that cannot be."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.tokens import merging
from bert_data.tokens.merging import StoreSpan, join_spans, merge_stores
from bert_data.tokens.store import EMPTY_DOCUMENTS, StoreShape, open_store
from bert_data.tokens.store_making import StoreConfig, make_stores
from bert_data.tokens.verifying import verify_store
from tests.goldens.reading import MEGATRON
from tests.hypotheses import examples
from tests.tokens.test_store_writer import DOCUMENTS, files, write


@pytest.mark.slow
@examples(40)
@given(
    st.lists(DOCUMENTS.filter(any).filter(lambda d: any(map(any, d))), min_size=2, max_size=4),
    st.sampled_from(EMPTY_DOCUMENTS),
    st.sampled_from(["document", "sentence"]),
    st.integers(1, 5),
)
def test_merged_equals_whole(tmp_path_factory, parts, empty_documents, level, num_sequences):
    folder = tmp_path_factory.mktemp("merge")
    shape = StoreShape(level=level, empty_documents=empty_documents)
    prefixes = []
    for number, documents in enumerate(parts):
        prefixes.append(str(folder / f"part{number}"))
        write(Path(prefixes[-1]), documents, shape, "<u2", [])
    write(folder / "whole", [d for documents in parts for d in documents], shape, "<u2", [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "SEQUENCES", num_sequences)
        patch.setattr(merging, "TOKENS", 2 * num_sequences)
        assert merge_stores(prefixes, str(folder / "merged")) is None
    assert files(folder / "merged") == files(folder / "whole")
    assert not (folder / "merged.store.json").exists()


def test_megatrons_parts(tmp_path):
    golden = MEGATRON
    merge_stores([str(golden / f"doc50_part{i}") for i in range(2)], str(tmp_path / "m"))
    assert files(tmp_path / "m") == files(golden / "doc50_uint16")


def test_what_cannot_be_merged(tmp_path, small_text, small_vocabulary):
    golden = MEGATRON
    base = StoreConfig(
        input_file=str(small_text),
        output_prefix=str(tmp_path / "a"),
        vocab_file=str(small_vocabulary),
    )
    make_stores(base)
    b, c = str(tmp_path / "b"), str(tmp_path / "c")
    make_stores(dataclasses.replace(base, output_prefix=b, level="sentence"))
    make_stores(dataclasses.replace(base, output_prefix=c, append_eod=True, eod_token="ba"))
    a = base.output_prefix
    for prefixes, sentence in (
        ([a], "1 token store cannot be merged; name two or more"),
        ([a, b, a], "a appears twice among the stores to merge"),
        ([a, b], "are token stores of different kinds: level document and sentence"),
        ([a, c], "different kinds: end of documents None and 7"),
        ([a, str(golden / "doc50_int32")], "different kinds: dtype uint16 and int32"),
        (
            [str(golden / "mm10_int32"), a],
            "a multimodal token store cannot be read or merged as text",
        ),
        ([a, str(golden / "empty_uint16")], "the token store has no token"),
    ):
        with pytest.raises(ValueError, match=sentence):
            merge_stores(prefixes, str(tmp_path / "m"))
    with pytest.raises(ValueError, match="is one of the stores to merge"):
        merge_stores([a, c], a, overwrite=True)
    for prefixes in ([a, str(tmp_path / "none")], [str(tmp_path / "none-*")]):
        with pytest.raises(FileNotFoundError, match="none"):
            merge_stores(prefixes, str(tmp_path / "m"))
    with pytest.raises(FileExistsError):
        merge_stores([a, str(golden / "doc50_uint16")], c)
    assert not list(tmp_path.glob("m*"))
    merge_stores([a, str(golden / "doc50_uint16")], c, overwrite=True)
    assert verify_store(c).notes is None  # those of the store that was replaced are gone, too


@pytest.mark.parametrize("ending", ["bin", "idx"])
def test_verify_reads_everything(tmp_path, small_text, small_vocabulary, ending):
    config = StoreConfig(
        input_file=str(small_text),
        output_prefix=str(tmp_path / "a"),
        vocab_file=str(small_vocabulary),
    )
    (store,) = make_stores(config)
    report = verify_store(store.prefix)
    assert (report.num_documents, report.num_empty, report.dtype) == (40, 0, "uint16")
    path = tmp_path / f"a.{ending}"
    data = bytearray(path.read_bytes())
    if ending == "bin":
        data[100] ^= 1
    else:  # two lengths and an offset that agree with each other, but not with what was written
        lengths = np.frombuffer(data, "<i4", 2, offset=34)
        offsets = np.frombuffer(data, "<i8", 2, offset=34 + 4 * 40)
        data[34:42] = (lengths + np.array([1, -1])).astype("<i4").tobytes()
        data[34 + 160 : 34 + 176] = (offsets + np.array([0, 2])).astype("<i8").tobytes()
    path.write_bytes(data)
    with pytest.raises(CorruptDataError, match=rf"a\.{ending}: .*its CRC-32 is not"):
        verify_store(store.prefix)
    write(tmp_path / "other", [[[1, 2]], [[3]]], StoreShape(level="document"), "<u2", [])
    with pytest.raises(CorruptDataError, match=rf"a\.{ending}: .*its CRC-32 is not"):
        merge_stores([store.prefix, str(tmp_path / "other")], str(tmp_path / "m"))
    assert not list(tmp_path.glob("m*"))


def test_verify_without_notes(tmp_path):
    report = verify_store(str(MEGATRON / "curator10_noeod"))
    assert (report.num_documents, report.num_sequences, report.num_empty) == (10, 10, 1)
    assert report.notes is None
    shape = StoreShape(level="document")
    write(tmp_path / "s", [[[1, 2]], [[3]]], shape, "<i4", [])
    path = tmp_path / "s.bin"
    path.write_bytes(np.array([1, -2, 3], "<i4").tobytes())
    with pytest.raises(CorruptDataError, match="byte offset 4: token id -2 is not in the voc"):
        verify_store(str(tmp_path / "s"))


@examples(50)
@given(st.data(), DOCUMENTS.filter(lambda documents: any(map(any, documents))))
def test_joined_spans_are_the_whole(tmp_path_factory, data, documents):
    folder = tmp_path_factory.mktemp("spans")
    shape = StoreShape(empty_documents=data.draw(st.sampled_from(EMPTY_DOCUMENTS)))
    write(folder / "whole", documents, shape, "<u2", [])
    bounds = open_store(str(folder / "whole")).documents.tolist()
    cuts = [cut for cut, bound in enumerate(bounds) if 0 < bound < bounds[-1]]
    cut = data.draw(st.sampled_from([0, *cuts]))  # no span is empty
    spans = [StoreSpan(prefix=str(folder / "whole"), start=cut)]
    if cut:
        spans.insert(0, StoreSpan(prefix=str(folder / "whole"), stop=cut))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "SEQUENCES", data.draw(st.integers(1, 5)))
        patch.setattr(merging, "TOKENS", data.draw(st.integers(1, 9)))
        join_spans(spans, str(folder / "joined"))
    assert files(folder / "joined") == files(Path(folder / "whole"))
