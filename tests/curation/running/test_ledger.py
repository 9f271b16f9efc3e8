"""Rejected documents in JSON Lines, beside the ledger."""

import dataclasses
import gzip
import io
import json
import math

import pytest
from pyarrow import parquet

from bert_data.curation.document import Document, Measured
from bert_data.curation.running.ledger import SCHEMA, LedgerWriter, with_case
from bert_data.curation.running.output_files import FILE, Noted, join_ledgers
from bert_data.curation.running.pipeline import DataSet, Pipeline
from bert_data.curation.running.pipeline_settings import Output
from bert_data.tokens.hugging_face_files import tokenizer_json
from bert_data.work.tasks import TASK
from tests.curation.corpora import write_rows
from tests.curation.fake_steps import Few, Unique, Without
from tests.curation.running.test_run import run

MEASURED = (
    Measured("max_words", 7, math.inf),
    Measured("min_words", 7, 50.0, failed=True),
    Measured("languages", "d\ud800", "en", failed=True),
)


def test_a_rejected_document_has_its_first_failed_rule_and_its_text(tmp_path):
    rejected = io.BytesIO()
    with LedgerWriter(tmp_path / TASK, "web", rejected) as ledger:
        document = Document("web/1", "web", "o\ud800e", {"n": math.nan})
        ledger.reject("web/1", "gopher", MEASURED, 3, document)
        ledger.add("web/2", "gopher", MEASURED, 3, kept=True)
        ledger.reject("web/3", "read", MEASURED[1:], 9, None)
    first, second = map(json.loads, rejected.getvalue().splitlines())
    assert first == {
        "id": "web/1",
        "source": "web",
        "step": "gopher",
        "rule": "min_words",
        "value": 7,
        "threshold": 50.0,
        "text": "o\ud800e",
        "measured": [
            {"rule": "max_words", "value": 7, "threshold": None, "failed": False},
            {"rule": "min_words", "value": 7, "threshold": 50.0, "failed": True},
            {"rule": "languages", "value": "d\ud800", "threshold": "en", "failed": True},
        ],
        "fields": {"n": None},
    }
    assert (second["id"], second["text"]) == ("web/3", None)
    assert (ledger.num_rows, ledger.num_rejected_bytes) == (8, len(rejected.getvalue()))
    assert join_ledgers([Noted(str(tmp_path), 0, 0, 8)] * 2, str(tmp_path)) == {"num_rows": 16}
    table = parquet.read_table(tmp_path / FILE)
    assert table.schema.names == SCHEMA.names
    assert table["outcome"].to_pylist()[:8] == ["rejected"] * 3 + ["kept"] * 3 + ["rejected"] * 2


def test_all_rejected_documents_are_written(tmp_path):
    texts = [f"{n % 9} y " + "x" * (n % 5) for n in range(90)]
    rows = [{"text": text, "n": n} for n, text in enumerate(texts)]
    write_rows(tmp_path / "web.jsonl", [*rows, {"body": 1}, {"text": "y"}])
    output = Output(files=f"{tmp_path}/out/o.jsonl", rejected_file=f"{tmp_path}/out/r.jsonl.gz")
    done = run(tmp_path, [Few(), Unique(), Without()], output=output)
    written = gzip.decompress((tmp_path / "out/r.jsonl.gz").read_bytes())
    rejected = [json.loads(line) for line in written.splitlines()]
    kept = [json.loads(line) for line in (tmp_path / "out/o.jsonl").read_text().splitlines()]
    assert len(done.shards) > 1 and len(rejected) + len(kept) == 92 == done.num_documents
    for counts in done.counts:
        of_step = [row for row in rejected if row["step"] == counts.label]
        assert len(of_step) == counts.num_rejected
        assert {row["rule"] for row in of_step} == set(counts.rejected)
    few = [row for row in rejected if row["step"] == "few"]
    assert all(row["text"] == texts[row["fields"]["n"]] for row in few) and few
    assert [row["text"] for row in rejected if row["step"] == "without"] == ["y"]
    assert [row["text"] for row in rejected if row["step"] == "read"] == [None]


def test_the_file_replaces_no_input(tmp_path):
    web = write_rows(tmp_path / "web.jsonl", [{"text": "a"}])
    output = Output(files=str(tmp_path / "o.jsonl"), rejected_file=str(web))
    with pytest.raises(ValueError, match="is an input too"):
        run(tmp_path, [Few()], output=output, overwrite=True)


def test_tokens_are_counted_in_the_case_of_the_vocabulary(tmp_path):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the"]
    vocabulary = tmp_path / "vocab.txt"
    pipeline = Pipeline(
        data_sets=(DataSet(name="web", files="web"),), steps=(), output=Output(files="o")
    )
    assert with_case(pipeline).do_lower_case is True
    pipeline = dataclasses.replace(pipeline, vocab_file=str(vocabulary))
    for more, sentence in (("the", ""), ("The", "such as The, cannot .*: set `do_lower_case=Fal")):
        vocabulary.write_text("\n".join([*tokens, more]))
        for lower in (True, False):
            said = dataclasses.replace(pipeline, do_lower_case=lower)
            assert with_case(said) == said
        if not sentence:
            assert with_case(pipeline).do_lower_case is True
        else:
            with pytest.raises(ValueError, match=sentence):
                with_case(pipeline)
    file = tmp_path / "t.json"
    file.write_text(tokenizer_json(tokens, do_lower_case=False))
    assert with_case(dataclasses.replace(pipeline, vocab_file=str(file))).do_lower_case is False
