"""Trains a WordPiece vocabulary on text.

    "low lower lowest ..."  -->  [PAD] [UNK] [CLS] [SEP] [MASK] e l o ... ##e ##o ... low ##er ...

Text is split into words as by BERT's basic tokenizer; then, starting from single characters, the
two pieces that most often are neighbours become one piece, until the vocabulary is full (Sennrich
et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", with WordPiece's "##").

The `tokenizers` library merges. By default it numbers the single characters in the order of a hash
table, and that order decides between pairs of equal count: each run gives another vocabulary. Here
the characters are found first and numbered in order, so that the same text gives the same bytes.
"""

import collections
import dataclasses
import sys
from typing import TYPE_CHECKING

from absl import logging

from bert_data.bounds import check_bounds
from bert_data.plain_values import make_plain
from bert_data.progress import progress
from bert_data.storage import exists, is_file
from bert_data.text.documents import TextConfig
from bert_data.text.spans import as_spans
from bert_data.tokens.piece_merging import merge_pieces
from bert_data.tokens.vocabulary_file import CONTINUATION, MAX_VOCAB_SIZE
from bert_data.tokens.word_counts import TextCounts, count_on_cluster, read_lines
from bert_data.work import THIS_MACHINE, Engine

if TYPE_CHECKING:
    import tokenizers

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_MAX_FREQUENCY = 2**63 - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularyTrainingConfig:
    """Configuration of `train_vocabulary`.

    Attributes:
      input_files: texts of any format.
      text: how they are read.
      vocab_size: entries, the five special tokens and single characters included; 6 to
        `MAX_VOCAB_SIZE`.
      do_lower_case: lower-case the text and drop its accents, as the tokenizer does with the same
        flag.
      min_frequency: how often a merged piece must occur; >= 1.
      max_characters: how many different characters are kept, the most frequent ones; >= 1. A word
        with any other character will be [UNK].
      engine: what counts words; a cluster reads the text once, in parts, and this process then
        needs some 2 kB of memory for each different word.
      work_dir: folder of a cluster's unfinished work, which all nodes see.
    """

    input_files: tuple[str, ...]
    vocab_size: int
    do_lower_case: bool = True
    min_frequency: int = 2
    max_characters: int = 1000
    text: TextConfig = dataclasses.field(default_factory=TextConfig)
    engine: Engine = THIS_MACHINE
    work_dir: str = ""

    def __post_init__(self) -> None:
        make_plain(self)
        if not self.input_files:
            raise ValueError("input_files is empty; name at least one file")
        for field, low, high in (
            ("vocab_size", len(SPECIAL_TOKENS) + 1, MAX_VOCAB_SIZE),
            ("min_frequency", 1, _MAX_FREQUENCY),
            ("max_characters", 1, sys.maxunicode + 1),
        ):
            check_bounds(field, getattr(self, field), low, high)


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
        an input that can be read only once, or a vocab_size that has no room for the characters.
      OSError: a file cannot be read.
    """
    from tokenizers import normalizers

    for path in config.input_files:
        if exists(path) and not is_file(path):
            raise ValueError(f"{path} is not a regular file; the text is read three times")
    normalizer = normalizers.BertNormalizer(lowercase=config.do_lower_case)
    text = _count(config, normalizer)
    counts = text.characters
    if not counts:
        raise ValueError(
            f"no words in {', '.join(config.input_files[:3])}: there is nothing to train on"
        )
    kept = sorted(counts, key=lambda character: (-counts[character], character))
    kept = kept[: config.max_characters]

    continuing = _continuing(config, normalizer, text, kept)
    characters = [*sorted(kept), *sorted(CONTINUATION + character for character in continuing)]
    fixed = [*SPECIAL_TOKENS, *characters]
    if len(fixed) > config.vocab_size:
        raise ValueError(
            f"vocab_size is {config.vocab_size}, but the special tokens and the text's {len(kept)}"
            f" characters (with and without ##) take {len(fixed)}; use a larger vocab_size or a"
            " smaller max_characters"
        )
    if config.engine.is_cluster:
        tokens = merge_pieces(
            text.words,
            fixed=fixed,
            characters=kept,
            vocab_size=config.vocab_size,
            min_frequency=config.min_frequency,
        )
    else:
        tokens = [*_train(config, normalizer, fixed=fixed, characters=kept, size=config.vocab_size)]
    return TrainedVocabulary(
        tokens=tuple(tokens),
        num_lines=text.num_lines,
        num_skipped=text.num_skipped,
        num_characters=len(counts),
        num_characters_kept=len(kept),
    )


def _count(
    config: VocabularyTrainingConfig, normalizer: "tokenizers.normalizers.Normalizer"
) -> TextCounts:
    """Count the text: a cluster counts words, too, which this process leaves to the library."""
    if config.engine.is_cluster:
        return count_on_cluster(
            config.input_files,
            config.text,
            do_lower_case=config.do_lower_case,
            engine=config.engine,
            work_dir=config.work_dir,
        )
    counts: collections.Counter[str] = collections.Counter()
    skipped: list[str] = []
    num_lines = 0
    with progress("characters", total=0, unit="line") as advance:
        for line in read_lines(as_spans(config.input_files), config.text, skipped):
            counts.update(normalizer.normalize_str(line))
            num_lines += 1
            advance(1)
    for character in [c for c in counts if c.isspace()]:
        del counts[character]
    return TextCounts(words={}, characters=counts, num_lines=num_lines, num_skipped=len(skipped))


def _continuing(
    config: VocabularyTrainingConfig,
    normalizer: "tokenizers.normalizers.Normalizer",
    text: TextCounts,
    kept: list[str],
) -> set[str]:
    """Return the characters that continue a word."""
    if config.engine.is_cluster:
        return set().union(*(word[1:] for word in text.words)).intersection(kept)
    # The first training, of characters only, shows which of them do.
    initial = _train(config, normalizer, fixed=list(SPECIAL_TOKENS), characters=kept, size=0)
    marked = set(initial) - set(SPECIAL_TOKENS) - set(kept)
    return {token.removeprefix(CONTINUATION) for token in marked}


def _train(
    config: VocabularyTrainingConfig,
    normalizer: "tokenizers.normalizers.Normalizer",
    *,
    fixed: list[str],
    characters: list[str],
    size: int,
) -> dict[str, int]:
    """Return the tokens with their ids, in the order of the ids: `fixed` first.

    Args:
      config: of the training.
      normalizer: applied to the text before it is split at spaces and punctuation.
      fixed: tokens with the first ids. As the library breaks ties by id, the result is the same in
        every run if all characters, with and without ##, are here.
      characters: the characters to keep.
      size: of the vocabulary; it will be larger if the characters do not fit.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        min_frequency=config.min_frequency,
        special_tokens=fixed,
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        continuing_subword_prefix=CONTINUATION,
        show_progress=False,
    )
    if size:
        logging.info("merging pieces until there are %s", f"{size:,}")
    lines = read_lines(as_spans(config.input_files), config.text)
    tokenizer.train_from_iterator(lines, trainer)
    ids = tokenizer.get_vocab()
    return dict(sorted(ids.items(), key=lambda item: item[1]))
