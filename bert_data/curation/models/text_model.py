"""A trained model that reads texts: the files it is made of, its tokens, the length of its rows.

    model = open_model(ModelConfig(model="hub", max_seq_length=256))
    model.read(["One text.", "Another."], take)  ->  values of each row, and whose text it is

A process opens a model once.
"""

import contextlib
import dataclasses
import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.models.rows import NUM_SPECIAL, RowMaker, planned
from bert_data.quiet_tensorflow import quiet_tensorflow
from bert_data.storage import escape, glob, is_file, is_folder, read_statuses
from bert_data.tokens.tokenizer_file import Tokenizer, read_tokenizer

if TYPE_CHECKING:
    from bert_data.hub.opening import Network, Outputs

MAX_SEQ_LENGTH = 512
"""Of a model that does not say how long its rows may be: as released BERTs."""

_MIN_SEQ_LENGTH = 8
_BYTES_A_TOKEN = 4  # about, to plan the batches of a model that tokenizes by itself
_MAX_DEPTH = 4  # of folders in that of a model
_TRIED_WIDTH = 3

Take = Callable[["Outputs", NDArray[np.int32] | None], NDArray[np.float32]]
"""Takes [rows, values] of the outputs of a batch, and its mask; a model of texts has none."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Configuration of a model.

    Attributes:
      model: a .keras file, a SavedModel, a folder of Hugging Face, a checkpoint, or the folder of a
        training run.
      vocab_file: of its tokens, or a tokenizer; None: the one that comes with it.
      do_lower_case: whether its text is lower-cased, which a tokenizer says itself; None: as the
        model says, or else true.
      allow_other_vocabulary: whether vocab_file may be another one than that of its training.
      max_seq_length: tokens of its longest row; None: 512, or fewer if it reads fewer.
      max_windows: rows of a text; what follows them is not read.
    """

    model: str
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    allow_other_vocabulary: bool = False
    max_seq_length: int | None = None
    max_windows: int = 1

    def __post_init__(self) -> None:
        if not self.model:
            raise ValueError("model is ''; it must not be empty")
        for name, least in (("max_seq_length", _MIN_SEQ_LENGTH), ("max_windows", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} is {value}; it must be a whole number >= {least}")

    def files(self) -> list[str]:
        """Return the files that the model is made of, as far as they exist."""
        found = [self.vocab_file] if self.vocab_file else []
        pattern = escape(self.model)
        if not is_folder(self.model):  # a file, or the prefix of a checkpoint
            return found + glob(f"{pattern}*")
        for _ in range(_MAX_DEPTH):
            pattern += "/*"
            found += filter(is_file, glob(pattern))
        return found


class Values(NamedTuple):
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
    """A model with its tokenizer.

    Attributes:
      network: the model itself.
      shapes: of its outputs for one row, by name.
    """

    def __init__(self, config: ModelConfig) -> None:
        """Open the model, and try it with the largest id and the longest row.

        Raises:
          ValueError: it is no model, needs a vocabulary or does not fit the given one, or reads
            only shorter rows.
        """
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

    def read(self, texts: Sequence[str], take: Take) -> Values:
        """Run the model over texts, one or more."""
        if self._maker is None:
            return self._read_whole(texts, take)
        rows = self._maker.make(texts)
        values: NDArray[np.float32] | None = None
        for batch in rows.batches(self.network.width):
            taken = take(self.network.run(batch.ids, batch.mask, 0 * batch.ids), batch.mask)
            if values is None:
                values = np.empty((rows.texts.size, taken.shape[1]), np.float32)
            values[batch.rows] = taken
        assert values is not None
        return Values(values, rows.texts, rows.lengths + NUM_SPECIAL)

    def _read_whole(self, texts: Sequence[str], take: Take) -> Values:
        """Run a model over texts that it tokenizes by itself."""
        data = [text.encode(errors="replace") for text in texts]
        sizes = np.array([len(each) // _BYTES_A_TOKEN + 1 for each in data])
        values: NDArray[np.float32] | None = None
        for rows, _ in planned(np.minimum(sizes, MAX_SEQ_LENGTH)):
            taken = take(self.network.run([data[row] for row in rows]), None)
            if values is None:
                values = np.empty((len(texts), taken.shape[1]), np.float32)
            values[rows] = taken
        assert values is not None
        return Values(values, np.arange(len(texts)), sizes)


def open_model(config: ModelConfig) -> TextModel:
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
        from bert_data.hub.opening import open_network
    return open_network(path)


def _refuse_settings_of_rows(config: ModelConfig, network: "Network") -> None:
    for field in dataclasses.fields(config):
        if field.name != "model" and getattr(config, field.name) != field.default:
            raise ValueError(
                f"{network.path} reads texts and makes its rows itself; leave {field.name} out"
            )


def _open_tokenizer(config: ModelConfig, network: "Network") -> Tokenizer:
    """Open the tokenizer of a model.

    Raises:
      ValueError: there is none, or it has more ids than the model.
    """
    path = config.vocab_file or network.vocab_file
    if path is None:
        raise ValueError(f"{network.path} comes without a vocabulary; name its vocab_file")
    choices = (config.do_lower_case, network.do_lower_case, True)
    lower_case = next(each for each in choices if each is not None)
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
    return asked or min(MAX_SEQ_LENGTH, most or MAX_SEQ_LENGTH)


def _try_out(network: "Network", tokenizer: Tokenizer, max_seq_length: int) -> "Outputs":
    """Return the outputs of one row, after trying the largest id and the longest row.

    Raises:
      ValueError: the model cannot read them; a model may not say so before.
    """

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
