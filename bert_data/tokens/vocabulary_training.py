r"""Trains a vocabulary of WordPiece, byte-level BPE or Unigram on text, and writes its files.

    "low lower lowest ..."  --wordpiece-->  [PAD] ... e l o ... ##e ##o ... low ##er ...
                            --bpe-->        l ow Ġlow er est ...      every byte has a token
                            --unigram-->    ▁low er est ...           SentencePiece's rules

Words are counted by tasks (`word_counts.py`). Starting from single characters or bytes, WordPiece
and BPE make one piece of the two that are most often neighbours, until the vocabulary is full
(Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units"; see
`learning_merges.py`). Unigram's trainer is that of the library `tokenizers`. Special tokens have
the names and ids of BERT's; in BPE and Unigram then comes <|endoftext|>.

The same text gives the same files. Unigram's scores depend on the order of a hash table: they are
rounded, and pieces of equal score are in the order of their characters.
"""

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from absl import logging

from bert_data.progress import draws_bars, tell_time
from bert_data.storage import JSONL, TEXT, OutputSet, refuse_other_endings
from bert_data.tokens.definition import CONTINUATION
from bert_data.tokens.hugging_face_files import (
    BERT_ROLES,
    MODEL_INPUTS,
    to_json,
    tokenizer_config,
    tokenizer_json,
)
from bert_data.tokens.learning_merges import learn_merges
from bert_data.tokens.splitting import open_rules
from bert_data.tokens.store_config import USUAL_ENDS
from bert_data.tokens.vocabulary_config import (
    BPE,
    PADDING,
    SPECIAL,
    WORDPIECE,
    VocabularyTrainingConfig,
)
from bert_data.tokens.word_bits import byte_letters
from bert_data.tokens.word_counts import TextCounts, count_words
from bert_data.work.processes import Processes

if TYPE_CHECKING:
    import tokenizers

TEXT_CHARACTERS = 100_000  # that the library gets at a time
MOST_CHARACTERS = 4_000_000_000  # that it gets in all; it counts words by 32 bits
MOST_HERE = 50_000  # characters of all words, for which training takes part of a second
_SPECIAL = (*SPECIAL, USUAL_ENDS[0])
_NUM_BYTES = 256
_DECIMALS = 4  # of scores, which differ by up to 1e-10 from run to run
_STEP = 0.0001


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedVocabulary:
    """A vocabulary and what it was made from.

    Attributes:
      tokens: the pieces by id. WordPiece: special tokens, characters, "##" characters, then by
        merge.
      definition: the text of its tokenizer.json.
      num_characters: different characters in the text, without spaces, after lower-casing.
      num_characters_kept: those that are in the vocabulary.
    """

    tokens: tuple[str, ...]
    definition: str
    num_lines: int
    num_skipped: int
    num_characters: int
    num_characters_kept: int


def train_vocabulary(config: VocabularyTrainingConfig) -> TrainedVocabulary:
    """Train a vocabulary, the same one on every machine; smaller if the text has too few pieces."""
    _check_room_for_bytes(config)
    text = count_words(config)
    logging.info("training %s until there are %s tokens", config.model, f"{config.vocab_size:,}")
    num_kept = len(text.characters)
    if config.model == WORDPIECE:
        kept = sorted(text.characters, key=lambda char: (-text.characters[char], char))
        kept = kept[: config.max_characters]
        num_kept = len(kept)
        tokens = _train_wordpiece(config, text, kept)
        definition = tokenizer_json(tokens, do_lower_case=config.do_lower_case)
    else:
        train = _train_bpe if config.model == BPE else _train_unigram
        tokenizer = _as_tokenizer(config, train(config, text.words))
        tokens = _tokens_of(tokenizer)
        definition = tokenizer.to_str(pretty=True) + "\n"
    return TrainedVocabulary(
        tokens=tokens,
        definition=definition,
        num_lines=text.num_lines,
        num_skipped=text.num_skipped,
        num_characters=len(text.characters),
        num_characters_kept=num_kept,
    )


