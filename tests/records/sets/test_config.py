"""Memory is shared among stages, and a run keeps to it."""

import json
import subprocess
import sys

import pytest

from bert_data.records.sets.config import MAX_BYTES_OF_INSTANCE
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.work.engine import Ray

COVERS = ("records/sets/dataset_config",)

MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.parametrize("output_format", ["tfrecord", "parquet"])
@pytest.mark.process
def test_a_run_keeps_to_it(tmp_path, checkout, small_vocabulary, output_format):
    """A text of 60 MB, whose instances and tokens do not fit the smallest budget."""
    max_memory_mb = 300 if output_format == "tfrecord" else 480  # the least that is allowed
    text = tmp_path / "text.txt"
    words = [token for token in small_vocabulary.read_text().split() if token.isalpha()]
    sentences = [" ".join(words[(7 * i + j) % len(words)] for j in range(12)) for i in range(5000)]
    document = "\n".join(sentences)
    documents = [document[start : start + 20_000] for start in range(0, len(document), 20_000)]
    text.write_text("\n\n".join(documents))
    command = [
        sys.executable, str(checkout / "create_pretraining_data.py"),
        f"--input_file={text}", f"--vocab_file={small_vocabulary}",
        f"--output_file={tmp_path}/out", "--dupe_factor=2", f"--max_memory_mb={max_memory_mb}",
        "--num_workers=64", "--max_seq_length=32", "--max_predictions_per_seq=5",
        f"--output_format={output_format}",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)  # compiles, which takes memory, too
    with text.open("w") as file:
        while file.tell() < 60_000_000:
            file.write("\n\n".join(documents) + "\n\n")
    command.append("--overwrite")
    # By a small process: the system counts what a process's parent had when it began as its own.
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, *command], check=True, capture_output=True, text=True
    )
    manifest = json.loads((tmp_path / "manifest.out.json").read_text())
    num_instances = manifest["counts"]["instances"]["num_instances"]
    assert num_instances > 500_000
    allowed = max_memory_mb * 1_000_000 + MAX_BYTES_OF_INSTANCE * num_instances
    assert int(measured.stdout) * 1024 <= allowed


@pytest.mark.parametrize("others", [{}, {"record_layout": "reference", "output_format": "parquet"}])
def test_other_names_of_features_are_those_of_padded_examples(others):
    config = {"input_file": "a.txt", "output_file": "out", "vocab_file": "v"}
    needs = "'v2'; it needs `record_layout=reference` and `output_format=tfrecord`"
    with pytest.raises(ValueError, match=f"^feature_names is {needs}$"):
        DatasetConfig(**config, **others, feature_names="v2")


def test_a_cluster_makes_partitions_alone():
    config = {"input_file": "a.txt", "output_file": "out", "vocab_file": "v", "engine": Ray()}
    with pytest.raises(ValueError, match=r"engine is 'ray'; it needs `num_partitions`.*tokenize"):
        DatasetConfig(**config)
    assert DatasetConfig(**config, num_partitions=2).engine.is_cluster
