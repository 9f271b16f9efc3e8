"""What a config.json of Hugging Face means, and what is refused."""

import logging

import pytest

from bert_data.training.config import BertConfig
from bert_data.training.hugging_face_config import (
    is_of_hugging_face,
    read_hugging_face,
    write_hugging_face,
)

SIZES = {"hidden_size": 8, "num_attention_heads": 2, "model_type": "bert"}


def test_names_have_hugging_faces_meaning_and_defaults(caplog: pytest.LogCaptureFixture) -> None:
    values = {**SIZES, "layer_norm_eps": 1e-5, "use_cache": True, "pooler_type": "x", "top_k": 5}
    config = BertConfig.from_dict(values)
    assert (config.vocab_size, config.type_vocab_size) == (30522, 2)
    assert (config.hidden_act, config.layer_norm_eps) == ("gelu_erf", 1e-5)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    BertConfig.from_dict({**SIZES, "rotary_base": 10000})
    assert "['rotary_base']" in caplog.text


def test_googles_file_keeps_googles_meaning() -> None:
    values = {"vocab_size": 9, "hidden_size": 8, "num_attention_heads": 2, "hidden_act": "gelu"}
    assert not is_of_hugging_face(values)
    assert BertConfig.from_dict(values).hidden_act == "gelu"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("model_type", "roberta", "model_type is 'roberta'; only 'bert' is supported"),
        ("position_embedding_type", "relative_key", "only 'absolute' is supported"),
        ("is_decoder", True, "is_decoder is True; only False is supported"),
        ("tie_word_embeddings", False, "only True is supported"),
        ("pruned_heads", {"0": [1]}, "pruned_heads is"),
        ("quantization_config", {"bits": 4}, "it must be absent"),
        ("hidden_act", "silu", "hidden_act is 'silu'; allowed in a configuration of Hugging Face"),
        ("hidden_act", ["gelu"], "hidden_act is"),
        ("layer_norm_eps", 0, "layer_norm_eps is 0; a number > 0 is allowed"),
    ],
)
def test_what_changes_results_is_refused(name: str, value: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        BertConfig.from_dict({**SIZES, name: value})


@pytest.mark.parametrize("activation", ["gelu", "gelu_erf", "gelu_new", "relu", "tanh", "linear"])
def test_a_written_configuration_has_the_same_meaning(activation: str) -> None:
    config = BertConfig(vocab_size=9, hidden_act=activation, layer_norm_eps=1e-6)
    written = write_hugging_face(vars(config), architecture="BertModel", pad_token_id=0)
    assert written["hidden_act"] == {"gelu": "gelu_new", "gelu_erf": "gelu"}.get(
        activation, activation
    )
    again = read_hugging_face(written)
    same = {"gelu": "gelu_new"}.get(activation, activation)
    assert BertConfig(**again) == BertConfig(**{**vars(config), "hidden_act": same})
