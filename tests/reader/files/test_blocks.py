"""The scan and the decoder against TensorFlow's own parser, and on bytes that are no records."""

import random
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.examples.block import RecordBlock, join_blocks
from bert_data.reader.examples.example import (
    BAD_DATA,
    MISSING,
    NO_EXAMPLE,
    OK,
    UNEVEN,
    look_at_example,
)
from bert_data.reader.examples.example import features_of as numbered_features
from bert_data.reader.examples.frames import scan_records
from bert_data.reader.layout import Shape
from tests.hypotheses import examples
from tests.reader.making import (
    FEATURES,
    KIND,
    MAX_PREDICTIONS,
    MAX_TOKENS,
    V2_NAMES,
    decode_rows,
    dense,
    example_of,
    features_of,
    make_instance,
    make_instances,
    write_examples,
)

COVERS = ("reader/examples/frames",)
NUMBERED = numbered_features(KIND)


def frame(examples: list[bytes], folder: Path) -> np.ndarray:
    path = write_examples(folder / "shard", examples)
    return np.frombuffer(path.read_bytes(), np.uint8)


def decode(block: RecordBlock, width: int, predictions: int) -> dict[str, np.ndarray]:
    return decode_rows(block, Shape(block.num_records, width, predictions))[0]


def varint(value: int) -> bytes:
    value %= 2**64
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def odd_list(values: list[float], is_float: bool, drawn: random.Random) -> bytes:
    """A list in one of the many ways that the format allows: packed, single, in several parts."""
    out = b""
    while values:
        count = drawn.randint(1, len(values))
        part, values = values[:count], values[count:]
        numbers = [np.float32(v).tobytes() if is_float else varint(int(v)) for v in part]
        if drawn.random() < 0.3:
            tag = varint(1 << 3 | (5 if is_float else 0))
            out += b"".join(tag + number for number in numbers)
        else:
            out += field(1, b"".join(numbers))
        if drawn.random() < 0.2:
            out += field(20, b"an unknown field") + varint(21 << 3) + varint(2**40)
    return out


def odd_example(number: int) -> bytes:
    """An Example of any writer: entries out of order, unknown fields, odd lists, extra features."""
    drawn = random.Random(number)
    features = features_of(make_instance(number), drawn.choice(("ragged", "reference", "v2")))
    entries = []
    for name, value in features.items():
        kind = value.WhichOneof("kind")
        is_float = kind == "float_list"
        content = odd_list(list(getattr(value, kind).value), is_float, drawn)
        parts = [field(1, name.encode()), field(2, field(2 if is_float else 3, content))]
        if drawn.random() < 0.2:
            parts.reverse()
        entries.append(field(1, b"".join(parts)))
    entries.append(field(1, field(1, b"extra") + field(2, field(1, field(1, b"bytes")))))
    drawn.shuffle(entries)
    cut = drawn.randint(0, len(entries))
    example = field(1, b"".join(entries[:cut])) + field(1, b"".join(entries[cut:]))
    return example + (field(9, b"unknown") if drawn.random() < 0.5 else b"")


@pytest.mark.parametrize("layout", ["ragged", "reference", "v2"])
def test_records_of_a_shard(layout: str, tmp_path: Path) -> None:
    instances = make_instances(30)
    data = frame([example_of(i, layout, extra=i.is_random == 1) for i in instances], tmp_path)
    scan = scan_records(data, 0, NUMBERED)
    assert scan.end == data.size
    assert not scan.is_length_bad
    assert scan.statuses.tolist() == [OK] * 30
    lengths = [[len(i.tokens), len(i.positions)] for i in instances]
    assert scan.block.lengths.tolist() == lengths
    expected = dense(instances, MAX_TOKENS, MAX_PREDICTIONS)
    batch = decode(scan.block, MAX_TOKENS, MAX_PREDICTIONS)
    for name in FEATURES:
        np.testing.assert_array_equal(batch[name], expected[name], err_msg=name)


@examples(200)
@given(st.integers(min_value=1, max_value=2**31 - 1))
def test_whatever_the_format_allows_is_read_as_tensorflow_reads_it(number: int) -> None:
    example = odd_example(number)
    message = tf.train.Example.FromString(example)
    values = {
        name: list(getattr(value, value.WhichOneof("kind")).value)
        for name, value in by_googles_names(message).items()
        if name in FEATURES
    }
    data = np.frombuffer(frame_one(example), np.uint8)
    is_ragged = "input_ids_splits_0" in message.features.feature
    counts = look_at_example(data, 12, 12 + len(example), NUMBERED)
    assert (counts[-1] >= 0) == is_ragged
    assert counts[:7].tolist() == [len(values[name]) for name in FEATURES]
    scan = scan_records(data, 0, NUMBERED)
    assert scan.statuses.tolist() == [OK]
    instance = make_instance(number)
    assert scan.block.lengths.tolist() == [[len(instance.tokens), len(instance.positions)]]
    batch = decode(scan.block, MAX_TOKENS, MAX_PREDICTIONS)
    for name in FEATURES:
        row = batch[name][0]
        np.testing.assert_array_equal(row[: len(values[name])], values[name], err_msg=name)
        assert not row[len(values[name]) :].any()


