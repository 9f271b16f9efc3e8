"""Tiny models of every kind, with weights by a seed, and the vocabulary of their texts."""

import json
from pathlib import Path

import keras
import numpy as np
import safetensors.numpy
import tensorflow as tf

from bert_data.hub import EncoderLayer, ExportConfig, PreprocessingLayer, export
from bert_data.labelled.classifier import TextClassifier, text_classifier
from bert_data.training import write_checkpoint
from bert_data.training.hugging_face_weights import (
    hugging_face_name,
    is_transposed,
    write_hugging_face,
)
from tests.hub.exports import TOKENS
from tests.training.tiny import tiny_config

TEXTS = [
    "good film",
    "bad film . good bad badly film . good good . badly",
    "",
    "film " * 40,
    "unknown words",
    "badly " * 7,
    "Σ \ud800 \0",
]
MAX_SEQ_LENGTH = 12


def write_vocabulary(folder: Path) -> str:
    path = folder / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in TOKENS), encoding="utf-8")
    return str(path)


def make_classifier(num_labels: int = 3, seed: int = 3) -> TextClassifier:
    """A model that reads rows of up to 12 tokens."""
    config = tiny_config(max_position_embeddings=MAX_SEQ_LENGTH, hidden_dropout_prob=0.1)
    model = text_classifier(config, num_labels=max(num_labels, 2), random_seed=seed)
    if num_labels == 1:
        model = TextClassifier(config, seed, 1)
        model.build()
    bias = np.linspace(-0.5, 0.5, num_labels)
    model.output_layer.bias.assign(bias)
    return model


def ids_of(text: str) -> list[int]:
    """The ids of a text, by the rules of the test's own: its words are tokens or badly."""
    ids = []
    for word in text.replace("\0", "").replace("\ud800", "?").lower().split():
        if word == "badly":
            ids += [6, 7]
        else:
            word = word.replace("ς", "σ")
            ids.append(TOKENS.index(word) if word in TOKENS else 1)
    return ids


def windows_of(text: str, width: int = MAX_SEQ_LENGTH) -> list[list[int]]:
    """The rows of a text, with [CLS] and [SEP]."""
    ids, room = ids_of(text), width - 2
    starts = range(0, max(len(ids), 1), room)
    return [[2, *ids[start : start + room], 3] for start in starts]


def logits_of(model: TextClassifier, row: list[int]) -> np.ndarray:
    """The logits of one row, without padding."""
    ids = tf.constant([row])
    features = {"input_ids": ids, "input_mask": tf.ones_like(ids), "segment_ids": 0 * ids}
    return model(features).numpy()[0].astype(np.float64)


def probabilities_of(model: TextClassifier, row: list[int]) -> np.ndarray:
    powers = np.exp(logits_of(model, row))
    return powers / powers.sum()


def hidden_of(model: TextClassifier, row: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The encoder's last layer, [positions, hidden], and its pooler, [hidden], of one row."""
    ids = tf.constant([row])
    hidden, pooled = model.encoder(ids, tf.ones_like(ids), 0 * ids)
    return hidden.numpy()[0], pooled.numpy()[0]


def write_keras(model: TextClassifier, folder: Path) -> str:
    path = str(folder / "classifier.keras")
    model.save(path)
    return path


def write_saved_model(model: TextClassifier, folder: Path) -> str:
    path = str(folder / "exported")
    model.export(path, verbose=False)
    return path


def write_google(model: TextClassifier, folder: Path) -> str:
    """A checkpoint by the names of Google's run_classifier.py, beside its configuration."""
    (folder / "google").mkdir()
    (folder / "google" / "bert_config.json").write_text(model.config.to_json())
    return write_checkpoint(model, str(folder / "google" / "model.ckpt"))


def write_hugging_face_folder(model: TextClassifier, folder: Path, **changes: object) -> str:
    """A folder as transformers writes BertForSequenceClassification, with its vocabulary."""
    path = folder / "huggingface"
    path.mkdir()
    tensors = {}
    for name, value in model.released_values().items():
        if name.startswith("bert/"):
            tensors[hugging_face_name(name)] = value.T if is_transposed(name) else value
    tensors["classifier.weight"] = model.output_layer.kernel.numpy().T
    tensors["classifier.bias"] = model.output_layer.bias.numpy()
    tensors = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    (path / "model.safetensors").write_bytes(safetensors.numpy.save(tensors, {"format": "pt"}))
    config = write_hugging_face(
        vars(model.config), architecture="BertForSequenceClassification", pad_token_id=0
    )
    labels = {str(number): f"label {number}" for number in range(model.num_labels)}
    (path / "config.json").write_text(json.dumps({**config, "id2label": labels, **changes}))
    write_vocabulary(path)
    return str(path)


def write_hub(model: TextClassifier, folder: Path) -> str:
    """The folders of export_hub: preprocess and encoder."""
    prefix = write_google(model, folder)
    config = ExportConfig(
        vocab_file=write_vocabulary(folder),
        init_checkpoint=prefix,
        output_dir=str(folder / "hub"),
        seq_length=MAX_SEQ_LENGTH,
    )
    export(config)
    return str(folder / "hub")


def write_reader_of_texts(hub: str, folder: Path) -> tuple[str, keras.Model]:
    """A model of Keras that takes strings, from the SavedModels of export_hub, and its file."""
    texts = keras.Input((), dtype="string")
    rows = PreprocessingLayer(f"{hub}/preprocess", seq_length=MAX_SEQ_LENGTH)(texts)
    pooled = EncoderLayer(f"{hub}/encoder")(rows)["pooled_output"]
    seeds = keras.initializers.RandomNormal(seed=5)
    score = keras.layers.Dense(1, activation="sigmoid", kernel_initializer=seeds)(pooled)
    path, model = str(folder / "texts.keras"), keras.Model(texts, score)
    model.save(path)
    return path, model
