"""Writes a trained vocabulary: vocab.txt, and the same vocabulary as a tokenizer.json.

write_vocabulary(VocabularyTrainingConfig(input_files=("a.txt",), vocab_size=8000), "en.txt")
  ->  en.txt, en.tokenizer.json
"""

import os

from bert_data.storage import OutputSet
from bert_data.tokens.vocabulary_training import (
    TrainedVocabulary,
    VocabularyTrainingConfig,
    tokenizer_json,
    train_vocabulary,
)


def write_vocabulary(
    config: VocabularyTrainingConfig, path: str, *, json_path: str | None = None, overwrite: bool
) -> TrainedVocabulary:
    """Train a vocabulary and write its two files, which appear together or not at all.

    Args:
      config: of the training.
      path: of the vocabulary, one token per line.
      json_path: of the tokenizer.json; None: see `json_path_beside`.
      overwrite: whether to replace existing files.

    Raises:
      ValueError, OSError: see `train_vocabulary`; a file cannot be written.
    """
    json_path = json_path or json_path_beside(path)
    with OutputSet(
        path, [json_path, path], reads=config.input_files, overwrite=overwrite
    ) as outputs:
        trained = train_vocabulary(config)
        definition = tokenizer_json(trained.tokens, do_lower_case=config.do_lower_case)
        lines = "".join(f"{token}\n" for token in trained.tokens)
        for name, content in ((json_path, definition), (path, lines)):
            with outputs.open(name) as file:
                file.write(content.encode())
        outputs.commit([json_path], [path])  # vocab.txt means that both are of one run
    return trained


def json_path_beside(path: str) -> str:
    """Return where the tokenizer.json of a vocabulary goes: beside it."""
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    return os.path.join(folder, "tokenizer.json" if stem == "vocab" else f"{stem}.tokenizer.json")