def _tokens_of(tokenizer: "tokenizers.Tokenizer") -> tuple[str, ...]:
    ids = tokenizer.get_vocab()
    return tuple(sorted(ids, key=lambda token: ids[token]))


def _train_wordpiece(
    config: VocabularyTrainingConfig, text: TextCounts, kept: list[str]
) -> tuple[str, ...]:
    """Return the pieces of words, whose other characters than the kept ones are dropped."""
    continuing = text.continuing.intersection(kept)
    fixed = [*SPECIAL, *sorted(kept), *sorted(CONTINUATION + character for character in continuing)]
    if len(fixed) > config.vocab_size:
        raise ValueError(
            f"vocab_size is {config.vocab_size}, but the special tokens and the text's {len(kept)}"
            f" characters (with and without ##) take {len(fixed)}; use a larger vocab_size or a"
            " smaller max_characters"
        )
    tokens, _ = learn_merges(
        text.words,
        fixed,
        continuation=CONTINUATION,
        vocab_size=config.vocab_size,
        min_frequency=config.min_frequency,
    )
    return tuple(tokens)


def _train_bpe(
    config: VocabularyTrainingConfig, words: Mapping[str, int]
) -> "tokenizers.models.Model":
    from tokenizers import models

    tokens, merges = learn_merges(
        words,
        [*_SPECIAL, *sorted(byte_letters())],
        continuation="",
        vocab_size=config.vocab_size,
        min_frequency=config.min_frequency,
    )
    return models.BPE({token: number for number, token in enumerate(tokens)}, merges)


def _train_unigram(
    config: VocabularyTrainingConfig, words: Mapping[str, int]
) -> "tokenizers.models.Model":
    """Return the model that the library trains on words that occur so often.

    The library counts words only in text, and splits at spaces ten times faster than by a model's
    rules, so it gets each word as often as it occurs; of a text that would be too long, all of them
    equally less often. It does not heed signals, so many words are trained on in a process that can
    be killed.
    """
    num_characters = sum((len(word) + 1) * count for word, count in words.items())
    if num_characters > MOST_CHARACTERS:
        share = MOST_CHARACTERS / num_characters
        logging.info("words count %.3g times as often as they occur: the text is very long", share)
        words = {word: max(round(count * share), 1) for word, count in words.items()}
    item = (config.vocab_size, words, draws_bars())
    try:
        if num_characters <= MOST_HERE:
            trained = _train(item)
        else:
            with Processes(1, is_apart=True) as process:
                (trained,) = process.ordered_map(_train, [item])
    except (ValueError, OSError):
        raise
    except Exception as error:  # the library raises nothing more specific
        raise ValueError(
            f"vocab_size is {config.vocab_size}, which the library cannot train: {error}"
        ) from None
    return _in_order(trained)


def _train(item: tuple[int, Mapping[str, int], bool]) -> "tokenizers.Tokenizer":
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    vocab_size, words, draws = item
    trainer = trainers.UnigramTrainer(
        vocab_size=vocab_size,
        special_tokens=[*_SPECIAL],
        unk_token=SPECIAL[1],
        show_progress=draws,
    )
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.CharDelimiterSplit(" ")
    # By a thread of this process: one with threads cannot be forked.
    with contextlib.nullcontext() if draws else tell_time("train"):
        tokenizer.train_from_iterator(_repeated(words), trainer)
    return tokenizer


