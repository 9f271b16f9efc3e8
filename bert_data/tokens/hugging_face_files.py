"""Write a vocabulary as the files that Hugging Face's tokenizers and transformers load.

`PreTrainedTokenizerFast(tokenizer_file="tokenizer.json")` takes rules and padding from the first
one; only tokenizer_config.json tells transformers which token is [MASK], [CLS] and so on, so
`from_pretrained(folder)` needs both.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bert_data.tokens.definition import CONTINUATION
from bert_data.tokens.vocabulary_config import PADDING, SPECIAL
from bert_data.tokens.wordpiece import MAX_LETTERS_OF_WORD

TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
MODEL_INPUTS = ("input_ids", "token_type_ids", "attention_mask")
"""The arrays of transformers' tokenizers; without segment ids, pairs would look like one text."""

BERT_ROLES = {
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
    "pad_token": PADDING,
    "sep_token": "[SEP]",
    "unk_token": "[UNK]",
}
"""The special tokens of BERT, by the names that transformers has for them."""


def tokenizer_json(
    tokens: Sequence[str], *, do_lower_case: bool, max_word_letters: int = MAX_LETTERS_OF_WORD
) -> str:
    """Return a vocabulary as a tokenizer.json of the `tokenizers` library, with BERT's rules."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    ids = {token: number for number, token in enumerate(tokens)}
    model = models.WordPiece(
        vocab=ids,
        unk_token="[UNK]",
        max_input_chars_per_word=max_word_letters,
        continuing_subword_prefix=CONTINUATION,
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=do_lower_case)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"])
    )
    tokenizer.decoder = decoders.WordPiece(prefix=CONTINUATION)
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.enable_padding(pad_id=ids[PADDING], pad_token=PADDING)
    return tokenizer.to_str(pretty=True) + "\n"


def tokenizer_config(
    *, do_lower_case: bool | None, model_max_length: int | None = None
) -> dict[str, Any]:
    """Return the contents of a tokenizer_config.json."""
    length = {} if model_max_length is None else {"model_max_length": model_max_length}
    return {
        **BERT_ROLES,
        **length,
        "model_input_names": list(MODEL_INPUTS),
        "clean_up_tokenization_spaces": True,
        "do_lower_case": do_lower_case,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        # BertTokenizer would build rules of its own: longer words than 100 letters are [UNK].
        "tokenizer_class": "PreTrainedTokenizerFast",
    }


def to_json(values: Mapping[str, Any]) -> str:
    """Return values as the text of a file."""
    return json.dumps(values, indent=2, sort_keys=True) + "\n"
