"""Lists of documents to leave out: how they are read, and what is said of what was found."""

import dataclasses
from contextlib import contextmanager
from pathlib import Path

import pytest

from bert_data.errors import CorruptDataError
from bert_data.text.without import ReadText, Without, WithoutConfig, not_found_path


def read(folder: Path, content: bytes, **names: str) -> Without:
    """The list that a file is."""
    (folder / "ids.txt").write_bytes(content)
    config = WithoutConfig(without_documents=f"{folder}/ids.txt")
    without = config.find_without(**{"id_field": "id", "folder": "/data", **names})
    assert without is not None
    return without


def test_names_are_ids_and_rows(tmp_path):
    content = "\ufeffa1\r\n\nsub/b.txt:17\nurn:uuid:6\na1\nsub/b.txt:9\nb.txt:x\n:4\né\n"
    without = read(tmp_path, content.encode())
    assert without.names == [
        "a1",
        "sub/b.txt:17",
        "urn:uuid:6",
        "sub/b.txt:9",
        "b.txt:x",
        ":4",
        "é",
    ]
    rows = without.rows_of("/data/sub/b.txt")
    assert rows == {17: 1, 9: 3} and without.rows_of("/data/b.txt") == {}
    assert without.numbers_of("a1", 9, rows) == {0, 3}
    assert without.numbers_of("sub/b.txt:17", 18, rows) == {1}  # an id as any other
    assert without.numbers_of(None, 18, rows) == without.numbers_of("", 18, rows) == set()
    assert read(tmp_path, b"web/b.txt:3", prefix="web/").rows_of("/data/b.txt") == {3: 0}


def test_lists_that_are_none(tmp_path):
    for content, error, reason in (
        (b"\r\n\n", ValueError, r"ids\.txt has no name; it must have a document's id, or FILE:ROW"),
        (b"a\n\xff", CorruptDataError, r"ids\.txt: byte offset 2: not UTF-8; it must have"),
    ):
        with pytest.raises(error, match=reason):
            read(tmp_path, content)
    without = read(tmp_path, b"a")
    (tmp_path / "ids.txt").write_bytes(b"b")
    with pytest.raises(ValueError, match=r"ids\.txt was changed while the run read it"):
        _ = dataclasses.replace(without, sha256="other").names
    with pytest.raises(ValueError, match=r"^`strict_without` needs `without_documents`$"):
        WithoutConfig(strict_without=True).find_without(id_field="id", folder="")


def test_what_was_not_found_is_listed(tmp_path, caplog):
    without, noted = read(tmp_path, b"a\nb\nc\nd\ne\n"), ReadText()
    noted.add(["x"], 3, [1])
    noted.add(**ReadText(with_text={"y"}, num_left_out=1, found={1, 4}).as_json())
    written = {}

    @contextmanager
    def open_file(path):
        with (tmp_path / "listed").open("wb") as file:
            yield file
        written[path] = (tmp_path / "listed").read_bytes()

    with caplog.at_level("INFO", "absl"):
        without.report(noted, "out/web", open_file, is_strict=False)
    assert written == {not_found_path("out/web"): b"a\nc\nd\n"}
    assert not_found_path("out/web") == "out/without.web.not_found.txt"
    info, warning = caplog.messages
    assert info == f"left out 4 documents, by 2 names in {tmp_path}/ids.txt"
    assert warning == (
        f"no document has 3 of the 5 names in {tmp_path}/ids.txt ('a', 'c', 'd');"
        " out/without.web.not_found.txt lists them"
    )
    assert without.counts(noted) == {"num_names": 5, "num_found": 2, "num_documents": 4}
    with pytest.raises(ValueError, match=r"\('a', 'c', 'd'\), which `strict_without` refuses"):
        without.report(noted, "out/web", open_file, is_strict=True)
    noted.found.update(range(5))
    without.report(noted, "out/web", open_file, is_strict=True)
    assert written == {not_found_path("out/web"): b""}
