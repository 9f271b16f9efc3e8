"""Open the files of a trained model, of any kind, as a function of rows of ids, or of texts.

    open_network("classifier.keras")    a model of this package, or another one of Keras
    open_network("hub/encoder")         a SavedModel: of export_hub, of Keras's export, another one
    open_network("huggingface")         a folder of Hugging Face, also with a classifier
    open_network("run")                 a checkpoint, or the folder of a training run

    network.run(ids, mask, types)  ->  {"logits": float32 [rows, labels], "sequence_output": ...}
    network.run(texts)             ->  {"output_0": float32 [rows, 1]}

Load only what you trust: a SavedModel is a program.
"""

import contextlib
import dataclasses
import errno
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401 - graphs that read texts use its ops

import bert_data.hub.keras_layers  # noqa: F401 - files of Keras may name its layers
from bert_data.errors import CorruptDataError, first_sentence
from bert_data.hub.export_config import ENCODER, INPUTS
from bert_data.labelled.classifier import TextClassifier
from bert_data.records import fields
from bert_data.storage import exists, is_folder, is_remote, open_input, read_object
from bert_data.training.bert_config import BertConfig
from bert_data.training.checkpoints import folder_config
from bert_data.training.encoder import Encoder, named_variables
from bert_data.training.hugging_face_weights import HuggingFaceFolder
from bert_data.training.keras_model import KerasModel
from bert_data.training.model_vocabulary import ModelVocabulary, check_vocabulary, find_vocabularies
from bert_data.training.state import assign_weights, open_weights

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
      call: takes int32 [rows, width] ids, mask (1 for tokens, 0 for padding) and segments; or, if
        it reads texts, string [rows].
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
        """Compare a vocabulary, or a tokenizer, with the one that the model was trained with."""
        check_vocabulary(
            ModelVocabulary.read(path),
            self.path,
            self.vocabularies,
            vocab_size=self.vocab_size,
            allow_other=allow_other,
        )

    def run(self, *inputs: Any) -> Outputs:
        """Compute the outputs, by name."""
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
      specs: of its arguments, by name: one of strings, or rows of ids, their mask and segments.
      call: returns a tensor, a sequence or a mapping of tensors.
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


SAVED_MODEL = "saved_model.pb"
_KERAS = ".keras"
_SIGNATURE = "serving_default"

# Of the layer of logits: names in folders of Hugging Face, and in checkpoints of Google's programs.
_CLASSIFIER = ("classifier/kernel", "classifier/bias")
_GOOGLES_CLASSIFIER = ("output_weights", "output_bias")
_POOLER = "bert/pooler/"
_CONFIG, _TOKENIZER_CONFIG = "config.json", "tokenizer_config.json"
_VOCABULARIES = ("tokenizer.json", "vocab.txt")


def open_network(path: str) -> Network:
    """Open a model.

    Args:
      path: of a .keras file, a SavedModel, the folder that export_hub wrote, a folder of Hugging
        Face, a checkpoint or the folder of a training run.
    """
    if is_folder(folder := os.path.join(path, ENCODER)):
        path = folder
    if not exists(path) and not exists(f"{path}.index"):
        raise FileNotFoundError(errno.ENOENT, "there is no such file or folder", path)
    if path.endswith(_KERAS) or exists(os.path.join(path, SAVED_MODEL)):
        if is_remote(path):
            raise ValueError(f"{path} is remote; TensorFlow reads models from a local disk")
        return _open_keras(path) if path.endswith(_KERAS) else _open_saved_model(path)
    return _open_weights(path)


