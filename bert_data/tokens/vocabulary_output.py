"""Writes a trained vocabulary: as a tokenizer.json and, if it is WordPiece, as vocab.txt.

write_vocabulary(VocabularyTrainingConfig(input_files=("a.txt",), vocab_size=8000), "en.txt")
  ->  en.txt, en.tokenizer.json, en.tokenizer_config.json (which tokens are special)
"""

import os

from bert_data.storage import OutputSet
from bert_data.tokens.hugging_face import (
    MODEL_INPUTS,
    ROLES,
    to_json,
    tokenizer_config,
    tokenizer_json,
)
from bert_data.tokens.tokenizer_training import train_tokenizer
from bert_data.tokens.vocabulary_training import (
    TrainedVocabulary,
    VocabularyTrainingConfig,
    train_vocabulary,
)
from bert_data.tokens.word_rules import WORDPIECE


def write_vocabulary(
    config: VocabularyTrainingConfig, path: str, *, json_path: str | None = None, overwrite: bool
) -> TrainedVocabulary:
    """Train a vocabulary and write its files, which appear together or not at all.

    Args:
      path: of the vocabulary, one token per line, which only WordPiece has.
      json_path: of the tokenizer.json; None: see `json_path_beside`.
      overwrite: whether to replace existing files.

    Raises:
      ValueError, OSError: see `train_vocabulary`; a file cannot be written.
    """
    json_path = json_path or json_path_beside(path)
    config_path = f"{os.path.splitext(json_path)[0]}_config.json"
    paths = [config_path, json_path, *([path] if config.model == WORDPIECE else [])]
    with OutputSet(paths[-1], paths, reads=config.input_files, overwrite=overwrite) as outputs:
        if config.model == WORDPIECE:
            trained = train_vocabulary(config)
            definition = tokenizer_json(trained.tokens, do_lower_case=config.do_lower_case)
            roles = tokenizer_config(do_lower_case=config.do_lower_case)
        else:
            trained, definition = train_tokenizer(config)
            roles = {
                **ROLES,
                "model_input_names": MODEL_INPUTS,
                "tokenizer_class": "PreTrainedTokenizerFast",
            }
        lines = "".join(f"{token}\n" for token in trained.tokens)
        for name, content in zip(paths, (to_json(roles), definition, lines), strict=False):
            with outputs.open(name) as file:
                file.write(content.encode())
        outputs.commit(paths[:-1], paths[-1:])  # the last one means that all are of one run
    return trained


def json_path_beside(path: str) -> str:
    """Return where the tokenizer.json of a vocabulary goes: beside it, or there if it is one."""
    folder, name = os.path.split(path)
    stem, ending = os.path.splitext(name)
    if ending == ".json":
        return path
    return os.path.join(folder, "tokenizer.json" if stem == "vocab" else f"{stem}.tokenizer.json")
