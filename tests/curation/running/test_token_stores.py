"""Token stores of the kept documents, in place of files of text."""

import dataclasses
import json
from pathlib import Path

import pytest
from pyarrow import parquet

from bert_data.curation.running.pipeline import DataSet, Pipeline, counting_vocabulary, label_steps
from bert_data.curation.running.pipeline_settings import Output
from bert_data.curation.running.run import run_pipeline
from bert_data.curation.step import make_step
from bert_data.text.text_config import TextConfig
from bert_data.tokens.store_config import StoreSettings
from bert_data.tokens.store_making import StoreConfig, make_stores
from bert_data.tokens.verifying import verify_store
from tests.curation.corpora import write_rows
from tests.curation.running.test_run import contents
from tests.rows import mostly_slow
from tests.tokens.test_filling import failing
from tests.tokens.trained_files import byte_level

TEXTS = [
    "One sentence. Two sentences!\nA line of its own; and the rest.",
    "écoles and 中文、日本語 \u2028 <|endoftext|> in a text ...",
    "  spaces\r\nand a carriage return\r",
    "\u200b",  # some tokenizers have no token for it
    "word",
]
BOOKS = ["First book.", "Second book.", "Third book.", "\u200b", "Fifth book."]


@pytest.fixture
def pipeline(tmp_path) -> Pipeline:
    rows = [
        {"text": f"{text} {n}" if n % 7 else text, "url": f"http://a/{n}", "date": n, "n": [n, "x"]}
        | ({"id": n, "meta": {"license": "CC"}} if n % 3 else {})
        for n, text in enumerate(TEXTS * 6)
    ]
    write_rows(tmp_path / "web.jsonl", rows)
    write_rows(tmp_path / "books.jsonl", [{"text": t, "key": t} for t in BOOKS])
    lenient = TextConfig(on_error="skip")
    web = DataSet(name="web", files=f"{tmp_path}/web.jsonl", text=lenient)
    books = DataSet(name="books", files=f"{tmp_path}/books.jsonl", text=lenient, id_field="key")
    return Pipeline(
        data_sets=(web, books),
        steps=label_steps([make_step("exact_duplicates", {})]),
        output=Output(files=f"{tmp_path}/text/c.jsonl@3"),
        shard_mb=0.002,
    )


@pytest.fixture
def tokenizer_file(tmp_path) -> str:
    path = tmp_path / "tokenizer.json"
    byte_level().save(str(path))
    return str(path)


def to_stores(pipeline: Pipeline, files: str, settings: StoreSettings, **changes) -> Pipeline:
    output = Output(files=files, output_format="store", store=settings, **changes)
    return dataclasses.replace(pipeline, output=output)


def provenance_of(prefix: str) -> list[dict]:
    return parquet.read_table(f"{prefix}.provenance.parquet").to_pylist()


@mostly_slow(
    ("settings", "changes"),
    [
        ({"append_eod": True, "eod_token": "</s>", "license_field": "meta.license"}, {}),
        ({"prepend_bos": True, "store_rules": "curator"}, {}),
        ({"level": "sentence", "special_tokens_in_text": "text"}, {"split_sentences": True}),
        ({"vocab_file": True, "do_lower_case": False, "provenance": False}, {}),
        ({"vocab_file": True, "level": "sentence"}, {"language": "zh"}),
    ],
)
def test_stores_are_those_of_the_text_in_their_place(
    tmp_path, pipeline, tokenizer_file, small_vocabulary, settings, changes
):
    by_file = {"tokenizer_file": tokenizer_file}
    if settings.pop("vocab_file", False):
        by_file = {"vocab_file": str(small_vocabulary)}
    store = StoreSettings(**by_file, **settings)
    text = dataclasses.replace(pipeline.output, **changes)
    run_pipeline(dataclasses.replace(pipeline, output=text), num_workers=1)
    done = run_pipeline(to_stores(pipeline, f"{tmp_path}/out/s@3", store, **changes), num_workers=1)
    for number in range(3):
        [made] = make_stores(
            StoreConfig(
                input_file=f"{tmp_path}/text/c-0000{number}-of-00003.jsonl",
                output_prefix=f"{tmp_path}/tokenized/s-0000{number}-of-00003",
                text=TextConfig(language=text.language),
                **dataclasses.asdict(store),
            )
        )
        prefix = done.files[number].name
        assert prefix == f"{tmp_path}/out/s-0000{number}-of-00003"
        for ending in ("bin", "idx"):
            assert Path(f"{prefix}.{ending}").read_bytes() == (
                Path(f"{made.prefix}.{ending}").read_bytes()
            )
        ours, theirs = (verify_store(each).notes for each in (prefix, made.prefix))
        assert ours == dataclasses.replace(
            theirs,
            inputs=[],
            side_files=ours.side_files,
            tokenizer=ours.tokenizer,  # chosen by how much text there is; the ids are equal
        )
        assert done.files[number].num_tokens == theirs.counts["num_tokens"]
        if store.provenance:
            same = ("document", "id", "url", "source", "license", "date")
            rows = [provenance_of(each) for each in (prefix, made.prefix)]
            assert [[[row[name] for name in same] for row in each] for each in rows] == 2 * [
                [[row[name] for name in same] for row in rows[0]]
            ]
        else:
            assert not Path(f"{prefix}.provenance.parquet").exists()


