"""The shape of a BERT model: `BertConfig`, as Google's bert_config.json describes it."""

import dataclasses
import json
import re
import reprlib
from collections.abc import Iterable
from typing import Any, Self

from absl import logging

from bert_data import storage
from bert_data.checks import check_choice, check_integer
from bert_data.errors import named_in_errors
from bert_data.settings import check_settings, convert

_MAX_SIZE = 2**31 - 1
_MAX_LAYERS = 10_000
_GOOGLES_EPSILON = 1e-12

PUBLISHED_SIZES = {
    "tiny": (2, 128),
    "mini": (4, 256),
    "small": (4, 512),
    "medium": (8, 512),
    "base": (12, 768),
    "large": (24, 1024),
}
"""Layers and hidden size of the models that Google published (Turc et al., 2019, arXiv 1908.08962);
a head has 64 columns, and the feed-forward part four times the hidden size."""

PUBLISHED_VOCAB_SIZE = 30522
_HEAD_SIZE, _INTERMEDIATE_FACTOR = 64, 4
_GOOGLES_SEGMENTS = 16
_NEAR, _LEAST_LETTERS = 0.85, 8  # of misspelt names: how similar they are, or how long

ACTIVATIONS = ("gelu", "gelu_erf", "gelu_new", "gelu_tanh", "linear", "relu", "tanh")


