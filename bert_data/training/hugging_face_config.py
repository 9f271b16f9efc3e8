"""The config.json of Hugging Face's BERT, and what it means in Google's terms.

    {"model_type": "bert", "hidden_act": "gelu", ...}  ->  {"hidden_act": "gelu_erf", ...}

The two formats have most names in common, but not their meaning and defaults: "gelu" is the exact
function there and the tanh approximation in Google's program. A setting that this model does not
have, and that changes results, is refused.
"""

import reprlib
from collections.abc import Mapping
from typing import Any

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
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "is_encoder_decoder": False,
    "tie_word_embeddings": True,
    "tie_encoder_decoder": False,
    "pruned_heads": {},
    "quantization_config": None,
}
"""The settings that change results, with the only value that this model has."""

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


def is_of_hugging_face(values: Mapping[str, Any]) -> bool:
    """Whether a model's configuration is a config.json of Hugging Face."""
    return any(mark in values for mark in _MARKS)


def read_hugging_face(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config.json of Hugging Face in Google's names and values.

    Names that do not affect the model's results are left out; unknown ones stay.

    Raises:
      ValueError: a setting changes the results in a way that this model cannot.
    """
    for name, only in _ONLY.items():
        value = values.get(name)
        if value is not None and value != only:
            allowed = "it must be absent" if only is None else f"only {only!r} is supported"
            raise ValueError(f"{name} is {reprlib.repr(value)}; {allowed}")
    read = {
        name: value
        for name, value in {**_DEFAULTS, **values}.items()
        if name not in _ONLY and name not in WITHOUT_EFFECT
    }
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
    """Return the content of a config.json.

    Args:
      values: the fields of a `BertConfig`.
      architecture: the class of transformers that has the weights.
      pad_token_id: the id of [PAD].
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
