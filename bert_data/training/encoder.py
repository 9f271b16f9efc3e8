"""BERT's encoder (Devlin et al., 2018, arXiv 1810.04805) in plain Keras layers.

    input_ids, input_mask, segment_ids  [batch, width]
        -> Embeddings: word + position + segment, LayerNorm, dropout
        -> Block x num_hidden_layers: attention and feed-forward, each + input, LayerNorm
        -> hidden states [batch, width, hidden_size], pooled [CLS] [batch, hidden_size]

A row may hold several instances side by side, which do not attend to each other:

    instance_ids  [1 1 1 2 2 0]     a token attends only to tokens with its own number
    position_ids  [0 1 2 0 1 0]     and the pooled output is taken where each instance begins

The width may differ from batch to batch. Layers are named so that a variable's path is its name in
the released checkpoints: bert/encoder/layer_0/attention/self/query/kernel.

Precision and randomness are explicit: nothing is cast and nothing is drawn behind the scenes. Each
call takes a seed for dropout: the same seed drops the same values, so a training step can be
repeated after a restart. Without a seed there is no dropout.
"""

import math
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from bert_data.training.bert_config import BertConfig

if keras.backend.backend() != "tensorflow":
    raise ImportError(f"Keras runs on {keras.backend.backend()}; set KERAS_BACKEND=tensorflow")

_MASKED_SCORE = -10_000.0


def gelu_tanh(x: tf.Tensor) -> tf.Tensor:
    """Approximate GELU by tanh (Hendrycks and Gimpel, 2016, arXiv 1606.08415, section 2).

    The cube is written as products: `pow` costs more on a CPU than everything else.
    """
    inner = x * (math.sqrt(2.0 / math.pi) + math.sqrt(2.0 / math.pi) * 0.044715 * (x * x))
    return x * (0.5 + 0.5 * tf.tanh(inner))


def gelu_erf(x: tf.Tensor) -> tf.Tensor:
    """Compute the exact GELU: x times the standard normal distribution function."""
    return x * (0.5 + 0.5 * tf.math.erf(x * math.sqrt(0.5)))


ACTIVATION_FUNCTIONS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "gelu": gelu_tanh,
    "gelu_erf": gelu_erf,
    "gelu_new": gelu_tanh,
    "gelu_tanh": gelu_tanh,
    "linear": tf.identity,
    "relu": tf.nn.relu,
    "tanh": tf.tanh,
}
"""The functions that `BertConfig.hidden_act` names."""


class WeightSeeds:
    """Creates initializers with distinct seeds, the same ones in every process."""

    def __init__(self, stddev: float, random_seed: int) -> None:
        self._stddev, self._next = stddev, random_seed * 1000

    def initializer(self) -> keras.initializers.Initializer:
        """Return a normal distribution cut off at two standard deviations."""
        self._next += 1
        return keras.initializers.TruncatedNormal(stddev=self._stddev, seed=self._next % 2**31)


def dropout(x: tf.Tensor, rate: float, seed: tf.Tensor | None, place: int) -> tf.Tensor:
    """Set a share of `x` to zero and scale the rest by 1 / (1 - rate).

    Args:
      rate: in [0, 1).
      seed: int32[2], or None for no dropout.
      place: number of the dropout within the model, so that no two drop the same positions.
    """
    if seed is None or not rate:
        return x
    place_seed = tf.random.experimental.stateless_fold_in(seed, place)
    return tf.nn.experimental.stateless_dropout(x, rate, seed=place_seed)


def gather_positions(x: tf.Tensor, positions: tf.Tensor) -> tf.Tensor:
    """[batch, width, size], int32[batch, count] positions < width -> [batch, count, size]."""
    shape = tf.shape(x)
    rows = positions + (tf.range(shape[0]) * shape[1])[:, tf.newaxis]
    return tf.gather(tf.reshape(x, [-1, x.shape[-1]]), rows)


def named_variables(layer: keras.layers.Layer) -> dict[str, keras.Variable]:
    """Return a layer's variables by their names in the released checkpoints."""
    return {variable.path: variable for variable in layer.trainable_variables}


