"""Partitions hold all documents in their order, whole, wherever files are cut."""

import gzip
import json
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bert_data.text import partitions
from bert_data.text.documents import Span
from bert_data.text.formats import find_text_format, read_documents
from bert_data.text.lines import count_lines_before
from bert_data.text.partitions import count_rows, plan_partitions, plan_shards
from bert_data.text.text_config import TextConfig
from bert_data.work.executor import InProcess


def documents(spans: list[Span], config: TextConfig) -> list[object]:
    blocks = read_documents(spans, config)
    return [document.text for block in blocks for document in block.documents]


def check(
    paths: list[str], name: str, num_partitions: int, **settings: str
) -> list[list[Span]] | None:
    config = TextConfig(input_format=name, **settings)
    whole = documents([Span(path) for path in paths], config)
    try:
        partitions = plan_partitions(paths, find_text_format(paths, config), num_partitions)
    except ValueError as error:
        assert "can only be cut into" in str(error)
        return None
    assert len(partitions) == num_partitions
    assert [text for spans in partitions for text in documents(spans, config)] == whole
    return partitions


def check_shards(paths: list[str], name: str, target_bytes: int, **settings: str) -> None:
    """Shards hold the same documents, and these the same rows, as the files themselves."""
    config = TextConfig(input_format=name, **settings)
    text_format = find_text_format(paths, config)
    spans = [
        [Span(path) for path in paths],
        *count_rows(plan_shards(paths, text_format, target_bytes), text_format, InProcess()),
    ]
    rows = [
        [d for block in read_documents(part, config) for d in block.documents] for part in spans
    ]
    assert all(spans)
    assert [document for shard in rows[1:] for document in shard] == rows[0]


@pytest.mark.parametrize("name", ["lines", "jsonl"])
def test_long_lines_are_looked_over_piece_by_piece(tmp_path, monkeypatch, name):
    """The result does not depend on how much of a line is held."""
    end = "\n" if name == "jsonl" else "\n\n"
    texts = ["a" * 700, "b", "c" * 50, "d" * 3000, "e", "f", "g" * 900, "h"] * 3
    rows = [json.dumps({"text": text}) if name == "jsonl" else text for text in texts]
    path = tmp_path / "a"
    path.write_text(end.join(rows))
    text_format = find_text_format([str(path)], TextConfig(input_format=name))
    whole = [plan_shards([str(path)], text_format, size) for size in range(100, 4000, 300)]
    monkeypatch.setattr("bert_data.text.lines.DEFAULT_BLOCK_BYTES", 64)
    monkeypatch.setattr("bert_data.text.lines.SEARCH_BYTES", 16)
    monkeypatch.setattr("bert_data.text.lines.MAX_HELD_BYTES", 100)
    assert [plan_shards([str(path)], text_format, size) for size in range(100, 4000, 300)] == whole
    check_shards([str(path)], name, 500)


@pytest.mark.parametrize("name", ["jsonl", "lines"])
def test_lines_are_counted_once_however_many_parts_there_are(tmp_path, monkeypatch, name):
    """Readers of parts do not read the file from its beginning, and no part is read twice."""
    paths = [str(tmp_path / each) for each in "abc"]
    for path in paths:
        Path(path).write_text('{"text": "one two"}\n\n' * 40)
    text_format = find_text_format(paths, TextConfig(input_format=name))
    sizes = []
    count = partitions.count_lines
    monkeypatch.setattr(
        partitions, "count_lines", lambda span: sizes.append(span.end - span.start) or count(span)
    )
    parts = plan_partitions(paths, text_format, 30)
    counted = count_rows(parts, text_format, InProcess())
    assert 27 <= len(sizes) < 30 and sum(sizes) <= 3 * 40 * 21
    rows = [span.rows_before for part in counted for span in part if span.path == paths[1]]
    assert rows[0] == 0 and rows == sorted(set(rows)) and len(rows) >= 10
    monkeypatch.setattr("bert_data.text.lines.read_line_blocks", None)  # which would count again
    assert [count_lines_before(span) for part in counted for span in part] == [
        span.rows_before for part in counted for span in part
    ]


LINES = st.lists(
    st.sampled_from(["ba", "a longer line", "", " \t", "= head =", "\u3000", "do\r"]), max_size=9
)


def write_files(folder, contents):
    """Write texts, each compressed or not; return their paths."""
    paths = []
    for number, (text, is_packed) in enumerate(contents):
        paths.append(str(folder / f"{number}.txt{'.gz' * is_packed}"))
        data = text.encode()
        Path(paths[-1]).write_bytes(gzip.compress(data) if is_packed else data)
    return paths


