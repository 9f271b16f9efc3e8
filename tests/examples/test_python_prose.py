"""The text that the demo learns from."""

from pathlib import Path

import pytest

from examples.demo import python_prose


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            'One is a sentence here. "Two" is, e.g. this\none over two lines. (Three ends it.)',
            ["One is a sentence here.", '"Two" is, e.g. this one over two lines.'],
        ),
        (
            "A heading\n=====\n\nWhat follows it is prose again.\n\n>>> code here is not prose .",
            ["What follows it is prose again."],
        ),
        ("* Return the *first* item of it.", ["Return the first item of it."]),
        ("if_stmt ::= 'if' expression here.\n\nx = y + z * 3 // 4 - k % 7.", []),
        ("Too short it is.\n\nand this begins like none at all.\n\nThis has no end at all", []),
    ],
)
def test_prose_becomes_sentences(text: str, sentences: list[str]) -> None:
    assert list(python_prose.split_sentences([text])) == sentences


@pytest.mark.slow
def test_there_is_enough_text_and_nothing_comes_twice() -> None:
    documents = python_prose.read_documents()
    sentences = [sentence for document in documents for sentence in document]
    assert len(documents) > 200
    assert min(map(len, documents)) >= 2
    assert sum(map(len, sentences)) > 800_000
    assert len({sentence.lower() for sentence in sentences}) == len(sentences)
    assert not any("\n" in sentence or sentence != sentence.strip() for sentence in sentences)


def test_held_out_documents_are_not_trained_on(tmp_path: Path) -> None:
    documents = [[f"sentence {i}", "."] for i in range(10)]
    train, held_out = python_prose.split_documents(documents, held_out_every=4)
    assert held_out == [documents[3], documents[7]]
    assert train == [document for document in documents if document not in held_out]
    path = tmp_path / "text.txt"
    python_prose.write_documents(path, held_out)
    assert path.read_text(encoding="utf-8") == "sentence 3\n.\n\nsentence 7\n.\n\n"
