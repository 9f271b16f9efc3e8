"""Give a vocabulary and the weights of its model new tokens, together.

    vocab.txt, checkpoint, ["cardiology"]  ->  folder/{vocab.txt, bert_config.json, model.ckpt-*}

    cardiology was card ##iol ##ogy:  its embedding is the mean of their embeddings, and so are its
    output bias and, where the checkpoint has them, the optimizer's moments

    heart ##burn -> heartburn            a new token, encoded as itself
    heart ##burn ##s -> heartburn ##s    another word, which begins with a new token
    heart -> heart                       all others: texts of these have the same ids

A folder of Hugging Face becomes another folder of Hugging Face. Before the folder appears, the
result is compared with the model that it comes from.
"""

import dataclasses
import os
from collections.abc import Mapping, Sequence

import numpy as np

from bert_data.hub.export_config import (
    VOCABULARY,
    ExtensionConfig,
    HuggingFaceExportConfig,
    vocabulary_text,
)
from bert_data.hub.exporting import export_hugging_face
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.storage import (
    OutputSet,
    folder_size,
    make_folder,
    refuse_existing,
    refuse_inputs,
    remove_left_overs,
    write_bytes,
)
from bert_data.tokens.definition import validate_case_matches_checkpoint
from bert_data.tokens.hugging_face_files import TOKENIZER, tokenizer_json
from bert_data.tokens.new_tokens import SplitWords, extend_tokens, join_word
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.vocabulary import MAX_VOCAB_SIZE, SPECIAL, load_vocabulary
from bert_data.tokens.wordpiece import MAX_LETTERS_OF_WORD
from bert_data.training.hugging_face_weights import find_hugging_face_folder
from bert_data.training.model_vocabulary import ModelVocabulary, keep_vocabulary

_MOST_TOKENS = 126  # of a text, beside [CLS] and [SEP]
_NUM_WORDS, _WORDS_OF_TEXT = 1024, 64  # of texts that are made from the vocabulary
_MAKER = "bert-data extend-vocab"  # whose folders are replaced
_SHOWN = 8  # new tokens, in the report

Pieces = tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class WordChanges:
    """The words of a text before and after.

    Attributes:
      num_tokens: of the text, before and after.
      num_others: different words that begin with a new token; how often they occur; and how many of
        them have more pieces than before.
      texts: token ids of texts without new tokens, [CLS] and [SEP] included.
    """

    num_words: int
    num_tokens: tuple[int, int]
    num_others: tuple[int, int, int]
    texts: Sequence[Sequence[int]]

    def lines(self) -> list[str]:
        """Return the part of a report about the text."""
        before, after = (number / self.num_words for number in self.num_tokens)
        kinds, times, worse = self.num_others
        return [
            f"text           {before:.4f} -> {after:.4f} tokens per word, in"
            f" {self.num_words:,} words",
            f"other words    {kinds:,} ({times:,} times) begin with a new token and are split"
            f" differently, {worse:,} of them into more pieces",
        ]


def compare_words(
    tokenizer: FastTokenizer,
    extended: FastTokenizer,
    new_tokens: Sequence[str],
    ids: Sequence[int],
    words: SplitWords | None,
) -> WordChanges:
    """Encode the words of a text with two vocabularies.

    Args:
      ids: of the new tokens.
    """
    for word, number, pieces in zip(
        new_tokens, ids, extended.encode_batch(new_tokens), strict=True
    ):
        if pieces != [number]:
            shown = " ".join(extended.vocabulary.tokens[piece] for piece in pieces)
            raise ValueError(f"{word!r} cannot be a token: it would be encoded as {shown!r}")
    counts = words.counts if words else {}
    texts = [join_word(tokenizer.vocabulary, pieces) for pieces in counts]
    after = dict(zip(counts, map(tuple, extended.encode_batch(texts)), strict=True))
    themselves = {(number,) for number in ids}
    others = [p for p, new in after.items() if new != p and new not in themselves]
    num_tokens = words.num_tokens if words else 0
    saved = sum(count * (len(pieces) - len(after[pieces])) for pieces, count in counts.items())
    return WordChanges(
        num_words=words.num_words if words else 0,
        num_tokens=(num_tokens, num_tokens - saved),
        num_others=(
            len(others),
            sum(counts[pieces] for pieces in others),
            sum(len(after[pieces]) > len(pieces) for pieces in others),
        ),
        texts=_texts_without(tokenizer, extended, _sampled(tokenizer, words, after)),
    )


