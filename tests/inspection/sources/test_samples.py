"""GPT samples of shards are those that the stores give."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bert_data.errors import CorruptDataError
from bert_data.gpt import GptConfig, build_datasets
from bert_data.gpt.export import export_splits
from bert_data.gpt.gpt_config import SampleExportConfig
from bert_data.inspection.configs import SampleConfig
from tests.gpt.stores import write_store
from tests.inspection.looking import contents, ids, look, open_path, page, write_vocabulary

SAMPLES = SampleConfig(seq_length=4)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    texts = ("the cat sat . [SEP]", "dog ran home . [SEP]", "it was un ##believ ##able [SEP]")
    write_store(tmp_path / "web", [np.array(ids(text)) for text in texts])
    return tmp_path / "web"


def export(store: Path, output_format: str, **options) -> Path:
    config = GptConfig(seq_length=4, **options)
    dataset, _, _ = build_datasets([str(store)], config)
    path = store.parent / f"samples.{output_format}"
    export_splits([dataset], SampleExportConfig(output_file=str(path), output_format=output_format))
    return path


@pytest.mark.parametrize("output_format", ["tfrecord", "parquet"])
def test_shards_hold_what_the_stores_give(store: Path, output_format: str) -> None:
    from_stores = open_path(store, samples=SAMPLES)
    shards = open_path(export(store, output_format))
    expected = contents(from_stores.stream())
    assert from_stores.count() == shards.count() == len(expected) == 3
    assert contents(shards.stream()) == expected
    assert contents(shards.read([1, 2])) == expected[1:]
    assert shards.description.settings["seq_length"] == 4


def test_a_sample_as_words(tmp_path: Path) -> None:
    write_store(tmp_path / "one", [np.array(ids("the [SEP] un ##able [SEP]"))])
    options = {"eod_id": 3, "reset_position_ids": True, "eod_mask_loss": True}
    path = export(tmp_path / "one", "tfrecord", reset_attention_mask=True, **options)
    assert look(path, write_vocabulary(tmp_path)) == "\n" + page("""
        sample 0  samples.tfrecord:0
          tokens     the [SEP] unable
          label      [SEP]  of the last token
          loss       on 3 of 4 tokens
          positions  0 again at token 2
          attention  not before token 2, from there on
        """)


def test_a_blend_names_the_store_of_each_sample(store: Path) -> None:
    write_store(store.parent / "books", [np.full(20, 6)])
    blend = SampleConfig(seq_length=4, weights=[1, 1], num_samples=[8])
    source = open_path(f"{store},{store.parent / 'books'}", samples=blend)
    stores = [item.fields["dataset"] for item in source.stream()]
    assert sorted(set(stores)) == [str(store.parent / "books"), str(store)]
    assert f"from    {store}" in look("", source=source, num_records=8)
    assert [item.number for item in source.read([2, 5])] == [2, 5]


def test_a_split_without_samples(store: Path) -> None:
    with pytest.raises(ValueError, match="the valid split has no samples"):
        open_path(store, samples=SampleConfig(seq_length=4, split_name="valid"))


def test_samples_that_lack_a_field(store: Path) -> None:
    path = export(store, "parquet")
    table = pq.read_table(path)
    data = bytearray(path.read_bytes())
    data[40] ^= 255
    path.write_bytes(data)
    with pytest.raises(CorruptDataError, match=r"samples\.parquet"):
        list(open_path(path).stream())
    pq.write_table(pa.table({"tokens": table["tokens"]}), path)
    with pytest.raises(ValueError, match="no column 'text'"):
        list(open_path(path).stream())
