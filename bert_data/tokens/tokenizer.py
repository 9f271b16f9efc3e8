"""The fast tokenizer: texts or blocks of lines to ids, equal to those of its rules for every text.

    tokenizer = FastTokenizer(load_vocabulary("vocab.txt"))
    tokenizer.encode("The cat sat.")                     [1996, 4937, 2938, 1012]
    tokenizer.encode_batch(["The cat", "sat."])          [[1996, 4937], [2938, 1012]]
    tokenizer.decode([1996, 4937, 2938, 1012])           "the cat sat ."
    tokenizer("The cat")                                 {"input_ids": [101, 1996, 4937, 102], ...}
    tokenizer.tokenize_block(b"The cat sat.\\n\\nThe end\\n")
      -> ids [1996 4937 2938 1012 1996 2203], sentence_lengths [4 2], breaks [1]

Kernels do the work (`block_kernel.py`, `wordpiece.py`); `block_run.py` runs them and does what they
cannot.
"""

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.text.documents import TextDocument, block_lines
from bert_data.tokens import block_kernel
from bert_data.tokens.bert_rules import Offsets, google_rules, library_rules
from bert_data.tokens.block_run import BlockRun, Tables, TokenBlock, encode_text
from bert_data.tokens.casing import decide_case
from bert_data.tokens.definition import CONTINUATION, convert_to_unicode
from bert_data.tokens.segmenting import find_segmenter
from bert_data.tokens.special_tokens import SpecialTokenError, count_special, refusal
from bert_data.tokens.vocabulary import SPECIAL, TokenTable
from bert_data.tokens.wordpiece import MAX_LETTERS_OF_WORD

Texts = str | bytes | Iterable[str | bytes]

_LINE_ENDS = re.compile(r"[\r\n]")
# A block omits lines without tokens; a token after each text makes sure that every line has one.
_MARK = " .\n"