@given(
    st.lists(st.tuples(LINES, st.booleans(), st.booleans()), min_size=1, max_size=4),
    st.integers(1, 6),
    st.sampled_from(["lines", "wikitext"]),
)
def test_lines(tmp_path_factory, contents, num_partitions, name):
    texts = [("\n".join(rows) + "\n" * ends, is_packed) for rows, ends, is_packed in contents]
    paths = write_files(tmp_path_factory.mktemp("lines"), texts)
    check(paths, name, num_partitions)
    check_shards(paths, name, 30)


@given(
    st.lists(st.tuples(st.lists(st.text(max_size=9), max_size=6), st.booleans()), min_size=1),
    st.integers(1, 6),
)
def test_jsonl(tmp_path_factory, contents, num_partitions):
    rows = [
        ("\n".join(json.dumps({"text": text}) for text in texts), is_packed)
        for texts, is_packed in contents
    ]
    paths = write_files(tmp_path_factory.mktemp("jsonl"), rows)
    check(paths, "jsonl", num_partitions)


def test_parquet_is_cut_between_row_groups(tmp_path):
    paths = []
    for number, num_rows in enumerate([40, 7, 0, 60]):
        table = pyarrow.table({"text": [f"{number} {row}" * row for row in range(num_rows)]})
        paths.append(str(tmp_path / f"{number}.parquet"))
        parquet.write_table(table, paths[-1], row_group_size=10, compression="none")
    partitions = {number: check(paths, "parquet", number) for number in range(1, 9)}
    assert {number for number, spans in partitions.items() if spans} == {1, 2, 3, 4, 5}
    assert partitions[4] == [  # the last file has most of the bytes; places in it are row groups
        [Span(paths[0])],
        [Span(paths[1]), Span(paths[2]), Span(paths[3], 0, 3)],
        [Span(paths[3], 3, 5)],
        [Span(paths[3], 5)],
    ]


def test_parts_are_of_about_the_same_size(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"line {i}\n\n" for i in range(1000)))
    partitions = check([str(path)], "lines", 7)
    assert partitions is not None
    size = path.stat().st_size
    ends = [spans[0].end or size for spans in partitions]
    assert all(abs(end - size * (k + 1) / 7) < 20 for k, end in enumerate(ends))
    assert partitions == plan_partitions([str(path)], find_text_format([str(path)]), 7)


def test_compressed_files_are_not_cut(tmp_path):
    data = "".join(f"line {i}\n\n" for i in range(100)).encode()
    paths = [str(tmp_path / f"{i}.gz") for i in range(3)]
    for path in paths:
        Path(path).write_bytes(gzip.compress(data))
    (tmp_path / "j.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a"}\n' * 100))
    partitions = check(paths, "lines", 3)
    assert partitions is not None and [len(spans) for spans in partitions] == [2, 2, 1]
    assert check([str(tmp_path / "j.jsonl.gz")], "jsonl", 2) is None


def test_fewer_documents_than_partitions(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n' * 3)
    with pytest.raises(ValueError, match=r"^5 partitions are requested, but the 1 file, .* into 3"):
        plan_partitions([str(path)], find_text_format([str(path)]), 5)


class Noting(InProcess):
    """Notes its items, and says that it has more workers than one."""

    def __init__(self) -> None:
        super().__init__()
        self.num_workers, self.items = 3, []

    def _begin(self, function, item):
        self.items.append(item)
        return super()._begin(function, item)


def test_lines_are_counted_in_one_task_a_worker(tmp_path):
    path, config = tmp_path / "a.txt", TextConfig()
    path.write_text("a b c\n\n" * 10_000)
    text_format = find_text_format([str(path)], config)
    parts = plan_shards([str(path)], text_format, 1000)
    counted = count_rows(parts, text_format, executor := Noting())
    assert len(parts) == 70 and len(executor.items) == 3
    assert [part[0].rows_before for part in counted[:3]] == [0, 286, 572]


@pytest.mark.parametrize(
    ("num_bytes", "target_bytes", "num_shards"),
    [(1890, 1890, 1), (1890, 1000, 2), (1_999_998, 10**7, 1), (3_000_004, 10**7, 3),
     (20_000_008, 10**7, 12), (14_000_000, 10**6, 14)],
)  # fmt: skip
def test_shards_are_as_small_as_keeps_workers_busy(tmp_path, num_bytes, target_bytes, num_shards):
    """Text of nearly two shards gives work to two workers."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"a b c\n\n" * (num_bytes // 7))
    text_format = find_text_format([str(path)], TextConfig())
    assert len(plan_shards([str(path)], text_format, target_bytes)) == num_shards
