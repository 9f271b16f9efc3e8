"""The form of a token store: what its settings mean with a tokenizer and a format of text."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from absl import logging

from bert_data.text.formats import TextFormat
from bert_data.text.text_config import DOCUMENT, TextConfig
from bert_data.tokens.store import DROP, StoreShape, token_dtype
from bert_data.tokens.store_config import CURATOR, MEGATRON, USUAL_ENDS, StoreSettings
from bert_data.tokens.store_files import StoreNotes
from bert_data.tokens.tokenizer_file import Tokenizer

_USUAL_STARTS = (
    "<s>", "<|begin_of_text|>", "<|startoftext|>", "<bos>", "<|bos|>", "[BOS]", "[BOD]", "<bod>",
)  # fmt: skip
_MARKS = {
    "end": ("append_eod", "eod_token", USUAL_ENDS),
    "start": ("prepend_bos", "bos_token", _USUAL_STARTS),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreForm:
    """The form of a store's files.

    Attributes:
      shape: of the sequences.
      dtype: of the ids.
      description: the notes of a store of this form, without those of a text.
    """

    shape: StoreShape
    dtype: np.dtype
    description: StoreNotes

    @classmethod
    def of(
        cls,
        settings: StoreSettings,
        tokenizer: Tokenizer,
        text: TextConfig,
        text_format: TextFormat,
    ) -> Self:
        """Return the form that stores have of text that is read in some way."""
        if settings.store_rules == CURATOR and settings.level != DOCUMENT:
            raise ValueError(
                f"level is {settings.level!r}, but NeMo Curator's stores are of documents;"
                f" `store_rules={MEGATRON}` has stores of sentences, too"
            )
        shape = StoreShape(
            level=settings.level,
            eod_id=_find_mark(tokenizer, settings, "end"),
            bos_id=_find_mark(tokenizer, settings, "start"),
            empty_documents=DROP if text_format.runs_on else settings.store_rules,
        )
        dtype = token_dtype(tokenizer.num_ids, settings.store_rules)
        noted = {
            **shape.settings(),
            "dtype": dtype.name,
            "id_limit": tokenizer.id_limit,
            "do_lower_case": tokenizer.do_lower_case,
            "max_word_letters": tokenizer.max_word_letters,
            **text.settings(),
            **settings.noted(),
            "input_format": text_format.name,
        }
        description = StoreNotes(
            vocabulary=tokenizer.note, settings=noted, inputs=(), tokenizer=tokenizer.ran_by
        )
        return cls(shape=shape, dtype=dtype, description=description)

    def notes(
        self, inputs: Sequence[Mapping[str, Any]], provenance: Mapping[str, str]
    ) -> StoreNotes:
        """Return the notes of a store of some text, before it is made."""
        return dataclasses.replace(self.description, inputs=inputs, provenance=provenance)


def _find_mark(tokenizer: Tokenizer, config: StoreSettings, place: str) -> int | None:
    """Return the id of the token at a place of documents, which is set or usual; None: of none."""
    flag, token_flag, names = _MARKS[place]
    ids, token = tokenizer.ids, getattr(config, token_flag)
    if not getattr(config, flag):
        if token is not None:
            raise ValueError(f"`{token_flag}={token}` needs `{flag}`")
        return None
    if token is not None:
        if token not in ids:
            raise ValueError(f"`{token_flag}={token}` is not among the {len(ids):,} tokens")
        return ids[token]
    usual = [each for each in names if each in ids]
    if len(usual) > 1:
        raise ValueError(
            f"several tokens may {place} documents: {', '.join(usual)}; name one with"
            f" `{token_flag}`"
        )
    if not usual:
        raise ValueError(
            f"`{flag}`: the vocabulary has no usual {place}-of-document token; name one with"
            f" `{token_flag}`"
        )
    logging.info("%s (id %d) %ss each document", usual[0], ids[usual[0]], place)
    return ids[usual[0]]
