"""The tokens that begin and end a document.

vocabulary with "<s>" and "</s>"     -> their ids
BERT's vocabulary, which has none    -> no end, with a warning, as in NeMo Curator; an error for a
                                        start
stores whose notes say 50256         -> 50256, for their readers
"""

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
    if not append_eod:
        if token is not None:
            raise ValueError(f"--eod_token={token} needs --append_eod")
        return None
    eod = _find(tokenizer, "eod_token", token, "end", USUAL_ENDS)
    if eod is None:
        logging.warning(
            "--append_eod has no effect: the vocabulary has no usual end-of-document token; name"
            " one with --eod_token"
        )
    return eod


def find_bos(tokenizer: Tokenizer, prepend_bos: bool, token: str | None = None) -> int | None:
    """Return the id of the token that begins documents, or None if documents have no such token.

    Args:
      tokenizer: has the token.
      prepend_bos: whether to begin each document with a token.
      token: which one; None: the one of `USUAL_STARTS` that the tokenizer has.

    Raises:
      ValueError: the tokenizer has no such token, or several of the usual ones; or `token` is set
        without `prepend_bos`.
    """
    if not prepend_bos:
        if token is not None:
            raise ValueError(f"--bos_token={token} needs --prepend_bos")
        return None
    bos = _find(tokenizer, "bos_token", token, "begin", USUAL_STARTS)
    if bos is None:
        raise ValueError(
            "--prepend_bos: the vocabulary has no usual start-of-document token; name one with"
            " --bos_token"
        )
    return bos


def _find(
    tokenizer: Tokenizer, flag: str, token: str | None, verb: str, usual_tokens: Sequence[str]
) -> int | None:
    """Return the id of a token, or of the only usual one; None if there is none of these."""
    ids = tokenizer.ids
    if token is not None:
        if token not in ids:
            raise ValueError(f"--{flag}={token} is not among the {len(ids):,} tokens")
        return ids[token]
    usual = [each for each in usual_tokens if each in ids]
    if len(usual) > 1:
        raise ValueError(
            f"several tokens may {verb} documents: {', '.join(usual)}; name one with --{flag}"
        )
    if not usual:
        return None
    logging.info("%s (id %d) %ss each document", usual[0], ids[usual[0]], verb)
    return ids[usual[0]]


def noted_eod(prefixes: Sequence[str]) -> int | None:
    """Return the id of the token that ends the documents of token stores, from their notes.

    Args:
      prefixes: of the stores, which are assumed to have one vocabulary.

    Returns:
      The id that all their notes have; None if a store has no notes, or no such token.

    Raises:
      OSError, CorruptDataError: notes cannot be read.
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
