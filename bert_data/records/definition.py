"""Instances as BERT defines them, in plain Python: the specification that the kernels must equal.

    text --tokenizer--> documents --draws--> TrainingInstance

`example_definition` turns them into records. The functions have the names, arguments and results of
google-research/bert's create_pretraining_data, plus keywords for masking rules, objectives and what
takes the place of a function that they call. All draws come from one `random.Random`, in the
reference's order. `create_dataset` makes the same instances many times faster; tests compare them
with this module.
"""

import collections
import dataclasses
import functools
import random
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from bert_data.records.choices import MIN_SEQ_LENGTH
from bert_data.records.masking.rule import GOOGLES_SHOWN, Shown
from bert_data.records.objectives import NSP, Objective, TokenizedDocument
from bert_data.storage import read_bytes
from bert_data.text.documents import not_utf8
from bert_data.tokens.definition import CONTINUATION, printable_text, stripped_lines

CLS, SEP, MASK = "[CLS]", "[SEP]", "[MASK]"

Mask = Callable[
    [Sequence[str], float, int, Sequence[str], random.Random],
    tuple[list[str], list[int], list[str]],
]
"""A masking rule, with the arguments and results of `create_masked_lm_predictions`."""

OfDocument = Callable[..., list["TrainingInstance"]]
Truncate = Callable[[list[str], list[str], int, random.Random], None]


MaskedLmInstance = collections.namedtuple("MaskedLmInstance", ["index", "label"])
"""A token to predict: its position and itself."""


class PlainTokenizer(Protocol):
    """A tokenizer that makes instances, such as `tokens.definition.FullTokenizer`."""

    vocab: dict[str, int]

    def tokenize(self, text: str, /) -> list[str]:
        """Return the tokens of a line."""


@dataclasses.dataclass(eq=False, repr=False)
class TrainingInstance:
    """A pair of sentences with masked tokens; neither padded nor turned into ids.

    Attributes:
      tokens: [CLS] a [SEP] b [SEP], with masks and random words.
      segment_ids: 0 for a with its [CLS] and [SEP], 1 for b with its [SEP].
      masked_lm_positions: ascending positions in `tokens` to predict.
      masked_lm_labels: the original tokens there.
      is_random_next: whether b does not follow a: it is from elsewhere, or a and b are swapped.
        None if there is no b.
    """

    tokens: list[str]
    segment_ids: list[int]
    masked_lm_positions: list[int]
    masked_lm_labels: list[str]
    is_random_next: bool | None

    def __str__(self) -> str:
        return (
            f"tokens: {' '.join(map(printable_text, self.tokens))}\n"
            f"segment_ids: {' '.join(map(str, self.segment_ids))}\n"
            f"is_random_next: {self.is_random_next}\n"
            f"masked_lm_positions: {' '.join(map(str, self.masked_lm_positions))}\n"
            f"masked_lm_labels: {' '.join(map(printable_text, self.masked_lm_labels))}\n\n"
        )

    __repr__ = __str__


def create_masked_lm_predictions(
    tokens: Sequence[str],
    masked_lm_prob: float,
    max_predictions_per_seq: int,
    vocab_words: Sequence[str],
    rng: random.Random,
    *,
    do_whole_word_mask: bool = False,
    shown: Shown = GOOGLES_SHOWN,
    special: Collection[str] = (CLS, SEP),
    prediction: Callable[..., MaskedLmInstance] = MaskedLmInstance,
) -> tuple[list[str], list[int], list[str]]:
    """Choose the tokens to predict, and what is shown in their place.

    Words, or single tokens, are taken in random order while they fit the number to predict. Of
    these tokens, 80% become [MASK], 10% stay, and 10% become a random word of the vocabulary.

    Args:
      tokens: of an instance.
      masked_lm_prob: share of them to predict, in [0, 1]; at least one.
      max_predictions_per_seq: most tokens to predict.
      vocab_words: the random words.
      rng: source of all random numbers.
      do_whole_word_mask: choose all pieces of a word together; a piece that begins with "##"
        belongs to the token before it.
      shown: other shares than these.
      special: tokens that are never predicted.
      prediction: takes the place of `MaskedLmInstance`.

    Returns:
      The tokens shown, the ascending positions of those to predict, and the original tokens there.
    """
    words = list_words(tokens, special, do_whole_word_mask=do_whole_word_mask)
    rng.shuffle(words)
    num_to_predict = min(max_predictions_per_seq, max(1, round(len(tokens) * masked_lm_prob)))
    changed = list(tokens)
    predictions: list[MaskedLmInstance] = []
    for word in words:
        if len(predictions) + len(word) > num_to_predict:
            continue
        for index in word:
            predictions.append(prediction(index=index, label=tokens[index]))
            changed[index] = draw_shown(tokens[index], vocab_words, rng, shown)
    return as_results(changed, predictions)


def list_words(
    tokens: Sequence[str], special: Collection[str], *, do_whole_word_mask: bool
) -> list[list[int]]:
    """Return the positions of each word, or of each token, without special ones."""
    words: list[list[int]] = []
    for index, token in enumerate(tokens):
        if token in special:
            continue
        if do_whole_word_mask and words and token.startswith(CONTINUATION):
            words[-1].append(index)
        else:
            words.append([index])
    return words


def draw_shown(token: str, vocab_words: Sequence[str], rng: random.Random, shown: Shown) -> str:
    """Draw what is shown in place of a token."""
    if rng.random() < shown.mask:
        return MASK
    if rng.random() < shown.keep_of_rest:
        return token
    return vocab_words[rng.randint(0, len(vocab_words) - 1)]


