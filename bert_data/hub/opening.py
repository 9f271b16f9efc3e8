"""Open the files of a trained model, of any kind.

    open_network("classifier.keras")    a model of this package, or another one of Keras
    open_network("hub/encoder")         a SavedModel: of export_hub, of Keras's export, another one
    open_network("huggingface")         a folder of Hugging Face, also with a classifier
    open_network("run")                 a checkpoint, or the folder of a training run

Load only what you trust: a SavedModel is a program.
"""

import contextlib
import dataclasses
import errno
import os
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401 - graphs that read texts use its ops

import bert_data.hub.keras_layers  # noqa: F401 - files of Keras may name its layers
from bert_data.errors import CorruptDataError, first_sentence
from bert_data.hub.exporting import ENCODER
from bert_data.hub.networks import Logits, Network, network_of_encoder, network_of_function
from bert_data.storage import JsonObject, exists, is_folder, is_remote, open_input
from bert_data.training.classifier import TextClassifier
from bert_data.training.encoder import Encoder
from bert_data.training.hugging_face import HuggingFaceFolder
from bert_data.training.init_checkpoint import assign_weights, open_weights
from bert_data.training.keras_model import KerasModel
from bert_data.training.model_vocabulary import ModelVocabulary, find_vocabularies
from bert_data.training.output_folder import folder_config

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

    Raises:
      ValueError: it is none of these, or takes other inputs.
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
            f"{path} is neither a {_KERAS} file, a SavedModel (with {SAVED_MODEL}), a folder of"
            f" Hugging Face nor a checkpoint: {error}"
        ) from None
    folder = os.path.dirname(weights.prefix)
    config = folder_config(folder)
    if config is None:
        raise ValueError(f"there is no bert_config.json or {_CONFIG} beside {weights.prefix}")
    encoder = Encoder(config)
    encoder.build()
    variables = {variable.path: variable for variable in encoder.trainable_variables}
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
    config = JsonObject.read(os.path.join(folder, _CONFIG)).values
    numbered = config.get("id2label")
    labels: tuple[str, ...] = ()
    if isinstance(numbered, dict) and set(numbered) == set(map(str, range(len(numbered)))):
        labels = tuple(str(numbered[str(number)]) for number in range(len(numbered)))
    lower_case = None
    if exists(path := os.path.join(folder, _TOKENIZER_CONFIG)):
        lower_case = JsonObject.read(path).values.get("do_lower_case")
    files = (os.path.join(folder, name) for name in _VOCABULARIES)
    return dataclasses.replace(
        network,
        vocab_file=next(filter(exists, files), None),
        do_lower_case=lower_case if isinstance(lower_case, bool) else None,
        labels=labels,
        is_multi_label=config.get("problem_type") == "multi_label_classification",
    )
