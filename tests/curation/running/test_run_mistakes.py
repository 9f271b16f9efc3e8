"""A run says in one sentence what it refuses, rejects or leaves out."""

import resource
from pathlib import Path

import pytest

from bert_data.curation.running.pipeline import DataSet
from bert_data.curation.running.pipeline_settings import Output
from bert_data.curation.step import make_step
from bert_data.errors import CorruptDataError
from tests.curation.corpora import write_rows
from tests.curation.fake_steps import Fails, Few, Unique, Without
from tests.curation.running.test_run import contents, ledger_of, rows_of, run, texts
from tests.rows import mostly_slow


def web_of(folder: Path) -> Path:
    return write_rows(folder / "web.jsonl", [{"text": text} for text in texts(200)])


class TestMistakes:
    def test_nothing_left_names_the_step(self, tmp_path):
        web_of(tmp_path)
        with pytest.raises(ValueError, match=r"step few rejected the last 200 of 200 \(max_xs 200"):
            run(tmp_path, [Without(), Few(max_xs=-1), Unique()])
        assert not (tmp_path / "out").exists()

    def test_nothing_read_is_told_with_the_first_row(self, tmp_path):
        write_rows(tmp_path / "web.jsonl", [{"body": "one"}])
        with pytest.raises(
            ValueError, match=r"unreadable_row 1; the first: .*web\.jsonl:1: no fie"
        ):
            run(tmp_path, [])
        (tmp_path / "web.jsonl").write_text("")
        with pytest.raises(ValueError, match=r"no document could be read .*the files are empty"):
            run(tmp_path, [])

    def test_existing_output_and_inputs_are_not_replaced(self, tmp_path):
        web = web_of(tmp_path)
        run(tmp_path, [])
        before = contents(tmp_path)
        with pytest.raises(FileExistsError):
            run(tmp_path, [Few()])
        with pytest.raises(ValueError, match="is an input too"):
            run(tmp_path, [], output=Output(files=str(web)), overwrite=True)
        assert contents(tmp_path) == before

    def test_a_smaller_set_replaces_all_of_a_larger_one(self, tmp_path):
        web_of(tmp_path)
        out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
        for folder in (elsewhere, out):
            for number in (3, 2):
                names = (f"{out}/o.jsonl@{number}", f"{folder}/r.jsonl@{number}")
                output = Output(files=names[0], rejected_file=names[1])
                run(tmp_path, [Few()], output=output, overwrite=True)
        ledger = [f"ledger.o.jsonl-0000{n}-of-00002.parquet" for n in range(2)]
        rejected = [f"r-0000{n}-of-00002.jsonl" for n in range(2)]
        assert sorted(path.name for path in out.iterdir()) == [
            "curation.o.jsonl.json",
            *ledger,
            "o-00000-of-00002.jsonl",
            "o-00001-of-00002.jsonl",
            *rejected,
        ]
        assert sorted(path.name for path in elsewhere.iterdir()) == rejected
        run(tmp_path, [Few()], output=Output(files=f"{out}/o.jsonl"), overwrite=True)
        assert sorted(path.name for path in out.iterdir()) == [
            "curation.o.jsonl.json",
            "ledger.o.jsonl.parquet",
            "o.jsonl",
            *rejected,  # of another run now, which nobody asked to replace
        ]

    def test_a_step_that_raises_is_an_error_or_a_rejection(self, tmp_path):
        write_rows(tmp_path / "web.jsonl", [{"text": text} for text in ("one", "zz", "two", "tre")])
        with pytest.raises(ValueError, match=r"step fails cannot judge document 'web/web.jsonl:2'"):
            run(tmp_path, [Fails()], on_error="strict")
        done = run(tmp_path, [Fails()])
        assert done.counts[1].rejected == {"error": 1}
        assert "step fails could not judge 1 document," in done.warnings[0]
        assert done.warnings[0].endswith("first: web/web.jsonl:2: RecursionError: too deep")
        (row,) = ledger_of(done)
        assert (row["rule"], row["value_text"]) == ("error", "RecursionError: too deep")
        with pytest.raises(ValueError, match=r"\(error 4; the first error: web/web.jsonl:1: Recur"):
            run(tmp_path, [Fails(letter="")], overwrite=True)

    def test_a_missing_package_ends_the_run_whatever_becomes_of_documents(self, tmp_path):
        write_rows(tmp_path / "web.jsonl", [{"text": text} for text in ("one", "zz", "two")])
        with pytest.raises(ValueError, match=r"^step fails: it needs the package no_such"):
            run(tmp_path, [Fails(package="no_such_package")], on_error="skip")
        assert not (tmp_path / "out").exists()

    def test_a_text_of_which_nothing_is_left_is_rejected(self, tmp_path):
        write_rows(tmp_path / "web.jsonl", [{"text": t} for t in ("yy", " ", "a", "b", "cy", "")])
        done = run(tmp_path, [Without()])
        assert [c.rejected for c in done.counts] == [{"empty_text": 2}, {"empty_text": 1}]


