"""The tokens that every vocabulary of BERT has, and the settings of training one."""

import dataclasses
import sys
from typing import Annotated

from bert_data.settings import OneOf, Within, check_settings
from bert_data.text.text_config import TextConfig
from bert_data.work import THIS_MACHINE, Engine

PADDING = "[PAD]"

REQUIRED_TOKENS = ("[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""Tokens that instances need."""

SPECIAL = (PADDING, *REQUIRED_TOKENS)
"""Tokens that do not come from text."""

MAX_VOCAB_SIZE = 10_000_000
"""Far more than any vocabulary has; libraries allocate memory for as many as are asked for."""

WORDPIECE, BPE, UNIGRAM = MODELS = ("wordpiece", "bpe", "unigram")
"""The kinds of vocabularies that can be trained."""

_USUAL_FREQUENCY, _MAX_FREQUENCY = 2, 2**63 - 1


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
        takes some 0.5 kB of memory, and more with unigram. Words with rare spellings, of which
        large texts have most, hardly change the pieces.
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
