"""Runs of pipelines: passes, workers, what is written, what is told."""

import dataclasses
import gzip
import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
import zstandard
from pyarrow import parquet

from bert_data.curation.running.counts import StepCounts
from bert_data.curation.running.output_files import output_paths
from bert_data.curation.running.pipeline import DataSet, Pipeline, label_steps, plan_passes
from bert_data.curation.running.pipeline_settings import Output
from bert_data.curation.running.result import Curation, describe_problems
from bert_data.curation.running.run import run_pipeline
from bert_data.curation.step import make_step
from bert_data.text.text_config import TextConfig
from tests.curation.corpora import write_rows
from tests.curation.fake_steps import Copies, Fails, Few, Language, Unique, Without

COVERS = (
    "curation/running/passes",
    "curation/running/result",
    "curation/running/document_spool",
    "curation/running/stages",
)

LENIENT = TextConfig(on_error="skip", encoding_errors="replace")


def texts(number: int) -> list[str]:
    """Texts of which every seventh repeats one, some with many x, all with a y."""
    return [f"word {n % 7 and n} y " + "x" * (n % 5) for n in range(number)]


@pytest.fixture
def web(tmp_path) -> Path:
    rows = [{"text": text, "url": f"http://a/{n}", "n": n} for n, text in enumerate(texts(200))]
    return write_rows(tmp_path / "web.jsonl", rows)


def run(folder: Path, steps, *, num_workers=1, overwrite=False, work_dir=None, **changes):
    output = changes.pop("output", Output(files=str(folder / "out/o.jsonl@3")))
    inputs = changes.pop("data_sets", None)
    files = changes.pop("files", str(folder / "web.jsonl"))
    inputs = inputs or (DataSet(name="web", files=files, text=LENIENT),)
    pipeline = Pipeline(
        data_sets=inputs, steps=label_steps(steps), output=output, **{"shard_mb": 0.001, **changes}
    )
    return run_pipeline(pipeline, num_workers=num_workers, overwrite=overwrite, work_dir=work_dir)


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def rows_of(folder: Path) -> list[dict]:
    parts = sorted((folder / "out").glob("o-*.jsonl"))
    return [json.loads(line) for part in parts for line in part.read_text().splitlines()]


def ledger_of(done: Curation) -> list[dict]:
    """The rows of all files of the ledger."""
    return parquet.read_table(output_paths(done.ledger[0])[1]).to_pylist()


ALL = [Few(), Without(), Unique(), Fails(), Copies(), Language()]


def expected(all_texts: list[str]) -> list[str]:
    """The documents that the steps of ALL leave, by one loop."""
    left, seen = [], set()
    for text in all_texts:
        short = text.replace("y", "")
        if text.count("x") <= 3 and short not in seen:
            seen.add(short)
            left += [short, short]
    return left


def test_passes_end_before_steps_that_need_all_documents():
    passes = plan_passes(label_steps(ALL))
    assert [(each.judging, each.observing) for each in passes] == [
        ((0, 1), 2),
        ((2, 3), 4),
        ((4, 5), None),
    ]
    assert [(p.judging, p.observing) for p in plan_passes(label_steps([Unique()]))] == [
        ((), 0),
        ((0,), None),
    ]
    assert [each.label for each in label_steps([Few(), Unique(), Few()])] == [
        "few",
        "unique",
        "few#2",
    ]


@pytest.mark.process
def test_any_number_of_workers_writes_the_same_bytes(tmp_path, web):
    digests = []
    for num_workers in (1, 3):
        done = run(tmp_path, ALL, num_workers=num_workers, overwrite=True, ledger="all")
        digests.append(contents(tmp_path / "out"))
        assert len(done.shards) > 5
    assert digests[0] == digests[1]
    rows = rows_of(tmp_path)
    assert [row["text"] for row in rows] == expected(texts(200))
    assert rows[0] == {
        "id": "web/web.jsonl:1",
        "source": "web",
        "text": "word 0  ",
        "url": "http://a/0",
        "n": 0,
        "seen": True,
    }