class TestHostileInput:
    @pytest.mark.parametrize("name", ["a.jsonl", "a.txt"])
    def test_a_line_too_long_to_be_held_is_rejected_with_its_reason(self, tmp_path, name):
        line = b'{"text": "%s"}' if name == "a.jsonl" else b"%s"
        end = b"\n" if name == "a.jsonl" else b"\n\n"
        rows = [line % b"one", line % (b"word " * 2_000_000), line % b"two", line % b"three"]
        (tmp_path / name).write_bytes(end.join(rows) + end)
        files, limit = str(tmp_path / name), 1_000_000
        done = run(tmp_path, [Few()], files=files, shard_mb=1000, max_document_bytes=limit)
        assert [row["text"] for row in rows_of(tmp_path)] == ["one", "two", "three"]
        (row,) = ledger_of(done)
        assert (row["step"], row["rule"], row["threshold"]) == ("read", "max_document_bytes", 1e6)
        assert 1e7 <= row["value"] <= 1e7 + 100
        assert row["document"] == f"web/{name}:{2 if name == 'a.jsonl' else 3}"

    def test_bytes_that_are_no_text(self, tmp_path):
        rows = [b'{"text": "a\xffb \\u0000"}', b"\x00", b"{", b'{"text": 5}', b'{"text": "\x00"}']
        rows += [b'{"text": "\\ud800"}', b"[" * 100_000, b'{"text": "b"}', b'{"text": "c"}']
        (tmp_path / "web.jsonl").write_bytes(b"\n".join(rows))
        done = run(tmp_path, [Few()])
        assert [row["text"] for row in rows_of(tmp_path)] == ["a\ufffdb \x00", "\ufffd", "b", "c"]
        warnings = done.warnings
        assert warnings[0].startswith("left out 5 rows without a readable document; the first: ")
        assert f"{tmp_path}/web.jsonl:2: not JSON" in warnings[0]
        assert warnings[1] == "2 places are not UTF-8 and were replaced or ignored"
        ledger = ledger_of(done)
        assert [row["document"] for row in ledger] == [
            f"{tmp_path}/web.jsonl:{n}" for n in (2, 3, 4, 5, 7)
        ]
        assert {row["rule"] for row in ledger} == {"unreadable_row"}
        assert "nested too deep" in ledger[-1]["value_text"]

    @mostly_slow("name", ["a.jsonl.gz", "a.txt.gz", "a.parquet"])
    def test_a_damaged_file_is_left_out_from_its_damage_on(self, tmp_path, name):
        run(tmp_path, [], files=str(web_of(tmp_path)), output=Output(files=f"{tmp_path}/{name}"))
        data = (tmp_path / name).read_bytes()
        (tmp_path / f"b{name[1:]}").write_bytes(data[: len(data) * 2 // 3])
        (tmp_path / f"c{name[1:]}").write_bytes(data)
        files = f"{tmp_path}/[abc]{name[1:]}"
        done = run(tmp_path, [], files=files, overwrite=True)
        assert 400 <= done.counts[0].num_documents < 600
        assert done.counts[0].rejected == {"damaged_file": 1}
        assert done.warnings[0].startswith(
            f"left out the rest of 1 file, from the damage on; the first: "
            f"{tmp_path}/b{name[1:]}: byte offset"
        )
        strict = (DataSet(name="web", files=files),)
        with pytest.raises(CorruptDataError, match=rf"b{name[1:]}: byte offset"):
            run(tmp_path, [], data_sets=strict, overwrite=True)


class TestNames:
    def test_a_name_that_is_not_utf_8_is_refused_with_the_file(self, tmp_path):
        (tmp_path / "b\udcff.jsonl").write_text('{"text": "one"}\n')
        with pytest.raises(
            ValueError, match=r"input '.*b\\udcff.jsonl' has a name that is not UTF"
        ):
            run(tmp_path, [], files=f"{tmp_path}/b*.jsonl")
        web_of(tmp_path)
        with pytest.raises(ValueError, match=r"output 'o\\udcff' has a name that is not UTF-8"):
            run(tmp_path, [], output=Output(files="o\udcff"))

    def test_a_work_folder_that_is_none_is_named(self, tmp_path):
        web = web_of(tmp_path)
        with pytest.raises(
            ValueError, match=r"work_dir is '.*web.jsonl', which is a file; it must"
        ):
            run(tmp_path, [], work_dir=str(web))


@mostly_slow("max_bytes", [0, 300, 700, 2_000, 4_000])
def test_a_full_disk_is_one_sentence_with_a_file(tmp_path, max_bytes):
    """Wherever it happens; and the same command then goes on."""
    web_of(tmp_path)
    names = ("line_duplicates", "exact_duplicates", "near_duplicates")
    steps = [Few(), *(make_step(name, {}) for name in names)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, hard))
    try:
        with pytest.raises(OSError) as caught:
            run(tmp_path, steps, output=Output(files=str(tmp_path / "out/o.jsonl")))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(caught.value.filename).startswith(str(tmp_path / "out")) and caught.value.strerror
    assert list(tmp_path.glob("out/[!.]*")) == []
    run(tmp_path, steps, output=Output(files=str(tmp_path / "out/o.jsonl")))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "curation.o.jsonl.json",
        "ledger.o.jsonl.parquet",
        "o.jsonl",
    ]
