"""The tokens that begin and end a document.

vocabulary with "<s>" and "</s>"     -> their ids
BERT's vocabulary, which has none    -> no end, with a warning, as in NeMo Curator; an error for a
                                        start
stores whose notes say 50256         -> 50256, for their readers
"""

import dataclasses
from collections.abc import Sequence

from absl import logging

from bert_data.tokens.store_notes import read_notes
from bert_data.tokens.tokenizer_file import Tokenizer

USUAL_ENDS = (
    "<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>", "<|eos|>", "[EOS]", "[EOD]", "<eod>",
)  # fmt: skip
USUAL_STARTS = (
    "<s>", "<|begin_of_text|>", "<|startoftext|>", "<bos>", "<|bos|>", "[BOS]", "[BOD]", "<bod>",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class _Mark:
    """What a token does to documents, its flags, and its usual names."""

    verb: str
    flag: str
    token_flag: str
    usual: Sequence[str]


_END = _Mark("end", "append_eod", "eod_token", USUAL_ENDS)
_START = _Mark("begin", "prepend_bos", "bos_token", USUAL_STARTS)


def find_eod(tokenizer: Tokenizer, append_eod: bool, token: str | None = None) -> int | None:
    """Return the id of the token that ends documents, or None if documents have no such token.

    Args:
      tokenizer: has the token.
      append_eod: whether to append a token to each document.
      token: which one; None: the one of `USUAL_ENDS` that the tokenizer has. If it has none,
        nothing is appended, with a warning.

    Raises:
      ValueError: the tokenizer has no such token, or several of the usual ones; or `token` is set
        without `append_eod`.
    """
    eod = _find(tokenizer, append_eod, token, _END)
    if eod is None and append_eod:
        logging.warning(
            "`append_eod` has no effect: the vocabulary has no usual end-of-document token; name"
            " one with `eod_token`"
        )
    return eod


def find_bos(tokenizer: Tokenizer, prepend_bos: bool, token: str | None = None) -> int | None:
    """Return the id of the token that begins documents, or None if documents have no such token.

    For arguments and errors see `find_eod`; a tokenizer without a usual token (`USUAL_STARTS`) is
    an error, too.
    """
    bos = _find(tokenizer, prepend_bos, token, _START)
    if bos is None and prepend_bos:
        raise ValueError(
            "`prepend_bos`: the vocabulary has no usual start-of-document token; name one with"
            " `bos_token`"
        )
    return bos


def _find(tokenizer: Tokenizer, is_set: bool, token: str | None, mark: _Mark) -> int | None:
    """Return the id of a token, or of the only usual one; None if there is none, or no need."""
    if not is_set:
        if token is not None:
            raise ValueError(f"`{mark.token_flag}={token}` needs `{mark.flag}`")
        return None
    ids = tokenizer.ids
    if token is not None:
        if token not in ids:
            raise ValueError(f"`{mark.token_flag}={token}` is not among the {len(ids):,} tokens")
        return ids[token]
    usual = [each for each in mark.usual if each in ids]
    if len(usual) > 1:
        raise ValueError(
            f"several tokens may {mark.verb} documents: {', '.join(usual)}; name one with"
            f" `{mark.token_flag}`"
        )
    if not usual:
        return None
    logging.info("%s (id %d) %ss each document", usual[0], ids[usual[0]], mark.verb)
    return ids[usual[0]]


def noted_eod(prefixes: Sequence[str]) -> int | None:
    """Return the id of the token that ends the documents of token stores, from their notes.

    Args:
      prefixes: of the stores, which are assumed to have one vocabulary.

    Returns:
      The id that all their notes have; None if a store has no notes, or no such token.

    Raises:
      ValueError: two stores have different ones.
    """
    eod_ids = {}
    for prefix in prefixes:
        notes = read_notes(prefix)
        eod_ids[prefix] = None if notes is None else notes.settings.get("eod_id")
    known = {prefix: eod for prefix, eod in eod_ids.items() if eod is not None}
    if len(set(known.values())) > 1:
        ends = ", ".join(f"{eod} in {prefix}" for prefix, eod in known.items())
        raise ValueError(f"documents end with different tokens: {ends}")
    return next(iter(known.values())) if known and len(known) == len(eod_ids) else None