@contextlib.contextmanager
def _loading(path: str) -> Iterator[None]:
    """Turn what TensorFlow and Keras raise about a file into one sentence."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # of any kind: the file names classes and functions, which run
        reason = f"cannot be loaded ({type(error).__name__}: {first_sentence(error)})"
        raise CorruptDataError(path, 0, reason) from error


def _open_keras(path: str) -> Network:
    with open_input(path) as file:
        if not zipfile.is_zipfile(file):
            raise CorruptDataError(path, 0, f"not a whole {_KERAS} file of Keras 3")
    with _loading(path):
        model = keras.models.load_model(path, compile=False)
    if isinstance(model, KerasModel):
        is_classifier = isinstance(model, TextClassifier)
        logits = model.output_layer if is_classifier else None
        network = network_of_encoder(path, model.config, model.encoder, logits, has_pooler=True)
        return dataclasses.replace(network, labels=model.labels if is_classifier else ())
    if not getattr(model, "inputs", None):
        raise ValueError(f"{path} is a model without named inputs; export it as a SavedModel")
    specs = {each.name: tf.TensorSpec(each.shape, each.dtype) for each in model.inputs}

    def call(inputs: dict[str, tf.Tensor]) -> Any:
        values = [inputs[each.name] for each in model.inputs]
        return model(keras.tree.pack_sequence_as(model.input, values), training=False)

    return network_of_function(path, specs, call)


def _open_saved_model(path: str) -> Network:
    with _loading(path):
        loaded = tf.saved_model.load(path)
    network = network_of_function(path, *_function_of(path, loaded))
    num_rows = {
        each.name.rpartition("/")[2].partition(":")[0]: each.shape[0]
        for each in getattr(loaded, "variables", ())
        if each.shape.rank
    }
    network = dataclasses.replace(
        network,
        max_width=network.width or num_rows.get("position_embeddings"),
        vocab_size=num_rows.get("word_embeddings"),
        vocabularies=tuple(find_vocabularies(path)),
    )
    if not hasattr(loaded, "vocab_file") or not hasattr(loaded, "do_lower_case"):
        return network
    vocab_file = loaded.vocab_file.asset_path.numpy().decode()
    return dataclasses.replace(  # export_hub writes both
        network,
        vocab_file=vocab_file,
        vocabularies=network.vocabularies or (ModelVocabulary.read(vocab_file),),
        do_lower_case=bool(loaded.do_lower_case.numpy()),
    )


def _function_of(path: str, loaded: Any) -> tuple[dict[str, tf.TensorSpec], Callable[..., Any]]:
    """Return the specs of a SavedModel's inputs by name, and its function of such tensors.

    What Keras exports has its inputs' names in the function `serve` alone. By themselves, functions
    would not keep the variables, so they are called as attributes.
    """
    serve = getattr(loaded, "serve", None)
    for concrete in getattr(serve, "concrete_functions", ()):
        arguments, _ = concrete.structured_input_signature
        if len(arguments) == 1 and isinstance(arguments[0], dict):
            return arguments[0], lambda inputs: loaded.serve(inputs)
    if _SIGNATURE not in loaded.signatures:
        raise ValueError(f"{path} is a SavedModel without the signature {_SIGNATURE!r}")
    specs = loaded.signatures[_SIGNATURE].structured_input_signature[1]
    return specs, lambda inputs: loaded.signatures[_SIGNATURE](**inputs)


def _open_weights(path: str) -> Network:
    try:
        weights = open_weights(path)
    except ValueError as error:
        raise ValueError(
            f"{path} is neither a {_KERAS} file, a SavedModel (with {SAVED_MODEL}), a Hugging"
            f" Face folder nor a checkpoint: {error}"
        ) from None
    folder = os.path.dirname(weights.prefix)
    config = folder_config(folder)
    if config is None:
        raise ValueError(f"there is no bert_config.json or {_CONFIG} beside {weights.prefix}")
    encoder = Encoder(config)
    encoder.build()
    variables = named_variables(encoder)
    has_pooler = all(name in weights for name in variables if name.startswith(_POOLER))
    if not has_pooler:
        variables = {n: v for n, v in variables.items() if not n.startswith(_POOLER)}
    assign_weights(weights, variables)
    is_hugging_face = isinstance(weights, HuggingFaceFolder)
    logits = None
    names = _CLASSIFIER if is_hugging_face else _GOOGLES_CLASSIFIER
    if has_pooler and all(name in weights for name in names):
        kernel, bias = (np.asarray(weights.read(name)) for name in names)
        logits = _linear(kernel if is_hugging_face else kernel.T, bias)
    network = dataclasses.replace(
        network_of_encoder(path, config, encoder, logits, has_pooler=has_pooler),
        vocabularies=tuple(find_vocabularies(weights.prefix)),
    )
    return _described(network, folder) if is_hugging_face else network


def _linear(kernel: np.ndarray, bias: np.ndarray) -> Logits:
    weights, shift = tf.constant(kernel, tf.float32), tf.constant(bias, tf.float32)
    return lambda pooled: tf.matmul(tf.cast(pooled, tf.float32), weights) + shift


def _described(network: Network, folder: str) -> Network:
    """Return the network with what a folder of Hugging Face says of its tokens and labels."""
    config = read_object(os.path.join(folder, _CONFIG))
    numbered = config.get("id2label")
    labels: tuple[str, ...] = ()
    if isinstance(numbered, dict) and set(numbered) == set(map(str, range(len(numbered)))):
        labels = tuple(str(numbered[str(number)]) for number in range(len(numbered)))
    lower_case = None
    if exists(path := os.path.join(folder, _TOKENIZER_CONFIG)):
        lower_case = read_object(path).get("do_lower_case")
    files = (os.path.join(folder, name) for name in _VOCABULARIES)
    return dataclasses.replace(
        network,
        vocab_file=next(filter(exists, files), None),
        do_lower_case=lower_case if isinstance(lower_case, bool) else None,
        labels=labels,
        is_multi_label=config.get("problem_type") == "multi_label_classification",
    )
