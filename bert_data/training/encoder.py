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

Each call takes a seed for dropout: the same seed drops the same values, so a training step can be
repeated after a restart. Without a seed there is no dropout.
"""

import math
from typing import Any

import keras
import tensorflow as tf

from bert_data.training.config import BertConfig
from bert_data.training.layers import (
    Dense,
    Group,
    Layer,
    LayerNorm,
    WeightSeeds,
    activation,
    dropout,
    gather_positions,
)

_MASKED_SCORE = -10_000.0


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
        return (unseen * _MASKED_SCORE)[:, tf.newaxis, tf.newaxis, :]
    unseen = instance_ids[:, tf.newaxis, :, tf.newaxis] != instance_ids[:, tf.newaxis, tf.newaxis]
    return tf.cast(unseen, tf.float32) * _MASKED_SCORE


class SelfAttention(Layer):
    """Attention of every position to those that `attention_adder` allows."""

    def __init__(self, config: BertConfig, seeds: WeightSeeds, **kwargs: Any) -> None:
        super().__init__(name="self", **kwargs)
        self._config = config
        self.query, self.key, self.value = (
            Dense(config.hidden_size, seeds, name=name, dtype=self.dtype_policy)
            for name in ("query", "key", "value")
        )

    def build(self, width: int) -> None:
        """Create the weights."""
        for part in (self.query, self.key, self.value):
            part.build(width)

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


if keras.backend.backend() != "tensorflow":
    raise ImportError(f"Keras runs on {keras.backend.backend()}; set KERAS_BACKEND=tensorflow")


class Embeddings(Layer):
    """The sum of word, position and segment embeddings, normalized."""

    def __init__(self, config: BertConfig, seeds: WeightSeeds, **kwargs: Any) -> None:
        super().__init__(name="embeddings", **kwargs)
        self._config = config
        self._initializers = [seeds.initializer() for _ in range(3)]
        self.layer_norm = LayerNorm(config.layer_norm_eps, dtype=self.dtype_policy)

    def build(self, _: object = None) -> None:
        """Create the weights."""
        width = self._config.hidden_size
        tables = (
            ("word_embeddings", self._config.vocab_size),
            ("token_type_embeddings", self._config.type_vocab_size),
            ("position_embeddings", self._config.max_position_embeddings),
        )
        self.word_embeddings, self.token_type_embeddings, self.position_embeddings = (
            self.add_weight(name=name, shape=(rows, width), initializer=initial)
            for (name, rows), initial in zip(tables, self._initializers, strict=True)
        )
        self.layer_norm.build(width)

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

    def __init__(self, config: BertConfig, seeds: WeightSeeds, **kwargs: Any) -> None:
        super().__init__(name="output", **kwargs)
        self._rate = config.hidden_dropout_prob
        self.dense = Dense(config.hidden_size, seeds, name="dense", dtype=self.dtype_policy)
        self.layer_norm = LayerNorm(config.layer_norm_eps, dtype=self.dtype_policy)

    def build(self, width: int) -> None:
        """Create the weights."""
        self.dense.build(width)
        self.layer_norm.build(self.dense.units)

    def call(
        self, x: tf.Tensor, before: tf.Tensor, seed: tf.Tensor | None = None, place: int = 0
    ) -> tf.Tensor:
        """[batch, width, any], [batch, width, hidden_size] -> [batch, width, hidden_size]."""
        return self.layer_norm(dropout(self.dense(x), self._rate, seed, place) + before)


class Block(Layer):
    """One Transformer layer (Vaswani et al., 2017, arXiv 1706.03762, section 3.1)."""

    def __init__(self, config: BertConfig, seeds: WeightSeeds, number: int, **kwargs: Any) -> None:
        super().__init__(name=f"layer_{number}", **kwargs)
        self._width, self._first_place = config.hidden_size, 1 + 3 * number
        self._wide = config.intermediate_size
        self._activation = activation(config.hidden_act)
        policy = self.dtype_policy
        self.attention = Group(
            "attention",
            {
                "self": SelfAttention(config, seeds, dtype=policy),
                "output": Residual(config, seeds, dtype=policy),
            },
        )
        wide = Dense(config.intermediate_size, seeds, name="dense", dtype=policy)
        self.intermediate = Group("intermediate", {"dense": wide})
        self.residual = Residual(config, seeds, dtype=policy)

    def build(self, _: object = None) -> None:
        """Create the weights."""
        self.attention.build(self._width)
        self.intermediate.build(self._width)
        self.residual.build(self._wide)

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
        policy = self.dtype_policy
        self._width = config.hidden_size
        self.embeddings = Embeddings(config, seeds, dtype=policy)
        blocks: dict[str, keras.layers.Layer] = {
            f"layer_{i}": Block(config, seeds, i, dtype=policy)
            for i in range(config.num_hidden_layers)
        }
        self.encoder = Group("encoder", blocks)
        dense = Dense(config.hidden_size, seeds, name="dense", dtype=policy)
        self.pooler = Group("pooler", {"dense": dense})

    def build(self, _: object = None) -> None:
        """Create the weights."""
        self.embeddings.build()
        self.encoder.build(self._width)
        self.pooler.build(self._width)

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
