"""The settings that name a tokenizer, and the text that it turns into tokens."""

import dataclasses
from typing import Annotated

from bert_data.settings import AUTO, OneOf
from bert_data.text.text_config import TextConfig
from bert_data.work import THIS_MACHINE, Engine

WORDPIECE, FASTOKENS = "wordpiece", "fastokens"
SENTENCEPIECE, TOKENIZERS = "sentencepiece", "tokenizers"
"""WORDPIECE is our own tokenizer; the others are named like their libraries."""

BACKENDS = (AUTO, WORDPIECE, FASTOKENS, SENTENCEPIECE, TOKENIZERS)

PIECES, SPACES, JIEBA = WORDS = ("pieces", "spaces", "jieba")
"""What a word of the text may be, see `segmenting`."""

TOKEN, TEXT, REFUSE = IN_TEXT = ("token", "text", "refuse")
"""The choices of what the characters of a special token in a text become."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenizerConfig:
    """A tokenizer.

    Attributes:
      vocab_file: WordPiece vocabulary, one token per line. Either this or `tokenizer_file` is
        required.
      tokenizer_file: a tokenizer in place of `vocab_file`: a tokenizer.json (BPE, Unigram,
        WordPiece) or a Hugging Face folder that contains it, a .model of SentencePiece, or
        .tiktoken ranks. The file itself decides whether text is lower-cased.
      do_lower_case: with `vocab_file`: lower-case the text and drop accents. Not set: true, as in
        Google's programs, but refused if the vocabulary's tokens, a tokenizer_config.json beside it
        or the name of a model that Google released say that text keeps its case.
      special_tokens_in_text: how to read the characters of a special token, such as [SEP], in a
        text. token: as that token, like the library of `tokenizer_file`. text: as ordinary tokens.
        refuse: as an error that names the place. With `vocab_file` they are always text, as in
        Google's program.
      tokenizer_backend: what runs `tokenizer_file`. auto: the fastest library known to be exact for
        the file, or for little text the one that loads fastest; the log says which, and why no
        faster one. The output is always that of tokenizers (of sentencepiece for a .model).
      words: what counts as a word in whole-word masks, n-grams, spans and row splits. pieces: a
        token and the ## pieces after it, as in Google's program; each Chinese or Japanese character
        is then a word. spaces: what stands between spaces, in any script, for text that is
        segmented already. jieba: the words that rjieba finds in Chinese text (extra jieba). The
        tokens are the same with all three. A token store keeps its words for records and recipes;
        other programs cannot read such a store.
    """

    vocab_file: str | None = None
    tokenizer_file: str | None = None
    do_lower_case: bool | None = None
    special_tokens_in_text: Annotated[str, OneOf(IN_TEXT)] = TOKEN
    tokenizer_backend: Annotated[str, OneOf(BACKENDS)] = AUTO
    words: Annotated[str, OneOf(WORDS)] = PIECES

    def noted(self) -> dict[str, str]:
        """Return what manifests and notes say of special tokens and words: nothing by default."""
        return {
            name: getattr(self, name)
            for name in ("special_tokens_in_text", "words")
            if getattr(self, name) != getattr(TokenizerConfig, name)
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenizingConfig(TokenizerConfig):
    """Text to tokenize.

    Attributes:
      input_file: text: files or patterns, separated by commas; .gz, .zst, .bz2 and .xz are
        decompressed.
      text: how the input is read.
      engine: what runs the tasks.
      overwrite: replace existing outputs, and those of another number of partitions.
    """

    input_file: str
    text: TextConfig = TextConfig()  # noqa: RUF009 (frozen)
    engine: Engine = THIS_MACHINE
    overwrite: bool = False
