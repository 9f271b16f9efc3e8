"""Activation functions under the names that bert_config.json uses.

    activation("gelu")(x)  ->  x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))

Google's program calls the approximation "gelu"; later checkpoints mean the exact function.
"""

import math
from collections.abc import Callable

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
