"""Text to WordPiece tokens: google-research/bert's module `tokenization`, by its names.

    import tokenization
    tokenizer = tokenization.FullTokenizer("vocab.txt", do_lower_case=True)
    tokenizer.convert_tokens_to_ids(tokenizer.tokenize("unaffable"))

What the names mean is defined in `bert_data.tokens.definition`, so that nothing in bert_data
depends on which module `import tokenization` finds. A program may put classes of its own, or a
`load_vocab`, in place of these; `FullTokenizer` takes what is here.
"""

import os

from bert_data.cli.originals import Originals
from bert_data.tokens import definition
from bert_data.tokens.definition import (
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

_CALLED = Originals({"load_vocab": definition.load_vocab})
_NOT_CALLED = Originals(
    {name: getattr(definition, name.removeprefix("_")) for name in (
        "convert_by_vocab", "convert_ids_to_tokens", "convert_to_unicode", "convert_tokens_to_ids",
        "printable_text", "validate_case_matches_checkpoint", "whitespace_tokenize",
        "_is_control", "_is_punctuation", "_is_whitespace",
    )}
)  # fmt: skip


@_CALLED.keep
class BasicTokenizer(definition.BasicTokenizer):
    """Text to words; a method that is put in place of one of its own changes only this class."""


@_CALLED.keep
class WordpieceTokenizer(definition.WordpieceTokenizer):
    """Words to pieces; a method that is put in place of one of its own changes only this class."""


@_CALLED.keep
class FullTokenizer(definition.FullTokenizer):
    """Text to word pieces, and word pieces to ids and back, by the classes of this module."""

    def __init__(self, vocab_file: str | os.PathLike[str], do_lower_case: bool = True) -> None:
        self.vocab = load_vocab(vocab_file)
        self.inv_vocab = {number: token for token, number in self.vocab.items()}
        self.basic_tokenizer = BasicTokenizer(do_lower_case=do_lower_case)
        self.wordpiece_tokenizer = WordpieceTokenizer(vocab=self.vocab)


def replaced_names() -> list[str]:
    """Return the names of what a program has put here, in place of what is called.

    Raises:
      ValueError: it has put a function where none of the classes calls it.
    """
    for name in _NOT_CALLED.replaced_in(globals()):
        raise ValueError(
            f"tokenization.{name} is not the one that it was, and no tokenizer calls it; put"
            " classes in place of FullTokenizer, BasicTokenizer or WordpieceTokenizer"
        )
    return [f"tokenization.{name}" for name in _CALLED.replaced_in(globals())]
