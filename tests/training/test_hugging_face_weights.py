"""Hugging Face's folders: the outputs that transformers recorded, other forms, and damage."""

import json
import logging
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from bert_data.errors import CorruptDataError
from bert_data.training.bert_config import BertConfig
from bert_data.training.evaluation import load_pretrained
from bert_data.training.hugging_face_weights import (
    HuggingFaceFolder,
    hugging_face_name,
    is_of_hugging_face,
    write_hugging_face,
)
from bert_data.training.model import pretraining_model
from bert_data.training.state import load_weights, open_weights
from tests.goldens.hugging_face_model import CASES, INPUTS, formula
from tests.goldens.reading import load_goldens
from tests.object_store import ObjectStore

GOLDENS = load_goldens("hugging_face.json")["cases"]
WEIGHTS = "model.safetensors"


def tensors_of(case: str) -> dict[str, np.ndarray]:
    return {name: formula(name, tuple(shape)) for name, shape in GOLDENS[case]["shapes"].items()}


def write_folder(
    folder: Path, case: str = "gelu", tensors: dict[str, Any] | None = None, **changes: Any
) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**GOLDENS[case]["config"], **changes}))
    values = tensors_of(case) if tensors is None else tensors
    safetensors.numpy.save_file(values, folder / WEIGHTS, metadata={"format": "pt"})
    return str(folder)


def batch() -> dict[str, tf.Tensor]:
    ids, mask, types = (np.array(rows, np.int32) for rows in INPUTS.values())
    positions = np.tile(np.arange(ids.shape[1], dtype=np.int32), (len(ids), 1))
    return {
        "input_ids": ids,
        "input_mask": mask,
        "segment_ids": types,
        "masked_lm_positions": positions,
    }


def check_outputs(model: Any, case: str) -> None:
    """Compares a model's outputs with those of transformers."""
    golden, mask = GOLDENS[case], np.array(INPUTS["attention_mask"], bool)
    features = batch()
    scores = model(features)
    masked_lm = np.array(golden["masked_lm"])
    np.testing.assert_allclose(scores["masked_lm"].numpy()[mask], masked_lm[mask], atol=1e-5)
    np.testing.assert_allclose(scores["next_sentence"], golden["next_sentence"], atol=1e-5)
    hidden, _ = model.encoder(
        *(features[name] for name in ("input_ids", "input_mask", "segment_ids"))
    )
    np.testing.assert_allclose(hidden.numpy()[mask], np.array(golden["hidden"])[mask], atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_outputs_are_those_of_transformers(case: str, tmp_path: Path) -> None:
    check_outputs(load_pretrained(write_folder(tmp_path, case)), case)


def test_every_weight_has_the_name_that_transformers_writes() -> None:
    model = pretraining_model(load_config("gelu"))
    names = {hugging_face_name(name) for name in model.released_weights()}
    assert names == set(GOLDENS["gelu"]["shapes"])


def load_config(case: str) -> Any:
    from bert_data.training.bert_config import BertConfig

    return BertConfig.from_dict(GOLDENS[case]["config"])


def test_several_files_and_old_names_and_the_path_of_a_file(tmp_path: Path) -> None:
    write_folder(tmp_path)
    tensors = {}
    for name, value in tensors_of("gelu").items():
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        tensors[old.replace("LayerNorm.bias", "LayerNorm.beta")] = value
    (tmp_path / WEIGHTS).unlink()
    names = sorted(tensors)
    files = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, part in files.items():
        safetensors.numpy.save_file({name: tensors[name] for name in part}, tmp_path / file)
    index = tmp_path / "model.safetensors.index.json"
    weight_map = {name: file for file, part in files.items() for name in part}
    index.write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    check_outputs(load_pretrained(str(index)), "gelu")
    index.write_text(json.dumps({"weight_map": {"a": "../a.safetensors"}}))
    with pytest.raises(CorruptDataError, match=r"'\.\./a\.safetensors' in weight_map is not"):
        open_weights(str(tmp_path))


def test_weights_in_an_object_store(object_store: ObjectStore, tmp_path: Path) -> None:
    write_folder(tmp_path)
    contents = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name, content in contents.items():
        object_store.put(f"bert/{name}", content)
    folder = object_store.uri("bert")
    check_outputs(load_pretrained(folder), "gelu")
    object_store.put(f"bert/{WEIGHTS}", contents[WEIGHTS][:-1])
    with pytest.raises(CorruptDataError, match=rf"^{folder}/{WEIGHTS}: "):
        open_weights(folder)


def test_an_encoder_alone_starts_pretraining_with_fresh_heads(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tensors = {
        name.removeprefix("bert."): value
        for name, value in tensors_of("gelu").items()
        if not name.startswith(("cls.", "bert.pooler"))
    }
    folder = write_folder(tmp_path, tensors=tensors)
    model = pretraining_model(load_config("gelu"))
    with pytest.raises(ValueError, match="has no variable 'bert/pooler/dense/kernel'"):
        load_weights(model, folder)
    before = model.released_values()
    load_weights(model, folder, fresh_heads=True)
    assert "cls/seq_relationship/output_bias: they keep their initial weights" in caplog.text
    for name, variable in model.released_weights().items():
        is_fresh = name.startswith(("cls/", "bert/pooler/"))
        assert np.array_equal(variable.numpy(), before[name]) == is_fresh, name


def test_weights_of_half_precision_become_float32(tmp_path: Path) -> None:
    tensors = {name: value.astype(ml_dtypes.bfloat16) for name, value in tensors_of("gelu").items()}
    folder = HuggingFaceFolder(write_folder(tmp_path, tensors=tensors))
    kernel = folder.read("bert/pooler/dense/kernel")
    assert kernel.dtype == np.float32
    np.testing.assert_array_equal(kernel.T, tensors["bert.pooler.dense.weight"].astype("f4"))


def test_damaged_and_missing_weights_are_told_apart(tmp_path: Path) -> None:
    path = Path(write_folder(tmp_path)) / WEIGHTS
    content = path.read_bytes()
    for damaged in (b"", content[:7], content[:-1], b"{" * 100):
        path.write_bytes(damaged)
        with pytest.raises(CorruptDataError, match=r"model\.safetensors"):
            open_weights(str(tmp_path))
    path.unlink()
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ValueError, match="a format that can run code when it is read"):
        open_weights(str(tmp_path))


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
    same = {"gelu": "gelu_new"}.get(activation, activation)
    assert BertConfig.from_dict(written) == BertConfig(**{**vars(config), "hidden_act": same})
