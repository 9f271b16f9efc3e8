"""Trains a WordPiece vocabulary on text.

    "low lower lowest ..."  -->  [PAD] [UNK] [CLS] [SEP] [MASK] e l o ... ##e ##o ... low ##er ...

Text is split into words as by BERT's basic tokenizer; then, starting from single characters, the
two pieces that most often are neighbours become one piece, until the vocabulary is full (Sennrich
et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", with WordPiece's "##").

The `tokenizers` library merges. By default it numbers the single characters in the order of a hash
table, and that order decides between pairs of equal count: each run gives another vocabulary. Here
the characters are found first and numbered in order, so that the same text gives the same bytes.
"""

import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from absl import logging

from bert_data.progress import draws_bars, progress, tell_time
from bert_data.settings import OneOf, Within, check_settings
from bert_data.text.documents import TextConfig
from bert_data.tokens.piece_merging import merge_pieces
from bert_data.tokens.vocabulary import SPECIAL
from bert_data.tokens.vocabulary_file import CONTINUATION, MAX_VOCAB_SIZE
from bert_data.tokens.word_counts import TextCounts, count_text
from bert_data.tokens.word_rules import MODELS, UNIGRAM, WORDPIECE
from bert_data.work import THIS_MACHINE, Engine

if TYPE_CHECKING:
    import tokenizers