def as_results(
    changed: list[str], predictions: list[MaskedLmInstance]
) -> tuple[list[str], list[int], list[str]]:
    """Return the tokens shown, the positions of the predictions, ascending, and their labels."""
    predictions.sort()
    return changed, [each.index for each in predictions], [each.label for each in predictions]


def create_training_instances(
    input_files: Iterable[str],
    tokenizer: PlainTokenizer,
    max_seq_length: int,
    dupe_factor: int,
    short_seq_prob: float,
    masked_lm_prob: float,
    max_predictions_per_seq: int,
    rng: random.Random,
    *,
    of_document: OfDocument | None = None,
) -> list[TrainingInstance]:
    """Make the instances of text files, in the order of the records.

    Args:
      input_files: paths; one sentence per line, an empty line ends a document. Lines end at line
        feeds only, and carriage returns are dropped.
      tokenizer: splits each line; `vocab` has the random words.
      max_seq_length: most tokens of an instance, 5 or more.
      dupe_factor: passes over the documents, each with its own pairs and masks.
      short_seq_prob: probability of a document with a shorter target length, in [0, 1].
      masked_lm_prob: share of tokens to predict, in [0, 1].
      max_predictions_per_seq: most tokens to predict in an instance.
      rng: source of all random numbers.
      of_document: called in place of `create_instances_from_document`, without keywords.
    """
    documents: list[list[list[str]]] = [[]]
    for path in input_files:
        for line in _lines_of(path):
            if not line:
                documents.append([])
            if tokens := tokenizer.tokenize(line):
                documents[-1].append(tokens)
    return create_instances_from_documents(
        [document for document in documents if document],
        max_seq_length,
        dupe_factor,
        short_seq_prob,
        masked_lm_prob,
        max_predictions_per_seq,
        list(tokenizer.vocab),
        rng,
        of_document=of_document,
    )


def _lines_of(path: str) -> list[str]:
    try:
        return stripped_lines(read_bytes(path))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: {not_utf8(error)}") from None


def create_instances_from_documents(
    all_documents: Iterable[TokenizedDocument],
    max_seq_length: int,
    dupe_factor: int,
    short_seq_prob: float,
    masked_lm_prob: float,
    max_predictions_per_seq: int,
    vocab_words: Sequence[str],
    rng: random.Random,
    *,
    mask: Mask = create_masked_lm_predictions,
    objective: Objective = NSP,
    of_document: OfDocument | None = None,
) -> list[TrainingInstance]:
    """Make the instances of documents, as `create_training_instances` does for files.

    The documents are shuffled, each pass makes instances of every document, and all instances are
    shuffled. Every document has at least one sentence, and every sentence at least one token.
    """
    if of_document is None:
        of_document = functools.partial(
            create_instances_from_document, mask=mask, objective=objective
        )
    documents = list(all_documents)
    rng.shuffle(documents)
    instances = []
    for _ in range(dupe_factor):
        for index in range(len(documents)):
            instances += of_document(
                documents,
                index,
                max_seq_length,
                short_seq_prob,
                masked_lm_prob,
                max_predictions_per_seq,
                vocab_words,
                rng,
            )
    rng.shuffle(instances)
    return instances


def create_instances_from_document(
    all_documents: Sequence[TokenizedDocument],
    document_index: int,
    max_seq_length: int,
    short_seq_prob: float,
    masked_lm_prob: float,
    max_predictions_per_seq: int,
    vocab_words: Sequence[str],
    rng: random.Random,
    *,
    mask: Mask = create_masked_lm_predictions,
    objective: Objective = NSP,
    truncate: Truncate | None = None,
    make: Callable[..., TrainingInstance] = TrainingInstance,
) -> list[TrainingInstance]:
    """Make the instances of one pass over one document.

    Args:
      mask: the masking rule, such as `create_masked_lm_predictions`.
      truncate: takes the place of `truncate_seq_pair`.
      make: takes the place of `TrainingInstance`, with keywords.
    """
    if max_seq_length < MIN_SEQ_LENGTH:
        raise ValueError(f"max_seq_length is {max_seq_length}; it must be {MIN_SEQ_LENGTH} or more")
    target_length = max_num_tokens = max_seq_length - objective.num_special
    if rng.random() < short_seq_prob:
        target_length = rng.randint(2, max_num_tokens)
    assert objective.draw_segments is not None
    segments = objective.draw_segments(all_documents, document_index, target_length, rng)
    instances = []
    for tokens_a, tokens_b, is_random_next in segments:
        (truncate or truncate_seq_pair)(tokens_a, tokens_b, max_num_tokens, rng)
        segment_a, segment_b = [CLS, *tokens_a, SEP], [*tokens_b, SEP] if tokens_b else []
        tokens, positions, labels = mask(
            segment_a + segment_b, masked_lm_prob, max_predictions_per_seq, vocab_words, rng
        )
        segment_ids = [0] * len(segment_a) + [1] * len(segment_b)
        instances.append(
            make(
                tokens=tokens,
                segment_ids=segment_ids,
                is_random_next=is_random_next,
                masked_lm_positions=positions,
                masked_lm_labels=labels,
            )
        )
    return instances


def truncate_seq_pair(
    tokens_a: list[str], tokens_b: list[str], max_num_tokens: int, rng: random.Random
) -> None:
    """Remove tokens, in place, until both lists have at most `max_num_tokens` together.

    Each is removed from the longer list (b if they are equal), from front or back with equal
    chance.
    """
    while len(tokens_a) + len(tokens_b) > max_num_tokens:
        longer = tokens_a if len(tokens_a) > len(tokens_b) else tokens_b
        del longer[0 if rng.random() < 0.5 else -1]
