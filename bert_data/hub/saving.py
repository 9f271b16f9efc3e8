"""Save preprocessing and encoder as SavedModels with the interfaces of TF Hub.

FastTokenizer  ->  hub/.bert_data-TOKEN/output-0/{saved_model.pb, assets/vocab.txt, ...}
Checkpoint     ->  hub/.bert_data-TOKEN/output-1/{saved_model.pb, variables/...}

An encoder is a function:

    {"input_word_ids", "input_mask", "input_type_ids"}  int32 [batch, width]
      -> {"pooled_output" [batch, hidden], "sequence_output" [batch, width, hidden],
          "encoder_outputs" [one such tensor per layer], "default" the same as "pooled_output"}

The width may differ from call to call, up to max_position_embeddings. If the weights include the
masked-LM head, the object has an attribute `mlm`, which also takes "masked_lm_positions" and also
returns "mlm_logits".

A loaded encoder can be trained: `trainable_variables` are the variables that its functions use, and
with training=True each call draws new dropout.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf
from absl import logging

from bert_data.hub.export_config import (
    CARD,
    DEFAULT_SEQ_LENGTH,
    ENCODER,
    INPUTS,
    PREPROCESS,
    VOCABULARY,
    ExportConfig,
    check_fits,
    vocabulary_text,
)
from bert_data.hub.model_card import USE_OF_ENCODER, describe_model, describe_preprocessing
from bert_data.hub.preprocessing import Preprocessing
from bert_data.hub.pretrained import fitting_config
from bert_data.storage import OutputSet, is_remote, read_bytes, write_bytes
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.vocabulary import TokenTable
from bert_data.training import BertConfig
from bert_data.training.checkpoints import naming_write
from bert_data.training.encoder import Encoder, Group, WeightSeeds, attention_adder, named_variables
from bert_data.training.model import MaskedLM
from bert_data.training.model_vocabulary import ModelVocabulary, find_vocabularies, keep_vocabulary
from bert_data.training.state import Weights, assign_weights, open_weights

_Tensors = dict[str, tf.Tensor]
_Run = Callable[[_Tensors, bool], _Tensors]
"""A function of inputs and `training`."""

_NUM_SEGMENTS = 2
_POSITIONS = "masked_lm_positions"
_HEAD_BIAS = "cls/predictions/output_bias"
_RANDOM_SEED = 0  # of initial weights, which the checkpoint's replace at once


def save(
    config: ExportConfig, text: FastTokenizer | None, outputs: OutputSet, paths: Mapping[str, str]
) -> tuple[str, "EncoderObject | None"]:
    """Write the SavedModels under hidden names; for errors see `exporting.export`.

    Args:
      text: of the vocabulary; None: only an encoder is written.
      paths: final paths of the folders by `PREPROCESS` and `ENCODER`.

    Returns:
      The prefix of the encoder's weights, and the encoder; "" and None without one.
    """
    checkpoint = encoder = asset = model = None
    seq_length = config.seq_length or DEFAULT_SEQ_LENGTH
    if config.init_checkpoint:
        checkpoint = open_weights(config.init_checkpoint)
        vocabulary = text.vocabulary if text else None
        encoder, seq_length, model = load_fitting_encoder(config, checkpoint, vocabulary)
    vocabularies: list[ModelVocabulary] = []
    if text:
        asset = _vocabulary_file(config, text, outputs.work_dir)
        vocabularies = [ModelVocabulary.of(text.vocabulary)]
    elif checkpoint:
        vocabularies = find_vocabularies(checkpoint.prefix)  # of its training
    cards: dict[str, str] = {}
    if checkpoint and encoder and model:
        cards[ENCODER] = _card(checkpoint, encoder, model, vocabularies)
    for name, path in paths.items():
        target: Any = encoder
        if text and name == PREPROCESS:
            target = _preprocessing(config, text, seq_length)
            if model:
                most = tf.Variable(model.max_position_embeddings, trainable=False)
                target.max_position_embeddings = most
            cards[PREPROCESS] = describe_preprocessing(text, seq_length)
        if text and asset:  # as TF Hub's objects describe their tokenization
            described = target if name == ENCODER else target.tokenize
            described.vocab_file = tf.saved_model.Asset(asset)
            described.do_lower_case = tf.Variable(text.do_lower_case, trainable=False)
        signatures = {"serving_default": target.serve if name == ENCODER else target.__call__}
        with naming_write(path), _quiet_tensorflow():
            tf.saved_model.save(target, outputs.partial(path), signatures=signatures)
        write_bytes(os.path.join(outputs.partial(path), CARD), cards[name].encode())
        if vocabularies:
            file = f"assets/{os.path.basename(asset)}" if asset else None
            keep_vocabulary(outputs.partial(path), vocabularies[0], file)
    return checkpoint.prefix if checkpoint else "", encoder


def _card(
    checkpoint: Weights,
    encoder: "EncoderObject",
    model: BertConfig,
    vocabularies: Sequence[ModelVocabulary],
) -> str:
    has_mlm = hasattr(encoder, "mlm")
    return describe_model(
        checkpoint,
        model,
        vocabularies[0] if vocabularies else None,
        architecture="BERT encoder" + " with a masked-LM head" * has_mlm,
        num_parameters=sum(variable.shape.num_elements() for variable in encoder.variables),
        use=USE_OF_ENCODER,
    )


def _preprocessing(config: ExportConfig, text: FastTokenizer, seq_length: int) -> Preprocessing:
    return Preprocessing(
        text.vocabulary,
        do_lower_case=text.do_lower_case,
        tokenizer=config.tokenizer,
        default_seq_length=seq_length,
        max_word_letters=text.max_word_letters,
        added=text.added,
    )


def _vocabulary_file(config: ExportConfig, text: FastTokenizer, scratch: str) -> str:
    """Return the path of a vocabulary that TensorFlow can read; write one if there is none."""
    if config.vocab_file is not None and not is_remote(config.vocab_file):
        return config.vocab_file
    path = os.path.join(scratch, os.path.basename(config.vocab_file or VOCABULARY))
    if config.vocab_file is None:
        write_bytes(path, vocabulary_text(text.vocabulary.tokens).encode())
    else:
        write_bytes(path, read_bytes(config.vocab_file))
    return path


@contextlib.contextmanager
def _quiet_tensorflow() -> Iterator[None]:
    """Keep TensorFlow from logging hidden folder names and the like while it saves."""
    logger = logging.get_absl_logger()
    level = logger.level  # not get_verbosity(), which is never "as the root logger"
    logger.setLevel("WARNING")
    try:
        yield
    finally:
        logger.setLevel(level)


def load_fitting_encoder(
    config: ExportConfig, checkpoint: Weights, vocabulary: TokenTable | None
) -> tuple["EncoderObject", int, BertConfig]:
    """Load the encoder of a checkpoint, choose the default width of rows, and say its sizes."""
    model = fitting_config(
        config.bert_config_file,
        checkpoint,
        vocabulary,
        allow_other_vocabulary=config.allow_other_vocabulary,
    )
    most = model.max_position_embeddings
    seq_length = config.seq_length or min(DEFAULT_SEQ_LENGTH, most)
    if vocabulary:
        check_fits(seq_length, most)
    if model.type_vocab_size < _NUM_SEGMENTS:
        logging.warning(
            "the model has a single segment (type_vocab_size); do not pass it pairs of texts"
        )
    return encoder_object(checkpoint, model), seq_length, model


class EncoderObject(tf.train.Checkpoint):
    """A function with its variables, in the form that `tf.saved_model.save` writes.

    Attributes:
      variables, trainable_variables: all of them, as `hub.KerasLayer` looks for them.
      regularization_losses: none.
    """

    def __init__(
        self, run: _Run, names: tuple[str, ...], weights: dict[str, keras.Variable]
    ) -> None:
        """Trace the function for both values of `training`."""
        super().__init__()
        variables = [weight.value for weight in weights.values()]
        self.variables = variables
        self.trainable_variables = list(variables)
        self.regularization_losses: list[Callable[[], tf.Tensor]] = []
        self._run = run  # a plain function, so that the bookkeeping of Keras layers is not saved
        specs = {name: tf.TensorSpec([None, None], tf.int32, name=name) for name in names}
        for training in (False, True):
            self.__call__.get_concrete_function(specs, training=training)
        self.serve = tf.function(self._run_for_serving, [specs], autograph=False)

    @tf.function(autograph=False)
    def __call__(self, inputs: _Tensors, training: bool = False) -> _Tensors:
        """Encode a batch; see the module."""
        return self._run(inputs, training)

    def _run_for_serving(self, inputs: _Tensors) -> _Tensors:
        """Return the outputs that are single tensors, as signatures require."""
        return {n: x for n, x in self._run(inputs, False).items() if isinstance(x, tf.Tensor)}


def encoder_object(checkpoint: Weights, config: BertConfig) -> EncoderObject:
    """Load an encoder, with the attribute `mlm` if the checkpoint has the masked-LM head."""
    encoder = Encoder(config, _RANDOM_SEED)
    encoder.build()
    weights = all_weights = named_variables(encoder)
    head = None
    if _HEAD_BIAS in checkpoint:
        head = MaskedLM(config, WeightSeeds(config.initializer_range, _RANDOM_SEED))
        group = Group("cls", {"predictions": head})
        group.build()
        all_weights = {**weights, **named_variables(group)}
    assign_weights(checkpoint, all_weights)
    run = _encoding(encoder, config)
    exported = EncoderObject(run, INPUTS, weights)
    if head is not None:
        scoring = _scoring(run, head, encoder)
        exported.mlm = EncoderObject(scoring, (*INPUTS, _POSITIONS), all_weights)
    return exported


def _encoding(encoder: Encoder, config: BertConfig) -> _Run:
    def run(inputs: _Tensors, training: bool) -> _Tensors:
        ids, mask, types = (inputs[name] for name in INPUTS)
        limit = config.max_position_embeddings
        sentence = f"the encoder reads rows of up to {limit} ids (max_position_embeddings)"
        is_short = tf.debugging.assert_less_equal(tf.shape(ids)[1], limit, sentence)
        seed = None
        if training:
            seed = tf.random.uniform([2], maxval=tf.int32.max, dtype=tf.int32)
        with tf.control_dependencies([is_short]):
            x = encoder.embeddings(tf.identity(ids), types, seed=seed)
        adder = attention_adder(mask)
        outputs = []
        for block in encoder.encoder.parts.values():
            x = block(x, adder, seed=seed)
            outputs.append(x)
        pooled = tf.tanh(encoder.pooler.parts["dense"](x[:, 0]))
        return {
            "pooled_output": pooled,
            "sequence_output": x,
            "encoder_outputs": outputs,
            "default": pooled,
        }

    return run


def _scoring(run: _Run, head: MaskedLM, encoder: Encoder) -> _Run:
    def run_both(inputs: _Tensors, training: bool) -> _Tensors:
        outputs = run(inputs, training)
        table = encoder.embeddings.word_embeddings.value
        logits = head(outputs["sequence_output"], inputs[_POSITIONS], table)
        return {**outputs, "mlm_logits": logits}

    return run_both