def test_the_counts_of_all_steps(tmp_path, web):
    done = run(tmp_path, [Few(), Unique(), Without(), Copies()])
    read, few, unique, without, copies = done.counts
    labels = [counts.label for counts in done.counts]
    assert labels == ["read", "few", "unique", "without", "copies"]
    assert read.num_documents == 200
    assert read.num_bytes == sum(map(len, texts(200)))
    left = [text for text in texts(200) if text.count("x") <= 3]
    assert (few.num_documents, few.rejected) == (len(left), {"max_xs": 200 - len(left)})
    assert few.num_rejected_bytes == read.num_bytes - few.num_bytes
    assert sum(few.bins["max_xs"].values()) == 200
    assert few.bins["max_xs"][0] == 40  # a fifth has no x
    assert few.thresholds == {"max_xs": 3.0, "max_ys": 100.0}
    kept = list(dict.fromkeys(left))
    assert (unique.num_documents, unique.num_bytes) == (len(kept), sum(map(len, kept)))
    assert unique.rejected == {"max_earlier": len(left) - len(kept)}
    assert (without.num_edited, without.edits) == (len(kept), {"letters": len(kept)})
    assert without.num_bytes == unique.num_bytes - len(kept)
    assert copies.num_documents == 2 * len(kept)
    assert copies.num_words == 2 * without.num_words
    assert sum(file.num_documents for file in done.files) == 2 * len(kept)
    assert done.warnings == []


@pytest.mark.process
def test_a_compressed_file_is_worked_on_in_shards_of_a_bounded_size(tmp_path, web, monkeypatch):
    """It cannot be cut when it is read, but what it leaves is; the result is the same."""
    run(tmp_path, ALL)
    plain = contents(tmp_path / "out")
    (tmp_path / "web.jsonl.gz").write_bytes(gzip.compress(web.read_bytes()))
    seen: list[int] = []
    decide = Unique.decide

    def look(self, rounds):
        seen.append(len(rounds.parts))
        return decide(self, rounds)

    monkeypatch.setattr(Unique, "decide", look)
    files = str(tmp_path / "web.jsonl.gz")
    done = run(tmp_path, ALL, files=files, num_workers=2, overwrite=True, shard_mb=0.001)
    assert (len(done.shards), seen) == (1, [1])
    monkeypatch.setattr("bert_data.curation.running.passes.SPOOLED_BYTES_A_SHARD_BYTE", 0.2)
    done = run(tmp_path, ALL, files=files, num_workers=1, overwrite=True)
    assert (len(done.shards), seen[1:]) == (1, [9])
    packed = contents(tmp_path / "out")
    for name in plain:
        if name.startswith("o-"):
            assert packed[name].replace(b"jsonl.gz", b"jsonl") == plain[name]


def test_steps_that_match_nothing_are_told_of(tmp_path, web):
    done = run(tmp_path, [Without(letter="q"), Without()])
    assert done.warnings == ["step without: there is no letter 'q' in any text"]


def test_files_without_a_document_are_named(tmp_path, web):
    blank = write_rows(tmp_path / "blank.jsonl", [{"text": " "}] * 500)  # which are many shards
    (tmp_path / "empty.jsonl").touch()
    done = run(tmp_path, [Few(), Unique()], files=str(tmp_path / "*.jsonl"))
    empty = [str(blank), str(tmp_path / "empty.jsonl")]
    assert done.warnings == [f"2 of 3 files gave no document: {', '.join(empty)}"]
    summary = json.loads((tmp_path / "out" / "curation.o.jsonl.json").read_text())
    assert summary["read"]["empty_files"] == empty


@pytest.mark.parametrize("id_field", [None, "n"])
def test_documents_are_left_out_as_if_their_rows_were_not_there(tmp_path, web, id_field):
    (tmp_path / "ids.txt").write_text("5\nweb/web.jsonl:13\n77\nweb.jsonl:14\n999\n")
    rows = [json.loads(line) for line in web.read_text().splitlines()]
    if id_field is None:
        rows = [{**row, "id": row["n"]} for row in rows]
    write_rows(web, rows)
    data_sets = (DataSet(name="web", files=str(web), text=LENIENT, id_field=id_field),)
    own = {"data_sets": data_sets, "without_documents": str(tmp_path / "ids.txt")}
    with pytest.raises(ValueError, match=r"has 2 of the 5 names in .*\('web.jsonl:14', '999'\)"):
        run(tmp_path, ALL, strict_without=True, **own)
    done = run(tmp_path, ALL, **own)
    assert done.num_resumed > 0  # the strict run had done all but to write
    digest = hashlib.sha256((tmp_path / "ids.txt").read_bytes()).hexdigest()
    counts = {"sha256": digest, "num_names": 5, "num_found": 3, "num_documents": 3}
    summary = json.loads((tmp_path / "out/curation.o.jsonl.json").read_text())
    assert summary["without_documents"] == counts
    listed = tmp_path / "out/without.o.jsonl.not_found.txt"
    assert listed.read_text() == "web.jsonl:14\n999\n"
    found, ledger = rows_of(tmp_path), ledger_of(done)
    write_rows(web, [row for row in rows if row["n"] not in (5, 12, 77)])
    fresh = run(tmp_path, ALL, overwrite=True, data_sets=data_sets)
    assert not listed.exists()
    if id_field is None:  # names hold rows, which are others
        assert [row["n"] for row in found] == [row["n"] for row in rows_of(tmp_path)]
        assert len(ledger) == len(ledger_of(fresh))
    else:
        assert (found, ledger) == (rows_of(tmp_path), ledger_of(fresh))
    assert done.counts[0].num_rows == fresh.counts[0].num_rows == 197