def by_googles_names(message: tf.train.Example) -> dict[str, tf.train.Feature]:
    googles = {name: google for google, name in V2_NAMES.items()}
    return {googles.get(name, name): value for name, value in message.features.feature.items()}


def frame_one(example: bytes) -> bytes:
    from bert_data.kernels.crc32c import masked_crc32c

    def checked(content: bytes) -> bytes:
        return content + masked_crc32c(content).to_bytes(4, "little")

    return checked(len(example).to_bytes(8, "little")) + checked(example)


@examples(300)
@given(st.data())
def test_bytes_that_are_no_example_are_told_and_not_read_beyond(data: st.DataObject) -> None:
    example = bytearray(odd_example(data.draw(st.integers(1, 1000))))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(example) - 1))
        if data.draw(st.booleans()):
            example[at] = data.draw(st.integers(0, 255))
        else:
            del example[at:]
            example += b"\x0a"
    framed = np.frombuffer(frame_one(bytes(example)), np.uint8)
    scan = scan_records(framed, 0, NUMBERED)
    assert scan.end == framed.size
    try:
        message = tf.train.Example.FromString(bytes(example))
    except Exception:
        # The parser checks more than we need to (UTF-8 in names we do not know): no promise.
        return
    if scan.statuses[0] == OK:
        assert set(FEATURES) <= by_googles_names(message).keys()
        decode(scan.block, MAX_TOKENS, MAX_PREDICTIONS)


def test_a_scan_stops_at_a_damaged_length_and_goes_on_behind_damaged_data(tmp_path: Path) -> None:
    instances = make_instances(4)
    examples = [example_of(i, "ragged") for i in instances]
    good = frame(examples, tmp_path)
    begins = np.cumsum([0] + [len(example) + 16 for example in examples])
    damaged = good.copy()
    damaged[begins[1] + 20] ^= 1  # in the data of record 1
    damaged[begins[3] + 2] ^= 1  # in the length of record 3
    scan = scan_records(damaged, 0, NUMBERED)
    assert scan.statuses.tolist() == [OK, BAD_DATA, OK]
    assert (scan.end, scan.is_length_bad) == (begins[3], True)
    cut = scan_records(good[: begins[2] + 30], 0, NUMBERED)
    assert cut.statuses.tolist() == [OK, OK]
    assert (cut.end, cut.is_length_bad) == (begins[2], False)


def test_features_that_are_missing_or_do_not_fit(tmp_path: Path) -> None:
    complete = features_of(make_instance(3), "ragged")
    without = {name: value for name, value in complete.items() if name != "segment_ids"}
    longer = dict(complete)
    longer["input_mask"] = tf.train.Feature(
        int64_list=tf.train.Int64List(value=[1] * (len(complete["input_ids"].int64_list.value) + 1))
    )
    wrong_kind = dict(complete)
    wrong_kind["masked_lm_weights"] = tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))
    examples = [
        tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
        for features in (without, longer, wrong_kind)
    ]
    scan = scan_records(frame([*examples, b"not an example"], tmp_path), 0, NUMBERED)
    assert scan.statuses.tolist() == [
        MISSING + 8 * FEATURES.index("segment_ids"),
        UNEVEN + 8 * FEATURES.index("input_mask"),
        MISSING + 8 * FEATURES.index("masked_lm_weights"),
        NO_EXAMPLE,
    ]


def test_blocks_keep_their_records_when_taken_apart_and_joined(tmp_path: Path) -> None:
    instances = make_instances(20)
    data = frame([example_of(i, "ragged") for i in instances], tmp_path)
    block = scan_records(data, 0, NUMBERED).block
    order = np.random.default_rng(1).permutation(20)
    parts = [block.take(order[:3]), block.take(order[3:4]), block.take(order[4:])]
    joined = join_blocks(parts)
    assert joined.data.size == block.sizes.sum()
    expected = dense([instances[i] for i in order], MAX_TOKENS, MAX_PREDICTIONS)
    batch = decode(joined, MAX_TOKENS, MAX_PREDICTIONS)
    for name in FEATURES:
        np.testing.assert_array_equal(batch[name], expected[name], err_msg=name)


def test_the_largest_id_and_positions_outside_are_told(tmp_path: Path) -> None:
    features = features_of(make_instance(1), "ragged")
    count = len(features["masked_lm_ids"].int64_list.value)
    assert count >= 2
    features["masked_lm_ids"].int64_list.value[1] = 40000
    features["masked_lm_positions"].int64_list.value[0] = -1
    example = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
    block = scan_records(frame([example], tmp_path), 0, NUMBERED).block
    _, largest_and_outside = decode_rows(block, Shape(1, MAX_TOKENS, MAX_PREDICTIONS))
    assert largest_and_outside == (40000, True)
