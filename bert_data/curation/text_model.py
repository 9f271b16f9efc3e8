"""A trained model that reads texts: its files, its tokenizer, and rows of ids in batches.

    model = open_text_model(ModelConfig(model="hub", max_seq_length=256))
    model.read(["One text.", "Another."], take)  ->  values of each row, and whose text it is

    ids of texts   [7 8 9 5 4] [6]          rows of at most 4 tokens, 2 of them special
    rows           [7 8] [9 5] [4] [6]      the first windows of each text
    batches        [CLS] 4 [SEP]            width 3, the shortest rows together: hardly any padding
                   [CLS] 6 [SEP]
                   [CLS] 7 8 [SEP]          width 4
                   [CLS] 9 5 [SEP]

A batch depends on the texts alone, and so do the last bits of what a model computes of it. A
process opens a model once.
"""

import contextlib
import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.parameters import Name
from bert_data.quiet_tensorflow import quiet_tensorflow
from bert_data.reader.planning import PlanConfig, make_plan
from bert_data.settings import Within, check_settings
from bert_data.storage import escape, glob, is_folder, read_statuses, walk_files
from bert_data.text.documents import TextDocument
from bert_data.text.text_config import DOCUMENT
from bert_data.tokens.tokenizer import FastTokenizer, tokenize_texts
from bert_data.tokens.tokenizer_file import Tokenizer, read_tokenizer, vocabulary_of

if TYPE_CHECKING:
    from bert_data.hub.opening_models import Network, Outputs

NUM_SPECIAL = 2
"""Special tokens of a row: [CLS] and [SEP]."""

_MAX_TOKENS = 1024  # of a batch, with padding; on a CPU, more are slower
_ONE_POOL = 1 << 30  # batches: all rows are sorted together
MAX_PLANNED_CHARACTERS, MAX_PLANNED_TEXTS = 4_000_000, 4096  # that are planned together

MAX_WINDOW_LENGTH = 512
"""Of a model that does not say how long its rows may be: as released BERTs."""

_BYTES_A_TOKEN = 4  # about, to plan the batches of a model that tokenizes by itself
_TRIED_WIDTH = 3

Take = Callable[["Outputs", NDArray[np.int32] | None], NDArray[np.float32]]
"""Takes [rows, values] of the outputs of a batch, and its mask; a model of texts has none."""


class RowBatch(NamedTuple):
    """Rows of one width: their numbers, [rows], ids and mask, [rows, width]."""

    rows: NDArray[np.int64]
    ids: NDArray[np.int32]
    mask: NDArray[np.int32]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TextRows:
    """The rows of texts.

    Attributes:
      ids: int32 [tokens] of all texts.
      starts, lengths: int64 [rows], where a row begins in `ids`, and its tokens, of which none is
        special.
      texts: int64 [rows], ascending: the text that each row is of.
      special: ids of [CLS], [SEP] and [PAD].
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    texts: NDArray[np.int64]
    special: tuple[int, int, int]

    def batches(self, width: int | None = None) -> Iterator[RowBatch]:
        """Yield all rows by length, in batches as wide as their longest row, or `width`."""
        cls_id, sep_id, pad_id = self.special
        for rows, widest in planned(self.lengths + NUM_SPECIAL, width):
            lengths = self.lengths[rows, np.newaxis]
            columns = np.arange(widest)
            is_token = (columns > 0) & (columns <= lengths)
            ids = np.where(columns == 0, cls_id, np.where(columns == lengths + 1, sep_id, pad_id))
            places = self.starts[rows, np.newaxis] + columns - 1
            ids[is_token] = self.ids[places[is_token]]
            mask = columns < lengths + NUM_SPECIAL
            yield RowBatch(rows, ids.astype(np.int32), mask.astype(np.int32))


def planned(
    lengths: NDArray[np.int64], width: int | None = None
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield the rows of each batch, and its width.

    Args:
      width: of all batches; None: that of the longest row.
    """
    widest = max(int(lengths.max()), width or 0)
    config = PlanConfig(
        batching="pools",
        max_tokens_per_batch=max(_MAX_TOKENS, widest),
        pool_batches=_ONE_POOL,
        width="batch" if width is None else (width,),
    )
    epoch = make_plan(lengths.astype(np.uint32), config).epoch(0)
    for number in range(epoch.num_batches):
        batch = epoch.batch(number)
        yield batch.records, batch.width


