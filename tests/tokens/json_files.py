"""Files of tokenizers that tests make."""

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

TEXT = ["the cat sat on the mat", "the dog sat on the log", "a cat and a dog"] * 5


def wordpiece(path: Path, tokens: list[str], **changes: Any) -> str:
    """WordPiece with BERT's rules, but for changes of parts: "model.unk_token", say, is a path."""
    special = [token for token in tokens if token.startswith("[") and token.endswith("]")]
    definition: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [
            {
                "id": tokens.index(token),
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token in special
        ],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {token: number for number, token in enumerate(tokens)},
        },
    }
    for name, value in changes.items():
        *parents, last = name.split("__")
        part = definition
        for parent in parents:
            part = part[parent]
        part[last] = value
    path.write_text(json.dumps(definition))
    return str(path)


def byte_pairs(path: Path, special: tuple[str, ...] = ("<|endoftext|>",)) -> str:
    """Byte-level BPE."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=list(special),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    tokenizer.save(str(path))
    return str(path)


def unigram(path: Path) -> str:
    """Unigram, with an unknown token that is not called [UNK]."""
    pieces = [("<unk>", 0.0), ("</s>", 0.0), ("▁", -2.0), ("▁cat", -3.0), ("a", -4.0), ("t", -4.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.save(str(path))
    return str(path)


def sentencepiece_model(path: Path, kind: str = "unigram") -> str:
    """A .model of SentencePiece, of 19 pieces."""
    sentencepiece = pytest.importorskip("sentencepiece")
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXT * 3),
            model_writer=file,
            model_type=kind,
            vocab_size=19,
            minloglevel=2,
        )
    return str(path)


def ranks(tokens: Iterable[bytes]) -> bytes:
    """What a .tiktoken has of tokens in the order of their ranks."""
    return b"".join(b"%s %d\n" % (base64.b64encode(t), rank) for rank, t in enumerate(tokens))
