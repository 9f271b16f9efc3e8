"""Uses the exported SavedModels as somebody without bert_data does; prints what it saw, as JSON."""

import json
import sys
import warnings

import numpy as np
import tensorflow as tf
import tensorflow_hub as hub
import tensorflow_text  # noqa: F401 - its ops are in the graph
import tf_keras

TEXTS = ["Goodly film.", "bad bad bad bad bad bad bad bad", ""]


def preprocessing(folder: str) -> dict[str, object]:
    loaded = hub.load(folder)
    tokens = loaded.tokenize(tf.constant(TEXTS))
    pairs = [tokens, tokens.merge_dims(1, 2)]
    width = tf.constant(7)
    rows = {
        "default": loaded(tf.constant(TEXTS)),
        "one": loaded.bert_pack_inputs([tokens]),
        "number": loaded.bert_pack_inputs([tokens], seq_length=5),
        "tensor": loaded.bert_pack_inputs([tokens, tokens], seq_length=width),
        "flat": loaded.bert_pack_inputs([t.merge_dims(1, 2) for t in (tokens, tokens)], width),
        "longest": loaded.pack_to_longest([pairs[1][:1]]),
        "limited": loaded.pack_to_longest([tokens], max_seq_length=6),
        "served": loaded.signatures["serving_default"](tf.constant(TEXTS)),
    }
    special = loaded.tokenize.get_special_tokens_dict()
    with open(loaded.tokenize.vocab_file.asset_path.numpy(), encoding="utf-8") as file:
        vocabulary = file.read().split("\n")
    return {
        "tokens": tokens.to_list(),
        "rows": {
            name: {key: value.numpy().tolist() for key, value in of.items()}
            for name, of in rows.items()
        },
        "special": {name: int(value) for name, value in special.items()},
        "vocabulary": vocabulary,
        "do_lower_case": bool(loaded.tokenize.do_lower_case),
    }


def fine_tuning(preprocess: str, encoder: str) -> dict[str, object]:
    """Trains a classifier of texts with Keras 2, whole and with the encoder frozen."""
    tf_keras.utils.set_random_seed(1)  # some initial weights learn nothing but the mean
    loaded = hub.load(preprocess)
    texts = tf_keras.Input((), dtype=tf.string)
    tokens = hub.KerasLayer(loaded.tokenize)(texts)
    rows = hub.KerasLayer(loaded.bert_pack_inputs, arguments={"seq_length": 6})([tokens])
    layer = hub.KerasLayer(encoder, trainable=True)
    dense = tf_keras.layers.Dense(1)
    model = tf_keras.Model(texts, dense(layer(rows)["pooled_output"]))
    before = [variable.numpy() for variable in layer.trainable_weights]
    model.compile(tf_keras.optimizers.Adam(0.01), "mse", run_eagerly=True)
    data = tf.data.Dataset.from_tensors((TEXTS, [[1.0], [-1.0], [0.0]])).repeat(12)
    losses = [model.evaluate(data.take(1), verbose=0)]
    # Once is enough; dropout, which nothing seeds, may be in the way.
    while losses[-1] > losses[0] / 2 and len(losses) <= 20:
        model.fit(data, verbose=0, epochs=3)
        losses.append(model.evaluate(data.take(1), verbose=0))
    moved = [
        bool(np.abs(variable.numpy() - old).max() > 0)
        for variable, old in zip(layer.trainable_weights, before, strict=True)
    ]
    direct = hub.KerasLayer(preprocess)(tf.constant(TEXTS))
    return {
        "losses": losses,
        "num_weights": len(moved),
        "num_moved": sum(moved),
        "num_frozen": len(hub.KerasLayer(encoder).trainable_weights),
        "direct": direct["input_word_ids"].numpy().tolist(),
    }


def encoding(folder: str) -> dict[str, object]:
    loaded = hub.load(folder)
    shapes = {}
    for width in (3, 10):
        names = ("input_word_ids", "input_mask", "input_type_ids")
        inputs = {name: tf.ones([2, width], tf.int32) for name in names}
        outputs = loaded(inputs)
        shapes[width] = outputs["sequence_output"].shape.as_list()
    trained = [loaded(inputs, training=True)["default"].numpy() for _ in range(2)]
    positions = tf.constant([[0, 1], [2, 3]])
    logits = loaded.mlm({**inputs, "masked_lm_positions": positions})["mlm_logits"]
    return {
        "names": sorted(outputs),
        "num_layers": len(outputs["encoder_outputs"]),
        "shapes": shapes,
        "default_is_pooled": bool(np.array_equal(outputs["default"], outputs["pooled_output"])),
        "dropout_varies": not np.allclose(*trained),
        "logits": logits.shape.as_list(),
        "served": sorted(loaded.signatures["serving_default"](**inputs)),
        "num_trainable": len(loaded.trainable_variables),
    }


def main() -> None:
    warnings.simplefilter("error")
    folder = sys.argv[1]
    seen = {
        "preprocessing": preprocessing(f"{folder}/preprocess"),
        "fine_tuning": fine_tuning(f"{folder}/preprocess", f"{folder}/encoder"),
        "encoding": encoding(f"{folder}/encoder"),
        "has_bert_data": "bert_data" in sys.modules,
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
