"""The flags that name the file of a tokenizer, and what runs it."""

import functools

from absl import flags

from bert_data.tokens.backends import AUTO, NAMES

GROUP = "the tokenizer"  # the title of these flags in --help


@functools.cache
def define_tokenizer_flags() -> None:
    """Define the flags on the first call."""
    flags.DEFINE_string(
        "tokenizer_file",
        None,
        "A tokenizer in place of --vocab_file: a tokenizer.json (BPE, Unigram, WordPiece), a .model"
        " of SentencePiece, or .tiktoken ranks. The file itself decides whether text is"
        " lower-cased.",
    )
    flags.DEFINE_enum(
        "tokenizer_backend",
        AUTO,
        [AUTO, *NAMES],
        "What runs --tokenizer_file. auto: the fastest library that is known to be exact for it; a"
        " line of the log says which, and why no faster one. The output is the same, that of"
        " tokenizers (or of sentencepiece, for a .model).",
    )


def one_vocabulary(vocab_file: str | None, tokenizer_file: str | None) -> str | None:
    """Return the one of two flags that is set, for what reads a file of either kind.

    Raises:
      ValueError: both are set.
    """
    if vocab_file and tokenizer_file:
        raise ValueError("--vocab_file and --tokenizer_file are both set; choose one")
    return vocab_file or tokenizer_file
