"""Documents as Python has them become files that the stages read."""

import csv
import io
import json
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf

import bert_data
from bert_data.api.documents import TextFiles, as_files
from bert_data.text.text_config import TextConfig


def rows(documents, output=None) -> list[object]:
    with as_files(documents, output, TextConfig()) as files:
        assert files.are_spooled
        return [json.loads(line)["text"] for line in Path(files.names).read_bytes().splitlines()]


def test_texts_and_lists_of_sentences_become_rows(tmp_path):
    documents = [
        "Ünï.",
        ["One.", "Two."],
        ("Three.",),
        np.array(["Four."]),
        np.str_("Five"),
        "",
        "s3://a/b",
        "\0",
        "Sechs – é".encode(),
        np.bytes_(b"Seven"),
    ]
    expected = ["Ünï.", ["One.", "Two."], ["Three."], ["Four."], "Five", "", "s3://a/b", "\0"]
    expected += ["Sechs – é", "Seven"]
    assert rows(iter(documents)) == expected
    assert [rows([text]) for text in ("s3://a/b", "\0", "a" * 5000)] == [
        ["s3://a/b"],
        ["\0"],
        ["a" * 5000],
    ]
    assert rows(documents, str(tmp_path / "new" / "out")) == expected
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_the_documents_stands_beside_the_output(tmp_path):
    with as_files(["One."], str(tmp_path / "out"), TextConfig()) as files:
        assert Path(files.names).parent.parent == tmp_path
        assert Path(files.names).parent.name.startswith(".bert_data-")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("documents", "names"),
    [
        ("a.txt,b*.txt", "a.txt,b*.txt"),
        (Path("a.txt"), "a.txt"),
        ([Path("a.txt"), Path("b.txt")], "a.txt,b.txt"),
        (iter([Path("a.txt")]), "a.txt"),
    ],
)
def test_strings_and_paths_name_files(documents, names):
    with as_files(documents, None, TextConfig()) as files:
        assert files == TextFiles(names)


@pytest.mark.parametrize(
    ("documents", "sentence"),
    [
        ([], "documents is empty; there is nothing to read"),
        (7, "documents is int; texts, lists of sentences or names of files are allowed"),
        (b"One.", "documents is bytes; "),
        (["One.", b"Two\xff"], "document 1 is not UTF-8: .* 0xff in position 3"),
        ([[b"One."]], "document 0 is list; a string or a list of sentences is allowed$"),
        (np.array("One."), "documents is ndarray; texts, "),
        ([["One.", 2]], "document 0 is list; "),
        (["One.", None], "document 1 is NoneType; .*; leave out documents without a text"),
        (["One.", float("nan")], "document 1 is float; .*; leave out documents without a text"),
        ({"One."}, r"documents is set, which has no order; pass sorted\(documents\)"),
        (io.StringIO("One.\n"), r"an open file, StringIO, .* pass its name, or list\(documents\)"),
        (csv.reader(["1,One."]), r"documents is reader, .* \(row\[0\] for row in documents\)"),
        (SimpleNamespace(fetchone=None), "documents is SimpleNamespace, which gives rows"),
        ([None, "One."], "document 0 is NoneType; "),
        (["One.", "\ud800"], "document 1 contains a lone surrogate"),
        ([Path("a,b.txt")], "'a,b.txt' has a comma, which separates names"),
    ],
)
def test_what_is_no_document_is_refused(documents, sentence):
    with pytest.raises(ValueError, match=sentence), as_files(documents, None, TextConfig()):
        pass


class DataFrame:
    """Has columns, as the tables of pandas and polars, and iterating gives their names."""

    def __init__(self, *columns):
        self.columns = columns

    def __iter__(self):
        return iter(self.columns)


Row = namedtuple("Row", ["id", "text"])


@pytest.mark.parametrize(
    ("documents", "parts", "way"),
    [
        ({"train": ["One."], "test": []}, "['train', 'test']", "documents['train']"),
        ({"dev": {"id": [], "text": []}}, "['dev']", "documents['dev']['text']"),
        ({"a.html": "One.", "b.html": "Two."}, "['a.html', 'b.html']", "documents.values()"),
        (DataFrame("id", "text"), "['id', 'text']", "documents['text']"),
        (DataFrame("id", "body"), "['id', 'body']", "documents[...]"),
        ({"train": DataFrame("id", "text")}, "['train']", "documents['train']['text']"),
        (pa.table({"id": ["1"], "text": ["One."]}), "['id', 'text']", "documents['text']"),
        (pa.record_batch({"id": ["1"], "text": ["One."]}), "['id', 'text']", "documents['text']"),
        ([{"id": "1", "text": "One."}], "['id', 'text']", "(row['text'] for row in documents)"),
        ([Row("1", "One.")], "['id', 'text']", "(row.text for row in documents)"),
        (
            [DataFrame("id", "text")],
            "['id', 'text']",
            "(text for table in documents for text in table['text'])",
        ),
    ],
)
def test_what_has_keys_columns_or_rows_is_refused_with_the_way_to_the_texts(documents, parts, way):
    with pytest.raises(ValueError, match=r"documents is|document 0 is") as caught:
        rows(documents)
    assert parts in str(caught.value)
    assert str(caught.value).endswith(f" as in {way}")


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["One.", "Two."]),
        pa.chunked_array([["One."], ["Two."]]),
        pa.array([b"One.", b"Two."]),
        np.array([b"One.", b"Two."]),
    ],
)
def test_a_column_gives_its_texts(column):
    assert rows(column) == ["One.", "Two."]


