"""Definitions in a tokenizer.json: its rules, its tokens, and the roles of special tokens.

{"model": {"type": "WordPiece", "vocab": {"[PAD]": 0, ...}}, "normalizer": ...}
  -> difference_from_bert: "", or why not      tokens_by_id: ["[PAD]", ...]
{"post_processor": {"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 2]}, ...}
  -> find_special_tokens: {"cls": "<s>", "sep": "</s>", "mask": "<mask>", ...}
"""

import errno
import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from bert_data.errors import CorruptDataError
from bert_data.storage import exists, is_file, is_folder, parse_json, read_bytes
from bert_data.tokens.definition import CONTINUATION
from bert_data.tokens.vocabulary_config import MAX_VOCAB_SIZE, REQUIRED_TOKENS, SPECIAL

_NAME = "tokenizer.json"
_MAX_INT32 = 2**31 - 1

ROLES = ("cls", "sep", "mask", "pad", "unk")
NEEDED = ("cls", "sep", "mask")
"""The roles that instances need."""

_USUAL = {
    "cls": ("[CLS]", "<cls>", "<s>", "<|cls|>"),
    "sep": ("[SEP]", "<sep>", "</s>", "<|sep|>"),
    "mask": ("[MASK]", "<mask>", "<|mask|>"),
    "pad": ("[PAD]", "<pad>", "<|padding|>", "<|pad|>"),
    "unk": ("[UNK]", "<unk>"),
}


_IDENTIFIER = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_FILE_ENDINGS = (".json", ".model", ".tiktoken", ".txt", ".vocab")


def tokenizer_path(path: str) -> str:
    """Return the file of a tokenizer: a folder of Hugging Face stands for its tokenizer.json."""
    if is_file(path):
        return path
    inner = os.path.join(path, _NAME)
    if is_file(inner):
        return inner
    if is_folder(path):
        vocabulary = os.path.join(path, "vocab.txt")
        hint = f"; it has `vocab_file={vocabulary}`" if is_file(vocabulary) else ""
        raise ValueError(f"{path} is a folder without a {_NAME}{hint}")
    refuse_identifier(path, _NAME)
    return path


def refuse_identifier(path: str, name: str) -> None:
    """Refuse a path that is no file here, but may name a model of Hugging Face that has one."""
    if exists(path) or path.endswith(_FILE_ENDINGS) or not _IDENTIFIER.fullmatch(path):
        return
    folder = path.rpartition("/")[2]
    reason = (
        "no such file or folder; if it is a model of Hugging Face, fetch its file first:"
        f" hf download {path} {name} --local-dir {folder}"
    )
    raise FileNotFoundError(errno.ENOENT, reason, path)


def parse_definition(path: str, content: bytes) -> dict[str, Any]:
    """Parse the content of a tokenizer.json, and refuse one that no library should get."""
    try:
        definition = parse_json(content, path)
    except CorruptDataError as error:
        raise ValueError(f"{path} is not a tokenizer.json: {error.reason}") from None
    model = definition.get("model") if isinstance(definition, dict) else None
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict | list):
        raise ValueError(f"{path} is not a tokenizer.json: it has no model with a vocab")
    vocab, added = model["vocab"], definition.get("added_tokens")
    ids = list(vocab.values()) if isinstance(vocab, dict) else []
    if isinstance(added, list):
        ids += [each.get("id") for each in added if isinstance(each, dict)]
    refuse_large_id(path, (number for number in ids if type(number) is int))
    return definition


def refuse_large_id(path: str, ids: Iterable[int]) -> None:
    """Refuse ids for which libraries would allocate tables, and end the process without memory."""
    largest = max(ids, default=0)
    if largest >= MAX_VOCAB_SIZE:
        allowed = f"it must be below {MAX_VOCAB_SIZE:,}"
        raise ValueError(f"{path} has a token of the id {largest}; {allowed}")