_USUAL_FREQUENCY, _MAX_FREQUENCY = 2, 2**63 - 1
_TEXT_CHARACTERS = 100_000  # that the library gets at a time
_MOST_CHARACTERS = 4_000_000_000  # that it gets in all; it counts words by 32 bits


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularyTrainingConfig:
    """Configuration of `train_vocabulary`.

    Attributes:
      input_files: texts of any format.
      vocab_size: number of tokens, including [PAD], [UNK], [CLS], [SEP], [MASK] and single
        characters; at least 262 for bpe, which has a token for each byte. 30,000 is usual for a
        language; a few thousand are enough for a few MB of text.
      model: wordpiece: BERT's. bpe: byte-level, as of GPT-2, RoBERTa and ModernBERT. unigram: as of
        SentencePiece. The latter two are written as a tokenizer.json only.
      do_lower_case: lower-case the text and, for wordpiece, drop accents.
      min_frequency: wordpiece, bpe: merge two pieces only if they occur together at least this
        often.
      max_characters: number of distinct characters to keep, the most frequent ones; words with any
        other character become [UNK]. Chinese or a mixture of scripts needs several thousand.
      max_words: number of different words that pieces are made of, the most frequent ones; each
        takes some 1.2 kB of memory. Words with rare spellings, of which large texts have most,
        hardly change the pieces.
      text: how the texts are read.
      engine: what counts the words, in tasks of up to 1 GB of memory.
      num_workers: processes that count words, each in up to 1 GB of memory; 0 is all cores. The
        files do not depend on it.
      work_dir: folder of unfinished work, which all nodes of a cluster see.
    """

    input_files: tuple[str, ...]
    vocab_size: Annotated[int, Within(len(SPECIAL) + 1, MAX_VOCAB_SIZE)]
    model: Annotated[str, OneOf(MODELS)] = WORDPIECE
    do_lower_case: bool = True
    min_frequency: Annotated[int, Within(1, _MAX_FREQUENCY)] = _USUAL_FREQUENCY
    max_characters: Annotated[int, Within(1, sys.maxunicode + 1)] = 1000
    max_words: Annotated[int, Within(1, 1_000_000_000)] = 5_000_000
    text: TextConfig = dataclasses.field(default_factory=TextConfig)
    engine: Engine = THIS_MACHINE
    num_workers: int = 1
    work_dir: str = ""

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.input_files:
            raise ValueError("input_files is empty; name at least one file")
        if not self.work_dir:
            raise ValueError("work_dir is empty; name a folder for the counts of words")
        if self.model == UNIGRAM and self.min_frequency != _USUAL_FREQUENCY:
            raise ValueError(
                f"min_frequency is {self.min_frequency}, but {UNIGRAM} has no such bound: leave it"
                " out"
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedVocabulary:
    """A vocabulary and what it was made from.

    Attributes:
      tokens: the pieces by id: special tokens, characters, "##" characters, then by merge.
      num_lines: lines of text that were read, or texts of formats that have rows.
      num_skipped: rows without a text that were left out.
      num_characters: different characters in the text, without spaces, after lower-casing.
      num_characters_kept: those that are in the vocabulary.
    """

    tokens: tuple[str, ...]
    num_lines: int
    num_skipped: int
    num_characters: int
    num_characters_kept: int


def train_vocabulary(config: VocabularyTrainingConfig) -> TrainedVocabulary:
    """Train a vocabulary; the same text and configuration give the same one on every machine.

    It is smaller than `vocab_size` if the text has too few frequent pieces.

    Raises:
      ValueError: bytes that are not UTF-8 (with `encoding_errors="strict"`), a text without words,
        or a vocab_size that has no room for the characters.
    """
    text = count_words(config)
    counts = text.characters
    kept = sorted(counts, key=lambda character: (-counts[character], character))
    kept = kept[: config.max_characters]

    continuing = text.continuing.intersection(kept)
    characters = [*sorted(kept), *sorted(CONTINUATION + character for character in continuing)]
    fixed = [*SPECIAL, *characters]
    if len(fixed) > config.vocab_size:
        raise ValueError(
            f"vocab_size is {config.vocab_size}, but the special tokens and the text's {len(kept)}"
            f" characters (with and without ##) take {len(fixed)}; use a larger vocab_size or a"
            " smaller max_characters"
        )
    if joins_pieces(config, text.words):
        tokens, _ = join_pieces(config, text.words, fixed=fixed, characters=kept)
    else:
        tokens = [*_train(config, text.words, fixed=fixed, characters=kept)]
    return TrainedVocabulary(
        tokens=tuple(tokens),
        num_lines=text.num_lines,
        num_skipped=text.num_skipped,
        num_characters=len(counts),
        num_characters_kept=len(kept),
    )


def count_words(config: VocabularyTrainingConfig) -> TextCounts:
    """Count the words of the text, by tasks; for errors see `train_vocabulary`."""
    text = count_text(
        config.input_files,
        config.text,
        model=config.model,
        do_lower_case=config.do_lower_case,
        max_words=config.max_words,
        engine=config.engine,
        num_workers=config.num_workers,
        work_dir=config.work_dir,
    )
    if not text.characters:
        raise ValueError(
            f"no words in {', '.join(config.input_files[:3])}: there is nothing to train on"
        )
    return text


def joins_pieces(config: VocabularyTrainingConfig, words: Mapping[str, int]) -> bool:
    """Return whether this process joins pieces itself, which takes it longer than the library.

    The result is the same. On a cluster, and of long texts, the library would have to read all
    words as often as they occur.
    """
    return config.engine.is_cluster or _count_characters(words) > _MOST_CHARACTERS


def _count_characters(words: Mapping[str, int]) -> int:
    return sum((len(word) + 1) * count for word, count in words.items())


def join_pieces(
    config: VocabularyTrainingConfig,
    words: Mapping[str, int],
    *,
    fixed: Sequence[str],
    characters: Sequence[str],
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return what `merge_pieces` does, and show how far it is."""
    size = config.vocab_size
    with progress("merge pieces", total=size - len(fixed), unit="piece") as advance:
        return merge_pieces(
            words,
            fixed=fixed,
            characters=characters,
            continuation=CONTINUATION if config.model == WORDPIECE else "",
            vocab_size=size,
            min_frequency=config.min_frequency,
            advance=advance,
        )


def _train(
    config: VocabularyTrainingConfig,
    words: Mapping[str, int],
    *,
    fixed: list[str],
    characters: list[str],
) -> dict[str, int]:
    """Return the tokens with their ids, in the order of the ids: `fixed` first.

    Args:
      words: how often each occurs.
      fixed: tokens with the first ids. As the library breaks ties by id, the result is the same in
        every run if all characters, with and without ##, are here.
      characters: the characters to keep.
    """
    from tokenizers import Tokenizer, models, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trainer = trainers.WordPieceTrainer(
        vocab_size=config.vocab_size,
        min_frequency=config.min_frequency,
        special_tokens=fixed,
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        continuing_subword_prefix=CONTINUATION,
        show_progress=draws_bars(),
    )
    logging.info("merging pieces until there are %s", f"{config.vocab_size:,}")
    with tell_time("merge pieces"):
        train_on_words(tokenizer, words, trainer)
    ids = tokenizer.get_vocab()
    return dict(sorted(ids.items(), key=lambda item: item[1]))


def train_on_words(
    tokenizer: "tokenizers.Tokenizer",
    words: Mapping[str, int],
    trainer: "tokenizers.trainers.Trainer",
) -> None:
    """Train a tokenizer of the library on words that occur so often.

    The library counts words only in text, and splits at spaces ten times faster than by a model's
    rules, so it gets each word as often as it occurs; of a text that would be too long, all of them
    equally less often.
    """
    from tokenizers import pre_tokenizers

    num_characters = _count_characters(words)
    if num_characters > _MOST_CHARACTERS:
        share = _MOST_CHARACTERS / num_characters
        words = {word: max(round(count * share), 1) for word, count in words.items()}
    tokenizer.pre_tokenizer = pre_tokenizers.CharDelimiterSplit(" ")
    tokenizer.train_from_iterator(_repeated(words), trainer)


def _repeated(words: Mapping[str, int]) -> Iterator[str]:
    """Yield texts that hold each word as often as it occurs."""
    parts: list[str] = []
    num_characters = 0
    for word, count in words.items():
        at_most = max(1, _TEXT_CHARACTERS // (len(word) + 1))
        while count > 0:
            times = min(count, at_most)
            parts.append(f"{word} " * times)
            num_characters += times * (len(word) + 1)
            count -= times
            if num_characters >= _TEXT_CHARACTERS:
                yield "".join(parts)
                parts, num_characters = [], 0
    yield "".join(parts)
