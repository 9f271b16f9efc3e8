"""Documents are dealt to files in their order; names of files."""

import gzip
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bert_data.curation.running.output_files import Noted, output_paths, plan_files, share_out
from bert_data.curation.running.pipeline_settings import Output
from tests.curation.corpora import write_rows
from tests.curation.fake_steps import Few, Unique, Without
from tests.curation.running.test_run import contents, ledger_of, run, texts


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(1, 6))
def test_every_document_is_in_one_file(counts, num_files):
    spools = [(f"spool{n}", "a", count) for n, count in enumerate(counts)]
    if sum(counts) < num_files:
        with pytest.raises(ValueError, match=r"documents? left for"):
            plan_files(spools, num_files)
        return
    plans = plan_files(spools, num_files)
    dealt = [
        [(part.path, n) for part in parts for n in range(part.start, part.end)] for parts in plans
    ]
    assert [pair for file in dealt for pair in file] == [
        (name, n) for name, _, count in spools for n in range(count)
    ]
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1


def test_endings_stay_at_the_end():
    assert output_paths("a/b.jsonl.gz@2") == (
        "a/b.jsonl.gz",
        ["a/b-00000-of-00002.jsonl.gz", "a/b-00001-of-00002.jsonl.gz"],
    )
    assert output_paths("b.txt@1") == ("b.txt", ["b-00000-of-00001.txt"])
    assert output_paths("b@1") == ("b", ["b-00000-of-00001"])
    assert output_paths("v1.5@1") == ("v1.5", ["v1.5-00000-of-00001"])
    assert output_paths("a.txt,b.parquet") == ("a.txt", ["a.txt", "b.parquet"])


STEPS = [Few(), Unique(), Without()]


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 9))
def test_parts_keep_their_order_and_files_their_size(sizes, num_files):
    shares = share_out(
        [Noted("", n, 0, size) for n, size in enumerate(sizes)], "num_ledger_rows", num_files
    )
    assert len(shares) == num_files
    joined = [part.begin for part in itertools.chain(*shares)]
    assert joined == [n for n, size in enumerate(sizes) if size]
    for share in shares:  # without its last part, a file has less than its equal share
        assert sum(part.num_ledger_rows for part in share[:-1]) * num_files < max(sum(sizes), 1)


def outputs(folder: Path, *, num_files: int, num_workers: int = 1) -> dict[str, bytes]:
    out = folder / f"{num_files}-{num_workers}"
    output = Output(files=f"{out}/o.jsonl@{num_files}", rejected_file=f"{out}/r.jsonl@{num_files}")
    done = run(folder, STEPS, output=output, num_workers=num_workers, ledger="all")
    assert len(done.shards) > 3
    written = contents(out)
    (summary,) = (json.loads(data) for name, data in written.items() if name.startswith("curation"))
    rows = ledger_of(done)
    assert summary["ledger"]["num_rows"] == done.ledger[1] == len(rows)
    return {"rows": json.dumps(rows).encode(), **written}


@pytest.mark.process
def test_all_files_together_are_the_single_one(tmp_path):
    write_rows(tmp_path / "web.jsonl", [{"text": text} for text in texts(300)])
    one = outputs(tmp_path, num_files=1)
    assert "ledger.o.jsonl.parquet" in one
    assert parquet.read_metadata(tmp_path / "1-1/ledger.o.jsonl.parquet").num_row_groups == 1
    for num_files in (3, 40):
        many = outputs(tmp_path, num_files=num_files)
        if num_files < 4:
            assert many == outputs(tmp_path, num_files=num_files, num_workers=2)
        assert many["rows"] == one["rows"]
        count = f"-of-{num_files:05d}"
        rejected = [many[f"r-{n:05d}{count}.jsonl"] for n in range(num_files)]
        assert b"".join(rejected) == one["r-00000-of-00001.jsonl"]
        ledger = [f"ledger.o.jsonl-{n:05d}{count}.parquet" for n in range(num_files)]
        folder = tmp_path / f"{num_files}-1"
        sizes = [parquet.read_metadata(folder / name).num_rows for name in ledger]
        if num_files < 4:
            assert max(sizes) < 2 * min(sizes)
            assert max(map(len, rejected)) < 2 * min(map(len, rejected))
    assert 0 in sizes and b"" in rejected  # of 40, as there are fewer shards


def test_each_compressed_file_is_whole(tmp_path):
    write_rows(tmp_path / "web.jsonl", [{"text": text} for text in texts(200)])
    read = {}
    for name in ("r.jsonl", "r.jsonl.gz@2"):
        output = Output(files=f"{tmp_path}/out/o.jsonl", rejected_file=f"{tmp_path}/out/{name}")
        run(tmp_path, STEPS, output=output, overwrite=True)
        files = sorted((tmp_path / "out").glob("r[.-]*"))
        read[name] = [path.read_bytes() for path in files]
    assert len(read["r.jsonl.gz@2"]) == 3  # with the other name's, which stays
    assert read["r.jsonl"] == read["r.jsonl.gz@2"][2:]
    packed = [gzip.decompress(data) for data in read["r.jsonl.gz@2"][:2]]
    assert all(packed) and b"".join(packed) == read["r.jsonl"][0]


def test_files_can_be_asked_for_in_another_number_after_a_kill(tmp_path, monkeypatch):
    """The finished work of one number is not taken for another's."""
    write_rows(tmp_path / "web.jsonl", [{"text": text} for text in texts(200)])
    expected = outputs(tmp_path, num_files=3)

    def interrupt(*_):
        raise KeyboardInterrupt

    def rerun(num_files: int) -> None:
        names = {name: f"{tmp_path}/out/{name}.jsonl@{num_files}" for name in "or"}
        output = Output(files=names["o"], rejected_file=names["r"])
        run(tmp_path, STEPS, output=output, ledger="all")

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("bert_data.curation.running.run.describe_as_json", interrupt)
        rerun(2)
    (files,) = (tmp_path / "out").glob(".*/*/files")
    assert len(list(files.iterdir())) == 6
    rerun(3)
    written = contents(tmp_path / "out")
    assert written == {name: expected[name] for name in written}
