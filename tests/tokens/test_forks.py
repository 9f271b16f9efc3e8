"""A process that has used a tokenizer's threads may fork, and the new one makes records with it."""

import os
import subprocess
import sys

import pytest

from tests.tokens.json_files import byte_pairs

SECONDS = 120.0
PROGRAM = """
import os, sys
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.creating import create_dataset

text, path, backend = sys.argv[1:]

def create(output):
    create_dataset(
        DatasetConfig(
            input_file=text,
            output_file=output,
            tokenizer_file=path,
            tokenizer_backend=backend,
            num_workers=2,
        )
    )

create("before.tfrecord")
child = os.fork()
if not child:
    create("forked.tfrecord")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
create("after.tfrecord")
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["fastokens", "tokenizers"])
def test_records_after_a_fork_are_the_same(checkout, tmp_path, small_text, backend):
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    path = byte_pairs(tmp_path / "tokenizer.json", special)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(small_text), path, backend],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    before, forked, after = (
        (tmp_path / f"{name}.tfrecord").read_bytes() for name in ("before", "forked", "after")
    )
    assert len(before) > 1000
    assert forked == before and after == before