def test_a_missing_text_of_arrow_is_refused():
    with pytest.raises(ValueError, match=r"document 1 is NoneType; .*; leave out"):
        rows(pa.array(["One.", None]))


def test_datasets_of_tensorflow_give_their_strings(tmp_path):
    dataset = tf.data.Dataset.from_tensor_slices(["One.", "Zwö."])
    assert rows(dataset) == rows(dataset.as_numpy_iterator()) == ["One.", "Zwö."]
    with pytest.raises(ValueError, match=r"document 0 is ndarray; .*\.unbatch\(\)"):
        rows(dataset.batch(2))
    with pytest.raises(ValueError, match=r"\(row\['text'\] for row in documents\)"):
        rows(dataset.map(lambda text: {"text": text}))
    (tmp_path / "a.txt").write_text("One.\n")
    with pytest.raises(ValueError, match="the name of a file"):
        rows(tf.data.Dataset.from_tensors(str(tmp_path / "a.txt")))


@pytest.mark.slow
def test_data_sets_of_hugging_face_are_refused_and_their_columns_taken():
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    dataset = datasets.Dataset.from_dict({"id": ["1", "2"], "text": ["One.", "Two."]})
    splits = datasets.DatasetDict(train=dataset, test=dataset)
    for documents, way in (
        (dataset, r"\['id', 'text'\]; .* as in documents\['text'\]$"),
        (dataset.to_iterable_dataset(), r"as in documents\['text'\]$"),
        (splits, r"\['train', 'test'\]; .* as in documents\['train'\]\['text'\]$"),
    ):
        with pytest.raises(ValueError, match=way):
            rows(documents)
    assert rows(splits["train"]["text"]) == ["One.", "Two."]


def test_a_function_names_the_label_whose_documents_are_a_table(tmp_path):
    documents = {"hq": ["One."], "cc": DataFrame("id", "text")}
    with pytest.raises(ValueError, match=r"documents\['cc'\] is DataFrame .*\['cc'\]\['text'\]$"):
        bert_data.train_classifier(documents, tmp_path / "model.bin")


def test_errors_name_documents_and_no_file_of_them(tmp_path, small_vocabulary):
    with pytest.raises(ValueError, match=r"^no sentences in documents$"):
        bert_data.create_records([""], tmp_path / "a.tfrecord", vocab_file=small_vocabulary)
    with (
        pytest.raises(ValueError, match=r"^document 17: the text has '\[SEP\]'$"),
        as_files(["One."], None, TextConfig()) as files,
    ):
        raise ValueError(f"{files.names}:18: the text has '[SEP]'")


WIKITEXT = [
    "",
    " = The cat = \n",
    "",
    " The cat sat . \n",
    "",
    " = The dog = \n",
    " It barked . \n",
]


@pytest.mark.parametrize(
    ("input_format", "rows"),
    [
        ("wikitext", "`rows=wikitext`"),
        ("lines", "`rows=lines`"),
        ("prose", "`rows=lines or wikitext`"),
        ("parquet", "`rows=lines or wikitext`"),
    ],
)
def test_formats_of_files_are_refused_for_texts(input_format, rows, tmp_path, small_vocabulary):
    """They would be read as the JSON of the file that documents go to."""
    for call, output in (
        (bert_data.tokenize, {"output_prefix": tmp_path / "x", "vocab_file": small_vocabulary}),
        (bert_data.train_vocab, {"vocab_file": tmp_path / "x"}),
        (bert_data.curate, {}),
    ):
        with pytest.raises(ValueError, match=f"^input_format is '{input_format}'.*{rows}"):
            call(WIKITEXT, input_format=input_format, **output)
    assert list(tmp_path.iterdir()) == []


def test_rows_of_wikitext_are_the_lines_of_its_file(tmp_path, small_vocabulary):
    (tmp_path / "wiki.txt").write_text("".join(line.strip() + "\n" for line in WIKITEXT))
    options = {"vocab_file": small_vocabulary, "level": "sentence"}
    bert_data.tokenize(WIKITEXT, tmp_path / "a", rows="wikitext", **options)
    bert_data.tokenize(tmp_path / "wiki.txt", tmp_path / "b", input_format="wikitext", **options)
    for ending in (".bin", ".idx"):
        assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def test_names_of_files_in_a_list_are_not_taken_for_texts(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("One.\n")
    with pytest.raises(ValueError, match=r"document 0 is .*, the name of a file"):
        rows([str(path)])


def test_memory_does_not_grow_with_documents(tmp_path):
    """At any time only one of a generator's documents is alive."""
    alive = set()

    class Sentence(str):
        def __del__(self):
            alive.discard(id(self))

    def documents():
        for number in range(300):
            document = Sentence(f"Document {number}.")
            alive.add(id(document))
            assert len(alive) < 5
            yield document
            del document

    assert len(rows(documents())) == 300