class FastTokenizer:
    """Converts text to the same ids as `definition.FullTokenizer` or, if asked, `tokenizers`.

    Any number of threads may use one object at a time; it can be pickled.

    Attributes:
      vocabulary: the pieces; `ids`, `tokens`, `special_ids`, `unk_id` and `sha256` are its own.
      num_ids, id_limit: all ids of blocks are below it: the vocabulary's size, or twice that for
        `TokenTable.of_words`; other methods return plain ids.
      ran_by: what runs it, these kernels, and why.
      added: the special tokens of a tokenizer.json; None: ids are Google's.
    """

    def __init__(
        self,
        vocabulary: TokenTable,
        do_lower_case: bool | None = None,
        max_word_letters: int = MAX_LETTERS_OF_WORD,
        added: Sequence[str] | None = None,
        *,
        refuses_special: bool = False,
    ) -> None:
        """Prepare the tables.

        Args:
          do_lower_case: lower-case the text and drop the accents; None: see `decide_case`.
          max_word_letters: >= 1, a longer word is unknown; programs other than Google's use 100.
          added: the special tokens of a tokenizer.json, which are found in the text: ids are those
            of the library `tokenizers`. None: Google's.
          refuses_special: whether a block of text with one of these is an error.

        Raises:
          TypeError: the vocabulary is something else, such as the path of its file.
        """
        if not isinstance(vocabulary, TokenTable):
            raise TypeError(
                f"vocabulary is {vocabulary!r:.60}; it must be a TokenTable, which"
                " load_vocabulary(path) returns"
            )
        self.vocabulary, self.ids, self.tokens = vocabulary, vocabulary.ids, vocabulary.tokens
        self.unk_id, self.sha256 = vocabulary.unk_id, vocabulary.sha256
        self.num_ids = self.id_limit = vocabulary.id_limit
        self.note = vocabulary.note
        self.do_lower_case = do_lower_case = decide_case(vocabulary, do_lower_case)
        self.special_ids = vocabulary.special_ids
        self.max_word_letters, self.refuses_special = max_word_letters, refuses_special
        self._segment = find_segmenter(vocabulary.words)
        self.ran_by = {"backend": "wordpiece", "reason": "the fastest exact one"}
        self.added = None if added is None else tuple(added)
        if self.added is None:
            rules = google_rules(vocabulary, do_lower_case, max_word_letters)
        else:
            rules = library_rules(vocabulary, do_lower_case, max_word_letters, self.added)
        self._tables = Tables(vocabulary, rules, max_word_letters)

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = self.vocabulary, self.do_lower_case, self.max_word_letters, self.added
        return functools.partial(type(self), refuses_special=self.refuses_special), arguments

    def of_words(self, words: str) -> "FastTokenizer":
        """Return the tokenizer whose blocks have ids of words; see `TokenTable.of_words`."""
        return FastTokenizer(
            self.vocabulary.of_words(words),
            self.do_lower_case,
            self.max_word_letters,
            self.added,
            refuses_special=self.refuses_special,
        )

    def tokenize_documents(
        self, documents: Iterable[TextDocument], level: str, language: str
    ) -> TokenBlock:
        """Tokenize documents; see `block_lines` for the arguments."""
        return self.tokenize_block(block_lines(documents, level, language))

    def tokenize_block(self, data: Any, *, encoding_errors: str = "strict") -> TokenBlock:
        """Tokenize whole lines; each is a sentence, and a blank line ends a document.

        Args:
          data: bytes-like, lines of UTF-8 that end at "\\n"; the last "\\n" may be missing. Every
            "\\r" is dropped.
          encoding_errors: "strict", "replace" or "ignore", as for `bytes.decode`.

        Raises:
          UndecodableLineError: a line is not UTF-8 and encoding_errors is "strict".
          SpecialTokenError: a line has a special token, and these are refused.
        """
        data = data if self._segment is None else self._segment(data)
        run = BlockRun(self._tables, data, by_lines=True, encoding_errors=encoding_errors)
        run.finish()
        state = run.state
        ids = run.ids[: state[block_kernel.NUM_IDS]].copy()
        plain = self.vocabulary.plain(ids)
        special = count_special(plain, self.special_ids, self.num_ids) if run.special_at else {}
        if special and run.special_at and self.refuses_special:
            number, line, document = run.special_at
            token = self.tokens[number % self.vocabulary.size]
            raise SpecialTokenError(refusal(token), line, document)
        return TokenBlock(
            ids=ids,
            sentence_lengths=run.lengths[: state[block_kernel.NUM_SENTENCES]].copy(),
            breaks=run.breaks[: state[block_kernel.NUM_BREAKS]].copy(),
            num_lines=int(state[block_kernel.NUM_LINES]),
            num_unknown=int(np.count_nonzero(plain == self.vocabulary.unk_id)),
            num_replaced=run.num_replaced,
            blank_lines=run.blank_lines[: state[block_kernel.NUM_BREAKS]].copy(),
            special=special,
        )

    def encode(self, text: str | bytes) -> list[int]:
        """Return the ids of one text, without special tokens; line endings are ordinary spaces.

        Args:
          text: bytes are UTF-8, and invalid ones are left out.
        """
        ids = encode_text(self._tables, convert_to_unicode(text))
        if not self.vocabulary.has_words:
            return ids
        return [number % self.vocabulary.size for number in ids]

    def encode_with_offsets(self, text: str) -> tuple[list[int], Offsets]:
        """Return the result of `encode`, and where each token begins and ends in the text.

        An unknown word is one token. This takes the plain definition's time.

        Returns:
          ids, and for each (begin, end) in characters, 0 <= begin < end <= len(text).
        """
        return self._tables.rules.encode_with_offsets(text)

    def encode_batch(self, texts: Iterable[str | bytes]) -> list[list[int]]:
        """Return the result of `encode` for each text; ten times faster for short texts."""
        if isinstance(texts, str | bytes):
            raise ValueError("texts is a single text; use encode")
        decoded = list(map(convert_to_unicode, texts))
        try:
            ids, splits = tokenize_texts(self, decoded)
        except UnicodeEncodeError:  # surrogates
            return list(map(self.encode, decoded))
        flat = self.vocabulary.plain(ids).tolist()
        return [flat[start:end] for start, end in itertools.pairwise(splits.tolist())]

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """Return the words of ids, separated by spaces.

        What tokenizing drops, such as case and the spaces around punctuation, is lost.

        Args:
          ids: in [0, vocabulary size).
          skip_special_tokens: leave out [PAD], [UNK], [CLS], [SEP] and [MASK].
        """
        tokens, size = [], self.vocabulary.size
        for number in ids:
            if not 0 <= number < size:
                raise ValueError(
                    f"{number} is not an id of the vocabulary, which has 0 to {size - 1}"
                )
            tokens.append(self.vocabulary.tokens[number])
        return " ".join(join_words(tokens, skip_special_tokens=skip_special_tokens))

    def __call__(self, text: Texts, text_pair: Any = None) -> dict[str, list[Any]]:
        """Return the features that BERT takes: [CLS] text [SEP], or [CLS] text [SEP] pair [SEP].

        Args:
          text: one text, or an iterable of texts.
          text_pair: the second text, or one for each of the first.

        Returns:
          input_ids, input_mask (1 for each id) and segment_ids (1 for the pair and its [SEP]),
          neither padded nor truncated: each a list of numbers or, for many texts, a list of such
          lists.
        """
        if isinstance(text, str | bytes):
            rows = self([text], None if text_pair is None else [text_pair])
            return {name: values[0] for name, values in rows.items()}
        cls_id, sep_id = self.vocabulary.cls_id, self.vocabulary.sep_id
        firsts = [[cls_id, *ids, sep_id] for ids in self.encode_batch(text)]
        seconds: list[list[int]] = [[] for _ in firsts]
        if text_pair is not None:
            seconds = [[*ids, sep_id] for ids in self.encode_batch(text_pair)]
        if len(seconds) != len(firsts):
            raise ValueError(f"there are {len(firsts)} texts and {len(seconds)} pairs")
        pairs = list(zip(firsts, seconds, strict=True))
        return {
            "input_ids": [first + second for first, second in pairs],
            "input_mask": [[1] * len(first + second) for first, second in pairs],
            "segment_ids": [[0] * len(one) + [1] * len(other) for one, other in pairs],
        }