def _repeated(words: Mapping[str, int]) -> Iterator[str]:
    """Yield texts that hold each word as often as it occurs."""
    parts: list[str] = []
    num_characters = 0
    for word, count in words.items():
        at_most = max(1, TEXT_CHARACTERS // (len(word) + 1))
        while count > 0:
            times = min(count, at_most)
            parts.append(f"{word} " * times)
            num_characters += times * (len(word) + 1)
            count -= times
            if num_characters >= TEXT_CHARACTERS:
                yield "".join(parts)
                parts, num_characters = [], 0
    yield "".join(parts)


def _check_room_for_bytes(config: VocabularyTrainingConfig) -> None:
    least = len(_SPECIAL) + _NUM_BYTES
    if config.model == BPE and config.vocab_size < least:
        raise ValueError(
            f"vocab_size is {config.vocab_size}, but the {len(_SPECIAL)} special tokens and"
            f" {_NUM_BYTES} bytes of {BPE} take {least}; use a larger vocab_size"
        )


def _in_order(tokenizer: "tokenizers.Tokenizer") -> "tokenizers.models.Model":
    """Return the model of Unigram with an order and scores that only the text decides.

    The library sums scores in the order of a hash table, and numbers the characters that its
    training has dropped in such an order, too: they get the least score and, one after the other,
    `_STEP` more.
    """
    from tokenizers import models

    model = json.loads(tokenizer.to_str())["model"]
    pieces = [(piece, score) for piece, score in model["vocab"]]
    first = pieces[: len(_SPECIAL)]
    # A special token that stands within words of the text has become a piece, too.
    rest = [entry for entry in pieces[len(_SPECIAL) :] if entry[0] not in _SPECIAL]
    least = min(score for _, score in rest)
    num_characters = sum(len(piece) == 1 for piece, _ in rest)

    def final_score(piece: str, score: float) -> float:
        steps = (score - least) / _STEP
        if len(piece) == 1 and steps < num_characters and abs(steps - round(steps)) < _STEP:
            score = least
        return round(score, _DECIMALS)

    rest = [(piece, final_score(piece, score)) for piece, score in rest]
    rest.sort(key=lambda entry: (-entry[1], entry[0]))
    return models.Unigram([*first, *rest], unk_id=model["unk_id"], byte_fallback=False)


def _as_tokenizer(
    config: VocabularyTrainingConfig, model: "tokenizers.models.Model"
) -> "tokenizers.Tokenizer":
    """Return a tokenizer that splits text as the model's words were, frames texts and pads."""
    from tokenizers import Tokenizer, decoders, processors

    tokenizer = Tokenizer(model)
    tokenizer.normalizer, tokenizer.pre_tokenizer = open_rules(
        config.model, do_lower_case=config.do_lower_case
    )
    tokenizer.decoder = decoders.ByteLevel() if config.model == BPE else decoders.Metaspace()
    tokenizer.add_special_tokens([*_SPECIAL])
    ids = {token: tokenizer.token_to_id(token) for token in SPECIAL}
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    tokenizer.enable_padding(pad_id=ids[PADDING], pad_token=PADDING)
    return tokenizer


def write_vocabulary(
    config: VocabularyTrainingConfig, path: str, *, json_path: str | None = None, overwrite: bool
) -> TrainedVocabulary:
    """Train a vocabulary and write its files, which appear together or not at all.

    Args:
      path: of the vocabulary, one token per line, which only WordPiece has.
      json_path: of the tokenizer.json; None: see `json_path_beside`.
    """
    json_path = json_path or json_path_beside(path)
    config_path = f"{os.path.splitext(json_path)[0]}_config.json"
    paths = [config_path, json_path, *([path] if config.model == WORDPIECE else [])]
    refuse_other_endings(paths, (JSONL, TEXT))
    with OutputSet(paths[-1], paths, reads=config.input_files, overwrite=overwrite) as outputs:
        trained = train_vocabulary(config)
        if config.model == WORDPIECE:
            roles = tokenizer_config(do_lower_case=config.do_lower_case)
        else:
            roles = {
                **BERT_ROLES,
                "model_input_names": MODEL_INPUTS,
                "tokenizer_class": "PreTrainedTokenizerFast",
            }
        lines = "".join(f"{token}\n" for token in trained.tokens)
        for name, content in zip(paths, (to_json(roles), trained.definition, lines), strict=False):
            with outputs.open(name) as file:
                file.write(content.encode())
        outputs.commit(paths[:-1], paths[-1:])  # the last one means that all are of one run
    return trained


def json_path_beside(path: str) -> str:
    """Return where the tokenizer.json of a vocabulary goes: beside it, or there if it is one."""
    folder, name = os.path.split(path)
    stem, ending = os.path.splitext(name)
    if ending == ".json":
        return path
    return os.path.join(folder, "tokenizer.json" if stem == "vocab" else f"{stem}.tokenizer.json")