def current_form(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a definition with what files of older forms leave out, or write in another way."""
    model = dict(definition["model"])
    if isinstance(model.get("merges"), list):
        model.setdefault("type", "BPE")
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


def merge_pairs(model: dict[str, Any]) -> list[list[str]]:
    """Return a model's merges as lists of two tokens; older files have "a b"."""
    merges = model.get("merges") or []
    return [each.split(" ") if isinstance(each, str) else each for each in merges]


def hide_tokens(definition: dict[str, Any], tokens: Collection[str]) -> dict[str, Any]:
    """Return a definition in its current form with names for some tokens that no text has.

    All ids stay. Tokens that merges make or take keep their names.
    """
    model = dict(definition["model"])
    merged = {part for pair in merge_pairs(model) for part in (*pair, "".join(pair))}
    names = {
        token: f"{token}\0{hashlib.sha256(token.encode()).hexdigest()}"
        for token in tokens
        if token not in merged
    }
    if isinstance(model["vocab"], list):
        model["vocab"] = [[names.get(piece, piece), score] for piece, score in model["vocab"]]
    else:
        model["vocab"] = {names.get(token, token): n for token, n in model["vocab"].items()}
    if model.get("unk_token") in names:
        model["unk_token"] = names[model["unk_token"]]
    added = [
        {**token, "content": names.get(token["content"], token["content"])}
        for token in definition["added_tokens"]
    ]
    return {**definition, "model": model, "added_tokens": added, "post_processor": None}


def difference_from_bert(definition: dict[str, Any]) -> str:
    """Return why a definition, even of wrong types, is not WordPiece with BERT's rules, or ""."""
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
    missing = [token for token in REQUIRED_TOKENS if token not in ids]
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
    """Return the digest of a vocabulary, or of the one that equals a tokenizer.json."""
    path = tokenizer_path(path)
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
    """Yield a normalizer or pre_tokenizer, or the parts that a Sequence has under a name."""
    if not isinstance(part, dict):
        return
    if part.get("type") != "Sequence":
        yield part
        return
    for each in part.get(name) or []:
        yield from parts(each, name)


def parse_special_tokens(entries: list[str]) -> dict[str, str]:
    """Return the tokens of roles from entries such as "mask=<mask>"."""
    tokens: dict[str, str] = {}
    for entry in entries:
        role, _, token = entry.partition("=")
        if role not in ROLES or not token or role in tokens:
            raise ValueError(
                f"`special_tokens` has {entry!r}; it takes ROLE=TOKEN, such as mask=<mask>, once"
                f" for each of {', '.join(ROLES)}"
            )
        tokens[role] = token
    return tokens


def find_special_tokens(
    definition: Mapping[str, Any],
    ids: Mapping[str, int],
    *,
    named: Mapping[str, str] | None = None,
    unk_token: str | None = None,
) -> dict[str, str]:
    """Return the token of each role that has one: the user's, the file's, or one usually named so.

    Args:
      definition: a tokenizer.json in its current form; {} for other files.
      named: role -> token, by the user.
    """
    named = named or {}
    for role, token in named.items():
        if token not in ids:
            raise ValueError(f"has no token {token!r}, which `special_tokens` names for {role}")
    in_file = {role: token for role, token in _in_file(definition) if token in ids}
    if unk_token is not None and unk_token in ids:
        in_file["unk"] = unk_token
    usual = {
        role: next(token for token in names if token in ids)
        for role, names in _USUAL.items()
        if any(token in ids for token in names)
    }
    return {**usual, **in_file, **named}


def _in_file(definition: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    padding = definition.get("padding")
    if isinstance(padding, dict) and isinstance(padding.get("pad_token"), str):
        yield "pad", padding["pad_token"]
    for processor in parts(definition.get("post_processor"), "processors"):
        if processor.get("type") in ("BertProcessing", "RobertaProcessing"):
            yield "cls", processor["cls"][0]
            yield "sep", processor["sep"][0]
        elif processor.get("type") == "TemplateProcessing":
            yield from _in_template(processor["single"])


def _in_template(template: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield what stands before the text, and what stands after it."""
    is_after = False
    for part in template:
        if "Sequence" in part:
            is_after = True
        else:
            yield "sep" if is_after else "cls", part["SpecialToken"]["id"]
