"""The vocabulary that a model was trained with: its folder names it, and every use compares.

    model/vocabulary.json   {"file": "vocab.txt", "size": 30522, "sha256": "...", ...}
    model/vocab.txt         the file itself, where it is known

A folder without that record, such as Hugging Face's or a released one, has the vocabulary that lies
in it as vocab.txt or tokenizer.json. Another vocabulary of the same size would pass unseen, and
make a model of no use.
"""

import dataclasses
import json
import os
from collections.abc import Sequence
from typing import Self, TypedDict

from absl import logging

from bert_data import storage
from bert_data.reader.files.checks import is_padding
from bert_data.tokens.definition import stripped_lines
from bert_data.tokens.tokenizer_json import (
    digest_of_lines,
    find_definition,
    tokenizer_path,
    vocabulary_sha256,
)
from bert_data.tokens.vocabulary import TokenTable

VOCABULARY_RECORD = "vocabulary.json"
"""The file of a folder that says which vocabulary the model in it was trained with."""
_FILES = ("vocab.txt", "tokenizer.json")
_SHOWN_DIGITS = 8


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelVocabulary:
    """The size and the digests of a vocabulary.

    Attributes:
      source: the file, or what else names the vocabulary; for errors.
      size: number of ids; None: not known.
      sha256: the digest in manifests, see `tokenizer_json.vocabulary_sha256`.
      tokens_sha256: of the tokens in the order of their ids, whatever the kind of file and its line
        ends; None: not known.
      path: of the file; None: it is not at hand.
    """

    source: str
    size: int | None
    sha256: str
    tokens_sha256: str | None = None
    path: str | None = None

    @classmethod
    def read(cls, path: str) -> Self:
        """Read a vocabulary or a tokenizer of any kind."""
        path = tokenizer_path(path)
        tokens = _tokens(path, storage.read_bytes(path))
        return cls(
            source=path,
            size=None if tokens is None else len(tokens),
            sha256=vocabulary_sha256(path),
            tokens_sha256=None if tokens is None else digest_of_lines(tokens),
            path=path,
        )

    @classmethod
    def of(cls, vocabulary: TokenTable) -> Self:
        """Describe a vocabulary that was loaded."""
        return cls(
            source=vocabulary.path,
            size=vocabulary.size,
            sha256=vocabulary.sha256,
            tokens_sha256=digest_of_lines(vocabulary.tokens),
            path=vocabulary.path,
        )

    def is_same(self, other: "ModelVocabulary") -> bool:
        """Whether two vocabularies have the same tokens, as far as their digests tell."""
        mine, others = ({each.sha256, each.tokens_sha256} - {None} for each in (self, other))
        return not mine.isdisjoint(others)

    def record(self, file: str | None) -> str:
        """Return the text of `VOCABULARY_RECORD`; `file` is the vocabulary's path in the folder."""
        values = {
            "file": file,
            "size": self.size,
            "sha256": self.sha256,
            "tokens_sha256": self.tokens_sha256,
        }
        return storage.json_text(values)

    def __str__(self) -> str:
        size = "" if self.size is None else f"{self.size:,} tokens, "
        return f"{self.source} ({size}sha256 {self.sha256[:_SHOWN_DIGITS]})"


def _tokens(path: str, content: bytes) -> list[str] | None:
    """Return the tokens of a file by their ids; None for a model of SentencePiece and the like."""
    definition = find_definition(path, content)
    if definition is not None:
        listed = definition["model"]["vocab"]
        if not isinstance(listed, dict):  # of Unigram: pairs of a piece and its score
            return [json.dumps(each) for each in listed]
        added = [each for each in definition.get("added_tokens") or () if isinstance(each, dict)]
        ids = {**listed, **{str(each.get("content")): each.get("id") for each in added}}
        return sorted(ids, key=lambda token: (str(type(ids[token])), ids[token]))
    try:
        return stripped_lines(content)
    except UnicodeDecodeError:
        return None


