"""Documents as Python has them become files that the stages read."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

import bert_data
from bert_data.api.arguments import Options, TextFiles, as_files, takes
from bert_data.settings import Formerly
from bert_data.work.ray_tasks import Ray


def rows(documents, output=None) -> list[object]:
    with as_files(documents, output) as files:
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
    ]
    expected = ["Ünï.", ["One.", "Two."], ["Three."], ["Four."], "Five", "", "s3://a/b", "\0"]
    assert rows(iter(documents)) == expected
    assert [rows([text]) for text in ("s3://a/b", "\0", "a" * 5000)] == [
        ["s3://a/b"],
        ["\0"],
        ["a" * 5000],
    ]
    assert rows(documents, str(tmp_path / "new" / "out")) == expected
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_the_documents_stands_beside_the_output(tmp_path):
    with as_files(["One."], str(tmp_path / "out")) as files:
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
    with as_files(documents, None) as files:
        assert files == TextFiles(names)


@pytest.mark.parametrize(
    ("documents", "sentence"),
    [
        ([], "documents is empty; there is nothing to read"),
        (7, "documents is int; texts, lists of sentences or names of files are allowed"),
        (b"One.", "documents is bytes; "),
        (["One.", b"Two."], "document 1 is bytes; a string or a list of sentences is allowed"),
        ([["One.", 2]], "document 0 is list; "),
        (["One.", None], "document 1 is NoneType; "),
        ([None, "One."], "document 0 is NoneType; "),
        ([{"text": "One."}], r"document 0 is dict; .*\(row\['text'\] for row in rows\)"),
        (["a", "\ud800"], "document 1 contains a lone surrogate"),
        ([Path("a,b.txt")], "the path 'a,b.txt' has a comma"),
    ],
)
def test_what_is_no_document_is_refused(documents, sentence):
    with pytest.raises(ValueError, match=sentence), as_files(documents, None):
        pass


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


@dataclasses.dataclass(kw_only=True)
class Size:
    width: Annotated[int, Formerly("breadth")] = 1
    height: int = 2


@dataclasses.dataclass(kw_only=True)
class Place:
    folder: str
    names: tuple[str, ...] = ()


def test_each_configuration_takes_its_own():
    @takes(Size, f"{__name__}.Place", others=("engine", "more"))
    def f() -> None: ...

    options = {"width": np.int32(5), "names": (Path("a"),), "engine": "ray"}
    given = Options(f.__name__, options)
    assert given.config(Size) == Size(width=5)
    assert given.config(Place, folder="x") == Place(folder="x", names=("a",))
    assert given.engine() == Ray()
    assert given.take("more", 7) == 7
    given.end()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("widht", r"f\(\) has no option 'widht'; did you mean width\?"),
        ("folder", r"f\(\) has no option 'folder'$"),  # the function names it otherwise
    ],
)
def test_an_unknown_option_is_refused(name, sentence):
    with pytest.raises(TypeError, match=sentence):
        given = Options("f", {name: 1}, Size, Place)
        given.config(Place, folder="x")
        given.end()


def test_an_option_has_its_former_name_for_a_while():
    with pytest.warns(DeprecationWarning, match="^breadth is called width now$"):
        given = Options("f", {"breadth": 3}, Size)
    assert given.config(Size) == Size(width=3)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: bert_data.create_records(["One."], "records"),
            "set one of `vocab_file` and `tokenizer_file`; neither is set",
        ),
        (
            lambda: bert_data.tokenize(["One."], "s", vocab_file="v.txt", eod_token="x"),
            "`eod_token=x` needs `append_eod`",
        ),
        (
            lambda: bert_data.train_vocab("a.txt", text_field="body"),
            "text_field is 'body', but the format is lines; `text_field` is for"
            " `input_format=jsonl or parquet`",
        ),
        (
            lambda: bert_data.create_records("a.jsonl", "records", vocab_file="v.txt"),
            "a.jsonl:1: no field 'text' (`text_field`)",
        ),
        (
            lambda: bert_data.create_records("a.txt", "records", vocab_file="v.txt", dupe_factor=0),
            "dupe_factor is 0; 1 to 1,000,000 is allowed",
        ),
    ],
)
def test_errors_name_options(tmp_path, monkeypatch, call, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("One.\n")
    (tmp_path / "a.jsonl").write_text('{"body": "One."}\n')
    (tmp_path / "v.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    with pytest.raises(ValueError, match=r".*") as caught:
        call()
    assert sentence in str(caught.value)
    assert "--" not in str(caught.value)
