"""Hugging Face's folders in Google's terms: the names of weights, and the meaning of config.json.

bert.encoder.layer.0.output.dense.weight [768, 3072]
    <->  bert/encoder/layer_0/output/dense/kernel [3072, 768]

folder/config.json  model.safetensors, or model.safetensors.index.json and the files it lists

The two kinds of config.json have most names in common, but not their meaning and defaults: "gelu"
is the exact function there and the tanh approximation in Google's program. A setting that this
model does not have, and that changes results, is refused.
"""

import os
import re
import reprlib
from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np
import safetensors

from bert_data.errors import CorruptDataError, first_sentence
from bert_data.storage import CopiedFolder, exists, is_folder, is_remote, read_json

_MARKS = ("architectures", "model_type", "transformers_version")

_DEFAULTS = {"vocab_size": 30522, "type_vocab_size": 2, "hidden_act": "gelu"}

_ACTIVATIONS = {
    "gelu": "gelu_erf",
    "gelu_accurate": "gelu_new",
    "gelu_fast": "gelu_new",
    "gelu_new": "gelu_new",
    "gelu_python": "gelu_erf",
    "gelu_python_tanh": "gelu_new",
    "gelu_pytorch_tanh": "gelu_new",
    "linear": "linear",
    "relu": "relu",
    "tanh": "tanh",
}
_WRITTEN_ACTIVATIONS = {"gelu_erf": "gelu", "gelu": "gelu_new", "gelu_tanh": "gelu_new"}

_ONLY: Mapping[str, Any] = {
    "model_type": "bert",
    "num_hidden_groups": None,
    "attention_type": "original_full",
    "relative_attention": False,
    "normalization_type": "layer_norm",
    "norm_first": False,
    "use_bottleneck": False,
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "is_encoder_decoder": False,
    "tie_word_embeddings": True,
    "tie_encoder_decoder": False,
    "pruned_heads": {},
    "quantization_config": None,
}
"""The settings that change results, with the only value that this model has; None: they are those
of another model."""
_AS_WIDE_AS_HIDDEN = ("embedding_size", "embedding_width")

_OF_THE_LIBRARY = """
    _name_or_path _attn_implementation attn_implementation architectures auto_map bos_token_id
    chunk_size_feed_forward classifier_dropout dtype eos_token_id finetuning_task
    gradient_checkpointing id2label label2id num_labels output_attentions output_hidden_states
    output_past pad_token_id prefix problem_type return_dict sep_token_id task_specific_params
    tf_legacy_loss tokenizer_class torch_dtype torchscript transformers_version use_bfloat16
    use_cache
"""
_OF_GENERATING = """
    bad_words_ids begin_suppress_tokens cross_attention_hidden_size decoder_start_token_id
    diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size
    exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id length_penalty
    max_length min_length no_repeat_ngram_size num_beam_groups num_beams num_return_sequences
    output_scores remove_invalid_values repetition_penalty return_dict_in_generate
    suppress_tokens temperature top_k top_p typical_p
"""
_OF_RELEASED_FILES = """
    directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers
    pooler_size_per_head pooler_type
"""
WITHOUT_EFFECT = frozenset((_OF_THE_LIBRARY + _OF_GENERATING + _OF_RELEASED_FILES).split())
"""The names that do not change what the model computes: settings of the library and of heads that
are not loaded, of generating text, and what Google's released files have besides the model."""


def without_other_models(values: Mapping[str, Any], hidden_size: int) -> dict[str, Any]:
    """Return a configuration without the settings that other models have, and BERT in one form.

    Args:
      hidden_size: where the configuration does not say it.

    Raises:
      ValueError: it is the configuration of another model, such as ALBERT or ELECTRA.
    """
    hidden = values.get("hidden_size", hidden_size)
    for name, only in (*_ONLY.items(), *dict.fromkeys(_AS_WIDE_AS_HIDDEN, hidden).items()):
        value = values.get(name)
        if value is not None and value != only:
            allowed = "it must be absent" if only is None else f"only {only!r} is supported"
            raise ValueError(f"{name} is {reprlib.repr(value)}; {allowed}")
    return {n: value for n, value in values.items() if n not in (*_ONLY, *_AS_WIDE_AS_HIDDEN)}


def is_of_hugging_face(values: Mapping[str, Any]) -> bool:
    """Whether a model's configuration is a config.json of Hugging Face."""
    return any(mark in values for mark in _MARKS)