def test_the_ledger_has_what_rejecting_steps_measured(tmp_path, web):
    done = run(tmp_path, [Few(), Unique(), Language(languages=("de",)), Copies()][:2])
    ledger = ledger_of(done)
    assert len(ledger) == done.ledger[1]
    first = [row for row in ledger if row["document"] == "web/web.jsonl:5"]
    assert [
        (r["source"], r["step"], r["measure"], r["rule"], r["value"], r["threshold"], r["failed"])
        for r in first
    ] == [
        ("web", "few", 0, "max_xs", 4.0, 3.0, True),
        ("web", "few", 1, "max_ys", 1.0, 100.0, False),
    ]
    assert {row["outcome"] for row in ledger} == {"rejected"}
    assert first[0]["num_bytes"] == len(texts(5)[4])
    whole = run(tmp_path, [Few(), Unique()], ledger="all", overwrite=True)
    assert whole.ledger[1] == 200 * 2 + whole.counts[1].num_documents


def test_data_sets_keep_their_order_and_names(tmp_path, web):
    write_rows(
        tmp_path / "wiki.jsonl",
        [{"body": text, "key": f"k{n}"} for n, text in enumerate(texts(60))],
    )
    wiki = DataSet(
        name="wiki",
        files=str(tmp_path / "wiki.jsonl"),
        text=dataclasses.replace(LENIENT, text_field="body"),
        id_field="key",
    )
    both = (wiki, DataSet(name="web", files=str(web), text=LENIENT))
    run(tmp_path, [Unique()], data_sets=both)
    rows = rows_of(tmp_path)
    sources = [row["source"] for row in rows]
    assert sources == sorted(sources, reverse=True)
    of_wiki = [row for row in rows if row["source"] == "wiki"]
    assert [row["text"] for row in of_wiki] == list(dict.fromkeys(texts(60)))
    assert (of_wiki[1]["id"], "key" in of_wiki[1]) == ("k1", False)


