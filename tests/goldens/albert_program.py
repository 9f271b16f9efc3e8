"""Records what google-research/albert writes: the cases of albert.json, or `records_of` any.

    PYTHON -m tests.goldens.albert_program FOLDER

FOLDER/albert is a checkout of it; PYTHON is an interpreter with TensorFlow, tensorflow_hub and
sentencepiece. NumPy's global stream, which the program does not seed, is seeded with random_seed.
"""

import functools
import hashlib
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags

from tests.goldens.reading import write_text, write_vocabulary

THEIR_NAMES = {"max_ngram": "ngram", "favor_shorter_ngrams": "favor_shorter_ngram"}
_SMALL = {"dupe_factor": 2, "max_seq_length": 64, "max_predictions_per_seq": 10}
CASES: dict[str, dict[str, Any]] = {
    "defaults": {"dupe_factor": 1, "max_seq_length": 512, "do_whole_word_mask": True},
    "pieces": _SMALL,
    "whole_words": {**_SMALL, "do_whole_word_mask": True},
    "longer_first": {**_SMALL, "favor_shorter_ngrams": False, "random_seed": 0},
    "longest": {**_SMALL, "max_ngram": 10, "do_whole_word_mask": True, "random_seed": 2**32 - 1},
    "single": {**_SMALL, "max_ngram": 1, "random_seed": 7},
    "all": {**_SMALL, "masked_lm_prob": 1.0, "max_predictions_per_seq": 64},
    "nothing": {**_SMALL, "masked_lm_prob": 0.0},
    "no_room": {**_SMALL, "max_predictions_per_seq": 0},
    "short": {**_SMALL, "short_seq_prob": 1.0, "max_seq_length": 20, "do_whole_word_mask": True},
}


@functools.cache
def load_peer(folder: str) -> Any:
    """Import the program, whose flags are then parsed."""
    sys.path.insert(0, folder)
    from albert import create_pretraining_data

    flags.FLAGS(["albert", "--input_file=", "--output_file=", "--vocab_file="])
    return create_pretraining_data


def records_of(peer: Any, texts: list[str], vocabulary: str, settings: dict[str, Any]) -> list[Any]:
    """Run the program; return [digest, number of records] without the feature token_boundary.

    Args:
      settings: ours; flags that are not among them have our defaults.
    """
    import tensorflow as tf

    values = {
        "max_seq_length": 128, "dupe_factor": 10, "masked_lm_prob": 0.15, "short_seq_prob": 0.1,
        "max_predictions_per_seq": 20, "random_seed": 12345, "do_whole_word_mask": False,
        "max_ngram": 3, "favor_shorter_ngrams": True, **settings,
    }  # fmt: skip
    for name, value in values.items():
        setattr(flags.FLAGS, THEIR_NAMES.get(name, name), value)
    tokenizer = peer.tokenization.FullTokenizer(
        vocab_file=vocabulary, do_lower_case=True, spm_model_file=None
    )
    np.random.seed(values["random_seed"])
    instances = peer.create_training_instances(
        texts, tokenizer, values["max_seq_length"], values["dupe_factor"],
        values["short_seq_prob"], values["masked_lm_prob"], values["max_predictions_per_seq"],
        random.Random(values["random_seed"]),
    )  # fmt: skip
    sha, count = hashlib.sha256(), 0
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/records"
        peer.write_instance_to_example_files(
            instances, tokenizer, values["max_seq_length"], values["max_predictions_per_seq"],
            [path],
        )  # fmt: skip
        for record in tf.data.TFRecordDataset(path).as_numpy_iterator():
            example = tf.train.Example.FromString(record)
            del example.features.feature["token_boundary"]
            data = example.SerializeToString(deterministic=True)
            sha.update(len(data).to_bytes(8, "little") + data)
            count += 1
    return [sha.hexdigest(), count]


def main(folder: str) -> None:
    peer, recorded = load_peer(folder), {}
    with tempfile.TemporaryDirectory() as made:
        text, vocabulary = write_text(Path(made), "small"), write_vocabulary(Path(made), "pieces")
        for name, settings in CASES.items():
            records = records_of(peer, [text], vocabulary, settings)
            recorded[name] = {"flags": settings, "records": records}
    path = Path(__file__).with_name("albert.json")
    path.write_text(json.dumps({"cases": recorded}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
