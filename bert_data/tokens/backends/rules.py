r"""What a tokenizer.json asks for, and which of it has been found exact in which backend.

    {"pre_tokenizer": {"type": "Metaspace"}, ...}
      --not_fastokens-->  "its pre_tokenizer is Metaspace"      --not_gigatoken-->  ""

Found exact means: the tests compare the backend with `tokenizers` on text, on every kind of
character, and on random mixes. What is not listed here runs in `tokenizers`.
"""

from collections.abc import Iterator
from typing import Any

_LETTERS_OF_GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORD_OF_O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
)
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT4 = rf"{_LETTERS_OF_GPT4}\p{{N}}{{1,3}}{_REST}"
"""Of cl100k and Llama 3."""
QWEN = rf"{_LETTERS_OF_GPT4}\p{{N}}{_REST}"
O200K = rf"{_WORD_OF_O200K}\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_DEEPSEEK = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"""
    "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|"
    "\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)
_PATTERNS = frozenset({GPT2, GPT4, QWEN, O200K, *_DEEPSEEK})
_NORMALIZERS = ("NFC", "Lowercase")


def not_fastokens(definition: dict[str, Any]) -> str:
    """Return why fastokens is not known to be exact for a definition; "" if it is."""
    reason = _not_bpe(definition["model"])
    if reason:
        return reason
    if definition["model"].get("byte_fallback"):
        return "it falls back to bytes"
    for normalizer in parts(definition.get("normalizer"), "normalizers"):
        if normalizer.get("type") not in _NORMALIZERS:
            return f"its normalizer is {normalizer.get('type')}"
    splits = [*parts(definition.get("pre_tokenizer"), "pretokenizers")]
    if not splits or splits[-1].get("type") != "ByteLevel":
        return f"its pre_tokenizer is {splits[-1].get('type') if splits else None}"
    for split in splits[:-1]:
        kind, pattern = split.get("type"), split.get("pattern")
        if kind == "Split" and isinstance(pattern, dict):
            if pattern.get("Regex") not in _PATTERNS:
                return "its pre_tokenizer splits by a pattern of its own"
        elif kind != "Digits":
            return f"its pre_tokenizer has {kind}"
    return ""


def not_gigatoken(definition: dict[str, Any]) -> str:
    """Return why gigatoken is not known to be exact for a definition; "" if it is."""
    reason = _not_bpe(definition["model"])
    if reason:
        return reason
    if not definition["model"].get("byte_fallback"):
        return "its letters are those of another version of Unicode"
    for token in definition["added_tokens"]:
        if token["single_word"] or (token["normalized"] and not token["special"]):
            return f"its added token {token['content']!r} is not found in all places"
    splits = [*parts(definition.get("pre_tokenizer"), "pretokenizers")]
    if [split.get("type") for split in splits] not in ([], ["Metaspace"]):
        return f"its pre_tokenizer is {definition['pre_tokenizer'].get('type')}"
    for normalizer in parts(definition.get("normalizer"), "normalizers"):
        is_space = normalizer.get("pattern") == {"String": " "}
        if normalizer.get("type") != "Prepend" and not is_space:
            return f"its normalizer is {normalizer.get('type')}"
    return ""


def _not_bpe(model: dict[str, Any]) -> str:
    if model.get("type") != "BPE":
        return f"its model is {model.get('type')}"
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        return "it marks parts of words"
    return ""


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