def _sampled(
    tokenizer: FastTokenizer, words: SplitWords | None, after: Mapping[Pieces, Pieces]
) -> list[list[Pieces]]:
    """Return the words of some texts that have the same pieces before and after."""
    unknown = (tokenizer.unk_id,)
    kept = [
        [pieces for pieces in text if after.get(pieces, pieces) == pieces != unknown]
        for text in (words.samples if words else ())
    ]
    if any(kept):
        return [text for text in kept if text]
    tokens = tokenizer.vocabulary.tokens
    some = np.unique(np.linspace(0, len(tokens) - 1, _NUM_WORDS).astype(int)).tolist()
    encoded = tokenizer.encode_batch([tokens[number] for number in some])
    alone: list[Pieces] = [
        (number,) for number, ids in zip(some, encoded, strict=True) if ids == [number]
    ]
    return [alone[i : i + _WORDS_OF_TEXT] for i in range(0, len(alone), _WORDS_OF_TEXT)]


def _texts_without(
    tokenizer: FastTokenizer, extended: FastTokenizer, texts: list[list[Pieces]]
) -> list[list[int]]:
    """Return the ids of texts of old words, after encoding them with both."""
    vocabulary = tokenizer.vocabulary
    strings = [" ".join(join_word(vocabulary, word) for word in text) for text in texts]
    both = zip(
        strings, tokenizer.encode_batch(strings), extended.encode_batch(strings), strict=True
    )
    result = []
    for text, old, new in both:
        if old != new:
            raise ValueError(f"the text {text[:80]!r} has no new token, but gets other ids")
        result.append([vocabulary.cls_id, *old[:_MOST_TOKENS], vocabulary.sep_id])
    return result


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExtensionReport:
    """A vocabulary and a model that were extended.

    Attributes:
      new_tokens: the words, in the order of the list that was passed.
      num_in_slots: how many of them replaced unused tokens.
      sizes: of the vocabulary, before and after.
      words: how the text's words are split, before and after; None: there was no text.
      num_texts: of old tokens, for which the outputs were compared.
      difference: the largest one of outputs.
      checkpoint: of the old weights.
    """

    new_tokens: Sequence[str]
    num_in_slots: int
    sizes: tuple[int, int]
    words: WordChanges | None
    num_texts: int
    difference: float
    checkpoint: str
    folder: str
    num_bytes: int

    def __str__(self) -> str:
        shown = ", ".join(self.new_tokens[:_SHOWN]) + ", ..." * (len(self.new_tokens) > _SHOWN)
        lines = [
            f"checkpoint     {self.checkpoint}",
            f"new tokens     {len(self.new_tokens):,} ({shown}), {self.num_in_slots:,} of them in"
            " [unused] places",
            f"vocabulary     {self.sizes[0]:,} -> {self.sizes[1]:,} tokens",
            *(self.words.lines() if self.words else ()),
            f"verified       each new token is encoded as itself; {self.num_texts} texts of old"
            f" tokens have the same ids, and their outputs differ by at most {self.difference:.1e}",
            f"wrote          {self.folder}  {self.num_bytes:,} bytes",
        ]
        return "\n".join(["extended a vocabulary and its model", *(f"  {line}" for line in lines)])


def check_output(config: ExtensionConfig, reads: Sequence[str]) -> ExtensionConfig:
    """Check that the folder can be written, and remove what a killed run left beside it.

    Args:
      reads: files of the text and the new tokens.

    Returns:
      The configuration; a run that was killed when it had just written the folder is repeated.
    """
    refuse_inputs([], [*config.inputs, *reads], folders=[config.output_dir])
    if remove_left_overs(config.output_dir):
        config = dataclasses.replace(config, overwrite=True)
    refuse_existing([], overwrite=config.overwrite, folders=[config.output_dir], maker=_MAKER)
    return config


