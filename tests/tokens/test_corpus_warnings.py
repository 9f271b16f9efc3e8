"""Warnings of text that was not meant: each for its cause, and none for good text."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.text.text_config import TextConfig
from bert_data.tokens.corpus_warnings import unknown_words
from bert_data.tokens.store_making import StoreConfig, make_stores
from bert_data.tokens.tokenizer_file import load_tokenizer

GOOD = "ba do ki.\nlu me no.\n\nra si tu.\nba ba ba.\nve do.\n\n" * 20


@pytest.fixture
def warnings_of(tmp_path, small_vocabulary, caplog) -> Callable[..., list[str]]:
    """The warnings about a text when records are made of it."""

    def create(text: str, objective: str = "nsp") -> list[str]:
        caplog.clear()
        path = tmp_path / "text.txt"
        path.write_text(text)
        create_dataset(
            DatasetConfig(
                input_file=str(path),
                output_file=str(tmp_path / "set"),
                vocab_file=str(small_vocabulary),
                instances=InstanceConfig(dupe_factor=1, next_sentence=objective),
                overwrite=True,
            )
        )
        return warnings(caplog)

    return create


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]


@pytest.mark.parametrize("objective", ["nsp", "sop", "none"])
def test_good_text_gives_no_warning(warnings_of, objective):
    assert warnings_of(GOOD, objective) == []


def test_unknown_words_are_named(warnings_of):
    (sentence,) = warnings_of(GOOD + "zzz zzz qqq ba.\nxyz zzz.\n\n" * 10)
    assert "% of the tokens are [UNK] (words such as 'zzz', 'qqq', 'xyz', 'zzz.');" in sentence


@pytest.mark.parametrize(
    ("text", "start"),
    [
        (
            GOOD.replace("\n\n", "\n"),
            "the text is a single document, so the random next sentences come",
        ),
        (
            "ba do ki lu me no " * 8,
            "the text is a single document of one sentence, so both segments of a record come from"
            " that",
        ),
        (
            GOOD.replace("\n", "\n\n"),
            "100 documents have 100 sentences, so next sentences are nearly",
        ),
    ],
)
def test_documents_without_next_sentences(warnings_of, text, start):
    assert warnings_of(text, "none") == []
    assert warnings_of(text)[-1].startswith(start)


def test_lines_of_json(warnings_of):
    rows = "".join(json.dumps({"text": text}) + "\n\n" for text in GOOD.split("\n\n"))
    assert "lines look like JSON" in warnings_of(rows + "ba do.\n", "none")[0]


@pytest.mark.parametrize("level", ["sentence", "document"])
def test_token_stores(level, tmp_path, small_vocabulary, caplog):
    path = tmp_path / "text.txt"
    path.write_text("ba do\nki lu\nme no\n" * 40 + "\n")
    config = StoreConfig(
        input_file=str(path),
        output_prefix=str(tmp_path / "store"),
        vocab_file=str(small_vocabulary),
        level=level,
    )
    make_stores(config)
    messages = warnings(caplog)
    if level == "sentence":
        assert messages[0].startswith("120 of the first 120 lines end without punctuation")
        assert messages[1].startswith("the text is a single document")
    assert len(messages) == (2 if level == "sentence" else 0)


def test_unknown_words_of_any_format_and_tokenizer(tmp_path: Path, small_vocabulary: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"body": "ba zzz"}, {"body": ["zzz do", "qqq"]}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = TextConfig(text_field="body")
    tokenizer = load_tokenizer(str(small_vocabulary))
    assert unknown_words([str(path)], text, tokenizer) == ["'zzz'", "'qqq'"]
    definition = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "ba": 1, "do": 2},
                  "unk_token": "[UNK]"},
    }  # fmt: skip
    other = tmp_path / "tokenizer.json"
    other.write_text(json.dumps(definition))
    assert unknown_words([str(path)], text, load_tokenizer(None, str(other))) == ["'zzz'", "'qqq'"]