@dataclasses.dataclass(frozen=True, kw_only=True)
class BertConfig:
    """Sizes and settings of the model; names and meaning are those of Google's BERT.

    So are the defaults, but for type_vocab_size: released models have 2 segments, although Google's
    program would make 16.

    Attributes:
      vocab_size: number of rows of the word embeddings, >= 1.
      hidden_size: width of the encoder, a multiple of `num_attention_heads`.
      num_hidden_layers: number of Transformer layers, >= 1.
      num_attention_heads: heads per layer, >= 1.
      intermediate_size: width of the feed-forward part of a layer, >= 1.
      hidden_act: "gelu", "gelu_new" and "gelu_tanh" (the tanh approximation, which Google's program
        calls gelu), "gelu_erf" (the exact one), "relu", "tanh" or "linear".
      hidden_dropout_prob: of embeddings and of the outputs of a layer's two parts, in [0, 1).
      attention_probs_dropout_prob: of the attention probabilities, in [0, 1).
      max_position_embeddings: length of the longest sequence the model can read, >= 1.
      type_vocab_size: number of segments, >= 1.
      initializer_range: standard deviation of the truncated normal initial weights, > 0.
      layer_norm_eps: added to the variance that LayerNorm divides by, > 0; Google's is 1e-12.
    """

    vocab_size: int
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = _GOOGLES_EPSILON

    def __post_init__(self) -> None:
        check_settings(self)
        for field in dataclasses.fields(self):
            if field.type in (int, "int"):
                most = _MAX_LAYERS if field.name == "num_hidden_layers" else _MAX_SIZE
                check_integer(field.name, getattr(self, field.name), 1, most)
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise ValueError(f"{name} is {reprlib.repr(value)}; a number in [0, 1) is allowed")
        for name in ("initializer_range", "layer_norm_eps"):
            value = getattr(self, name)
            if not value > 0:
                raise ValueError(f"{name} is {reprlib.repr(value)}; a number > 0 is allowed")
        check_choice("hidden_act", self.hidden_act, ACTIVATIONS)
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"hidden_size is {self.hidden_size}; it must be a multiple of"
                f" num_attention_heads ({self.num_attention_heads})"
            )

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Make a configuration from JSON's names and values.

        A config.json of Hugging Face is recognized, see `hugging_face_weights`. Names that this
        model does not know (released files have a few, such as "directionality" or "pooler_type")
        are logged and ignored, unless they look like a misspelt one, or are those of another model.
        """
        from bert_data.training.hugging_face_weights import (
            WITHOUT_EFFECT,
            is_of_hugging_face,
            read_hugging_face,
            without_other_models,
        )

        others = without_other_models(values, cls.hidden_size)
        values = read_hugging_face(others) if is_of_hugging_face(values) else others
        names = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - names)
        for name in unknown:
            if name not in WITHOUT_EFFECT and (meant := _near_miss(name, names)) is not None:
                raise ValueError(f"{name} is no setting of the model; did you mean {meant}?")
        if unknown:
            logging.warning(
                "ignoring names of the model's configuration that are unknown here: %s", unknown
            )
        if "type_vocab_size" not in values:
            logging.info(
                "type_vocab_size is not in the model's configuration: it is %d, as in released"
                " models; Google's program would use %d",
                cls.type_vocab_size,
                _GOOGLES_SEGMENTS,
            )
        if "vocab_size" not in values:
            raise ValueError("vocab_size is missing; it must be an integer >= 1")
        settings = {name: value for name, value in values.items() if name in names}
        activation = settings.get("hidden_act", "gelu")
        if activation is None or isinstance(activation, str):  # Google treats "" and null as linear
            settings["hidden_act"] = (activation or "linear").lower()
        return cls(**settings)

    @classmethod
    def from_json_file(cls, path: str) -> Self:
        """Read a bert_config.json."""
        values = storage.read_object(path)
        with named_in_errors(path):
            return cls.from_dict(values)

    @classmethod
    def load(cls, file_or_name: str, vocab_size: int = PUBLISHED_VOCAB_SIZE) -> Self:
        """Read a bert_config.json, or make the configuration of a published size.

        Args:
          file_or_name: path of the file, or one of `PUBLISHED_SIZES`.
          vocab_size: of a published size; a file has its own.
        """
        file_or_name = convert("file_or_name", str, file_or_name)
        if file_or_name in PUBLISHED_SIZES:
            num_layers, hidden_size = PUBLISHED_SIZES[file_or_name]
            return cls(
                vocab_size=vocab_size,
                num_hidden_layers=num_layers,
                hidden_size=hidden_size,
                num_attention_heads=hidden_size // _HEAD_SIZE,
                intermediate_size=hidden_size * _INTERMEDIATE_FACTOR,
            )
        try:
            return cls.from_json_file(file_or_name)
        except FileNotFoundError:
            names = ", ".join(PUBLISHED_SIZES)
            raise FileNotFoundError(
                f"bert_config_file is {file_or_name!r}; there is no such file, and it is none of"
                f" {names}"
            ) from None

    @classmethod
    def describe_file(cls) -> str:
        """Return a command's --help of a bert_config.json."""
        keys = [
            field.name if field.default is dataclasses.MISSING else f"{field.name} {field.default}"
            for field in dataclasses.fields(cls)
        ]
        return (
            "JSON file with the sizes of the model, or the name of sizes that Google published:"
            f" {', '.join(PUBLISHED_SIZES)}. Keys of the file, with their defaults:"
            f" {'; '.join(keys)}."
        )

    def to_json(self) -> str:
        """Return the text of a bert_config.json; Google's do not have `layer_norm_eps`."""
        values = dataclasses.asdict(self)
        if self.layer_norm_eps == _GOOGLES_EPSILON:
            del values["layer_norm_eps"]
        return json.dumps(values, indent=2, sort_keys=True) + "\n"


def _near_miss(name: str, known: Iterable[str]) -> str | None:
    """Return the known name of which another one is a misspelling, such as hiden_size."""
    import difflib  # here, as few commands need it

    plain = {_letters(each): each for each in known}
    written = _letters(name)
    begins = (p for p in plain if min(len(p), len(written)) >= _LEAST_LETTERS
              and (p.startswith(written) or written.startswith(p)))  # fmt: skip
    found = [*begins, *difflib.get_close_matches(written, plain, n=1, cutoff=_NEAR)]
    return plain[found[0]] if found else None


def _letters(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())
