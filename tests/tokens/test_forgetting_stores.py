"""Stores without some documents are those of the input without them."""

import dataclasses
import errno
import itertools
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.text.documents import TextConfig
from bert_data.tokens import merging
from bert_data.tokens.forgetting_stores import ForgetConfig, Forgotten, forget_documents
from bert_data.tokens.merging import merge_stores
from bert_data.tokens.store_files import read_notes
from bert_data.tokens.store_making import StoreConfig, make_stores
from bert_data.tokens.verifying import verify_store
from tests.full_disk import full_disk
from tests.hypotheses import examples
from tests.tokens.test_provenance import set_group_rows

Row = dict[str, Any]
ENDINGS = ("bin", "idx", "provenance")

LONG = ["ba do", "ki", "lu", "ki"]  # longer than what is copied at a time
ROWS = st.fixed_dictionaries(
    {"text": st.sampled_from(["", "ba do", "lu ba ki do", LONG, LONG, LONG, " ", None])},
    optional={"id": st.sampled_from(["a", "b", "é", 7, "c", "d"]), "url": st.just("http://a")},
)
FILES = st.lists(st.lists(ROWS, max_size=9), min_size=1, max_size=3)


def write_rows(folder: Path, files: list[list[Row]]) -> None:
    folder.mkdir()
    for number, rows in enumerate(files):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{number}.jsonl").write_text(text)


def forget(folder: Path, ids: Iterable[str], store: str = "s", out: str = "f") -> Forgotten:
    (folder / "ids.txt").write_text("\n".join(sorted(ids)))
    return forget_documents(
        ForgetConfig(
            input_file=str(folder / store),
            documents=str(folder / "ids.txt"),
            output_prefix=str(folder / out),
        )
    )


def store_bytes(prefix: Path) -> list[bytes]:
    return [Path(f"{prefix}.{ending}").read_bytes() for ending in ENDINGS]


@pytest.mark.slow
@examples(25)
@given(
    FILES,
    st.sets(st.sampled_from(["a", "b", "é", "7", "x"]), min_size=1),
    st.sampled_from(["sentence", "document"]),
    st.sampled_from(["megatron", "curator"]),
    st.booleans(),
    st.integers(1, 3),
)
def test_equal_to_a_fresh_run(
    tmp_path_factory, small_vocabulary, files, ids, level, empty_documents, marks, num_partitions
):
    def goes(row: Row) -> bool:
        return row["text"] is not None and str(row.get("id")) in ids

    folder = tmp_path_factory.mktemp("forget")
    stays = [{"text": "ki", "id": "stays"}] * num_partitions
    files = [stays, *(each for rows in files for each in (rows, stays))]
    num_forgotten = sum(map(goes, itertools.chain(*files)))
    write_rows(folder / "before", files)
    write_rows(folder / "after", [[*itertools.filterfalse(goes, rows)] for rows in files])
    config = StoreConfig(
        input_file=f"{folder}/before/*.jsonl",
        output_prefix=f"{folder}/s",
        vocab_file=str(small_vocabulary),
        text=TextConfig(on_error="skip"),
        level=level,
        empty_documents=empty_documents,
        append_eod=marks,
        eod_token="ba" if marks else None,
        num_partitions=num_partitions,
    )
    text, prefix = f"{folder}/after/*.jsonl", f"{folder}/fresh"
    fresh = dataclasses.replace(config, input_file=text, output_prefix=prefix, num_partitions=1)
    store = "s" if num_partitions == 1 else f"s@{num_partitions}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "SEQUENCES", 3)
        patch.setattr(merging, "TOKENS", 4)
        set_group_rows(patch)
        make_stores(config)
        (made,) = make_stores(fresh)
        if not num_forgotten:
            with pytest.raises(ValueError, match="no document has one of"):
                forget(folder, ids, store)
            return
        try:
            done = forget(folder, ids, store)
        except ValueError as error:  # a partition of nothing else
            assert num_partitions > 1 and "nothing would be left" in str(error)
            reject()
        if num_partitions > 1:
            merge_stores(done.prefixes, f"{folder}/f")
        notes = verify_store(f"{folder}/f").notes
    assert store_bytes(folder / "f") == store_bytes(folder / "fresh")
    assert done.num_forgotten == num_forgotten
    assert notes is not None
    assert notes.counts.items() <= {**made.notes.counts, "num_forgotten": num_forgotten}.items()


@pytest.fixture
def folder(tmp_path, small_vocabulary):
    """A store of 40 documents, the last two with the same id."""
    rows = [{"text": "ba ki do", "id": f"d{min(n, 38)}"} for n in range(40)]
    write_rows(tmp_path / "text", [rows])
    make(tmp_path, small_vocabulary)
    return tmp_path


def make(folder: Path, vocabulary: Path, name: str = "s", **settings: Any) -> None:
    config = StoreConfig(
        input_file=str(folder / "text" / "0.jsonl"),
        output_prefix=str(folder / name),
        vocab_file=str(vocabulary),
        **settings,
    )
    make_stores(config)


def test_what_is_said(folder, small_vocabulary, caplog):
    done = forget(folder, ["d38", "other", "d1\r", ""])
    assert (done.num_documents, done.num_forgotten, done.num_ids) == (40, 3, 2)
    assert "no document has 1 of the 3 ids of" in caplog.text and "'other'" in caplog.text
    forget(folder, ["d2"], "f", "g")
    assert read_notes(str(folder / "g")).counts["num_forgotten"] == 4
    with pytest.raises(FileExistsError, match="is without 4 documents"):
        make(folder, small_vocabulary, "g")


def test_what_is_refused(folder, small_vocabulary):
    make(folder, small_vocabulary, "none", no_provenance=True)
    files = sorted(folder.iterdir())
    for ids, store, out, sentence in (
        (["x", "y", "z", "w"], "s", "f", "one of the 4 ids of .* \\('w', 'x', 'y', ...\\)"),
        (["", ""], "s", "f", "ids.txt has no id"),
        (["d1"], "none", "f", "none does not say where its documents came from"),
        (["d1"], "s", "s", "s.bin"),
        (["d1"], "text/*.jsonl", "f", "which is neither token stores nor a whole set"),
        ([f"d{n}" for n in range(40)], "s", "f", "nothing would be left"),
    ):
        with pytest.raises(ValueError, match=sentence):
            forget(folder, ids, store, out)
        (folder / "ids.txt").unlink()
        assert sorted(folder.iterdir()) == files
    forget(folder, ["d1"])
    with pytest.raises(FileExistsError, match="overwrite"):
        forget(folder, ["d2"])
    (folder / "ids.txt").write_bytes(b"a\xff")
    with pytest.raises(CorruptDataError, match="not UTF-8"):
        forget_documents(
            ForgetConfig(
                input_file=f"{folder}/s",
                documents=f"{folder}/ids.txt",
                output_prefix=f"{folder}/t",
            )
        )


def test_damaged_tokens(folder):
    path = folder / "s.bin"
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptDataError, match=r"s\.bin: .*its CRC-32 is not"):
        forget(folder, ["d5"])
    assert not list(folder.glob("*f*"))


def test_full_disk(folder):
    with full_disk(200), pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        forget(folder, ["d5"])
    assert not list(folder.glob("*f*"))
    forget(folder, ["d5"])
