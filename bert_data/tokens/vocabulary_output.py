"""Writes a trained vocabulary: vocab.txt, and the same vocabulary as a tokenizer.json.

write_vocabulary(VocabularyTrainingConfig(input_files=("a.txt",), vocab_size=8000), "en.txt")
  ->  en.txt, en.tokenizer.json, en.tokenizer_config.json (which tokens are special)
"""

import os

from bert_data.storage import OutputSet
from bert_data.tokens.hugging_face import to_json, tokenizer_config, tokenizer_json
from bert_data.tokens.vocabulary_training import (
    TrainedVocabulary,
    VocabularyTrainingConfig,
    train_vocabulary,
)


def write_vocabulary(
    config: VocabularyTrainingConfig, path: str, *, json_path: str | None = None, overwrite: bool
) -> TrainedVocabulary:
    """Train a vocabulary and write its three files, which appear together or not at all.

    Args:
      config: of the training.
      path: of the vocabulary, one token per line.
      json_path: of the tokenizer.json; None: see `json_path_beside`.
      overwrite: whether to replace existing files.

    Raises:
      ValueError, OSError: see `train_vocabulary`; a file cannot be written.
    """
    json_path = json_path or json_path_beside(path)
    config_path = f"{os.path.splitext(json_path)[0]}_config.json"
    with OutputSet(
        path, [json_path, config_path, path], reads=config.input_files, overwrite=overwrite
    ) as outputs:
        trained = train_vocabulary(config)
        definition = tokenizer_json(trained.tokens, do_lower_case=config.do_lower_case)
        roles = to_json(tokenizer_config(do_lower_case=config.do_lower_case))
        lines = "".join(f"{token}\n" for token in trained.tokens)
        for name, content in ((json_path, definition), (config_path, roles), (path, lines)):
            with outputs.open(name) as file:
                file.write(content.encode())
        outputs.commit([json_path, config_path], [path])  # vocab.txt: all are of one run
    return trained


def json_path_beside(path: str) -> str:
    """Return where the tokenizer.json of a vocabulary goes: beside it."""
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    return os.path.join(folder, "tokenizer.json" if stem == "vocab" else f"{stem}.tokenizer.json")
