"""What a tokenizer.json defines: whether it is WordPiece with BERT's rules, and its tokens.

{"model": {"type": "WordPiece", "vocab": {"[PAD]": 0, ...}}, "normalizer": ...}
  -> difference_from_bert: "", or why not      tokens_by_id: ["[PAD]", ...]
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from bert_data.errors import CorruptDataError
from bert_data.storage import parse_json, read_bytes
from bert_data.tokens.vocabulary import REQUIRED, SPECIAL
from bert_data.tokens.vocabulary_file import CONTINUATION, MAX_VOCAB_SIZE

_MAX_INT32 = 2**31 - 1


def parse_definition(path: str, content: bytes) -> dict[str, Any]:
    """Parse the content of a tokenizer.json.

    Raises:
      ValueError: it is not a tokenizer.json, or an id is too large.
    """
    try:
        definition = parse_json(content, path)
    except CorruptDataError as error:
        raise ValueError(f"{path} is not a tokenizer.json: {error.reason}") from None
    model = definition.get("model") if isinstance(definition, dict) else None
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict | list):
        raise ValueError(f"{path} is not a tokenizer.json: it has no model with a vocab")
    _refuse_large_ids(path, model["vocab"], definition.get("added_tokens"))
    return definition


def _refuse_large_ids(path: str, vocab: Any, added: Any) -> None:
    """Refuse ids for which libraries would allocate tables, and end the process without memory."""
    ids = list(vocab.values()) if isinstance(vocab, dict) else []
    if isinstance(added, list):
        ids += [each.get("id") for each in added if isinstance(each, dict)]
    largest = max((number for number in ids if type(number) is int), default=0)
    if largest >= MAX_VOCAB_SIZE:
        allowed = f"it must be below {MAX_VOCAB_SIZE:,}"
        raise ValueError(f"{path} has a token of the id {largest}; {allowed}")


def current_form(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a definition with what files of older forms leave out, or write in another way."""
    model = dict(definition["model"])
    merges = model.get("merges")
    if isinstance(merges, list):
        model.setdefault("type", "BPE")
        model["merges"] = [m.split(" ") if isinstance(m, str) else m for m in merges]
        model.setdefault("ignore_merges", False)
    added = [
        {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, **token}
        for token in definition.get("added_tokens") or []
    ]
    sections = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor"))
    return {**sections, **definition, "model": model, "added_tokens": added}


def all_ids(definition: dict[str, Any]) -> dict[str, int]:
    """Return token -> id of all tokens of a definition, including added ones."""
    vocab = definition["model"]["vocab"]
    if isinstance(vocab, list):
        vocab = {piece: number for number, (piece, _) in enumerate(vocab)}
    return {**vocab, **{token["content"]: token["id"] for token in definition["added_tokens"]}}


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
        if any(token.get(rule) for rule in ("single_word", "lstrip", "rstrip", "normalized")):
            return f"rules of its own for the added token {content!r}"
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


def parts(part: Any, name: str) -> Iterator[dict[str, Any]]:
    """Yield a normalizer or pre_tokenizer, or the parts of a Sequence of them.

    Args:
      name: under which a Sequence has its parts.
    """
    if not isinstance(part, dict):
        return
    if part.get("type") != "Sequence":
        yield part
        return
    for each in part.get(name) or []:
        yield from parts(each, name)


def why_not_plain_bpe(model: dict[str, Any]) -> str:
    """Return why a model is not BPE whose pieces carry no marks, or ""."""
    if model.get("type") != "BPE":
        return f"its model is {model.get('type')}"
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        return "it marks parts of words"
    return ""
