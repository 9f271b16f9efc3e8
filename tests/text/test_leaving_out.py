"""Documents that are left out while text is read; tests/tokens/test_filling.py has lines."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from bert_data.text.documents import as_spans
from bert_data.text.formats import find_text_format
from bert_data.text.leaving_out import leave_out_documents, with_ids
from bert_data.text.text_config import TextConfig
from bert_data.text.without import ReadText, WithoutConfig

ROWS = [
    {"text": "one", "id": "a1", "meta": {"n": 1}},
    {"text": "two", "id": 7, "meta": {"n": 2}},
    {"text": "three"},
    {"text": "four", "id": "a1", "meta": None},
    {"text": "five", "id": "b"},
]


def left(folder: Path, names: str, files: list[Path], **changes) -> tuple[list[str], ReadText]:
    """The texts that a list leaves, and what was noted."""
    (folder / "ids.txt").write_text(names)
    config = WithoutConfig(without_documents=f"{folder}/ids.txt")
    own = {"id_field": "id", "folder": str(folder), **changes}
    text, read = with_ids(TextConfig(without=config.find_without(**own))), ReadText()
    paths = list(map(str, files))
    blocks = find_text_format(paths, text).read(as_spans(paths), text)
    blocks = list(leave_out_documents(blocks, text.without, read))
    return [each.whole_text for block in blocks for each in block.documents], read


@pytest.fixture(params=["jsonl", "parquet"])
def rows(request, tmp_path):
    """Files of the same rows, in a folder of their own."""
    files = [tmp_path / f"{name}.{request.param}" for name in ("x", "y")]
    for path in files:
        if request.param == "jsonl":
            path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
        else:
            columns = {name: [row.get(name) for row in ROWS] for name in ("text", "meta")}
            ids = [None if "id" not in row else str(row["id"]) for row in ROWS]
            parquet.write_table(pa.table({**columns, "id": ids}), path)
    return files


def test_documents_with_an_id_and_in_a_row(tmp_path, rows):
    ending = rows[0].suffix
    texts, read = left(tmp_path, f"a1\n7\nnone\ny{ending}:3\ny{ending}:4\nz{ending}:5\n", rows)
    assert texts == ["three", "five", "five"]
    assert (read.num_left_out, read.found) == (7, {0, 1, 3, 4})  # the fourth of y has two names
    texts, read = left(tmp_path, "2\n1\n", rows, id_field="meta.n")
    assert texts == 2 * ["three", "four", "five"] and read.found == {0, 1}


def test_a_document_of_two_files_is_named_by_the_first(tmp_path):
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    files[0].write_text("x\n\none\n")
    files[1].write_text("two\n\nthree\n")
    for names, expected, found in (
        ("a.txt:3", ["x", "three"], {0}),
        ("b.txt:1\nb.txt:3\na.txt:4", ["x", "one\ntwo"], {1}),
    ):
        texts, read = left(tmp_path, names, files)
        assert (texts, read.found) == (expected, found)
