"""A trained model as a function of rows of ids, or of texts; `opening` makes it of files.

network.run(ids, mask, types)  ->  {"logits": float32 [rows, labels], "sequence_output": ..., ...}
network.run(texts)             ->  {"output_0": float32 [rows, 1]}
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from bert_data.errors import first_sentence
from bert_data.hub.packing import INPUTS
from bert_data.schema import fields
from bert_data.training.config import BertConfig
from bert_data.training.encoder import Encoder
from bert_data.training.model_vocabulary import ModelVocabulary, compare_vocabularies

SEQUENCE, POOLED, LOGITS = "sequence_output", "pooled_output", "logits"
"""Outputs: of each position [rows, width, hidden], of each row [rows, hidden], of a classifier."""

_ROLES = {
    **dict(zip(INPUTS, range(3), strict=True)),
    fields.INPUT_IDS.name: 0,
    fields.INPUT_MASK.name: 1,
    fields.SEGMENT_IDS.name: 2,
    "attention_mask": 1,
    "token_type_ids": 2,
}
"""Names of inputs: 0 for ids, 1 for the mask, 2 for the segments."""

_ALLOWED = ([0], [0, 1], [0, 2], [0, 1, 2])

Outputs = dict[str, tf.Tensor]
Logits = Callable[[tf.Tensor], tf.Tensor]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """A model.

    Attributes:
      path: of its file or folder.
      call: takes int32 [rows, width] ids, mask (1 for tokens, 0 for padding) and segments; or, if
        it reads texts, string [rows].
      reads_texts: whether it does.
      width: of all rows; None: any.
      max_width: of the widest row that it reads; None: not known.
      vocab_size: number of ids that it knows; None: not known.
      vocab_file: of its tokens, if it comes with them.
      vocabularies: those that it was trained with, as far as it says.
      do_lower_case: whether its text is lower-cased; None: not known.
      labels: names of a classifier's labels, if they are known.
      is_multi_label: whether several labels may be true of a text.
    """

    path: str
    call: Callable[..., Outputs]
    reads_texts: bool = False
    width: int | None = None
    max_width: int | None = None
    vocab_size: int | None = None
    vocab_file: str | None = None
    vocabularies: tuple[ModelVocabulary, ...] = ()
    do_lower_case: bool | None = None
    labels: tuple[str, ...] = ()
    is_multi_label: bool = False

    def check_vocabulary(self, path: str, *, allow_other: bool) -> None:
        """Compare a vocabulary, or a tokenizer, with the one that the model was trained with.

        Raises:
          ValueError: it is another one, and that is not allowed.
        """
        compare_vocabularies(
            ModelVocabulary.read(path),
            self.vocabularies,
            self.path,
            vocab_size=self.vocab_size,
            allow_other=allow_other,
        )

    def run(self, *inputs: Any) -> Outputs:
        """Compute the outputs, by name.

        Raises:
          ValueError: the model cannot compute them, for example for an id or a width that it does
            not know.
        """
        try:
            return self.call(*map(tf.constant, inputs))
        except (tf.errors.OpError, ValueError, TypeError) as error:
            raise ValueError(f"{self.path} cannot compute: {first_sentence(error)}") from None


def network_of_encoder(
    path: str, config: BertConfig, encoder: Encoder, logits: Logits | None, *, has_pooler: bool
) -> Network:
    """Return the network of an encoder.

    Args:
      logits: a classifier's layer above the pooled output, if there is one.
      has_pooler: whether the encoder's pooler has weights, too.
    """

    def call(ids: tf.Tensor, mask: tf.Tensor, types: tf.Tensor) -> Outputs:
        hidden, pooled = encoder(ids, mask, types)
        outputs = {SEQUENCE: tf.cast(hidden, tf.float32)}
        if has_pooler:
            outputs[POOLED] = tf.cast(pooled, tf.float32)
        if logits is not None:
            outputs[LOGITS] = tf.cast(logits(pooled), tf.float32)
        return outputs

    return Network(
        path=path,
        call=tf.function(call, [tf.TensorSpec([None, None], tf.int32)] * 3, autograph=False),
        max_width=config.max_position_embeddings,
        vocab_size=config.vocab_size,
    )


def network_of_function(
    path: str, specs: Mapping[str, tf.TensorSpec], call: Callable[[dict[str, tf.Tensor]], Any]
) -> Network:
    """Return the network of a function of named tensors.

    Args:
      specs: of its arguments, by name: one of strings, or rows of ids, their mask and segments by
        the names of this package, of TF Hub or of Hugging Face.
      call: returns a tensor, a sequence or a mapping of tensors.

    Raises:
      ValueError: the function takes something else.
    """
    shown = ", ".join(f"{name} {spec.dtype.name}{list(spec.shape)}" for name, spec in specs.items())
    ranks = {spec.shape.rank for spec in specs.values()}
    if not all(ranks) or any(spec.shape[0] is not None for spec in specs.values()):
        raise ValueError(f"{path} takes {shown}; it must take any number of rows")
    if [spec.dtype for spec in specs.values()] == [tf.string]:
        (name,), (rank,) = specs, ranks

        def of_texts(texts: tf.Tensor) -> Outputs:
            return _named(call({name: tf.reshape(texts, [-1] + [1] * (rank - 1))}))

        return Network(path=path, call=of_texts, reads_texts=True)
    if sorted(_ROLES.get(name, -1) for name in specs) not in _ALLOWED or ranks != {2}:
        names = ", ".join(_ROLES)
        raise ValueError(f"{path} takes {shown}; it must take texts, or rows named {names}")

    def of_rows(*inputs: tf.Tensor) -> Outputs:
        given = {name: tf.cast(inputs[_ROLES[name]], s.dtype) for name, s in specs.items()}
        return _named(call(given))

    width = next(iter(specs.values())).shape[1]
    return Network(path=path, call=of_rows, width=width, max_width=width)


def _named(outputs: Any) -> Outputs:
    if isinstance(outputs, Mapping):
        return dict(outputs)
    if isinstance(outputs, Sequence):
        return {f"output_{number}": output for number, output in enumerate(outputs)}
    return {"output_0": outputs}