class Layer(keras.layers.Layer):
    """A Keras layer without automatic casts: the code says where the precision changes.

    It knows its widths from the beginning, so that `build`, which makes the weights, needs none.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)

    def build(self, _: object = None) -> None:
        """Create the weights of the layers in this one."""
        for part in self._layers:
            part.build()

    def add_weight(self, name: str, shape: tuple[int, ...], initializer: Any) -> keras.Variable:
        """Create a trainable variable, float32 in each of the precisions."""
        return super().add_weight(name=name, shape=shape, initializer=initializer, autocast=False)


class Dense(Layer):
    """x @ kernel + bias, on the last axis."""

    def __init__(self, width: int, units: int, seeds: WeightSeeds, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._shape, self._initializer = (width, units), seeds.initializer()

    def build(self, _: object = None) -> None:
        """Create the weights."""
        self.kernel = self.add_weight("kernel", self._shape, self._initializer)
        self.bias = self.add_weight("bias", self._shape[1:], "zeros")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """[..., width] -> [..., units]."""
        width, units = self._shape
        flat = tf.reshape(x, [-1, width])  # one large product is faster than many small ones
        y = tf.matmul(flat, tf.cast(self.kernel.value, x.dtype))
        y = tf.nn.bias_add(y, tf.cast(self.bias.value, x.dtype))
        return tf.reshape(y, tf.concat([tf.shape(x)[:-1], [units]], 0))


class LayerNorm(Layer):
    """Normalizes the last axis to mean 0 and variance 1, in float32, then scales and shifts.

    `layer_norm_eps`, which is added to the variance, keeps constant rows finite.
    """

    def __init__(self, config: BertConfig, **kwargs: Any) -> None:
        super().__init__(name="LayerNorm", **kwargs)
        self._width, self._epsilon = config.hidden_size, config.layer_norm_eps

    def build(self, _: object = None) -> None:
        """Create the weights."""
        self.gamma = self.add_weight("gamma", (self._width,), "ones")
        self.beta = self.add_weight("beta", (self._width,), "zeros")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """[..., width] -> the same shape and type."""
        wide = tf.cast(x, tf.float32)
        centered = wide - tf.reduce_mean(wide, axis=-1, keepdims=True)
        variance = tf.reduce_mean(centered * centered, axis=-1, keepdims=True)
        normal = centered * tf.math.rsqrt(variance + self._epsilon)
        return tf.cast(normal * self.gamma.value + self.beta.value, x.dtype)


class Group(Layer):
    """Named layers that share a part of their variables' names: "attention", "intermediate"."""

    def __init__(self, name: str, parts: dict[str, keras.layers.Layer], **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self.parts = parts


def attention_adder(input_mask: tf.Tensor, instance_ids: tf.Tensor | None = None) -> tf.Tensor:
    """Return what to add to attention scores: 0, or a large negative number to mask a position.

    Args:
      input_mask: int32[batch, width], 1 for tokens and 0 for padding.
      instance_ids: int32[batch, width], 1, 2, ... for the instances of a row, 0 for padding; or
        None if each row is one instance.

    Returns:
      float32[batch, 1, 1, width] for the keys of a row, the same for all queries; with instances
      float32[batch, 1, width, width], queries by keys. Padding then attends to padding: nothing
      reads the result, but an empty sum would not be a number.
    """
    if instance_ids is None:
        unseen = 1.0 - tf.cast(input_mask, tf.float32)
        # TensorFlow Lite has no form of `tf.newaxis` for rows of any number and width.
        return tf.expand_dims(tf.expand_dims(unseen * _MASKED_SCORE, 1), 1)
    unseen = instance_ids[:, tf.newaxis, :, tf.newaxis] != instance_ids[:, tf.newaxis, tf.newaxis]
    return tf.cast(unseen, tf.float32) * _MASKED_SCORE


class SelfAttention(Layer):
    """Attention of every position to those that `attention_adder` allows."""

    def __init__(self, config: BertConfig, seeds: WeightSeeds, **kwargs: Any) -> None:
        super().__init__(name="self", **kwargs)
        self._config, width = config, config.hidden_size
        self.query, self.key, self.value = (
            Dense(width, width, seeds, name=name, dtype=self.dtype_policy)
            for name in ("query", "key", "value")
        )

    def call(
        self, x: tf.Tensor, adder: tf.Tensor, seed: tf.Tensor | None = None, place: int = 0
    ) -> tf.Tensor:
        """Mix each position of `x` with the positions it attends to.

        Args:
          x: [batch, width, hidden_size].
          adder: float32[batch, 1, 1 or width, width], see `attention_adder`.
          seed: int32[2] for dropout, or None.
          place: number of this dropout within the model.
        """
        heads = self._config.num_attention_heads
        size = self._config.hidden_size // heads

        def split(y: tf.Tensor) -> tf.Tensor:  # [batch, heads, width, size]
            shape = tf.shape(y)
            return tf.transpose(tf.reshape(y, [shape[0], shape[1], heads, size]), [0, 2, 1, 3])

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = tf.matmul(query * (1.0 / math.sqrt(size)), key, transpose_b=True)
        probabilities = tf.nn.softmax(tf.cast(scores, tf.float32) + adder)
        probabilities = tf.cast(probabilities, x.dtype)
        rate = self._config.attention_probs_dropout_prob
        context = tf.matmul(dropout(probabilities, rate, seed, place), value)
        return tf.reshape(tf.transpose(context, [0, 2, 1, 3]), tf.shape(x))


class Embeddings(Layer):
    """The sum of word, position and segment embeddings, normalized."""

    def __init__(self, config: BertConfig, seeds: WeightSeeds, **kwargs: Any) -> None:
        super().__init__(name="embeddings", **kwargs)
        self._config = config
        self._initializers = [seeds.initializer() for _ in range(3)]
        self.layer_norm = LayerNorm(config, dtype=self.dtype_policy)

    def build(self, _: object = None) -> None:
        """Create the weights."""
        tables = (
            ("word_embeddings", self._config.vocab_size),
            ("token_type_embeddings", self._config.type_vocab_size),
            ("position_embeddings", self._config.max_position_embeddings),
        )
        self.word_embeddings, self.token_type_embeddings, self.position_embeddings = (
            self.add_weight(name, (rows, self._config.hidden_size), initial)
            for (name, rows), initial in zip(tables, self._initializers, strict=True)
        )
        super().build()

    def call(
        self,
        input_ids: tf.Tensor,
        segment_ids: tf.Tensor,
        position_ids: tf.Tensor | None = None,
        seed: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """int32[batch, width] ids, segments and positions -> [batch, width, hidden_size].

        Without `position_ids` they count from 0 in each row.
        """
        words = tf.gather(self.word_embeddings.value, input_ids)
        # A product with one-hot rows: the table is tiny, and its gradient is dense.
        one_hot = tf.one_hot(segment_ids, self._config.type_vocab_size, dtype=words.dtype)
        segments = tf.einsum("bst,th->bsh", one_hot, self.token_type_embeddings.value)
        if position_ids is None:
            positions = self.position_embeddings.value[: tf.shape(input_ids)[1]]
        else:
            positions = tf.gather(self.position_embeddings.value, position_ids)
        x = self.layer_norm(tf.cast(words + segments + positions, self.compute_dtype))
        return dropout(x, self._config.hidden_dropout_prob, seed, 0)


class Residual(Layer):
    """LayerNorm(Dense(x) + the layer's input)."""

    def __init__(self, width: int, config: BertConfig, seeds: WeightSeeds, **kwargs: Any) -> None:
        super().__init__(name="output", **kwargs)
        self._rate, policy = config.hidden_dropout_prob, self.dtype_policy
        self.dense = Dense(width, config.hidden_size, seeds, name="dense", dtype=policy)
        self.layer_norm = LayerNorm(config, dtype=policy)

    def call(
        self, x: tf.Tensor, before: tf.Tensor, seed: tf.Tensor | None = None, place: int = 0
    ) -> tf.Tensor:
        """[batch, width, any], [batch, width, hidden_size] -> [batch, width, hidden_size]."""
        return self.layer_norm(dropout(self.dense(x), self._rate, seed, place) + before)


class Block(Layer):
    """One Transformer layer (Vaswani et al., 2017, arXiv 1706.03762, section 3.1)."""

    def __init__(self, config: BertConfig, seeds: WeightSeeds, number: int, **kwargs: Any) -> None:
        super().__init__(name=f"layer_{number}", **kwargs)
        self._first_place = 1 + 3 * number
        self._activation = ACTIVATION_FUNCTIONS[config.hidden_act]
        policy, width, wide = self.dtype_policy, config.hidden_size, config.intermediate_size
        self.attention = Group(
            "attention",
            {
                "self": SelfAttention(config, seeds, dtype=policy),
                "output": Residual(width, config, seeds, dtype=policy),
            },
        )
        dense = Dense(width, wide, seeds, name="dense", dtype=policy)
        self.intermediate = Group("intermediate", {"dense": dense})
        self.residual = Residual(wide, config, seeds, dtype=policy)

    def call(self, x: tf.Tensor, adder: tf.Tensor, seed: tf.Tensor | None = None) -> tf.Tensor:
        """[batch, width, hidden_size] -> the same shape; arguments as in SelfAttention."""
        place = self._first_place
        context = self.attention.parts["self"](x, adder, seed=seed, place=place)
        x = self.attention.parts["output"](context, x, seed=seed, place=place + 1)
        wide = self._activation(self.intermediate.parts["dense"](x))
        return self.residual(wide, x, seed=seed, place=place + 2)


class Encoder(Layer):
    """Turns token ids into hidden states.

    Call it with input_ids, input_mask and segment_ids, int32[batch, width], width <=
    max_position_embeddings, ids < vocab_size, mask 1 for tokens and 0 for padding, segment ids <
    type_vocab_size; and with `seed`, int32[2], for dropout. It returns the hidden states
    [batch, width, hidden_size] and the pooled first position [batch, hidden_size].

    For rows of several instances, of any width, pass three more tensors: instance_ids and
    position_ids, int32[batch, width], see the module, position ids < max_position_embeddings; and
    first_positions, int32[batch, instances], where the instances begin. The pooled output is then
    that of these positions, [batch, instances, hidden_size].
    """

    def __init__(self, config: BertConfig, random_seed: int = 0, **kwargs: Any) -> None:
        super().__init__(name="bert", **kwargs)
        seeds = WeightSeeds(config.initializer_range, random_seed)
        policy, width = self.dtype_policy, config.hidden_size
        self.embeddings = Embeddings(config, seeds, dtype=policy)
        blocks: dict[str, keras.layers.Layer] = {
            f"layer_{i}": Block(config, seeds, i, dtype=policy)
            for i in range(config.num_hidden_layers)
        }
        self.encoder = Group("encoder", blocks)
        dense = Dense(width, width, seeds, name="dense", dtype=policy)
        self.pooler = Group("pooler", {"dense": dense})

    def call(
        self,
        input_ids: tf.Tensor,
        input_mask: tf.Tensor,
        segment_ids: tf.Tensor,
        seed: tf.Tensor | None = None,
        *,
        instance_ids: tf.Tensor | None = None,
        position_ids: tf.Tensor | None = None,
        first_positions: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return hidden states and pooled first positions; see the class."""
        adder = attention_adder(input_mask, instance_ids)  # shared by all layers: it can be large
        x = self.embeddings(input_ids, segment_ids, position_ids, seed=seed)
        for block in self.encoder.parts.values():
            x = block(x, adder, seed=seed)
        if first_positions is None:
            first = x[:, 0]
        else:
            first = gather_positions(x, first_positions)
        return x, tf.tanh(self.pooler.parts["dense"](first))
