"""The model's configuration: what Google's files hold, and what is refused."""

import json
from pathlib import Path

import pytest

from bert_data.errors import CorruptDataError
from bert_data.training.config import BertConfig

COVERS = ("training/activations",)


BASE = {
    "attention_probs_dropout_prob": 0.1,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "hidden_size": 768,
    "initializer_range": 0.02,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
    "type_vocab_size": 2,
    "vocab_size": 30522,
}


def write(folder: Path, text: str) -> str:
    path = folder / "bert_config.json"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_reads_a_released_file_and_writes_it_again(tmp_path: Path) -> None:
    config = BertConfig.from_json_file(write(tmp_path, json.dumps(BASE)))
    assert config == BertConfig(vocab_size=30522, type_vocab_size=2)
    assert json.loads(config.to_json()) == BASE


def test_defaults_are_those_of_google() -> None:
    assert json.loads(BertConfig(vocab_size=30522).to_json()) == {**BASE, "type_vocab_size": 16}


def test_unknown_names_are_told(caplog: pytest.LogCaptureFixture) -> None:
    config = BertConfig.from_dict({**BASE, "directionality": "bidi", "pooler_type": "x"})
    assert config.hidden_size == 768
    assert "['directionality', 'pooler_type']" in caplog.text


@pytest.mark.parametrize("name", ["GELU", "", None, "linear", "Relu"])
def test_activations_are_named_as_google_names_them(name: str | None) -> None:
    assert (
        BertConfig.from_dict({**BASE, "hidden_act": name}).hidden_act == (name or "linear").lower()
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"hidden_size": 100}, "hidden_size is 100; it must be a multiple of"),
        ({"vocab_size": 0}, "vocab_size is 0; a whole number from 1"),
        ({"vocab_size": None}, "vocab_size is None"),
        ({"vocab_size": "30522"}, "vocab_size is '30522'"),
        ({"num_hidden_layers": 1.5}, "num_hidden_layers is 1.5"),
        ({"num_hidden_layers": True}, "num_hidden_layers is True"),
        ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob is 1.0; a number in [0, 1)"),
        ({"attention_probs_dropout_prob": "x"}, "attention_probs_dropout_prob is 'x'"),
        ({"initializer_range": 0}, "initializer_range is 0; a number > 0"),
        ({"hidden_act": "swish"}, "hidden_act is 'swish'; allowed are gelu"),
        ({"hidden_act": 3}, "hidden_act is 3"),
    ],
)
def test_what_is_not_allowed_is_told(tmp_path: Path, change: dict, sentence: str) -> None:
    path = write(tmp_path, json.dumps({**BASE, **change}))
    with pytest.raises(ValueError) as error:
        BertConfig.from_json_file(path)
    assert str(error.value).startswith(f"{path}: {sentence}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("{", "not JSON"), ("[1]", "must be an object"), ("{}", "vocab_size is missing")],
)
def test_a_file_that_holds_no_configuration(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises((ValueError, CorruptDataError), match=rf"bert_config\.json: .*{sentence}"):
        BertConfig.from_json_file(write(tmp_path, text))
