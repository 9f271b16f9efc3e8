"""Texts, vocabularies and rows that the kinds of files are made from; two variants of each."""

import json
from pathlib import Path

from tests.goldens.inputs import VOCABULARIES, as_text, documents

NUM_DOCUMENTS = 12


def stories(variant: int) -> list[list[str]]:
    """Documents as lists of sentences."""
    return documents(NUM_DOCUMENTS, 6, 9, seed=variant + 1)


def write_text(folder: Path, variant: int) -> str:
    """A file of sentences, beside the folder of the files to damage."""
    path = folder.parent / f"text-{variant}.txt"
    path.write_bytes(as_text(stories(variant)))
    return str(path)


def write_vocabulary(path: Path) -> str:
    path.write_text("".join(f"{token}\n" for token in VOCABULARIES["pieces"]()))
    return str(path)


def rows(variant: int) -> list[dict[str, str]]:
    return [{"id": f"{i}", "text": " ".join(story)} for i, story in enumerate(stories(variant))]


def json_lines(variant: int) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows(variant)).encode()
