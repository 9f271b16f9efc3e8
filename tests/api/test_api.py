"""The functions of `bert_data` itself: the bytes of the commands, from Python objects."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bert_data
from bert_data.curation.classifying.classifier_config import ClassFiles, ClassifierConfig
from bert_data.curation.classifying.training import train_and_measure

COVERS = ("api/text", "api/reading", "api/curating")


@pytest.fixture
def texts(small_text) -> list[list[str]]:
    return [text.splitlines() for text in small_text.read_text().split("\n\n") if text.strip()]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path, *hidden: str) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name not in hidden}


def test_names_are_loaded_when_they_are_used():
    assert dir(bert_data) == sorted(["__version__", *bert_data.__all__])
    assert all(getattr(bert_data, name).__name__ == name for name in bert_data.__all__)
    with pytest.raises(AttributeError, match="no attribute 'create_record'"):
        bert_data.create_record  # noqa: B018


def test_records_of_an_iterable_are_those_of_the_same_file(texts, folder, small_vocabulary):
    (folder / "in.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    options = {"vocab_file": small_vocabulary, "max_seq_length": np.int64(32), "dupe_factor": 2}
    made = []
    for name, documents in (("a", iter(texts)), ("b", Path("in.jsonl")), ("c", "in.js*")):
        (folder / name).mkdir()
        records = bert_data.create_records(documents, folder / name / "train@2", **options)
        made.append(contents(folder / name))
        assert records.num_documents == len(texts)
        assert records.num_records > 100
        assert "ragged records in 2 files" in str(records)
        assert [Path(file).name for file in records.files] == sorted(made[0])[-2:]
    assert made[0] == made[1] == made[2]


def test_a_set_is_read_as_it_was_made(texts, small_vocabulary):
    options = {"vocab_file": small_vocabulary, "max_seq_length": 32, "dupe_factor": 1}
    records = bert_data.create_records(texts, "train@2", **options)
    for files in (records, "train@2", [Path(file) for file in records.files]):
        batches = list(bert_data.iterate_arrays(files, batch_size=np.int32(8)))
        assert sum(len(batch["input_ids"]) for batch in batches) == records.num_records


def test_stores_vocabularies_and_samples(texts, folder):
    joined = [" ".join(text) for text in texts]
    vocabulary = bert_data.train_vocab(joined, "v.txt", vocab_size=np.int64(90), min_frequency=1)
    assert vocabulary.tokens == tuple((folder / "v.txt").read_text().split())
    assert (vocabulary.vocab_file, vocabulary.tokenizer_file) == ("v.txt", "v.tokenizer.json")
    cased = bert_data.train_vocab(
        [text.title() for text in joined], "c.txt", vocab_size=90, do_lower_case=False
    )
    assert (vocabulary.do_lower_case, cased.do_lower_case) == (True, False)
    for name, given in (("c", cased), ("v", vocabulary), ("v2", "v.txt")):
        bert_data.create_records(texts, f"{name}.tfrecord", vocab_file=given)
        bert_data.tokenize(texts, name, vocab_file=given, num_workers=1)
        for made in (f"manifest.{name}.tfrecord.json", f"{name}.store.json"):
            told = json.loads((folder / made).read_text())
            assert (told.get("flags") or told["settings"])["do_lower_case"] is (name != "c")
    assert (folder / "v.bin").read_bytes() == (folder / "v2.bin").read_bytes()
    with pytest.raises(ValueError, match="set `do_lower_case=False` to keep case and accents"):
        bert_data.tokenize(texts, "d", vocab_file="c.txt")
    bpe = bert_data.train_vocab(joined, "b.json", model="bpe", vocab_size=300)
    assert (bpe.vocab_file, bpe.tokenizer_file) == (None, "b.json")
    store = bert_data.tokenize(joined, "store", vocab_file="v.txt", num_workers=1)
    assert store.prefixes == ("store",)
    assert store.num_documents == len(texts)
    train, valid, test = bert_data.build_samples(store, seq_length=np.int64(16), num_samples=20)
    assert len(train) >= 20
    assert (valid, test) == (None, None)
    assert train[0]["tokens"].shape == (16,)
    with pytest.raises(FileExistsError, match="store: the existing token store was made"):
        bert_data.tokenize(joined[1:], "store", vocab_file="v.txt")
    assert sorted(path.name for path in folder.iterdir() if path.name[0] == ".") == []


def test_curation_says_which_documents_were_rejected_and_why():
    documents = ["Too short.", "This one has enough words.", "", ["Two", "more."]]
    result = bert_data.curate(documents, steps="length:min_words=4")
    assert (result.num_documents, result.num_kept, result.num_rejected) == (4, 1, 3)
    assert result.texts == [documents[1]]
    assert [each.index for each in result.kept] == [1]
    reasons = {each.index: (each.step, each.rule, each.value) for each in result.rejected}
    assert reasons == {
        0: ("length", "min_words", 3),
        2: ("read", "empty_text", 0),
        3: ("length", "min_words", 3),
    }
    assert result.rejected[-1].text in documents or result.rejected[0].text in documents


def test_curation_that_keeps_nothing_still_answers():
    result = bert_data.curate(["One.", "Two."], steps=[{"length": {"min_words": 4}}])
    assert (result.kept, result.num_rejected) == ([], 2)


def test_curation_into_files(folder):
    documents = [f"Document number {number} is this." for number in range(5)] + ["No."]
    result = bert_data.curate(
        documents, steps="length:min_words=4", output_file=Path("clean.jsonl"),
        rejected_file="no.jsonl", num_workers=1,
    )  # fmt: skip
    assert (result.num_documents, result.num_kept, result.num_rejected) == (6, 5, 1)
    assert result.files == ("clean.jsonl",)
    assert result.ledger_files == (result.ledger,) == ("ledger.clean.jsonl.parquet",)
    rows = [json.loads(line) for line in (folder / "clean.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == documents[:5]
    assert json.loads((folder / "no.jsonl").read_text())["text"] == "No."
    with pytest.raises(ValueError, match="rejected_file needs output_file"):
        bert_data.curate(documents, rejected_file="x.jsonl")


def test_curation_into_token_stores(folder, small_vocabulary):
    documents, store = ["Baba bado baki.", "No.", "Bado ba."], {"level": "sentence"}
    bert_data.tokenize([documents[0], documents[2]], "a", vocab_file=small_vocabulary, **store)
    result = bert_data.curate(
        documents, steps="length:min_words=3", output_file="b", output_format="store",
        vocab_file=small_vocabulary, num_workers=1, **store,
    )  # fmt: skip
    assert result.files == ("b",)
    assert (folder / "a.bin").read_bytes() == (folder / "b.bin").read_bytes()
    assert (folder / "a.idx").read_bytes() == (folder / "b.idx").read_bytes()
    with pytest.raises(ValueError, match="level needs `output_format=store`"):
        bert_data.curate(documents, output_file="c", **store)
    with pytest.raises(ValueError, match="output_format=store needs output_file"):
        bert_data.curate(documents, output_format="store")


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: bert_data.create_records(["a"], "o", dupe_facto=1), TypeError, "dupe_factor"),
        (lambda: bert_data.create_records(["a"], 5), ValueError, "output_file is 5; it must be a"),
        (
            lambda: bert_data.train_vocab(["a"], "z", vocab_size=9, overwrite="no"),
            ValueError,
            "^ov",
        ),
        (lambda: bert_data.train_vocab(["a"], size=3), TypeError, "has no option 'size'"),
        *(
            (lambda name=name, value=value: bert_data.tokenize(["a"], "o", **{name: value}), *error)
            for name, value, *error in (
                ("do_lower_case", "no", ValueError, "do_lower_case is 'no'; it must be true or"),
                ("overwrite", "no", ValueError, "overwrite is 'no'; it must be true or false"),
                ("vocab_file", 5, ValueError, "vocab_file is 5; it must be a string"),
            )
        ),
        (
            lambda: bert_data.train_vocab(["a b"], "z.txt", vocab_size="x"),
            *(ValueError, "vocab_size is 'x'; an integer, 6 to"),
        ),
        (lambda: bert_data.curate(["a"], steps="lenght"), ValueError, "step 'lenght' is unknown"),
        (lambda: bert_data.curate(["a"], preset="c5"), ValueError, "no preset 'c5'"),
        (lambda: bert_data.iterate_arrays("x", batch_sizes=1), TypeError, "batch_size"),
        (lambda: bert_data.iterate_arrays(None, batch_size=1), ValueError, "files is None; names"),
        (
            lambda: bert_data.Recipe(vocab_file="v", stores={"a": "s"}, stages=[3]),
            *(ValueError, "stage 1 is 3; it must be a mapping with"),
        ),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(folder, call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()
    assert list(folder.iterdir()) == []


SCRIPT = """
import bert_data
from bert_data import DocumentStep, Verdict, measure

