"""The form of a token store: what its settings mean with a tokenizer and a format of text."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from bert_data.text.formats import TextFormat
from bert_data.text.text_config import DOCUMENT, TextConfig
from bert_data.tokens.store import CURATOR, DROP, MEGATRON, StoreShape, token_dtype
from bert_data.tokens.store_config import StoreSettings, find_bos, find_eod
from bert_data.tokens.store_files import StoreNotes
from bert_data.tokens.tokenizer_file import Tokenizer


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
            eod_id=find_eod(tokenizer, settings),
            bos_id=find_bos(tokenizer, settings),
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
            vocabulary=tokenizer.note,
            settings=noted,
            inputs=(),
            tokenizer=tokenizer.ran_by,
        )
        return cls(shape=shape, dtype=dtype, description=description)

    def notes(
        self, inputs: Sequence[Mapping[str, Any]], provenance: Mapping[str, str]
    ) -> StoreNotes:
        """Return the notes of a store of some text, before it is made."""
        return dataclasses.replace(self.description, inputs=inputs, provenance=provenance)