def join_words(tokens: Iterable[str], *, skip_special_tokens: bool) -> list[str]:
    """Join each piece that begins with "##" to the piece before it; special tokens are words."""
    words: list[str] = []
    follows_piece = False
    for token in tokens:
        if token in SPECIAL:
            follows_piece = False
            if not skip_special_tokens:
                words.append(token)
        elif follows_piece and token.startswith(CONTINUATION):
            words[-1] += token.removeprefix(CONTINUATION)
        else:
            words.append(token)
            follows_piece = True
    return words


def tokenize_texts(
    tokenizer: FastTokenizer, texts: Sequence[str]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the ids of texts and their row splits; a line ending inside a text is a space."""
    lines = [_LINE_ENDS.sub(" ", text) if "\n" in text or "\r" in text else text for text in texts]
    block = tokenizer.tokenize_block("".join(line + _MARK for line in lines).encode())
    ends = np.cumsum(block.sentence_lengths, dtype=np.int64)
    assert ends.size == len(texts)
    splits = np.concatenate([[0], ends - np.arange(1, ends.size + 1)])
    return np.delete(block.ids, ends - 1), splits


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TokenizedSentences:
    """Tokens of sentences, end to end.

    Attributes:
      ids: int64[tokens].
      sentence_splits: int64[sentences + 1], row splits of words into sentences.
      word_splits: int64[words + 1], row splits of tokens (pieces) into words.
    """

    ids: NDArray[np.int64]
    sentence_splits: NDArray[np.int64]
    word_splits: NDArray[np.int64]


def tokenize_sentences(tokenizer: FastTokenizer, sentences: Sequence[str]) -> TokenizedSentences:
    """Tokenize sentences separately, with the bounds of their words; see `tokenize_texts`."""
    ids, splits = tokenize_texts(tokenizer, sentences)
    begins_word = ~tokenizer.vocabulary.continuation[ids]
    words_before = np.concatenate([[0], np.cumsum(begins_word)])
    return TokenizedSentences(
        ids=ids.astype(np.int64),
        sentence_splits=words_before[splits],
        word_splits=np.append(np.flatnonzero(begins_word), ids.size),
    )
