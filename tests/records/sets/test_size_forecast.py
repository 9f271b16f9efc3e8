"""What `create` says of the room that a set will take, before it writes it."""

import re

import pytest
from absl import logging

from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.instances.rows import HEADER_WORDS
from bert_data.records.sets import size_forecast
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.size_forecast import SizeForecast
from tests.goldens.inputs import WORDS

SETS = {
    "ragged": {},
    "padded": {"record_layout": "reference"},
    "gzip": {"compression": "gzip"},
    "parquet": {"output_format": "parquet"},
    "partitions": pytest.param(
        {"num_partitions": 2, "output_file": "records@2", "num_workers": 2},
        marks=pytest.mark.process,
    ),
}


@pytest.fixture
def text(tmp_path):
    lines = [
        " ".join(WORDS[(i * k) % len(WORDS)] for k in range(1, 3 + i % 9))
        + "\n" * (1 + (i % 7 == 0))
        for i in range(4000)
    ]
    (tmp_path / "text.txt").write_text("\n".join(lines))
    return tmp_path / "text.txt"


@pytest.mark.parametrize("options", SETS.values(), ids=SETS)
def test_the_estimate_is_near_what_is_written(
    options, text, small_vocabulary, tmp_path, monkeypatch, caplog
):
    monkeypatch.chdir(tmp_path)
    caplog.set_level("INFO", "absl")
    monkeypatch.setattr("bert_data.records.instances.making._ROWS_BYTES", 100_000)
    dataset = create_dataset(
        DatasetConfig(
            **{
                "input_file": str(text),
                "output_file": "records",
                "vocab_file": str(small_vocabulary),
                "instances": InstanceConfig(max_seq_length=64, dupe_factor=3),
                "num_workers": 1,
                **options,
            }
        )
    )
    written = sum(file.num_bytes for file in dataset.manifest.files)
    (line,) = [each for each in caplog.messages if each.startswith("about ")]
    num_instances = dataset.manifest.counts["instances"]["num_instances"]
    spooled = num_instances * 4 * (HEADER_WORDS + 10)  # of 64 tokens, 15% are predicted
    sizes = re.findall(r"([\d.]+) (kB|MB) (?:of records|for a while)", line)
    for (number, unit), actual in zip(sizes, (written, spooled), strict=True):
        assert float(number) * {"kB": 1e3, "MB": 1e6}[unit] == pytest.approx(actual, rel=0.15)
    assert "GB are free in this folder" in line or "MB are free in this folder" in line


@pytest.mark.parametrize(
    ("free", "line", "level"),
    [
        (4_000_000_000, "about 3.0 GB of records will be written, 20 times the text, and 1.0 GB"
         " for a while; 4.0 GB are free in out. A recipe (see bert-data train) reads a token store"
         " of 90.0 MB instead", logging.INFO),
        (3_900_000_000, "3.9 GB are free in out", logging.WARNING),
        (None, "for a while. A recipe", logging.INFO),
    ],
)  # fmt: skip
def test_the_line(free, line, level, monkeypatch):
    said = []
    monkeypatch.setattr(size_forecast, "free_bytes", lambda folder: free)
    monkeypatch.setattr(logging, "log", lambda *args: said.append(args))
    forecast = SizeForecast(
        output="out/records",
        num_text_bytes=50_000_000,
        num_store_bytes=30_000_000,
        num_parts=3.0,
        num_at_once=2,
    )
    forecast.say(1_000_000_000, 500_000_000)
    assert said[0][0] == level
    assert line in said[0][2]
