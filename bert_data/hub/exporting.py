"""Write a trained model and its vocabulary for TF Hub, or for Hugging Face's transformers.

    ExportConfig(vocab_file="vocab.txt", init_checkpoint="model", output_dir="hub")
        ->  hub/preprocess/{saved_model.pb, assets/vocab.txt, ...}
            hub/encoder/{saved_model.pb, assets/vocab.txt, variables/...}

    HuggingFaceExportConfig(init_checkpoint="model", vocab_file="vocab.txt", output_dir="hf")
        ->  hf/{model.safetensors, config.json, vocab.txt, tokenizer.json, ...}

All inputs are checked before anything is written, and the outputs and the vocabulary before
TensorFlow is imported. Hugging Face's folder holds the weights of `BertForPreTraining`, which the
other classes load, too.
"""

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from absl import logging

from bert_data import storage
from bert_data.hub.export_config import (
    CARD,
    CONFIG,
    ENCODER,
    MADE_BY,
    PREPROCESS,
    VOCABULARY,
    WEIGHTS,
    ExportConfig,
    HuggingFaceExportConfig,
    vocabulary_text,
)
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.tokens.hugging_face_files import (
    BERT_ROLES,
    TOKENIZER,
    TOKENIZER_CONFIG,
    to_json,
    tokenizer_config,
    tokenizer_json,
)
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_file import load_wordpiece
from bert_data.tokens.vocabulary_config import PADDING
from bert_data.training.model_vocabulary import VOCABULARY_RECORD, ModelVocabulary

if TYPE_CHECKING:
    import numpy as np

    from bert_data.training import BertConfig

_CHECKPOINT = re.compile(r"\.ckpt(?:-\d+)?\.index$")
_SPECIAL_TOKENS = "special_tokens_map.json"
FILES = (
    *(VOCABULARY, VOCABULARY_RECORD, TOKENIZER, TOKENIZER_CONFIG, _SPECIAL_TOKENS),
    *(CARD, WEIGHTS, CONFIG),
)
"""Of a folder of Hugging Face, in the order in which they appear."""

_MASKED_LM, _NEXT_SENTENCE = "cls/predictions/", "cls/seq_relationship/"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportReport:
    """The SavedModels that were written.

    Attributes:
      folder_bytes: size of each folder, by its path.
      vocab_size, num_parameters: 0 without preprocessing, or without an encoder.
      checkpoint: prefix of the encoder's weights, "" without one.
      has_mlm: whether the encoder has the masked-LM head.
    """

    folder_bytes: dict[str, int]
    vocab_size: int
    num_parameters: int
    checkpoint: str
    has_mlm: bool

    def __str__(self) -> str:
        lines = []
        if self.vocab_size:
            lines.append(f"vocabulary     {self.vocab_size:,} tokens")
        if self.checkpoint:
            head = "with" if self.has_mlm else "without"
            lines.append(f"checkpoint     {self.checkpoint}, {head} the masked-LM head")
            lines.append(f"encoder        {self.num_parameters:,} parameters")
        return _report("exported SavedModels", lines, self.folder_bytes)


def _report(title: str, lines: Sequence[str], sizes: Mapping[str, int]) -> str:
    wrote = (f"wrote          {path}  {size:,} bytes" for path, size in sizes.items())
    return "\n  ".join([title, *lines, *wrote])


