"""The model's configuration: what Google's files hold, and what is refused."""

import json
import math
from pathlib import Path

import pytest

from bert_data.errors import CorruptDataError
from bert_data.training.bert_config import BertConfig
from bert_data.training.checkpoints import folder_config

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


def test_defaults_are_those_of_released_models(caplog: pytest.LogCaptureFixture) -> None:
    assert json.loads(BertConfig(vocab_size=30522).to_json()) == BASE
    with caplog.at_level("INFO", logger="absl"):
        assert BertConfig.from_dict({"vocab_size": 9}).type_vocab_size == 2
    assert "type_vocab_size is not in the model's configuration: it is 2" in caplog.text


@pytest.mark.parametrize(
    ("name", "sizes"),  # as the files of google-research/bert's README say
    [
        ("tiny", (2, 128, 2, 512)),
        ("mini", (4, 256, 4, 1024)),
        ("small", (4, 512, 8, 2048)),
        ("medium", (8, 512, 8, 2048)),
        ("base", (12, 768, 12, 3072)),
        ("large", (24, 1024, 16, 4096)),
    ],
)
def test_published_sizes_have_names(name: str, sizes: tuple[int, ...]) -> None:
    names = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")
    config = BertConfig.load(name, 4000)
    assert tuple(getattr(config, each) for each in names) == sizes
    assert (config.vocab_size, config.type_vocab_size) == (4000, 2)


def test_what_is_neither_a_file_nor_a_name(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(BASE))
    assert BertConfig.load(path, 4000) == BertConfig(vocab_size=30522)
    with pytest.raises(FileNotFoundError, match=r"is 'bas'; there is no such file, and .* large$"):
        BertConfig.load("bas")


def test_help_lists_the_keys_of_the_file() -> None:
    text = BertConfig.describe_file()
    assert "vocab_size; hidden_size 768;" in text and "type_vocab_size 2;" in text


def test_unknown_names_are_told(caplog: pytest.LogCaptureFixture) -> None:
    config = BertConfig.from_dict({**BASE, "directionality": "bidi", "pooler_type": "x"})
    assert config.hidden_size == 768
    assert "['directionality', 'pooler_type']" in caplog.text


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("hiden_size", "hidden_size"), ("hiddenSize", "hidden_size"),
        ("num_hiden_layers", "num_hidden_layers"), ("hidden_activation", "hidden_act"),
        ("hidden_dropout", "hidden_dropout_prob"), ("layer_norm_epsilon", "layer_norm_eps"),
        ("max_position_embedding", "max_position_embeddings"), ("type_vocab", "type_vocab_size"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("model_type", [{}, {"model_type": "bert"}])
def test_misspelt_names_are_refused(name: str, meant: str, model_type: dict) -> None:
    with pytest.raises(ValueError, match=f"^{name} is no setting .* did you mean {meant}"):
        BertConfig.from_dict({**BASE, **model_type, name: 32})


def test_names_of_other_programs_are_no_misspelt_ones() -> None:
    others = ("pooler_num_attention_heads", "pooler_fc_size", "num_labels", "use_cache",
              "vocab_file")  # fmt: skip
    assert BertConfig.from_dict({**BASE, **dict.fromkeys(others, 7)}) == BertConfig(
        vocab_size=30522
    )


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("num_hidden_groups", 1, "it must be absent"),
        ("embedding_size", 128, "only 768 is supported"),
        ("embedding_width", 128, "only 768 is supported"),
        ("model_type", "albert", "only 'bert' is supported"),
        ("attention_type", "block_sparse", "only 'original_full' is supported"),
        ("position_embedding_type", "relative_key", "only 'absolute' is supported"),
        ("norm_first", True, "only False is supported"),
    ],
)
def test_the_configuration_of_another_model_is_refused(
    name: str, value: object, allowed: str, caplog: pytest.LogCaptureFixture
) -> None:
    base = {"vocab_size": 9, "hidden_size": 768}
    for rest in ({}, {"architectures": ["BertModel"]}):
        with pytest.raises(ValueError, match=f"^{name} is {value!r}; {allowed}$"):
            BertConfig.from_dict({**base, **rest, name: value})
    BertConfig.from_dict({**base, "embedding_size": 768})
    assert "embedding_size" not in caplog.text


@pytest.mark.parametrize("name", ["GELU", "", None, "linear", "Relu"])
def test_activations_are_named_as_google_names_them(name: str | None) -> None:
    assert (
        BertConfig.from_dict({**BASE, "hidden_act": name}).hidden_act == (name or "linear").lower()
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"hidden_size": 100}, "hidden_size is 100; it must be a multiple of"),
        ({"vocab_size": 0}, "vocab_size is 0; 1 to 2,147,483,647 is allowed"),
        ({"vocab_size": None}, "vocab_size is None"),
        ({"vocab_size": "30522"}, "vocab_size is '30522'"),
        ({"num_hidden_layers": 1.5}, "num_hidden_layers is 1.5"),
        ({"num_hidden_layers": True}, "num_hidden_layers is True"),
        ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob is 1.0; a number in [0, 1)"),
        ({"attention_probs_dropout_prob": "x"}, "attention_probs_dropout_prob is 'x'"),
        ({"initializer_range": 0}, "initializer_range is 0; a number > 0"),
        ({"vocab_size": 2**63}, "vocab_size is 9223372036854775808; 1 to 2,147,483,647"),
        ({"num_hidden_layers": 2**31}, "num_hidden_layers is 2147483648; 1 to 10,000"),
        ({"hidden_dropout_prob": math.nan}, "hidden_dropout_prob is nan"),
        ({"hidden_dropout_prob": 10**400}, "hidden_dropout_prob is 1000"),
        ({"initializer_range": math.inf}, "initializer_range is inf"),
        ({"hidden_act": "swish"}, "hidden_act is 'swish'; it must be one of gelu"),
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
    [
        ("{", "byte offset 1: not JSON"),
        ("[1]", "its content is"),
        ("[" * 200_000, "nested too deep"),
        ('{"vocab_size": 3, "vocab_size": 4}', "the key 'vocab_size' appears twice"),
        ('{"vocab_size": ' + "9" * 6000 + "}", "JSON that cannot be read"),
        (b"\xff", "it is not UTF-8"),
    ],
    ids=["cut", "list", "nested", "doubled", "digits", "bytes"],
)
def test_damage_is_told_with_the_file(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    path = tmp_path / "bert_config.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CorruptDataError) as error:
        folder_config(str(tmp_path))  # as a restart reads it
    assert str(error.value).startswith(f"{path}: ")
    assert sentence in str(error.value)


def test_a_file_without_the_size_of_the_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="vocab_size is missing"):
        BertConfig.from_json_file(write(tmp_path, "{}"))