def read_hugging_face(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config.json of Hugging Face in Google's names and values.

    Names that do not affect the model's results are left out; unknown ones stay.
    """
    every = {**_DEFAULTS, **values}
    read = {name: value for name, value in every.items() if name not in WITHOUT_EFFECT}
    activation = read["hidden_act"]
    if not isinstance(activation, str) or activation not in _ACTIVATIONS:
        raise ValueError(
            f"hidden_act is {reprlib.repr(activation)}; allowed in a configuration of Hugging Face"
            f" are {', '.join(_ACTIVATIONS)}"
        )
    return {**read, "hidden_act": _ACTIVATIONS[activation]}


def write_hugging_face(
    values: Mapping[str, Any], *, architecture: str, pad_token_id: int
) -> dict[str, Any]:
    """Return the content of a config.json for the fields of a `BertConfig`.

    Args:
      architecture: the class of transformers that has the weights.
    """
    activation = values["hidden_act"]
    return {
        **values,
        "architectures": [architecture],
        "dtype": "float32",
        "hidden_act": _WRITTEN_ACTIVATIONS.get(activation, activation),
        "model_type": "bert",
        "pad_token_id": pad_token_id,
        "position_embedding_type": "absolute",
        "tie_word_embeddings": True,
    }


WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_PICKLED = "pytorch_model.bin"

_NAMES = (
    (r"/layer_(\d+)/", r".layer.\1."),
    (r"_embeddings$", "_embeddings.weight"),
    (r"/gamma$", ".weight"),
    (r"/beta$", ".bias"),
    (r"/kernel$", ".weight"),
    (r"^cls/predictions/output_bias$", "cls.predictions.bias"),
    (r"/output_weights$", ".weight"),
    (r"/output_bias$", ".bias"),
    (r"/", "."),
)
"""Substitutions, in order, that turn a name of Google's into Hugging Face's."""

_ENCODER = "bert."


def hugging_face_name(name: str) -> str:
    """Return the name in `BertForPreTraining` of a variable with a released name."""
    for pattern, replacement in _NAMES:
        name = re.sub(pattern, replacement, name)
    return name


def is_transposed(name: str) -> bool:
    """Whether a variable's two axes are stored in the other order there."""
    return name.endswith("/kernel")


class HuggingFaceFolder:
    """The weights in a folder of Hugging Face, by the names in Google's checkpoints.

    Attributes:
      prefix: the path of the weights, or of their index.
      may_lack_heads: True: folders of models without the pretraining heads are common.
    """

    may_lack_heads = True

    def __init__(self, folder: str) -> None:
        """Open the folder."""
        if exists(path := os.path.join(folder, WEIGHTS)):
            files = [WEIGHTS]
        elif exists(path := os.path.join(folder, _INDEX)):
            files = sorted(set(_files_of_index(path).values()))
        else:
            raise ValueError(_without_weights(folder))
        self.prefix = path
        self._tensors: dict[str, tuple[str, Any]] = {}
        paths = [os.path.join(folder, name) for name in files]
        if is_remote(folder):
            self._copies = CopiedFolder(paths)
            folder = self._copies.path
        for name, path in zip(files, paths, strict=True):
            file = _open(path, os.path.join(folder, name))
            self._tensors |= dict.fromkeys(file.keys(), (path, file))
        self._has_encoder_prefix = any(key.startswith(_ENCODER) for key in self._tensors)

    def __contains__(self, name: str) -> bool:
        return self._key(name) in self._tensors

    def shape(self, name: str) -> list[int]:
        """Return the shape of a tensor, in the order of Google's axes."""
        path, file = self._tensors[self._key(name)]
        shape = _reading(path, lambda: file.get_slice(self._key(name)).get_shape())
        return shape[::-1] if is_transposed(name) else list(shape)

    def read(self, name: str) -> np.ndarray:
        """Return a tensor as float32."""
        if name not in self:
            raise ValueError(f"{self.prefix} has no tensor {self._key(name)!r}")
        path, file = self._tensors[self._key(name)]
        tensor = _reading(path, lambda: file.get_tensor(self._key(name)))
        values = np.asarray(tensor, np.float32)
        return values.T if is_transposed(name) else values

    def _key(self, name: str) -> str:
        key = hugging_face_name(name)
        if not self._has_encoder_prefix:  # saved from the encoder alone
            key = key.removeprefix(_ENCODER)
        if key not in self._tensors and "LayerNorm." in key:  # names of the first releases
            old = key.replace("LayerNorm.weight", "LayerNorm.gamma")
            key = old.replace("LayerNorm.bias", "LayerNorm.beta")
        return key


def find_hugging_face_folder(path: str) -> str | None:
    """Return the folder that a path, of it or of its weights, names; None: another kind."""
    if path.endswith((".safetensors", _INDEX, _PICKLED)):
        return os.path.dirname(path)
    names = (WEIGHTS, _INDEX, _PICKLED)
    if is_folder(path) and any(exists(os.path.join(path, name)) for name in names):
        return path
    return None


class _Index(TypedDict):
    weight_map: dict[str, str]


def _files_of_index(path: str) -> Mapping[str, str]:
    files = read_json(path, _Index)["weight_map"]
    if not files:
        raise CorruptDataError(path, 0, "it has no weight_map")
    for name in files.values():
        if os.path.basename(name) != name:
            raise CorruptDataError(path, 0, f"{name!r} in weight_map is not the name of a file")
    return files


def _without_weights(folder: str) -> str:
    if exists(os.path.join(folder, _PICKLED)):
        return (
            f"{folder} has its weights in {_PICKLED}, a format that can run code when it is read;"
            f" save them as {WEIGHTS} by transformers' save_pretrained"
        )
    return f"{folder} has no {WEIGHTS}"


def _open(path: str, local: str) -> Any:
    return _reading(path, lambda: safetensors.safe_open(local, framework="np"))


def _reading(path: str, read: Any) -> Any:
    try:
        return read()
    except safetensors.SafetensorError as error:
        raise CorruptDataError(path, 0, first_sentence(error)) from None
