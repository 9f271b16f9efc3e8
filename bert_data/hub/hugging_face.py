"""Write a trained model as a folder that Hugging Face's transformers loads.

    HuggingFaceExportConfig(init_checkpoint="model", vocab_file="vocab.txt", output_dir="hf")
        ->  hf/{model.safetensors, config.json, vocab.txt, tokenizer.json, tokenizer_config.json,
                special_tokens_map.json}

The folder holds the weights of `BertForPreTraining`, which the other classes load, too.
"""

import dataclasses
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bert_data.hub.config import TrainedModel
from bert_data.settings import check_settings
from bert_data.storage import OutputSet, exists, file_size
from bert_data.tokens.definition import validate_case_matches_checkpoint
from bert_data.tokens.hugging_face import (
    ROLES,
    TOKENIZER,
    TOKENIZER_CONFIG,
    to_json,
    tokenizer_config,
    tokenizer_json,
)
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_file import load_wordpiece
from bert_data.tokens.vocabulary import PADDING
from bert_data.training.model_vocabulary import VOCABULARY_RECORD, ModelVocabulary

if TYPE_CHECKING:
    import numpy as np

    from bert_data.training import BertConfig

_WEIGHTS, _CONFIG = "model.safetensors", "config.json"
_VOCABULARY, _SPECIAL_TOKENS = "vocab.txt", "special_tokens_map.json"
FILES = (
    *(_VOCABULARY, VOCABULARY_RECORD, TOKENIZER, TOKENIZER_CONFIG, _SPECIAL_TOKENS),
    *(_WEIGHTS, _CONFIG),
)
"""Of the folder, in the order in which they appear."""

_MASKED_LM, _NEXT_SENTENCE, _POOLER = "cls/predictions/", "cls/seq_relationship/", "bert/pooler/"


@dataclasses.dataclass(frozen=True, kw_only=True)
class HuggingFaceExportConfig(TrainedModel):
    """Configuration of `export_hugging_face`.

    Attributes:
      output_dir: folder for the files.
      overwrite: replace existing files.
    """

    output_dir: str
    overwrite: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.init_checkpoint:
            raise ValueError("init_checkpoint is not set; it names the weights")
        if not self.output_dir:
            raise ValueError("output_dir is not set; it names the folder to write")

    @property
    def weights(self) -> str:
        """The weights, which are named."""
        assert self.init_checkpoint
        return self.init_checkpoint

    @property
    def inputs(self) -> list[str]:
        """The files that are read; of a checkpoint of TensorFlow its prefix or folder."""
        weights = self.weights
        named = (weights, self.vocab_file, self.tokenizer_file, self.bert_config_file)
        folder = os.path.dirname(weights) if weights.endswith(_WEIGHTS) else weights
        beside = (os.path.join(folder, name) for name in (_WEIGHTS, _CONFIG))
        return [*filter(None, named), *filter(exists, beside)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class HuggingFaceExportReport:
    """What was exported.

    Attributes:
      file_bytes: size of each file, by its path.
      checkpoint: prefix of the weights.
      architecture: the class of transformers that has exactly these weights.
      num_parameters: of the model.
    """

    file_bytes: dict[str, int]
    checkpoint: str
    architecture: str
    num_parameters: int

    def __str__(self) -> str:
        lines = [
            f"checkpoint     {self.checkpoint}",
            f"model          {self.architecture}, {self.num_parameters:,} parameters",
        ]
        lines += [
            f"wrote          {path}  {size:,} bytes" for path, size in self.file_bytes.items()
        ]
        return "\n".join(["exported to Hugging Face", *(f"  {line}" for line in lines)])


def export_hugging_face(config: HuggingFaceExportConfig) -> HuggingFaceExportReport:
    """Write the folder.

    Raises:
      ValueError: a required file is not named, or two files do not fit each other.
      OSError: a file cannot be read, exists already or cannot be written.
    """
    paths = {name: os.path.join(config.output_dir, name) for name in FILES}
    with OutputSet(
        os.path.join(config.output_dir, "export"),
        list(paths.values()),
        reads=config.inputs,
        overwrite=config.overwrite,
    ) as outputs:
        tokenizer = _load_tokenizer(config)
        validate_case_matches_checkpoint(tokenizer.do_lower_case, config.weights)
        from bert_data.hub import pretrained  # imports TensorFlow, which takes seconds

        checkpoint, model, weights = pretrained.read_weights(
            config.weights,
            config.bert_config_file,
            tokenizer.vocabulary,
            allow_other_vocabulary=config.allow_other_vocabulary,
        )
        architecture = _architecture(weights)
        texts = _texts(tokenizer, model, architecture)
        for name, path in paths.items():
            is_text = name != _WEIGHTS
            content = texts[name].encode() if is_text else pretrained.safetensors_of(weights)
            with outputs.open(path) as file:
                file.write(content)
        outputs.commit(list(paths.values()))
    return HuggingFaceExportReport(
        file_bytes={path: file_size(path) for path in paths.values()},
        checkpoint=checkpoint,
        architecture=architecture,
        num_parameters=sum(array.size for array in weights.values()),
    )


def _load_tokenizer(config: HuggingFaceExportConfig) -> FastTokenizer:
    tokenizer = load_wordpiece(
        config.vocab_file,
        config.tokenizer_file,
        do_lower_case=config.do_lower_case,
        reason="; only models with these are exported",
    )
    missing = [token for token in ROLES.values() if token not in tokenizer.vocabulary.ids]
    if missing:
        raise ValueError(
            f"{tokenizer.vocabulary.path} has no token {', '.join(missing)}, which Hugging Face's"
            " tokenizer needs"
        )
    return tokenizer


def _architecture(weights: Mapping[str, "np.ndarray"]) -> str:
    """Return the class of transformers that has these weights and no others."""
    if not any(name.startswith(_MASKED_LM) for name in weights):
        return "BertModel"
    has_both = any(name.startswith(_NEXT_SENTENCE) for name in weights)
    return "BertForPreTraining" if has_both else "BertForMaskedLM"


def _texts(tokenizer: FastTokenizer, model: "BertConfig", architecture: str) -> dict[str, str]:
    """Return the contents of all files but the weights."""
    from bert_data.training.hugging_face import write_hugging_face

    vocabulary = tokenizer.vocabulary
    values = write_hugging_face(
        dataclasses.asdict(model), architecture=architecture, pad_token_id=vocabulary.ids[PADDING]
    )
    tokenizer_values = tokenizer_config(
        do_lower_case=tokenizer.do_lower_case, model_max_length=model.max_position_embeddings
    )
    return {
        _VOCABULARY: "".join(f"{token}\n" for token in vocabulary.tokens),
        TOKENIZER: tokenizer_json(
            vocabulary.tokens,
            do_lower_case=tokenizer.do_lower_case,
            max_word_letters=tokenizer.max_word_letters,
        ),
        TOKENIZER_CONFIG: to_json(tokenizer_values),
        VOCABULARY_RECORD: ModelVocabulary.of(vocabulary).record(_VOCABULARY),
        _SPECIAL_TOKENS: to_json(ROLES),
        _CONFIG: to_json(values),
    }
