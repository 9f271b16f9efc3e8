"""Building blocks of the encoder and the heads: layers, activations, initial weights, dropout.

    Dense, LayerNorm   variables kernel, bias; gamma, beta
    gather_positions   the states at some positions of each row
    Group              a common part of its layers' names: attention/self, attention/output

Precision and randomness are explicit: nothing is cast and nothing is drawn behind the scenes.
"""

import math
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

Activation = Callable[[tf.Tensor], tf.Tensor]


def gelu_tanh(x: tf.Tensor) -> tf.Tensor:
    """Approximate GELU by tanh (Hendrycks and Gimpel, 2016, arXiv 1606.08415, section 2).

    The cube is written as products: `pow` costs more on a CPU than everything else.
    """
    inner = x * (math.sqrt(2.0 / math.pi) + math.sqrt(2.0 / math.pi) * 0.044715 * (x * x))
    return x * (0.5 + 0.5 * tf.tanh(inner))


def gelu_erf(x: tf.Tensor) -> tf.Tensor:
    """Compute the exact GELU: x times the standard normal distribution function."""
    return x * (0.5 + 0.5 * tf.math.erf(x * math.sqrt(0.5)))


_BY_NAME: dict[str, Activation] = {
    "gelu": gelu_tanh,
    "gelu_erf": gelu_erf,
    "gelu_new": gelu_tanh,
    "gelu_tanh": gelu_tanh,
    "linear": tf.identity,
    "relu": tf.nn.relu,
    "tanh": tf.tanh,
}


def activation(name: str) -> Activation:
    """Return the function that `BertConfig.hidden_act` names."""
    return _BY_NAME[name]


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


class Layer(keras.layers.Layer):
    """A Keras layer without automatic casts: the code says where the precision changes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)

    def add_weight(self, name: str, shape: tuple[int, ...], initializer: Any) -> keras.Variable:
        """Create a trainable variable, float32 in each of the precisions."""
        return super().add_weight(name=name, shape=shape, initializer=initializer, autocast=False)


class Dense(Layer):
    """x @ kernel + bias, on the last axis."""

    def __init__(self, units: int, seeds: WeightSeeds, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units, self._initializer = units, seeds.initializer()

    def build(self, input_width: int) -> None:
        """Create the weights."""
        self.kernel = self.add_weight(
            name="kernel", shape=(input_width, self.units), initializer=self._initializer
        )
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """[..., input_width] -> [..., units]."""
        kernel = tf.cast(self.kernel.value, x.dtype)
        flat = tf.reshape(
            x, [-1, kernel.shape[0]]
        )  # one large product is faster than many small ones
        y = tf.nn.bias_add(tf.matmul(flat, kernel), tf.cast(self.bias.value, x.dtype))
        return tf.reshape(y, tf.concat([tf.shape(x)[:-1], [self.units]], 0))


class LayerNorm(Layer):
    """Normalizes the last axis to mean 0 and variance 1, in float32, then scales and shifts.

    `epsilon`, which is added to the variance, keeps constant rows finite.
    """

    def __init__(self, epsilon: float, **kwargs: Any) -> None:
        super().__init__(name="LayerNorm", **kwargs)
        self._epsilon = epsilon

    def build(self, width: int) -> None:
        """Create the weights."""
        self.gamma = self.add_weight(name="gamma", shape=(width,), initializer="ones")
        self.beta = self.add_weight(name="beta", shape=(width,), initializer="zeros")

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

    def build(self, width: int) -> None:
        """Create the weights."""
        for part in self.parts.values():
            part.build(width)