class TestFormats:
    def test_lines_are_sentences_with_an_empty_line_behind_each_document(self, tmp_path):
        rows = [
            {"text": "One.  Two!\r\n\n  Three. "},
            {"text": "Vier. Fünf.", "language": "de"},
            {"text": "\u2028\nsix\u2028seven"},
        ]
        write_rows(tmp_path / "web.jsonl", rows)
        output = Output(files=str(tmp_path / "out/o.txt@2"), split_sentences=True)
        run(tmp_path, [], output=output)
        parts = sorted((tmp_path / "out").glob("o-*"))
        assert [part.name for part in parts] == ["o-00000-of-00002.txt", "o-00001-of-00002.txt"]
        assert "".join(part.read_text() for part in parts) == (
            "One.\nTwo!\nThree.\n\nVier.\nFünf.\n\nsix\u2028seven\n\n"
        )
        run(tmp_path, [], output=Output(files=str(tmp_path / "out/p.txt")))
        assert (tmp_path / "out/p.txt").read_text() == (
            "One.  Two!\nThree.\n\nVier. Fünf.\n\nsix\u2028seven\n\n"
        )

    @pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet"])
    def test_metadata_is_kept(self, tmp_path, ending):
        rows = [
            {"text": "one", "id": 7, "a": "x", "b": 1, "c": [1, {"d": "é"}], "e": None, "f": True},
            {"text": "two", "b": 2.5, "c": {}, "a": "\ud800"},
            {"text": "three", "source": "s", "g": 1 << 70},
        ]
        write_rows(tmp_path / "web.jsonl", rows)
        path = tmp_path / f"out/o{ending}"
        run(tmp_path, [], output=Output(files=str(path)))
        data = path.read_bytes()
        if ending == ".parquet":
            rows_read = parquet.read_table(path).to_pylist()
            assert [row["c"] for row in rows_read] == ['[1,{"d":"\\u00e9"}]', "{}", None]
            assert [row["b"] for row in rows_read] == [1.0, 2.5, None]
            assert [row["g"] for row in rows_read] == [None, None, str(1 << 70)]
            assert [row["a"] for row in rows_read] == ["x", "\ufffd", None]
        else:
            data = gzip.decompress(data) if ending.endswith("gz") else data
            if ending.endswith("zst"):
                data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
            rows_read = [json.loads(line) for line in data.splitlines()]
            assert rows_read[0]["c"] == [1, {"d": "é"}]
            assert rows_read[1]["a"] == "\ufffd"
            assert rows_read[2]["g"] == 1 << 70
        assert [row["text"] for row in rows_read] == ["one", "two", "three"]
        assert rows_read[0]["id"] == ("7" if ending == ".parquet" else 7)
        assert [row.get("input_row") for row in rows_read] == ["web/web.jsonl:1", None, None]
        assert rows_read[1]["id"] == "web/web.jsonl:2"
        assert "input_id" not in rows_read[0]
        assert rows_read[2]["source"] == "web"
        assert rows_read[2]["input_source"] == "s"

    @pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
    def test_fields_with_names_of_the_output_lose_nothing(self, tmp_path, ending):
        rows = [
            {"text": "one", "id": "a", "input_id": "b", "source": "c", "input_source": "d"},
            {"text": "two", "input_id": "e", "input_row": "f", "input_source": "g"},
        ]
        write_rows(tmp_path / "web.jsonl", rows)
        path = tmp_path / f"out/o{ending}"
        run(tmp_path, [], output=Output(files=str(path)))
        if ending == ".parquet":
            found = parquet.read_table(path).to_pylist()
        else:
            found = [*map(json.loads, path.read_text().splitlines())]
        assert [{k: v for k, v in row.items() if v is not None} for row in found] == [
            {"id": "a", "source": "web", "text": "one", "input_row": "web/web.jsonl:1"}
            | {"input_input_id": "b", "input_source": "c", "input_input_source": "d"},
            {"id": "web/web.jsonl:2", "source": "web", "text": "two"}
            | {"input_input_id": "e", "input_input_row": "f", "input_source": "g"},
        ]

    def test_what_was_written_can_be_read_again(self, tmp_path, web):
        run(tmp_path, [], output=Output(files=str(tmp_path / "out/o.parquet@2")))
        files = str(tmp_path / "out/o-*.parquet")
        output = Output(files=str(tmp_path / "out/p.json.gz@2"))
        run(tmp_path, [], files=files, output=output)
        files, output = output.files, Output(files=str(tmp_path / "out/q.jsonl"))
        done = run(tmp_path, [], files=files, output=output)
        assert done.counts[0].num_documents == 200


def problems(step, passed, num_bytes=None, rejected_file=None, **changes):
    pipeline = Pipeline(
        data_sets=(DataSet(name="a", files="a"),),
        steps=label_steps([make_step(step, {"epochs": ["a:1"]} if step == "mix" else {})]),
        output=Output(files="o", rejected_file=rejected_file),
        **changes,
    )
    read = StepCounts(label="read", num_documents=100_000, num_bytes=1_000_000)
    after = StepCounts(
        label=step,
        num_documents=passed,
        num_bytes=10 * passed if num_bytes is None else num_bytes,
        num_rejected=100_000 - passed,
        rejected=Counter(empty_text=100_000 - passed),
        edits=Counter(pages=1),
    )
    return list(describe_problems(pipeline, [read, after]))


def test_a_step_that_takes_nearly_everything_is_named():
    (warning,) = problems("line_duplicates", 7)
    assert warning == (
        "step line_duplicates rejected 99,993 of the 100,000 documents that reached it"
        " (empty_text 99,993); `rejected_file` writes them to a file"
    )
    (warning,) = problems("line_duplicates", 7, rejected_file="r.jsonl")
    assert warning.endswith("; they are in r.jsonl")
    (warning,) = problems("line_duplicates", 100_000, 70_000)
    assert warning == (
        "step line_duplicates removed 930,000 of the 1,000,000 bytes of text that reached it"
    )


@pytest.mark.parametrize("step", ["extract", "mix"])
def test_a_step_that_is_meant_to_shorten_may(step):
    assert problems(step, 7) == []


def test_the_share_is_a_parameter():
    assert problems("line_duplicates", 50_000) == []
    assert len(problems("line_duplicates", 50_000, warn_share=0.4)) == 1
    assert problems("line_duplicates", 7, warn_share=1) == []


def test_a_pipeline_without_steps_is_a_copy():
    pipeline = Pipeline(
        data_sets=(DataSet(name="a", files="a"),), steps=(), output=Output(files="")
    )
    (warning,) = describe_problems(pipeline, [StepCounts(label="read")])
    assert warning == "the pipeline has no steps: all documents are copied"
