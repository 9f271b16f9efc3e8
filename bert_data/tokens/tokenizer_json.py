"""What a tokenizer.json defines: whether it is WordPiece with BERT's rules, and its tokens.

{"model": {"type": "WordPiece", "vocab": {"[PAD]": 0, ...}}, "normalizer": ...}
  -> difference_from_bert: "", or why not      tokens_by_id: ["[PAD]", ...]
"""

import hashlib
from collections.abc import Iterable
from typing import Any

from bert_data.errors import CorruptDataError
from bert_data.storage import parse_json, read_bytes
from bert_data.tokens.vocabulary import REQUIRED, SPECIAL
from bert_data.tokens.vocabulary_file import CONTINUATION

_MAX_INT32 = 2**31 - 1


def parse_definition(path: str, content: bytes) -> dict[str, Any]:
    """Parse the content of a tokenizer.json.

    Raises:
      ValueError: it is not a tokenizer.json.
    """
    try:
        definition = parse_json(content, path)
    except CorruptDataError as error:
        raise ValueError(f"{path} is not a tokenizer.json: {error.reason}") from None
    model = definition.get("model") if isinstance(definition, dict) else None
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict | list):
        raise ValueError(f"{path} is not a tokenizer.json: it has no model with a vocab")
    return definition


def difference_from_bert(definition: dict[str, Any]) -> str:
    """Return why a definition is not WordPiece with BERT's rules, or "" if it is.

    What has other types than a tokenizer.json has them differs; the library refuses it.
    """
    model = definition["model"]
    if model.get("type") != "WordPiece":
        return "not WordPiece"
    if model.get("continuing_subword_prefix") != CONTINUATION or model.get("unk_token") != "[UNK]":
        return "marks other than ## and [UNK]"
    letters = model.get("max_input_chars_per_word")
    if type(letters) is not int or not 1 <= letters <= _MAX_INT32:
        return "no max_input_chars_per_word"
    normalizer = _object(definition, "normalizer")
    lower = normalizer.get("lowercase")
    if (
        normalizer.get("type") != "BertNormalizer"
        or not isinstance(lower, bool)
        or not (normalizer.get("clean_text") and normalizer.get("handle_chinese_chars"))
        or normalizer.get("strip_accents") not in (None, lower)
    ):
        return "a normalizer other than BERT's"
    if _object(definition, "pre_tokenizer").get("type") != "BertPreTokenizer":
        return "a pre_tokenizer other than BERT's"
    ids = model["vocab"]
    is_plain = isinstance(ids, dict) and all(type(number) is int for number in ids.values())
    if not is_plain or sorted(ids.values()) != list(range(len(ids))):
        return "ids with gaps"
    missing = [token for token in REQUIRED if token not in ids]
    if missing:
        return f"no {missing[0]}"
    added = definition.get("added_tokens") or []
    for token in added if isinstance(added, list) else [added]:
        content = token.get("content") if isinstance(token, dict) else None
        known = content in SPECIAL and ids.get(content) == token.get("id")
        if not (known and token.get("special")):
            return f"added token {content!r}"
    return ""


def _object(definition: dict[str, Any], name: str) -> dict[str, Any]:
    value = definition.get(name)
    return value if isinstance(value, dict) else {}


def tokens_by_id(definition: dict[str, Any]) -> list[str]:
    """Return the tokens of a definition with BERT's rules, in the order of their ids."""
    ids = definition["model"]["vocab"]
    return sorted(ids, key=lambda token: ids[token])


def digest_of_lines(tokens: Iterable[str]) -> str:
    """Return the sha256 of the vocabulary file that has these tokens, one per line."""
    return hashlib.sha256("".join(f"{token}\n" for token in tokens).encode()).hexdigest()


def vocabulary_sha256(path: str) -> str:
    """Return the digest by which manifests identify a vocabulary.

    It is the digest of the file's bytes or, for a tokenizer.json with BERT's rules, that of the
    equivalent vocabulary file.

    Args:
      path: of a vocabulary, or a tokenizer.json.
    """
    content = read_bytes(path)
    definition = find_definition(path, content)
    if definition is not None and not difference_from_bert(definition):
        return digest_of_lines(tokens_by_id(definition))
    return hashlib.sha256(content).hexdigest()


def find_definition(path: str, content: bytes) -> dict[str, Any] | None:
    """Return what a file defines if it is a tokenizer.json; None if it is a vocabulary."""
    if content.lstrip()[:1] != b"{":
        return None
    try:
        return parse_definition(path, content)
    except ValueError:  # a vocabulary whose first token is "{"
        return None
