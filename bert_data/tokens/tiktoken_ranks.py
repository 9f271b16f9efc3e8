r"""Turns the ranks of a .tiktoken file into a tokenizer.json.

    cl100k_base.tiktoken   b"IQ== 0\nIg== 1\n..."  ->  {"model": {"type": "BPE", "vocab": ...}, ...}

The file has the bytes of each token and its rank, which is its id. How text is split and which
special tokens there are is known by the name of the encoding, which the name of the file must hold.
A token's merge is found by merging its bytes until two parts are left.
"""

import base64
import binascii
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bert_data.tokens.word_bits import byte_letters

_LETTERS_OF_GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORD_OF_O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
)
GPT4 = rf"{_LETTERS_OF_GPT4}\p{{N}}{{1,3}}{_REST}"
"""Of cl100k and Llama 3."""
QWEN = rf"{_LETTERS_OF_GPT4}\p{{N}}{_REST}"
O200K = rf"{_WORD_OF_O200K}\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"

_LINE = re.compile(rb"[A-Za-z0-9+/]+=* [0-9]{1,8}\r?(?:\n|\Z)")
_NO_RANK = 10**8
_END = "<|endoftext|>"
_CL100K = {
    _END: 100257,
    "<|fim_prefix|>": 100258,
    "<|fim_middle|>": 100259,
    "<|fim_suffix|>": 100260,
    "<|endofprompt|>": 100276,
}
_ENCODINGS: dict[str, tuple[str | None, Mapping[str, int]]] = {  # None: ByteLevel's own pattern
    "r50k_base": (None, {_END: 50256}),
    "p50k_base": (None, {_END: 50256}),
    "cl100k_base": (GPT4, _CL100K),
    "o200k_base": (O200K, {_END: 199999, "<|endofprompt|>": 200018}),
    "qwen": (QWEN, {_END: 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}),
}


def are_ranks(content: bytes) -> bool:
    """Whether a file begins like one of ranks."""
    return _LINE.match(content) is not None


def ranks_to_json(path: str, content: bytes) -> str:
    """Return the text of the equivalent tokenizer.json."""
    name = os.path.basename(path)
    encoding = next((each for each in _ENCODINGS if each in name), None)
    if encoding is None:
        raise ValueError(
            f"{path} has only ranks; how text is split is known from the name of the file, which"
            f" must contain one of {', '.join(_ENCODINGS)}"
        )
    pattern, special = _ENCODINGS[encoding]
    ranks = _parse(path, content)
    taken = {*ranks.values()}
    for token, number in special.items():
        if number in taken:
            raise ValueError(f"{path} has the rank {number}, which is the id of {token}")
    letters = byte_letters()

    def spell(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    model = {
        "type": "BPE",
        "ignore_merges": True,
        "vocab": {spell(token): rank for token, rank in ranks.items()} | dict(special),
        "merges": [[spell(part) for part in parts] for parts in _merges(ranks) if len(parts) == 2],
    }
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [
        {"id": number, "content": token, **plain, "special": True}
        for token, number in special.items()
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    pre_tokenizer: dict[str, Any] = {**byte_level, "use_regex": True}
    if pattern is not None:
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}
        splits = [{**split, "invert": False}, {**byte_level, "use_regex": False}]
        pre_tokenizer = {"type": "Sequence", "pretokenizers": splits}
    definition: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": added,
        "pre_tokenizer": pre_tokenizer,
        "decoder": {**byte_level, "use_regex": True},
        "model": model,
    }
    return json.dumps(definition)


def _parse(path: str, content: bytes) -> dict[bytes, int]:
    ranks = {}
    for number, line in enumerate(content.splitlines(), 1):
        if not line:
            continue
        if not _LINE.fullmatch(line):
            raise ValueError(f"{path}:{number}: not a token in base64 and its rank")
        token, rank = line.split()
        try:
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except binascii.Error as error:
            raise ValueError(f"{path}:{number}: not base64 ({error})") from None
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing or len(set(ranks.values())) < len(ranks):
        reason = f"no token for the byte {missing[0]}" if missing else "a rank that occurs twice"
        raise ValueError(f"{path} has {reason}")
    return dict(sorted(ranks.items(), key=lambda item: item[1]))


def _merges(ranks: Mapping[bytes, int]) -> Iterator[list[bytes]]:
    """Yield the parts that merging the bytes of each token leads to, by the lowest rank first.

    There are two, which become the token in every text where it is merged at all, as nothing is
    merged across its ends before; or more if nothing becomes it, as of a whole word.
    """
    for token in ranks:
        parts = [token[i : i + 1] for i in range(len(token))]
        while len(parts) > 2:
            pairs = [ranks.get(parts[i] + parts[i + 1], _NO_RANK) for i in range(len(parts) - 1)]
            lowest = min(pairs)
            if lowest == _NO_RANK:
                break
            i = pairs.index(lowest)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        yield parts
