"""Documents as Python has them become files that the stages read."""

import json
from pathlib import Path

import numpy as np
import pytest

from bert_data.api.documents import TextFiles, as_files


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
