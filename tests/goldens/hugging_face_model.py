"""A tiny BERT whose weights are a formula, for transformers and for this project.

It needs NumPy alone, so that an interpreter with transformers can run it.
"""

import numpy as np

SIZES = {
    "vocab_size": 11,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 10,
    "type_vocab_size": 2,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "initializer_range": 0.02,
}
CASES = {
    "gelu": {"hidden_act": "gelu", "layer_norm_eps": 1e-12},
    "gelu_new": {"hidden_act": "gelu_new", "layer_norm_eps": 1e-3},
    "relu": {"hidden_act": "relu", "layer_norm_eps": 1e-5},
}
INPUTS = {
    "input_ids": [[2, 5, 7, 4, 3, 8, 3], [2, 10, 4, 3, 0, 0, 0]],
    "attention_mask": [[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]],
    "token_type_ids": [[0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0, 0]],
}


def formula(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return float32[shape], other numbers for each name."""
    number = sum(map(ord, name))
    places = np.arange(np.prod(shape), dtype=np.float64)
    return (0.4 * np.sin(places * (1 + number % 97) * 0.37 + number)).reshape(shape).astype("f4")
