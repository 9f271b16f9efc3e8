r"""Trains tokenizers of byte-level BPE or Unigram on text, as tokenizer.json.

    "low lower lowest ..."  --bpe-->      l ow Ġlow er est ...      every byte has a token
                            --unigram-->  ▁low er est ...           SentencePiece's rules

The trainers are those of the `tokenizers` library. Special tokens have the names and ids of BERT's,
then comes <|endoftext|>. BPE of the same text is the same in every run; Unigram's scores are sums
in no fixed order, so they differ in their last digits.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from absl import logging

from bert_data.progress import draws_bars, tell_time
from bert_data.text.spans import as_spans
from bert_data.tokens.document_marks import USUAL_ENDS
from bert_data.tokens.vocabulary import PADDING, SPECIAL
from bert_data.tokens.vocabulary_training import BPE, TrainedVocabulary, VocabularyTrainingConfig
from bert_data.tokens.word_counts import read_lines

if TYPE_CHECKING:
    import tokenizers

_SPECIAL = (*SPECIAL, USUAL_ENDS[0])
_NUM_BYTES = 256


def train_tokenizer(config: VocabularyTrainingConfig) -> tuple[TrainedVocabulary, str]:
    """Train a tokenizer of the configuration's model, BPE or UNIGRAM.

    Returns:
      Its vocabulary, and its tokenizer.json.

    Raises:
      ValueError: bytes that are not UTF-8 (with `encoding_errors="strict"`), a text without words,
        or a vocab_size that has no room for the bytes (BPE) or characters.
    """
    _check_room_for_bytes(config)
    tokenizer = _untrained(config)
    lines = _Lines(config)
    logging.info("training %s until there are %s tokens", config.model, f"{config.vocab_size:,}")
    with tell_time("train"):
        try:
            tokenizer.train_from_iterator(iter(lines), _trainer(config))
        except (ValueError, OSError):
            raise
        except Exception as error:  # the library raises nothing more specific
            raise ValueError(
                f"vocab_size is {config.vocab_size}, which the library cannot train: {error}"
            ) from None
    if not lines.characters:
        raise ValueError(
            f"no words in {', '.join(config.input_files[:3])}: there is nothing to train on"
        )
    _add_roles(tokenizer)
    ids = tokenizer.get_vocab()
    trained = TrainedVocabulary(
        tokens=tuple(sorted(ids, key=lambda token: ids[token])),
        num_lines=lines.num_lines,
        num_skipped=len(lines.skipped),
        num_characters=len(lines.characters),
        num_characters_kept=len(lines.characters),
    )
    return trained, tokenizer.to_str(pretty=True) + "\n"


def _check_room_for_bytes(config: VocabularyTrainingConfig) -> None:
    """Refuse a size that BPE exceeds even without a merge."""
    least = len(_SPECIAL) + _NUM_BYTES
    if config.model == BPE and config.vocab_size < least:
        raise ValueError(
            f"vocab_size is {config.vocab_size}, but the {len(_SPECIAL)} special tokens and"
            f" {_NUM_BYTES} bytes of {BPE} take {least}; use a larger vocab_size"
        )


def _add_roles(tokenizer: "tokenizers.Tokenizer") -> None:
    """Set what special tokens frame, and padding."""
    from tokenizers import processors

    ids = {token: tokenizer.token_to_id(token) for token in SPECIAL}
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    tokenizer.enable_padding(pad_id=ids[PADDING], pad_token=PADDING)


class _Lines:
    """The lines of a text, and what they hold, once they have been read."""

    def __init__(self, config: VocabularyTrainingConfig) -> None:
        self._config = config
        self.skipped: list[str] = []
        self.num_lines = 0
        self.characters: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        config = self._config
        for line in read_lines(as_spans(config.input_files), config.text, self.skipped):
            self.num_lines += 1
            self.characters.update(line)
            yield line
        self.characters = {each for each in self.characters if not each.isspace()}


def _untrained(config: VocabularyTrainingConfig) -> "tokenizers.Tokenizer":
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    lower = [normalizers.Lowercase()] if config.do_lower_case else []
    if config.model == BPE:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), *lower])
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        return tokenizer
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), *lower])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def _trainer(config: VocabularyTrainingConfig) -> "tokenizers.trainers.Trainer":
    from tokenizers import pre_tokenizers, trainers

    if config.model == BPE:
        return trainers.BpeTrainer(
            vocab_size=config.vocab_size,
            min_frequency=config.min_frequency,
            special_tokens=[*_SPECIAL],
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=draws_bars(),
        )
    return trainers.UnigramTrainer(
        vocab_size=config.vocab_size,
        special_tokens=[*_SPECIAL],
        unk_token=SPECIAL[1],
        show_progress=draws_bars(),
    )
