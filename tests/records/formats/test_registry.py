"""Formats by name, and what any of them does with any batch of columns."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from bert_data.kernels.crc32c import crc32c
from bert_data.records.columns import ColumnBatch
from bert_data.records.fields import BYTES, Axis
from bert_data.records.formats import registry
from bert_data.records.formats.manifest_file import ManifestFile
from bert_data.records.formats.registry import WriterSettings, find_shard_format
from bert_data.storage import OutputSet
from tests.hypotheses import examples
from tests.records.batches import column_batches
from tests.records.formats.test_examples import by_entries, features_of
from tests.records.formats.tfrecords import split_records


def write(name: str, batches: list[ColumnBatch], path: Path, **options) -> ManifestFile:
    writer = find_shard_format(name).make(batches[0].kind, WriterSettings(**options))
    paths = [str(path), str(path.parent / f"index.{path.name}.npy")][: 2 - (name == "parquet")]
    num_records = sum(batch.num_records for batch in batches)
    with OutputSet(str(path), paths, reads=(), overwrite=False) as outputs:
        with writer.open_shard(outputs.open, str(path), num_records) as shard:
            for batch in batches:
                kept = {field.name: batch.columns[field.name] for field in writer.kind.stored}
                shard.add(writer.encode(ColumnBatch(kind=writer.kind, columns=kept)))
            described = shard.finish()
        outputs.commit(paths)
    data = path.read_bytes()
    assert described == ManifestFile(
        name=path.name, num_records=num_records, num_bytes=len(data), crc32c=crc32c(data)
    )
    return described


def rows_of(batch: ColumnBatch) -> list[dict]:
    """The rows of Parquet that a batch stands for."""
    rows = []
    for number in range(batch.num_records):
        row = {}
        for field in batch.kind.stored:
            column = batch[field]
            if column.splits is None:
                values = column.values[number : number + 1].reshape(-1).tolist()
            else:
                begin, end = column.splits[number : number + 2]
                values = column.values[begin:end].tolist()
            padded_to = batch.kind.in_parquet().padded_to.get(field.axis, 0)
            values += [field.column_padding] * (padded_to - len(values))
            row[field.column] = values[0] if field.axis is Axis.INSTANCES else values
        rows.append(row)
    return rows


@pytest.mark.slow
@examples(60)
@given(column_batches(one_value_per_instance=True))
def test_parquet_holds_any_batch(batch: ColumnBatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t")
        write("parquet", [batch, batch], path, group_records=batch.num_records)
        table = pq.read_table(path)
        assert table.to_pylist() == rows_of(batch) * 2
        assert pq.ParquetFile(path).metadata.num_row_groups == 2
        for field in batch.kind.stored:
            kind = table.schema.field(field.column).type
            kind = kind if field.axis is Axis.INSTANCES else kind.value_type
            assert str(kind) == ("binary" if field.dtype == BYTES else str(field.dtype)).replace(
                "float32", "float"
            )


@examples(30)
@given(column_batches())
def test_tfrecord_holds_any_batch(batch: ColumnBatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t")
        write("tfrecord", [batch, batch], path)
        records = split_records(path.read_bytes())
        expected = [by_entries(features_of(batch, i)) for i in range(batch.num_records)]
        assert [record for _, record in records] == expected * 2
        index = np.load(Path(folder, "index.t.npy"))
        assert index["offset"].tolist() == [*[at for at, _ in records], path.stat().st_size]
        assert index["num_tokens"].tolist() == [*batch.num_tokens().tolist() * 2, 0]


@pytest.mark.parametrize(
    ("names", "settings", "said"),
    [
        ("tf_examples.tfrecord", {"name": "parquet"}, "tfrecord"),
        ("a,b.parquet@2", {"name": "tfrecord"}, "parquet"),
        ("a.gz", {"name": "tfrecord"}, "gzip"),
        ("a.parquet.gz", {"name": "parquet"}, "gzip"),
        ("a.jsonl", {"name": "tfrecord"}, "jsonl"),
    ],
)
def test_an_ending_of_something_else_is_refused(names, settings, said) -> None:
    with pytest.raises(ValueError, match=f"would not be {said}, as its ending says"):
        registry.find_shard_format(**settings, output_file=names)
    for name, compression in (("tfrecord", "gzip"), ("parquet", "none")):
        own = f"a.{name}@2,b.1,c" + (",d.gz" if compression == "gzip" else "")
        registry.find_shard_format(name, compression=compression, output_file=own)


def test_formats_are_found_by_name() -> None:
    assert tuple(registry.SHARD_FORMATS) == ("tfrecord", "parquet")
    with pytest.raises(ValueError, match="'orc'; it must be one of tfrecord, parquet"):
        find_shard_format("orc")
