"""The command card: the files it writes, and mistakes in one sentence."""

import json

import pytest

pytestmark = pytest.mark.process


def test_cards_beside_the_data(tmp_path, commands):
    rows = [{"text": "One two.", "url": "https://a.org/1", "from": "web"}, {"text": "Three."}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = commands.well(
        "card", "--input_file=in.jsonl", "--name=Two", "--source_field=from",
        "--crawled_sources=web",
    )  # fmt: skip
    assert "croissant.json lacks what Croissant requires: set --license, --url," in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {
        "in.jsonl", "README.md", "croissant.json", "training_content.md"
    }  # fmt: skip
    assert "| a.org | 1 | 8 | 57.1% |" in (tmp_path / "training_content.md").read_text()
    (tmp_path / "README.md").write_text("mine")
    mistakes = {
        ("--input_file=in.jsonl",): "README.md is not a card that bert-data card wrote",
        ("--input_file=none",): "no file matches 'none'",
        ("--input_file=in.jsonl", "--cards=hf"): "--cards is 'hf'; it must be one of",
    }
    for flags, sentence in mistakes.items():
        assert sentence in commands.error("card", *flags)