def test_provenance_names_the_file_and_row_that_was_read(tmp_path, pipeline, tokenizer_file):
    store = StoreSettings(tokenizer_file=tokenizer_file)
    run_pipeline(to_stores(pipeline, f"{tmp_path}/out/s", store), num_workers=1)
    rows = provenance_of(f"{tmp_path}/out/s")
    assert {row["file"] for row in rows if row["source"] == "web"} == {"web.jsonl"}
    assert [row["row"] for row in rows if row["source"] == "web" and row["id"].isdigit()] == [
        int(row["id"]) + 1 for row in rows if row["source"] == "web" and row["id"].isdigit()
    ]
    assert {(row["file"], row["row"]) for row in rows if row["source"] == "books"} == {(None, 0)}


@pytest.mark.process
@pytest.mark.slow
def test_stores_do_not_depend_on_workers_and_resume(tmp_path, pipeline, tokenizer_file):
    store = StoreSettings(tokenizer_file=tokenizer_file, special_tokens_in_text="refuse")
    to_out = to_stores(pipeline, f"{tmp_path}/out/s@2", store)
    with pytest.raises(ValueError, match=r"document 'web/web.jsonl:2': .*<\|endoftext\|>"):
        run_pipeline(to_out, num_workers=2)
    store = dataclasses.replace(store, special_tokens_in_text="token")
    to_out = to_stores(pipeline, f"{tmp_path}/out/s@2", store)
    resumed = run_pipeline(to_out, num_workers=2)
    assert resumed.num_resumed == len(resumed.shards) * 2  # of both passes
    before = contents(tmp_path / "out")
    run_pipeline(to_out, num_workers=1, overwrite=True)
    assert contents(tmp_path / "out") == before


def test_a_later_set_replaces_an_earlier_one(tmp_path, pipeline, tokenizer_file):
    out, store = tmp_path / "out", StoreSettings(tokenizer_file=tokenizer_file)
    run_pipeline(to_stores(pipeline, f"{out}/s@3", store), num_workers=1)
    with pytest.raises(FileExistsError):
        run_pipeline(to_stores(pipeline, f"{out}/s@3", store), num_workers=1)
    store = dataclasses.replace(store, provenance=False)
    run_pipeline(to_stores(pipeline, f"{out}/s@2", store), num_workers=1, overwrite=True)
    assert sorted(path.name for path in out.glob("s-*")) == [
        f"s-0000{n}-of-00002.{ending}" for n in range(2) for ending in ("bin", "idx", "store.json")
    ]
    summary = json.loads((out / "curation.s.json").read_text())
    assert [file["name"] for file in summary["files"]] == ["s-00000-of-00002", "s-00001-of-00002"]


def test_files_without_tokens_are_refused(tmp_path, pipeline, small_vocabulary):
    store = StoreSettings(vocab_file=str(small_vocabulary))
    kept = dataclasses.replace(pipeline, data_sets=pipeline.data_sets[1:])
    with pytest.raises(ValueError, match="s-00003-of-00005: 1 document without a token, of which"):
        run_pipeline(to_stores(kept, f"{tmp_path}/out/s@5", store), num_workers=1)


def test_documents_that_cannot_be_tokenized_are_skipped(tmp_path, pipeline):
    rows = [{"text": text} for text in ("a b", "a" * 60 + "c", "b c")]
    write_rows(tmp_path / "in.jsonl", rows)
    settings = StoreSettings(tokenizer_file=failing(tmp_path / "t.json"))
    names = DataSet(name="in", files=f"{tmp_path}/in.jsonl")
    pipeline = dataclasses.replace(pipeline, data_sets=(names,))
    pipeline = to_stores(pipeline, f"{tmp_path}/out/s", settings)
    done = run_pipeline(pipeline, num_workers=1)
    assert [(file.num_documents, file.num_tokens) for file in done.files] == [(2, 6)]
    strict = dataclasses.replace(pipeline, on_error="strict")
    with pytest.raises(ValueError, match=r"document 'in/in.jsonl:2': .*cannot tokenize"):
        run_pipeline(to_stores(strict, f"{tmp_path}/out/t", settings), num_workers=1)


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".txt", ".jsonl.gz"])
def test_names_say_no_other_format(ending):
    with pytest.raises(ValueError, match="as its ending says"):
        Output(files=f"s{ending}@2", output_format="store", store=StoreSettings())


def test_names_have_no_ending_of_a_store():
    with pytest.raises(ValueError, match=r"output_file is 's.bin'; it must end with the name of a"):
        Output(files="s.bin@2", output_format="store", store=StoreSettings())


def test_tokens_are_counted_if_a_step_needs_them():
    store = StoreSettings(tokenizer_file="t.json")
    mix = make_step("mix", {"weights": {"web": 1}, "unit": "tokens"})
    assert counting_vocabulary([mix], store)["vocab_file"] == "t.json"
    assert counting_vocabulary([make_step("repair", {})], store)["vocab_file"] is None
