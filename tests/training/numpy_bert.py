"""BERT's forward pass in float64 NumPy, written from the paper: the oracle of the tests."""

import math

import numpy as np

Weights = dict[str, np.ndarray]
ERF = np.vectorize(math.erf)


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS = {
    "gelu": gelu,
    "gelu_new": gelu,
    "gelu_tanh": gelu,
    "gelu_erf": lambda x: 0.5 * x * (1 + ERF(x / np.sqrt(2))),
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "linear": lambda x: x,
}


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(x: np.ndarray) -> np.ndarray:
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def dense(x: np.ndarray, w: Weights, name: str) -> np.ndarray:
    return x @ w[f"{name}/kernel"] + w[f"{name}/bias"]


def layer_norm(x: np.ndarray, w: Weights, name: str) -> np.ndarray:
    normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
    return normal * w[f"{name}/LayerNorm/gamma"] + w[f"{name}/LayerNorm/beta"]


def attention(x: np.ndarray, mask: np.ndarray, w: Weights, name: str, num_heads: int) -> np.ndarray:
    """One sequence at a time, one head at a time, and padding cut off instead of masked."""
    query, key, value = (dense(x, w, f"{name}/{part}") for part in ("query", "key", "value"))
    size = x.shape[-1] // num_heads
    context = np.zeros_like(x)
    for row in range(len(x)):
        seen = mask[row] == 1
        for head in range(num_heads):
            part = slice(head * size, (head + 1) * size)
            scores = query[row, :, part] @ key[row, seen, part].T / math.sqrt(size)
            context[row, :, part] = softmax(scores) @ value[row, seen, part]
    return context


def forward(
    weights: Weights, batch: Weights, *, num_layers: int, num_heads: int, act: str
) -> dict[str, np.ndarray]:
    """Returns hidden states, pooled output and both heads' logits, float64."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    activation = ACTIVATIONS[act]
    ids, mask = batch["input_ids"], batch["input_mask"]
    x = w["bert/embeddings/word_embeddings"][ids]
    x = x + w["bert/embeddings/position_embeddings"][: ids.shape[1]]
    x = x + w["bert/embeddings/token_type_embeddings"][batch["segment_ids"]]
    x = layer_norm(x, w, "bert/embeddings")
    for layer in range(num_layers):
        name = f"bert/encoder/layer_{layer}"
        context = attention(x, mask, w, f"{name}/attention/self", num_heads)
        y = dense(context, w, f"{name}/attention/output/dense")
        x = layer_norm(x + y, w, f"{name}/attention/output")
        wide = activation(dense(x, w, f"{name}/intermediate/dense"))
        x = layer_norm(x + dense(wide, w, f"{name}/output/dense"), w, f"{name}/output")
    pooled = np.tanh(dense(x[:, 0], w, "bert/pooler/dense"))
    rows = np.arange(len(x))[:, None]
    transform = "cls/predictions/transform"
    y = activation(dense(x[rows, batch["masked_lm_positions"]], w, f"{transform}/dense"))
    y = layer_norm(y, w, transform)
    logits = y @ w["bert/embeddings/word_embeddings"].T + w["cls/predictions/output_bias"]
    name = "cls/seq_relationship"
    answers = pooled @ w[f"{name}/output_weights"].T + w[f"{name}/output_bias"]
    return {"hidden": x, "pooled": pooled, "masked_lm": logits, "next_sentence": answers}


def example_losses(outputs: Weights, batch: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Cross entropies: [batch, predictions] and [batch]."""
    masked = -np.take_along_axis(
        log_softmax(outputs["masked_lm"]), batch["masked_lm_ids"][..., None], -1
    )[..., 0]
    labels = batch["next_sentence_labels"]
    return masked, -np.take_along_axis(log_softmax(outputs["next_sentence"]), labels, -1)[:, 0]


def losses(outputs: Weights, batch: Weights) -> tuple[float, float]:
    """Masked-LM and next-sentence loss as Google's program weighs them."""
    masked, answers = example_losses(outputs, batch)
    weights = batch["masked_lm_weights"]
    return (masked * weights).sum() / (weights.sum() + 1e-5), answers.mean()
