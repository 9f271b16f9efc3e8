"""BERT's encoder as an object that is saved with the interface of TF Hub's encoders.

    {"input_word_ids", "input_mask", "input_type_ids"}  int32 [batch, width]
      -> {"pooled_output" [batch, hidden], "sequence_output" [batch, width, hidden],
          "encoder_outputs" [one such tensor per layer], "default" the same as "pooled_output"}

The width may differ from call to call, up to max_position_embeddings. The weights come from a
checkpoint of `run_pretraining.py`, a released one or a folder of Hugging Face. If they include the
masked-LM head, the object has an attribute `mlm`, which also takes "masked_lm_positions" and also
returns "mlm_logits".

A loaded encoder can be trained: `trainable_variables` are the variables that its functions use, and
with training=True each call draws new dropout.
"""

from collections.abc import Callable

import keras
import tensorflow as tf

from bert_data.hub.packing import INPUTS
from bert_data.training import BertConfig
from bert_data.training.encoder import Encoder, attention_adder
from bert_data.training.init_checkpoint import Weights, assign_weights
from bert_data.training.layers import Group, WeightSeeds
from bert_data.training.model import MaskedLM

Tensors = dict[str, tf.Tensor]

_POSITIONS = "masked_lm_positions"
_HEAD_BIAS = "cls/predictions/output_bias"
_RANDOM_SEED = 0  # of initial weights, which the checkpoint's replace at once


class EncoderObject(tf.train.Checkpoint):
    """A function with its variables, in the form that `tf.saved_model.save` writes.

    Attributes:
      variables: all of them, as `hub.KerasLayer` looks for them.
      trainable_variables: the same.
      regularization_losses: none.
    """

    def __init__(
        self,
        run: Callable[[Tensors, bool], Tensors],
        names: tuple[str, ...],
        weights: dict[str, keras.Variable],
    ) -> None:
        """Trace the function for both values of `training`.

        Args:
          run: function of inputs and `training`.
        """
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
    def __call__(self, inputs: Tensors, training: bool = False) -> Tensors:
        """Encode a batch; see the module."""
        return self._run(inputs, training)

    def _run_for_serving(self, inputs: Tensors) -> Tensors:
        """Return the outputs that are single tensors, as signatures require."""
        return {n: x for n, x in self._run(inputs, False).items() if isinstance(x, tf.Tensor)}


def load_encoder(checkpoint: Weights, config: BertConfig) -> EncoderObject:
    """Load an encoder from a checkpoint.

    Args:
      checkpoint: has the encoder's variables under their released names.

    Returns:
      The encoder, with the attribute `mlm` if the checkpoint has the masked-LM head.

    Raises:
      ValueError: the checkpoint lacks a variable, or has it in another shape.
    """
    encoder = Encoder(config, _RANDOM_SEED)
    encoder.build()
    weights = _named(encoder)
    head = None
    head_weights: dict[str, keras.Variable] = {}
    if _HEAD_BIAS in checkpoint:
        head = MaskedLM(config, WeightSeeds(config.initializer_range, _RANDOM_SEED))
        group = Group("cls", {"predictions": head})
        group.build(config.hidden_size)
        head_weights = _named(group)
    assign_weights(checkpoint, {**weights, **head_weights})
    run = _encoding(encoder, config)
    exported = EncoderObject(run, INPUTS, weights)
    if head is not None:
        scoring = _scoring(run, head, encoder)
        exported.mlm = EncoderObject(scoring, (*INPUTS, _POSITIONS), {**weights, **head_weights})
    return exported


def _named(layer: keras.layers.Layer) -> dict[str, keras.Variable]:
    """Return its variables by their names in the released checkpoints."""
    return {variable.path: variable for variable in layer.trainable_variables}


def _encoding(encoder: Encoder, config: BertConfig) -> Callable[[Tensors, bool], Tensors]:
    """Return the function of an encoder."""

    def run(inputs: Tensors, training: bool) -> Tensors:
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


def _scoring(
    run: Callable[[Tensors, bool], Tensors], head: MaskedLM, encoder: Encoder
) -> Callable[[Tensors, bool], Tensors]:
    """Return the function of an encoder with the masked-LM head."""

    def run_both(inputs: Tensors, training: bool) -> Tensors:
        outputs = run(inputs, training)
        table = encoder.embeddings.word_embeddings.value
        logits = head(outputs["sequence_output"], inputs[_POSITIONS], table)
        return {**outputs, "mlm_logits": logits}

    return run_both
