"""Text to WordPiece tokens: google-research/bert's module `tokenization`, by its names.

    import tokenization
    tokenizer = tokenization.FullTokenizer("vocab.txt", do_lower_case=True)
    tokenizer.convert_tokens_to_ids(tokenizer.tokenize("unaffable"))

What the names mean is defined in `bert_data.tokens.definition`, so that nothing in bert_data
depends on which module `import tokenization` finds.
"""

from bert_data.tokens.definition import (
    BasicTokenizer,
    FullTokenizer,
    WordpieceTokenizer,
    convert_by_vocab,
    convert_ids_to_tokens,
    convert_to_unicode,
    convert_tokens_to_ids,
    is_control,
    is_punctuation,
    is_whitespace,
    load_vocab,
    printable_text,
    validate_case_matches_checkpoint,
    whitespace_tokenize,
)

__all__ = [
    "BasicTokenizer",
    "FullTokenizer",
    "WordpieceTokenizer",
    "convert_by_vocab",
    "convert_ids_to_tokens",
    "convert_to_unicode",
    "convert_tokens_to_ids",
    "load_vocab",
    "printable_text",
    "validate_case_matches_checkpoint",
    "whitespace_tokenize",
]

_is_control = is_control
_is_punctuation = is_punctuation
_is_whitespace = is_whitespace
