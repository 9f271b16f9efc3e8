"""Fixtures for shards of records."""

from pathlib import Path

import pytest

from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets import dataset_config
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig


@pytest.fixture(scope="session")
def pair(tmp_path_factory, small_text, small_vocabulary) -> dict[str, Path]:
    """Folders with the same instances in each format, four shards `t-*`."""
    folders = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset_config, "CHUNK_BYTES", 300)
        patch.setattr(dataset_config, "CHUNKS_OF_GROUP", 3)
        for name in ("tfrecord", "parquet"):
            folders[name] = tmp_path_factory.mktemp(name)
            create_dataset(
                DatasetConfig(
                    input_file=str(small_text),
                    output_file=str(folders[name] / "t@4"),
                    vocab_file=str(small_vocabulary),
                    instances=InstanceConfig(max_seq_length=24, max_predictions_per_seq=4),
                    output_format=name,
                )
            )
    return folders