def extend_vocabulary(
    config: ExtensionConfig,
    tokenizer: FastTokenizer,
    new_tokens: Sequence[str],
    words: SplitWords | None = None,
    reads: Sequence[str] = (),
) -> ExtensionReport:
    """Write the folder.

    Args:
      config: where the weights come from and where the folder goes.
      new_tokens: words as `choose_new_tokens` or `read_new_tokens` returns them.
      words: of a text; the report says how they are split then.
      reads: files of the text and the new tokens, which the folder must not hold.
    """
    config = check_output(config, [tokenizer.vocabulary.path, *reads])
    validate_case_matches_checkpoint(tokenizer.do_lower_case, config.init_checkpoint)
    with OutputSet(
        config.output_dir,
        [],
        folders=[config.output_dir],
        reads=[*config.inputs, tokenizer.vocabulary.path, *reads],
        overwrite=config.overwrite,
        maker=_MAKER,
    ) as outputs:
        result = outputs.partial(config.output_dir)
        is_for_hugging_face = find_hugging_face_folder(config.init_checkpoint) is not None
        folder = os.path.join(outputs.work_dir, "model") if is_for_hugging_face else result
        make_folder(folder)
        extended, ids = _write_vocabulary(config, tokenizer, new_tokens, folder)
        changes = compare_words(tokenizer, extended, new_tokens, ids, words)
        import_tensorflow(finds_devices=False)  # which takes seconds
        from bert_data.hub.pretrained import extend_weights

        checkpoint, difference = extend_weights(
            config.init_checkpoint,
            config.bert_config_file,
            folder,
            old=tokenizer.vocabulary,
            new_size=extended.vocabulary.size,
            pieces=dict(zip(ids, tokenizer.encode_batch(new_tokens), strict=True)),
            texts=changes.texts,
            allow_other_vocabulary=config.allow_other_vocabulary,
        )
        keep_vocabulary(folder, ModelVocabulary.of(extended.vocabulary))
        if is_for_hugging_face:
            _export(tokenizer, folder, result)
        outputs.commit([config.output_dir])
    num_old = tokenizer.vocabulary.size
    return ExtensionReport(
        new_tokens=new_tokens,
        num_in_slots=sum(number < num_old for number in ids),
        sizes=(num_old, extended.vocabulary.size),
        words=changes if words else None,
        num_texts=len(changes.texts),
        difference=difference,
        checkpoint=checkpoint,
        folder=config.output_dir,
        num_bytes=folder_size(config.output_dir),
    )


def _export(tokenizer: FastTokenizer, folder: str, output_dir: str) -> None:
    """Write the extended model as a folder of Hugging Face."""
    is_usual = tokenizer.max_word_letters == MAX_LETTERS_OF_WORD
    export_hugging_face(
        HuggingFaceExportConfig(
            init_checkpoint=folder,
            output_dir=output_dir,
            vocab_file=os.path.join(folder, VOCABULARY) if is_usual else None,
            tokenizer_file=None if is_usual else os.path.join(folder, TOKENIZER),
            do_lower_case=tokenizer.do_lower_case,
        )
    )


def _write_vocabulary(
    config: ExtensionConfig, tokenizer: FastTokenizer, new_tokens: Sequence[str], folder: str
) -> tuple[FastTokenizer, list[int]]:
    """Write the longer vocabulary; return its tokenizer and the ids of the new tokens."""
    tokens, ids = extend_tokens(tokenizer.vocabulary, new_tokens, use_unused=config.use_unused)
    if len(tokens) > MAX_VOCAB_SIZE:
        raise ValueError(
            f"the vocabulary would have {len(tokens):,} tokens; at most {MAX_VOCAB_SIZE:,} are"
            " allowed"
        )
    path = os.path.join(folder, VOCABULARY)
    write_bytes(path, vocabulary_text(tokens).encode())
    if set(SPECIAL) <= set(tokens):  # other programs' tokenizers have all of them
        definition = tokenizer_json(
            tokens,
            do_lower_case=tokenizer.do_lower_case,
            max_word_letters=tokenizer.max_word_letters,
        )
        write_bytes(os.path.join(folder, TOKENIZER), definition.encode())
    vocabulary = load_vocabulary(path)
    if list(vocabulary.tokens) != tokens:
        raise ValueError(
            f"a token of {tokenizer.vocabulary.path} cannot be written to {VOCABULARY}"
        )
    return FastTokenizer(vocabulary, tokenizer.do_lower_case, tokenizer.max_word_letters), ids
