"""What the endings of names say, and outputs that would hold something else."""

import re

import pytest

from bert_data.storage import kinds_of, refuse_other_endings


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("train.tfrecord", ["tfrecord"]),
        ("s3://b/v1.0/train.tfrecord.gz@4", ["gzip", "tfrecord"]),
        ("{split}.parquet@2", ["parquet"]),
        ("c4.json.gz", ["gzip", "jsonl"]),
        ("train.gz", ["gzip"]),
        ("corpus.txt.tfrecord", ["tfrecord"]),
        ("a.xz", ["xz"]),
        ("train", []),
        ("train@4", []),
        ("train.v2", []),
        ("data.parquet/train", []),
        (".gz", []),
    ],
)
def test_the_last_endings_say_what_a_file_is(name, kinds):
    assert kinds_of(name) == kinds


def test_what_an_ending_says_is_held_or_refused():
    settings = {"parquet": "output_format"}
    refuse_other_endings(["a.tfrecord.gz", "b.gz", "c"], ("tfrecord", "gzip"), settings)
    for name, sentence in (
        ("a.parquet@2", "parquet, as its ending says; set `output_format=parquet`, or choose"),
        ("a.tfrecord.zst", "zstd, as its ending says; choose another ending"),
        ("a.txt.gz", "text, as its ending says; choose another ending"),
    ):
        with pytest.raises(ValueError, match=re.escape(f"output {name!r} would not be {sentence}")):
            refuse_other_endings(["c", name], ("tfrecord", "gzip"), settings)