class RowMaker:
    """Cuts texts into rows."""

    def __init__(self, tokenizer: Tokenizer, max_seq_length: int, max_windows: int) -> None:
        """Prepare the tokenizer; rows have up to `max_seq_length` tokens with [CLS] and [SEP]."""
        self._tokenizer = tokenizer
        self._room, self._max_windows = max_seq_length - NUM_SPECIAL, max_windows
        vocabulary = vocabulary_of(tokenizer)
        self._special = (vocabulary.cls_id, vocabulary.sep_id, vocabulary.pad_id)

    def make(self, texts: Sequence[str]) -> TextRows:
        """Return the rows of texts, one or more of each."""
        ids, splits = self._tokenize([text.encode(errors="replace").decode() for text in texts])
        num_tokens = np.diff(splits)
        num_rows = np.clip(-(-num_tokens // self._room), 1, self._max_windows)
        of_text = np.repeat(np.arange(len(texts)), num_rows)
        first_rows = np.cumsum(num_rows) - num_rows
        before = (np.arange(of_text.size) - first_rows[of_text]) * self._room
        return TextRows(
            ids=ids.astype(np.int32),
            starts=splits[of_text] + before,
            lengths=np.minimum(num_tokens[of_text] - before, self._room),
            texts=of_text,
            special=self._special,
        )

    def _tokenize(self, texts: Sequence[str]) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
        """Return the ids of texts, and row splits of them into texts."""
        if isinstance(self._tokenizer, FastTokenizer):
            return tokenize_texts(self._tokenizer, texts)
        documents = [TextDocument(number, text) for number, text in enumerate(texts)]
        block = self._tokenizer.tokenize_documents(documents, DOCUMENT, "")
        ends = np.concatenate([[0], np.cumsum(block.sentence_lengths, dtype=np.int64)])
        return block.ids, np.concatenate([[0], ends[block.breaks]])


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Configuration of a model.

    Attributes:
      model: a .keras file, a SavedModel, a Hugging Face folder, a checkpoint, or the folder of a
        training run. Load only models that you trust: a model can run code.
      vocab_file: vocabulary or tokenizer of the model; null: the one that comes with the model.
      do_lower_case: lower-case the text; a tokenizer file decides this itself. null: as the model
        says, or else true, which is an error if the vocabulary is cased.
      allow_other_vocabulary: allow a vocab_file that the model was not trained with.
      max_seq_length: tokens per window, including [CLS] and [SEP]; null: 512, or the model's
        maximum if that is smaller.
      max_windows: largest number of windows read from a text, in order from its start.
    """

    model: Name
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    allow_other_vocabulary: bool = False
    max_seq_length: Annotated[int, Within(8)] | None = None
    max_windows: Annotated[int, Within(1)] = 1

    def __post_init__(self) -> None:
        check_settings(self)

    def files(self) -> list[str]:
        """Return the files that the model is made of, as far as they exist."""
        found = [self.vocab_file] if self.vocab_file else []
        if is_folder(self.model):
            return [*found, *walk_files(self.model)]
        return found + glob(f"{escape(self.model)}*")  # a file, or the prefix of a checkpoint


class TakenValues(NamedTuple):
    """Tokens that were taken of the rows of texts.

    Attributes:
      values: float32 [rows, values].
      texts: int64 [rows], ascending from 0 without gaps: the text that each row is of.
      num_tokens: int64 [rows], of each row.
    """

    values: NDArray[np.float32]
    texts: NDArray[np.int64]
    num_tokens: NDArray[np.int64]

    def of_texts(self, how: str) -> NDArray[np.float64]:
        """Return [texts, values]: the "max" over rows, or the "mean", weighted by their tokens."""
        starts = np.flatnonzero(np.diff(self.texts, prepend=-1))
        if how == "max":
            return np.maximum.reduceat(self.values, starts, axis=0).astype(np.float64)
        weights = self.num_tokens[:, np.newaxis].astype(np.float64)
        return np.add.reduceat(self.values * weights, starts) / np.add.reduceat(weights, starts)


class TextModel:
    """A model with its tokenizer; `shapes` are those of its outputs for one row, by name."""

    def __init__(self, config: ModelConfig) -> None:
        """Open the model, and try it with the largest id and the longest row."""
        self.network = _open_network(config.model)
        self._maker: RowMaker | None = None
        if self.network.reads_texts:
            _refuse_settings_of_rows(config, self.network)
            outputs = self.network.run(["a"])
        else:
            tokenizer = _open_tokenizer(config, self.network)
            max_seq_length = _max_seq_length(config, self.network)
            self._maker = RowMaker(tokenizer, max_seq_length, config.max_windows)
            outputs = _try_out(self.network, tokenizer, max_seq_length)
        self.shapes = {name: tuple(output.shape) for name, output in outputs.items()}

    def read(self, texts: Sequence[str], take: Take) -> TakenValues:
        """Run the model over texts, one or more."""
        if self._maker is None:
            data = [text.encode(errors="replace") for text in texts]
            of_text = np.arange(len(texts))
            num_tokens = np.array([len(each) // _BYTES_A_TOKEN + 1 for each in data])
            taken = (
                (numbers, take(self.network.run([data[number] for number in numbers]), None))
                for numbers, _ in planned(np.minimum(num_tokens, MAX_WINDOW_LENGTH))
            )
        else:
            rows = self._maker.make(texts)
            of_text, num_tokens = rows.texts, rows.lengths + NUM_SPECIAL
            run = self.network.run
            taken = (
                (batch.rows, take(run(batch.ids, batch.mask, 0 * batch.ids), batch.mask))
                for batch in rows.batches(self.network.width)
            )
        values: NDArray[np.float32] | None = None
        for numbers, values_of_batch in taken:
            if values is None:
                values = np.empty((of_text.size, values_of_batch.shape[1]), np.float32)
            values[numbers] = values_of_batch
        assert values is not None
        return TakenValues(values, of_text, num_tokens)


def open_text_model(config: ModelConfig) -> TextModel:
    """Open a model, or return the one that this process opened last; see `TextModel`."""
    return _open_model(config, tuple(map(repr, read_statuses(config.files()))))


@functools.lru_cache(maxsize=1)
def _open_model(config: ModelConfig, files: tuple[str, ...]) -> TextModel:
    del files  # by which changed ones are opened again
    return TextModel(config)


def _open_network(path: str) -> "Network":
    """Open a model in a TensorFlow of one thread, as the processes of a run share the cores.

    A program that has used TensorFlow before keeps its number of threads.
    """
    with contextlib.nullcontext() if "tensorflow" in sys.modules else quiet_tensorflow():
        import tensorflow as tf

        for limit in ("set_intra_op_parallelism_threads", "set_inter_op_parallelism_threads"):
            try:
                getattr(tf.config.threading, limit)(1)
            except RuntimeError:
                logging.info("TensorFlow keeps the number of threads that this program has chosen")
                break
        from bert_data.hub.opening_models import open_network
    return open_network(path)


def _refuse_settings_of_rows(config: ModelConfig, network: "Network") -> None:
    for field in dataclasses.fields(ModelConfig):
        if field.name != "model" and getattr(config, field.name) != field.default:
            raise ValueError(f"{network.path} tokenizes texts itself; leave {field.name} out")


def _open_tokenizer(config: ModelConfig, network: "Network") -> Tokenizer:
    path = config.vocab_file or network.vocab_file
    if path is None:
        raise ValueError(f"{network.path} comes without a vocabulary; name its vocab_file")
    given = config.do_lower_case
    lower_case = network.do_lower_case if given is None else given
    tokenizer = read_tokenizer(path, do_lower_case=lower_case)
    num_ids, known = tokenizer.id_limit, network.vocab_size
    if known is not None and num_ids > known:
        raise ValueError(
            f"{path} has {num_ids:,} tokens, more than the {known:,} of {network.path}: it is not"
            " the vocabulary that the model was trained with"
        )
    if path != network.vocab_file:
        network.check_vocabulary(path, allow_other=config.allow_other_vocabulary)
    return tokenizer


def _max_seq_length(config: ModelConfig, network: "Network") -> int:
    asked, most = config.max_seq_length, network.max_width
    if asked is not None and most is not None and asked > most:
        raise ValueError(f"max_seq_length is {asked}; {network.path} reads up to {most} tokens")
    return asked or min(MAX_WINDOW_LENGTH, most or MAX_WINDOW_LENGTH)


def _try_out(network: "Network", tokenizer: Tokenizer, max_seq_length: int) -> "Outputs":
    """Return the outputs of one row, after trying the largest id and the longest row."""

    def run(number: int, width: int) -> "Outputs":
        width = network.width or width
        row = np.full((1, width), number, np.int32)
        return network.run(row, np.ones_like(row), np.zeros_like(row))

    outputs = run(0, _TRIED_WIDTH)
    num_ids = tokenizer.id_limit
    for number, width, what in (
        (num_ids - 1, _TRIED_WIDTH, f"all {num_ids:,} tokens of its vocabulary"),
        (0, max_seq_length, f"rows of max_seq_length, {max_seq_length} tokens"),
    ):
        try:
            run(number, width)
        except ValueError as error:
            raise ValueError(f"{network.path} cannot read {what}: {error}") from None
    return outputs