documents = [f"Document number {number} is this." * 9 for number in range(400)]
done = bert_data.curate(
    documents, steps="length:min_words=4", output_file="clean.jsonl", num_workers=2,
    shard_mb=0.02,
)
print(done.num_kept)
stores = bert_data.tokenize(
    documents, "store", tokenizer_file="t.json", num_partitions=2, num_workers=2
)
print(len(stores.prefixes))

class Short(DocumentStep):
    name = "short"
    def judge(self, document):
        return Verdict(document, (measure("max_letters", len(document.text), 9),))

print(bert_data.curate([*documents, "Short."], steps=Short, shard_mb=0.02).texts)
"""


@pytest.mark.process
@pytest.mark.slow
def test_a_script_without_a_guard(folder, checkout):
    """Worker processes do not run it again."""
    (folder / "script.py").write_text(SCRIPT)
    bert_data.train_vocab(["Document number is this 0 1 2 3 4 5 6 7 8 9 ."] * 3, "v.txt",
                          tokenizer_file="t.json", vocab_size=99)  # fmt: skip
    done = subprocess.run(
        [sys.executable, "script.py"], env=os.environ | {"PYTHONPATH": str(checkout)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "400\n2\n['Short.']\n"), done.stderr


GOOD = [f"We measure {n} samples with care." for n in range(30)]
BAD = [["buy now!", f"only {n} pills"] for n in range(40)]
SMALL = {"buckets": 300, "dimension": 8, "epochs": 20, "learning_rate": 0.5}


@pytest.mark.process
def test_documents_and_files_give_the_same_model(tmp_path):
    classes = []
    for label, texts in (("hq", GOOD), ("cc", BAD)):
        path = tmp_path / f"{label}.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        classes.append(ClassFiles(label, (str(path),)))
    config = ClassifierConfig(classes=tuple(classes), **SMALL)
    train_and_measure(config, str(tmp_path / "a.bin"), overwrite=False)
    trained = bert_data.train_classifier(
        {"hq": iter(GOOD), "cc": tmp_path / "cc.jsonl"}, tmp_path / "b.bin", **SMALL
    )
    assert trained.num_texts == (40, 30)
    assert [each.f1 for each in trained.qualities] == [1, 1]
    assert (tmp_path / "a.bin").read_bytes() == (tmp_path / "b.bin").read_bytes()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"hq.jsonl", "cc.jsonl", "a.bin", "b.bin"}


@pytest.mark.parametrize(
    ("documents", "options", "error", "sentence"),
    [
        ({"hq": GOOD}, {}, ValueError, "documents must name two or more labels"),
        (GOOD, {}, ValueError, "documents must name two or more labels"),
        ({"hq": GOOD, "cc": []}, {}, ValueError, r"documents\['cc'\] is empty"),
        ({"hq": GOOD, "cc": BAD}, {"epoch": 3}, TypeError, "epochs"),
        ({"hq": GOOD, "cc": BAD}, {"epochs": 0}, ValueError, "epochs is 0; 1 to 10,000 is"),
    ],
)
def test_mistakes_are_told(tmp_path, documents, options, error, sentence):
    with pytest.raises(error, match=sentence):
        bert_data.train_classifier(documents, tmp_path / "m.bin", **options)
    assert list(tmp_path.iterdir()) == []
