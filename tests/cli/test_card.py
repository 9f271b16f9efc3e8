"""The command card: the file it writes, and mistakes in one sentence."""

import json

import pytest

pytestmark = pytest.mark.process


def test_a_card_beside_the_data(tmp_path, commands):
    file = {"name": "a.jsonl", "num_documents": 3, "num_bytes": 9}
    header = {"format": "bert_data curation", "format_version": 1}
    manifest = tmp_path / "curation.a.jsonl.json"
    manifest.write_text(json.dumps({**header, "files": [file], "counts": []}))
    flags = ("--input_file=curation.a.jsonl.json", "--license=cc0-1.0")
    sentence = "--input_file is 'a.jsonl'; it must be curation.NAME.json"
    assert commands.error("card", "--input_file=a.jsonl").startswith(sentence)
    assert "wrote README.md\n" in commands.well("card", *flags).stderr
    assert "license: cc0-1.0\n" in (tmp_path / "README.md").read_text()
    sentence = "README.md: exists already (--overwrite replaces it)"
    assert commands.error("card", *flags) == sentence
