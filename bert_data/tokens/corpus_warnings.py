"""Warn of text that was probably not meant, before it is tokenized and once its tokens are counted.

What is counted is counted anyway; words are looked up only where many are unknown.
"""

import collections
from collections.abc import Collection, Iterator, Mapping, Sequence

from absl import logging

from bert_data.storage import absolute_path, common_folder
from bert_data.text.documents import as_spans
from bert_data.text.formats import find_plain_format
from bert_data.text.input_warnings import describe_empty, find_empty, sample_files, warnings_of
from bert_data.text.text_config import TextConfig
from bert_data.tokens.definition import is_ideograph
from bert_data.tokens.special_tokens import describe_counts
from bert_data.tokens.tokenizer_file import Tokenizer
from bert_data.tokens.vocabulary import TokenTable

MOST_UNKNOWN = 0.05
"""The share of [UNK] from which on a vocabulary seems not to fit."""

_MOST_IDEOGRAPHS = 0.2  # of a vocabulary; a multilingual one has less than a tenth
_LEAST_SENTENCES = 1.2  # of a document, on average
_MOST_WORDS, _SHOWN_WORDS = 1000, 5
_SAMPLE_CHARACTERS = 1 << 18


def warn_of_text(paths: Sequence[str], text: TextConfig, *, are_sentences: bool) -> None:
    """Warn of files that are probably not what their format says."""
    for sentence in warnings_of(paths, text, are_sentences=are_sentences):
        logging.warning("%s", sentence)


def warn_of_empty(paths: Sequence[str], with_text: Collection[str]) -> tuple[str, ...]:
    """Warn of files that gave no document; return their names from the folder that all share.

    A name that is not UTF-8 has ? in place of other bytes, for logs and manifests.
    """
    empty = find_empty(paths, with_text)
    folder = common_folder(paths) if empty else ""
    for sentence in describe_empty(list(map(_as_utf8, empty)), len(paths)):
        logging.warning("%s", sentence)
    names = (absolute_path(path).removeprefix(folder).lstrip("/") for path in empty)
    return tuple(map(_as_utf8, names))


def _as_utf8(name: str) -> str:
    return name.encode(errors="replace").decode()


def warn_of_counts(
    counts: Mapping[str, int],
    special: Mapping[str, int],
    *,
    paths: Sequence[str],
    text: TextConfig,
    tokenizer: Tokenizer,
    has_pairs: bool,
) -> None:
    """Warn of tokens that a good corpus does not have; see `TokenCounts` for the counts.

    Args:
      special: token -> number, of special ones that stand in the text.
    """
    if counts["num_unknown"] > MOST_UNKNOWN * counts["num_tokens"]:
        words = ", ".join(unknown_words(paths, text, tokenizer))
        logging.warning(
            "%.1f%% of the tokens are [UNK]%s; does the vocabulary fit the language and the case of"
            " the text?",
            100 * counts["num_unknown"] / counts["num_tokens"],
            f" (words such as {words})" if words else "",
        )
    if special:
        logging.warning(
            "the text has special tokens (%s): one that ends documents resets positions and"
            " attention in GPT samples wherever it stands, [SEP] seems to end a segment, and masked"
            " LM predicts none; `special_tokens_in_text=text` takes them for ordinary text,"
            " `special_tokens_in_text=refuse` names the first place",
            describe_counts(special),
        )
    if has_pairs:
        for sentence in _odd_documents(counts["num_documents"], counts["num_sentences"]):
            logging.warning("%s", sentence)


def _odd_documents(num_documents: int, num_sentences: int) -> Iterator[str]:
    if num_documents == num_sentences == 1:
        yield (
            "the text is a single document of one sentence, so both segments of a record come from"
            " that sentence, and all next sentences are random; `next_sentence=none` makes none"
        )
    elif num_documents == 1:
        yield (
            "the text is a single document, so the random next sentences come from that document,"
            " too; in files of lines, an empty line ends a document; in prose, `document_end` says"
            " what does"
        )
    elif num_documents > 1 and num_sentences < _LEAST_SENTENCES * num_documents:
        yield (
            f"{num_documents:,} documents have {num_sentences:,} sentences, so next sentences are"
            " nearly always random ones; in files of lines, only an empty line ends a document; if"
            " the rows of JSON Lines or Parquet are lines, `rows=lines` reads them so"
        )


def warn_of_characters(vocabulary: TokenTable) -> None:
    """Warn of whole words where most are single characters, such as those of Chinese."""
    if vocabulary.has_words:
        return
    count = sum(len(token) == 1 and is_ideograph(token) for token in vocabulary.tokens)
    if count > _MOST_IDEOGRAPHS * vocabulary.size:
        logging.warning(
            "%s of the %s tokens of %s are single Chinese characters, and each is a word by itself,"
            " so that masks of whole words mask characters; `words=jieba` finds the words of"
            " Chinese text, `words=spaces` takes those of text that is segmented, in bert-data"
            " tokenize and create",
            f"{count:,}",
            f"{vocabulary.size:,}",
            vocabulary.path,
        )


def unknown_words(paths: Sequence[str], text: TextConfig, tokenizer: Tokenizer) -> list[str]:
    """Return the most frequent words at the beginning of files that become [UNK], quoted."""
    counts: collections.Counter[str] = collections.Counter()
    for path in sample_files(paths):
        counts.update(_first_text(path, text).split())
    frequent = (word for word, _ in counts.most_common(_MOST_WORDS) if word.isprintable())
    unknown = (repr(word) for word in frequent if tokenizer.unk_id in tokenizer.encode(word))
    return [word for word, _ in zip(unknown, range(_SHOWN_WORDS), strict=False)]


def _first_text(path: str, text: TextConfig) -> str:
    """Return the text of a file's first documents; its lines are documents of their own here."""
    text_format = find_plain_format([path], text)
    parts: list[str] = []
    num_characters = 0
    for block in text_format.read(as_spans([path]), text):
        for document in block.documents:
            parts.append(document.whole_text)
            num_characters += len(parts[-1])
            if num_characters > _SAMPLE_CHARACTERS:
                return "\n".join(parts)[:_SAMPLE_CHARACTERS]
    return "\n".join(parts)