def find_vocabularies(model: str) -> list[ModelVocabulary]:
    """Return the vocabulary that a model was trained with; []: its folder does not say.

    Args:
      model: its folder, or a file or the prefix of a checkpoint in it.

    Returns:
      One, or the two files of a folder without a record, of which either may be used.
    """
    folder = model if storage.is_folder(model) else os.path.dirname(model) or os.curdir
    if storage.exists(record := os.path.join(folder, VOCABULARY_RECORD)):
        return [_recorded(folder, record)]
    paths = (os.path.join(folder, name) for name in _FILES)
    return [ModelVocabulary.read(path) for path in paths if storage.exists(path)]


class _VocabularyRecord(TypedDict):
    file: str | None
    size: int | None
    sha256: str
    tokens_sha256: str | None


def _recorded(folder: str, path: str) -> ModelVocabulary:
    values = storage.parse_json(storage.read_bytes(path), path)
    if (
        not isinstance(values, dict)
        or not values
        or values.keys() - _VocabularyRecord.__annotations__.keys()
    ):
        raise ValueError(
            f"{path} does not say which vocabulary the model beside it was trained with, as the"
            " file of that name does which bert_data writes; rename it"
        )
    record = storage.read_json(path, _VocabularyRecord)
    name = record["file"]
    vocabulary = ModelVocabulary(
        source=os.path.join(folder, name or VOCABULARY_RECORD),
        size=record["size"],
        sha256=record["sha256"],
        tokens_sha256=record["tokens_sha256"],
    )
    if name is None or not storage.exists(file := os.path.join(folder, name)):
        return vocabulary
    if not ModelVocabulary.read(file).is_same(vocabulary):
        logging.warning("%s is not the vocabulary that %s names", file, path)
        return dataclasses.replace(vocabulary, source=path)
    return dataclasses.replace(vocabulary, path=file)


def check_vocabulary(
    used: ModelVocabulary | None,
    model: str,
    trained: Sequence[ModelVocabulary] | None = None,
    *,
    vocab_size: int | None = None,
    allow_other: bool = False,
) -> ModelVocabulary | None:
    """Compare a vocabulary with the one that a model was trained with.

    Args:
      used: the vocabulary of the text; None: it is not known.
      model: as of `find_vocabularies`.
      trained: the vocabularies that the model names; None: those of its folder.
      vocab_size: ids of the model.
      allow_other: whether another one is only logged.

    Returns:
      The vocabulary of the text, with the model's file if it is the same and has none.
    """
    if trained is None:
        trained = find_vocabularies(model)
    if used is None:
        return None
    for each in filter(used.is_same, trained):
        return dataclasses.replace(
            used,
            path=used.path or each.path,
            tokens_sha256=used.tokens_sha256 or each.tokens_sha256,
        )
    reason = ""
    if trained:
        reason = f"vocabulary {used} is not {trained[0]}, which {model} was trained with"
    elif vocab_size is not None and used.size is not None and _differs(used.size, vocab_size):
        reason = (
            f"vocabulary {used} has another size than the {vocab_size:,} of {model} (vocab_size):"
            " it is not the one that the model was trained with"
        )
    else:
        logging.info("%s does not say which vocabulary it was trained with", model)
    if reason and not allow_other:
        raise ValueError(f"{reason}; `allow_other_vocabulary` uses it nevertheless")
    if reason:
        logging.warning("%s", reason)
    return used


def _differs(size: int, vocab_size: int) -> bool:
    return size != vocab_size and not is_padding(size, vocab_size)


def keep_vocabulary(
    folder: str, vocabulary: ModelVocabulary | None, file: str | None = None
) -> None:
    """Record the vocabulary of the model in a folder, and write its file beside that.

    Args:
      vocabulary: None: not known, and the record stays.
      file: its path in the folder, where it is already; None: it gets its own name, unless the
        folder has another file of that name, or the record has it.
    """
    if vocabulary is None:
        return
    if file is None and vocabulary.path is not None:
        file = os.path.basename(vocabulary.path)
        copy = os.path.join(folder, file)
        if file == VOCABULARY_RECORD:
            file = None
        elif not storage.exists(copy):
            storage.write_bytes(copy, storage.read_bytes(vocabulary.path))
        elif not ModelVocabulary.read(copy).is_same(vocabulary):
            file = None
    record = vocabulary.record(file)
    storage.write_bytes(os.path.join(folder, VOCABULARY_RECORD), record.encode())
