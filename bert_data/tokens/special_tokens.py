"""Which of a file's tokens play the parts of [CLS], [SEP], [MASK], [PAD] and [UNK].

    {"post_processor": {"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 2]}, ...}
      -> {"cls": "<s>", "sep": "</s>", "mask": "<mask>", "pad": "<pad>", "unk": "<unk>"}

What the user names counts first, then what the file says, then the usual names.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from bert_data.tokens.tokenizer_json import parts

ROLES = ("cls", "sep", "mask", "pad", "unk")
NEEDED = ("cls", "sep", "mask")
"""What instances cannot do without."""

_USUAL = {
    "cls": ("[CLS]", "<cls>", "<s>", "<|cls|>"),
    "sep": ("[SEP]", "<sep>", "</s>", "<|sep|>"),
    "mask": ("[MASK]", "<mask>", "<|mask|>"),
    "pad": ("[PAD]", "<pad>", "<|padding|>", "<|pad|>"),
    "unk": ("[UNK]", "<unk>"),
}


def parse_special_tokens(entries: list[str]) -> dict[str, str]:
    """Return the tokens of roles from entries such as "mask=<mask>".

    Raises:
      ValueError: an entry is not of this form, or a role comes twice.
    """
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
    """Return the token of each role that has one.

    Args:
      definition: a tokenizer.json in its current form; {} for other files.
      ids: of the file's tokens.
      named: role -> token, by the user.
      unk_token: that the model has.

    Raises:
      ValueError: a named token is not in the file; the message lacks the file.
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
