"""Masked LM records: the same text for every layout and format, and what is wrong with them."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from bert_data.errors import CorruptDataError
from tests.inspection.looking import contents, header, instance, look, open_path, page
from tests.reader.making import Instance, frame_offsets, write_shard
from tests.reader.parquet_making import write_instances

INSTANCES = [
    instance("[CLS] the [MASK]=cat sat [SEP]", "un ##believ ##able [SEP]"),
    instance("[CLS] dog=it was un [MASK]=##believ ##able [SEP]", "the=the mat [SEP]", is_random=1),
    instance("[CLS] home [SEP]"),
]
SHOWN = """
record 0  {name}:0
  A              [CLS] the [MASK](cat) sat [SEP]
  B              unbelievable [SEP]
  next sentence  B follows A
                 9 tokens, 1 to predict{padding}

record 1  {name}:1
  A              [CLS] dog(it) was un [MASK](##believ) ##able [SEP]
  B              the(the) mat [SEP]
  next sentence  B is from elsewhere
                 10 tokens, 3 to predict{padding1}

record 2  {name}:2
  A              [CLS] home [SEP]
  next sentence  B follows A
                 3 tokens, 0 to predict{padding2}
"""


def write(folder: Path, form: str, instances: list[Instance] | None = None) -> Path:
    chosen = INSTANCES if instances is None else instances
    path = folder / f"{form}.part"
    if form == "parquet":
        return write_instances(path, chosen, group_rows=2)
    layout = "reference" if form == "reference" else "ragged"
    return write_shard(path, chosen, layout, compression="GZIP" if form == "gzip" else "")


@pytest.mark.parametrize("form", ["ragged", "reference", "gzip", "parquet"])
def test_records_as_words(tmp_path: Path, vocabulary: Path, form: str) -> None:
    path = write(tmp_path, form)
    padding = [f", {12 - n} of padding" if form == "reference" else "" for n in (9, 10, 3)]
    expected = SHOWN.format(
        name=path.name, padding=padding[0], padding1=padding[1], padding2=padding[2]
    )
    assert look(path, vocabulary) == expected
    assert look(f"file://{path}", vocabulary) == expected


@pytest.mark.parametrize("form", ["ragged", "reference", "gzip", "parquet"])
def test_content_does_not_depend_on_the_form(tmp_path: Path, form: str) -> None:
    plain = list(open_path(write(tmp_path, "ragged")).stream())
    other = list(open_path(write(tmp_path, form)).stream())
    assert contents(plain) == contents(other)
    assert len(contents(plain)) == 3


@pytest.mark.parametrize("form", ["ragged", "reference", "gzip", "parquet"])
def test_records_by_number_through_all_shards(tmp_path: Path, vocabulary: Path, form: str) -> None:
    paths = []
    for shard in range(3):
        (tmp_path / str(shard)).mkdir()
        paths.append(write(tmp_path / str(shard), form))
    source = open_path(",".join(map(str, paths)))
    everything = list(source.stream())
    assert source.count() == 9
    chosen = list(source.read([1, 2, 3, 8]))
    assert [(item.number, item.path, item.place) for item in chosen] == [
        (1, str(paths[0]), 1),
        (2, str(paths[0]), 2),
        (3, str(paths[1]), 0),
        (8, str(paths[2]), 2),
    ]
    assert contents(chosen) == [contents(everything)[n] for n in (1, 2, 3, 8)]
    assert list(source.read([9])) == []


def test_ids_without_a_vocabulary(tmp_path: Path) -> None:
    path = write(tmp_path, "ragged")
    assert look(path, record="0") == page("""

        record 0  ragged.part:0
          A              2 5 4(6) 7 3
          B              13 14 15 3
          next sentence  B follows A
                         9 tokens, 1 to predict
        """).join(["\n", ""])
    assert "Ids are shown; vocab_file=VOCABULARY shows words." in header(open_path(path))


def test_ids_outside_the_vocabulary_and_positions_outside_the_tokens(
    tmp_path: Path, vocabulary: Path
) -> None:
    path = tmp_path / "part"
    write_shard(path, [Instance((2, 999, 3), (0, 0, 0), (7,), (5,), 0)])
    shown = look(path, vocabulary)
    assert "[CLS] <999> [SEP]" in shown
    assert "wrong          position 7 is outside the 3 tokens" in shown


def test_sentence_order_and_no_task(tmp_path: Path, vocabulary: Path) -> None:
    path = write(tmp_path, "ragged")
    assert "sentence order  A and B are swapped" in look(
        path, vocabulary, source=open_path(path, next_sentence="sop"), record="1"
    )
    none = look(path, vocabulary, source=open_path(path, next_sentence="none"), record="1")
    assert "B follows" not in none
    assert "elsewhere" not in none


def test_records_for_different_tasks_are_refused(tmp_path: Path) -> None:
    write_instances(tmp_path / "nsp.parquet", INSTANCES)
    table = pq.read_table(tmp_path / "nsp.parquet").drop_columns("is_random_next")
    pq.write_table(table, tmp_path / "none.parquet")
    with pytest.raises(ValueError, match=r"next_sentence is 'none' in .* and 'nsp' in .*nsp.parq"):
        open_path(f"{tmp_path}/*.parquet")


def test_a_longer_text_is_cut(tmp_path: Path, vocabulary: Path) -> None:
    shown = look(write(tmp_path, "ragged"), vocabulary, record="1", max_tokens=3)
    assert "  A              [CLS] dog(it) was ... 4 more\n" in shown


def test_rows_for_programs(tmp_path: Path, vocabulary: Path) -> None:
    from bert_data.inspection.readable_ids import load_words

    source = open_path(write(tmp_path, "reference"))
    (item,) = source.read([0])
    assert source.row(item, load_words(str(vocabulary))) == {
        "input_ids": [2, 5, 4, 7, 3, 13, 14, 15, 3],
        "segment_ids": [0, 0, 0, 0, 0, 1, 1, 1, 1],
        "masked_lm_positions": [2],
        "masked_lm_ids": [6],
        "next_sentence_labels": 0,
        "tokens": ["[CLS]", "the", "[MASK]", "sat", "[SEP]", "un", "##believ", "##able", "[SEP]"],
        "masked_lm_tokens": ["cat"],
        "padding": 3,
    }


@pytest.mark.parametrize("form", ["ragged", "gzip"])
def test_damage_is_one_error_with_its_place(tmp_path: Path, vocabulary: Path, form: str) -> None:
    path = write(tmp_path, "ragged")
    data = bytearray(path.read_bytes())
    data[frame_offsets(path)[1] + 40] ^= 1
    if form == "gzip":
        import gzip

        data = bytearray(gzip.compress(bytes(data)))
    path.write_bytes(data)
    assert "record 0 " in look(path, vocabulary, record="0")
    with pytest.raises(CorruptDataError, match=r"ragged.part: record 1, byte offset \d+: the ch"):
        look(path, vocabulary)


def test_a_damaged_parquet_file(tmp_path: Path, vocabulary: Path) -> None:
    path = write(tmp_path, "parquet")
    data = bytearray(path.read_bytes())
    data[30] ^= 255
    path.write_bytes(data)
    with pytest.raises(CorruptDataError, match=r"parquet.part: .*not a readable Parquet file"):
        look(path, vocabulary, record="0")


def test_an_empty_shard_has_no_records(tmp_path: Path) -> None:
    path = tmp_path / "part"
    path.write_bytes(b"")
    source = open_path(path)
    assert (source.count(), list(source.stream()), look(path)) == (0, [], "")


def test_a_very_long_record_pads_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bert_data.inspection.sources import instances
    from bert_data.reader.examples.block import RecordBlock
    from bert_data.records.fields import RecordKind

    widths = []
    decode = instances.decode_block
    long = instance("[CLS] " + "the " * 3000 + "[SEP]")
    path = write_shard(tmp_path / "part", [*INSTANCES, long, *INSTANCES])

    def measured(block: RecordBlock, kind: RecordKind) -> dict:
        widths.append(block.lengths[:, 0].tolist())
        return decode(block, kind)

    monkeypatch.setattr(instances, "decode_block", measured)
    monkeypatch.setattr(instances, "MAX_HELD_VALUES", 3100)
    items = list(open_path(path).stream())
    assert [item.fields["input_ids"].size for item in items] == [9, 10, 3, 3002, 9, 10, 3]
    assert widths == [[9, 10, 3], [3002], [9, 10, 3]]


def test_weights_of_other_programs_are_content(tmp_path: Path) -> None:
    from bert_data.inspection.sources.instances import fields_of_records
    from bert_data.reader.files.blocks import read_blocks
    from bert_data.reader.files.record_source import Damage
    from bert_data.reader.files.shards import Shard
    from tests.reader.making import example_of, write_examples

    record = example_of(INSTANCES[1], "reference")
    ones, other = (np.array(v, "<f4").tobytes() for v in ([1, 1, 1, 0], [0, 1, 0.5, 0]))
    assert record.count(ones) == 1
    path = write_examples(tmp_path / "part", [record.replace(ones, other)])
    shard = Shard(path=str(path), num_bytes=0, is_gzip=False)
    ((values, _),) = fields_of_records(next(read_blocks(shard, Damage(skip=False))), shard.kind)
    assert values["masked_lm_weights"].tolist() == [0, 1, 0.5]
