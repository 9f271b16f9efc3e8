r"""Trains tokenizers of byte-level BPE or Unigram on text, and writes what was trained.

    "low lower lowest ..."  --bpe-->      l ow Ġlow er est ...      every byte has a token
                            --unigram-->  ▁low er est ...           SentencePiece's rules

Words are counted by tasks; the trainers are those of the `tokenizers` library. Special tokens have
the names and ids of BERT's, then comes <|endoftext|>. The same text gives the same file: Unigram's
scores, which depend on the order of a hash table in the library, are rounded, and pieces of equal
score are in the order of their characters.
"""

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from absl import logging

from bert_data.progress import draws_bars, tell_time
from bert_data.storage import JSONL, TEXT, OutputSet, refuse_other_endings
from bert_data.tokens.hugging_face_files import (
    MODEL_INPUTS,
    ROLES,
    to_json,
    tokenizer_config,
    tokenizer_json,
)
from bert_data.tokens.store_config import USUAL_ENDS
from bert_data.tokens.vocabulary import PADDING, SPECIAL
from bert_data.tokens.vocabulary_training import (
    TrainedVocabulary,
    VocabularyTrainingConfig,
    joins_pieces,
    merge_pieces,
    train_on_words,
    train_vocabulary,
)
from bert_data.tokens.word_counts import BPE, WORDPIECE, count_words, open_rules

if TYPE_CHECKING:
    import tokenizers

_SPECIAL = (*SPECIAL, USUAL_ENDS[0])
_NUM_BYTES = 256
_DECIMALS = 4  # of scores, which differ by up to 1e-10 from run to run
_STEP = 0.0001


def train_tokenizer(config: VocabularyTrainingConfig) -> tuple[TrainedVocabulary, str]:
    """Train BPE or Unigram; return its vocabulary, and its tokenizer.json."""
    _check_room_for_bytes(config)
    text = count_words(config)
    logging.info("training %s until there are %s tokens", config.model, f"{config.vocab_size:,}")
    if config.model == BPE and joins_pieces(config, text.words):
        model = _join_bytes(config, text.words)
    else:
        model = _train(config, text.words)
    tokenizer = _as_tokenizer(config, model)
    ids = tokenizer.get_vocab()
    trained = TrainedVocabulary(
        tokens=tuple(sorted(ids, key=lambda token: ids[token])),
        num_lines=text.num_lines,
        num_skipped=text.num_skipped,
        num_characters=len(text.characters),
        num_characters_kept=len(text.characters),
    )
    return trained, tokenizer.to_str(pretty=True) + "\n"


def _check_room_for_bytes(config: VocabularyTrainingConfig) -> None:
    least = len(_SPECIAL) + _NUM_BYTES
    if config.model == BPE and config.vocab_size < least:
        raise ValueError(
            f"vocab_size is {config.vocab_size}, but the {len(_SPECIAL)} special tokens and"
            f" {_NUM_BYTES} bytes of {BPE} take {least}; use a larger vocab_size"
        )


def _join_bytes(
    config: VocabularyTrainingConfig, words: Mapping[str, int]
) -> "tokenizers.models.Model":
    """Return a model of BPE whose pieces this process has joined."""
    from tokenizers import models

    alphabet = _alphabet()
    fixed = [*_SPECIAL, *alphabet]
    tokens, pairs = merge_pieces(config, words, fixed=fixed, characters=alphabet)
    return models.BPE({token: number for number, token in enumerate(tokens)}, pairs)


def _train(config: VocabularyTrainingConfig, words: Mapping[str, int]) -> "tokenizers.models.Model":
    from tokenizers import Tokenizer, models

    tokenizer = Tokenizer(models.BPE() if config.model == BPE else models.Unigram())
    with tell_time("train"):
        try:
            train_on_words(tokenizer, words, _trainer(config))
        except (ValueError, OSError):
            raise
        except Exception as error:  # the library raises nothing more specific
            raise ValueError(
                f"vocab_size is {config.vocab_size}, which the library cannot train: {error}"
            ) from None
    return tokenizer.model if config.model == BPE else _in_order(tokenizer)


def _in_order(tokenizer: "tokenizers.Tokenizer") -> "tokenizers.models.Model":
    """Return the model of Unigram with an order and scores that only the text decides.

    The library sums scores in the order of a hash table, and numbers the characters that its
    training has dropped in such an order, too: they get the least score and, one after the other,
    `_STEP` more.
    """
    from tokenizers import models

    model = json.loads(tokenizer.to_str())["model"]
    pieces = [(piece, score) for piece, score in model["vocab"]]
    first, rest = pieces[: len(_SPECIAL)], pieces[len(_SPECIAL) :]
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


def _alphabet() -> list[str]:
    """Return the characters that stand for bytes."""
    from tokenizers import pre_tokenizers

    return sorted(pre_tokenizers.ByteLevel.alphabet())


def _trainer(config: VocabularyTrainingConfig) -> "tokenizers.trainers.Trainer":
    from tokenizers import trainers

    if config.model == BPE:
        return trainers.BpeTrainer(
            vocab_size=config.vocab_size,
            min_frequency=config.min_frequency,
            special_tokens=[*_SPECIAL],
            initial_alphabet=_alphabet(),
            show_progress=draws_bars(),
        )
    return trainers.UnigramTrainer(
        vocab_size=config.vocab_size,
        special_tokens=[*_SPECIAL],
        unk_token=SPECIAL[1],
        show_progress=draws_bars(),
    )


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
        if config.model == WORDPIECE:
            trained = train_vocabulary(config)
            definition = tokenizer_json(trained.tokens, do_lower_case=config.do_lower_case)
            roles = tokenizer_config(do_lower_case=config.do_lower_case)
        else:
            trained, definition = train_tokenizer(config)
            roles = {
                **ROLES,
                "model_input_names": MODEL_INPUTS,
                "tokenizer_class": "PreTrainedTokenizerFast",
            }
        lines = "".join(f"{token}\n" for token in trained.tokens)
        for name, content in zip(paths, (to_json(roles), definition, lines), strict=False):
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