def export(config: ExportConfig) -> ExportReport:
    """Write the SavedModels.

    Raises:
      ValueError: a required file is not named, or two files do not fit each other.
      OSError: a file cannot be read, or a folder exists or cannot be written.
    """
    names = [PREPROCESS] * config.has_text + [ENCODER] * bool(config.init_checkpoint)
    paths = [os.path.join(config.output_dir, name) for name in names]
    with storage.OutputSet(
        os.path.join(config.output_dir, "export"),
        [],
        folders=paths,
        reads=config.inputs,
        overwrite=config.overwrite,
        maker="bert-data export-hub",
    ) as outputs:
        text = None
        if config.has_text:
            text = load_wordpiece(
                config.vocab_file,
                config.tokenizer_file,
                do_lower_case=config.do_lower_case,
                reason=", the only ones that preprocessing has",
                model_files=config.inputs,
            )
        import_tensorflow(finds_devices=False)  # which takes seconds
        from bert_data.hub.saving import save

        checkpoint, encoder = save(config, text, outputs, dict(zip(names, paths, strict=True)))
        outputs.commit(paths)
    variables = encoder.variables if encoder else []
    return ExportReport(
        folder_bytes={path: storage.folder_size(path) for path in paths},
        vocab_size=text.vocabulary.size if text else 0,
        num_parameters=sum(variable.shape.num_elements() for variable in variables),
        checkpoint=checkpoint,
        has_mlm=hasattr(encoder, "mlm"),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class HuggingFaceExportReport:
    """The folder that was written.

    Attributes:
      file_bytes: size of each file, by its path.
      checkpoint: prefix of the weights.
      architecture: the class of transformers that has exactly these weights.
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
        return _report("exported to Hugging Face", lines, self.file_bytes)


def export_hugging_face(config: HuggingFaceExportConfig) -> HuggingFaceExportReport:
    """Write the folder.

    Raises:
      ValueError: a required file is not named, two files do not fit each other, or the folder has
        checkpoints.
      OSError: a file cannot be read, exists already or cannot be written.
    """
    _check_folder(config.output_dir)
    paths = {name: os.path.join(config.output_dir, name) for name in FILES}
    if not _is_ours(paths[CARD]):
        logging.info("%s was not written by an export, so it stays as it is", paths.pop(CARD))
    with storage.OutputSet(
        os.path.join(config.output_dir, "export"),
        list(paths.values()),
        reads=config.inputs,
        overwrite=config.overwrite,
    ) as outputs:
        tokenizer = _load_tokenizer(config)
        import_tensorflow(finds_devices=False)  # which takes seconds
        from bert_data.hub.model_card import describe_model, for_hugging_face
        from bert_data.hub.pretrained import read_weights, safetensors_of

        checkpoint, model, weights = read_weights(
            config.weights,
            config.bert_config_file,
            tokenizer.vocabulary,
            allow_other_vocabulary=config.allow_other_vocabulary,
        )
        architecture = _architecture(weights)
        num_parameters = sum(array.size for array in weights.values())
        card = describe_model(
            checkpoint,
            model,
            ModelVocabulary.of(tokenizer.vocabulary),
            architecture=architecture,
            num_parameters=num_parameters,
        )
        texts = _texts(tokenizer, model, architecture)
        texts[CARD] = for_hugging_face(card, architecture)
        for name, path in paths.items():
            content = safetensors_of(weights) if name == WEIGHTS else texts[name].encode()
            with outputs.open(path) as file:
                file.write(content)
        outputs.commit(list(paths.values()))
    return HuggingFaceExportReport(
        file_bytes={path: storage.file_size(path) for path in paths.values()},
        checkpoint=checkpoint.prefix,
        architecture=architecture,
        num_parameters=num_parameters,
    )


def _check_folder(folder: str) -> None:
    """Refuse a folder with checkpoints, in whose place the exported model would be read."""
    names = storage.list_folder(folder) if storage.is_folder(folder) else []
    found = [name for name in names if name == "checkpoint" or _CHECKPOINT.search(name)]
    if found:
        raise ValueError(
            f"`output_dir` {folder} already holds a model ({found[0]}), which would be read instead"
            " of the exported one; name another folder"
        )


def _is_ours(card: str) -> bool:
    """Whether a card may be written: there is none, or an earlier export's."""
    return not storage.exists(card) or MADE_BY in storage.read_bytes(card).decode(errors="replace")


def _load_tokenizer(config: HuggingFaceExportConfig) -> FastTokenizer:
    tokenizer = load_wordpiece(
        config.vocab_file,
        config.tokenizer_file,
        do_lower_case=config.do_lower_case,
        reason="; only models with these are exported",
        model_files=config.inputs,
    )
    missing = [token for token in BERT_ROLES.values() if token not in tokenizer.vocabulary.ids]
    if missing:
        raise ValueError(
            f"{tokenizer.vocabulary.path} has no token {', '.join(missing)}, which Hugging Face's"
            " tokenizer needs"
        )
    return tokenizer


def _architecture(weights: Mapping[str, "np.ndarray"]) -> str:
    if not any(name.startswith(_MASKED_LM) for name in weights):
        return "BertModel"
    has_both = any(name.startswith(_NEXT_SENTENCE) for name in weights)
    return "BertForPreTraining" if has_both else "BertForMaskedLM"


def _texts(tokenizer: FastTokenizer, model: "BertConfig", architecture: str) -> dict[str, str]:
    """Return the contents of all files but the weights."""
    from bert_data.training.hugging_face_weights import write_hugging_face

    vocabulary = tokenizer.vocabulary
    values = write_hugging_face(
        dataclasses.asdict(model), architecture=architecture, pad_token_id=vocabulary.ids[PADDING]
    )
    tokenizer_values = tokenizer_config(
        do_lower_case=tokenizer.do_lower_case, model_max_length=model.max_position_embeddings
    )
    return {
        VOCABULARY: vocabulary_text(vocabulary.tokens),
        TOKENIZER: tokenizer_json(
            vocabulary.tokens,
            do_lower_case=tokenizer.do_lower_case,
            max_word_letters=tokenizer.max_word_letters,
        ),
        TOKENIZER_CONFIG: to_json(tokenizer_values),
        VOCABULARY_RECORD: ModelVocabulary.of(vocabulary).record(VOCABULARY),
        _SPECIAL_TOKENS: to_json(BERT_ROLES),
        CONFIG: to_json(values),
    }
