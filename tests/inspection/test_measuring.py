"""The kernel that measures records, against the same in plain Python."""

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.inspection.measuring import COUNTS, FAULTS, Rule, measure_records
from bert_data.inspection.surveying import measurable
from bert_data.reader.examples.example import features_of
from bert_data.reader.examples.frames import scan_records
from bert_data.records.fields import NEXT_SENTENCE_LABELS, masked_lm_records
from bert_data.tokens.special_tokens import special_table
from bert_data.tokens.word_bits import marked_continuations
from tests.inspection.making import (
    CLS,
    FIRST_PIECE,
    MASK,
    MAX_LENGTH,
    MAX_PREDICTIONS,
    PAD,
    SEP,
    UNK,
    VOCAB_SIZE,
    Record,
    encode,
    frame,
    make_record,
    num_to_predict,
    pad,
    word_splits,
)

EXPECTED = np.array([min(MAX_PREDICTIONS, max(1, round(n * 0.15))) for n in range(MAX_LENGTH + 1)])
SPECIAL = {PAD, CLS, SEP, MASK}
CONTINUES = np.arange(VOCAB_SIZE) >= FIRST_PIECE


def make_rule(*, is_pair: bool = True, is_exact: int = 1) -> Rule:
    return Rule(
        CLS, SEP, MASK, UNK, VOCAB_SIZE, MAX_LENGTH, MAX_PREDICTIONS, 1 + is_pair, is_exact,
        EXPECTED.astype(np.int32), marked_continuations(CONTINUES), special_table(SPECIAL),
    )  # fmt: skip


def measure(records: list[Record], rule: Rule):  # type: ignore[no-untyped-def]
    data = np.frombuffer(b"".join(frame(encode(record)) for record in records), np.uint8)
    has_labels = all("next_sentence_labels" in record for record in records)
    label = NEXT_SENTENCE_LABELS if has_labels else None
    kind = masked_lm_records("ragged", sentence_field=label)
    scan = scan_records(data, 0, features_of(kind), with_splits=True)
    assert not scan.statuses.any()
    return measure_records(measurable(scan.block, kind), rule)


def faults_of(record: Record, rule: Rule) -> set[str]:
    """The faults of a ragged record."""
    ids, segments, splits = (
        record[name] for name in ("input_ids", "segment_ids", "input_ids_splits_0")
    )
    size, positions = len(ids), record["masked_lm_positions"]
    faults = set()
    b = segments.index(1) if 1 in segments else size
    is_form = segments == [0] * b + [1] * (size - b) and (b < size) == (rule.num_segments == 2)
    if not (is_form and ids[0] == CLS and ids[-1] == SEP and ids[b - 1] == SEP and b >= 2):
        faults.add("form")
    if not all(0 <= token < VOCAB_SIZE for token in ids + record["masked_lm_ids"]):
        faults.add("ids")
    if set(record["input_mask"]) != {1} or set(record["masked_lm_weights"]) - {1.0}:
        faults.add("mask")
    if positions != sorted(set(positions)) or not all(0 <= p < size for p in positions):
        faults.add("positions")
    if SPECIAL & set(record["masked_lm_ids"]):
        faults.add("specials")
    if record.get("next_sentence_labels", [0])[0] not in (0, 1):
        faults.add("label")
    text = list(ids)
    for position, label in zip(positions, record["masked_lm_ids"], strict=True):
        if 0 <= position < size:
            text[position] = label
    if splits != sorted(set(splits)) or (splits[0], splits[-1]) != (0, size):
        faults.add("splits")
    elif splits != word_splits(text, b if is_form else -1):
        faults.add("words")
    if size > MAX_LENGTH:
        faults.add("too_long")
    num_frame, num_special = 2 + (is_form and b < size), sum(token in SPECIAL for token in text)
    if num_special > num_frame:
        faults.add("inside")
    expected = num_to_predict(size, max(num_frame, num_special))
    if len(positions) > expected:
        faults.add("too_many")
    if len(positions) < expected and rule.is_exact:
        faults.add("too_few")
    return faults


CHANGED = (
    "input_ids", "input_mask", "segment_ids", "masked_lm_positions", "masked_lm_ids",
    "input_ids_splits_0", "next_sentence_labels",
)  # fmt: skip


@given(st.integers(0, 2**32), st.booleans())
def test_faults_are_those_of_the_definition(seed: int, is_pair: bool) -> None:
    draw, rule = random.Random(seed), make_rule(is_pair=is_pair)
    records = []
    for _ in range(8):
        record = make_record(draw, is_pair=is_pair)
        for _ in range(draw.choice((0, 0, 1, 2))):
            values = record.get(draw.choice(CHANGED), [0])
            if values:
                values[draw.randrange(len(values))] = draw.choice((0, 1, 2, 3, 4, 60, 79, 80))
        records.append(record)
    measured = measure(records, rule)
    for record, bits in zip(records, measured.faults.tolist(), strict=True):
        faults = {name for bit, name in enumerate(FAULTS) if bits >> bit & 1}
        assert faults == faults_of(record, rule), record
    totals = [
        sum(bits >> bit & 1 for bits in measured.faults.tolist()) for bit in range(len(FAULTS))
    ]
    assert measured.num_faults.tolist() == totals


def put_unknown(record: Record) -> None:
    """Make the first token of text that is not predicted [UNK], a word of its own."""
    place = next(i for i in range(1, 9) if i not in record["masked_lm_positions"])
    record["input_ids"][place] = UNK
    text = list(record["input_ids"])
    for position, label in zip(record["masked_lm_positions"], record["masked_lm_ids"], strict=True):
        text[position] = label
    record["input_ids_splits_0"] = word_splits(text, record["segment_ids"].index(1))


def runs_of(record: Record) -> list[list[str]]:
    """The shown predictions of each run of positions."""
    runs: list[list[str]] = []
    previous = -1
    for position, label in zip(record["masked_lm_positions"], record["masked_lm_ids"], strict=True):
        shown = record["input_ids"][position]
        if position != previous + 1:
            runs.append([])
        runs[-1].append("mask" if shown == MASK else "kept" if shown == label else "other")
        previous = position
    return runs


@given(st.integers(0, 2**32), st.booleans())
def test_counts_are_those_of_the_definition(seed: int, is_ragged: bool) -> None:
    draw = random.Random(seed)
    records = [make_record(draw) for _ in range(9)]
    put_unknown(records[0])
    measured = measure([r if is_ragged else pad(r) for r in records], make_rule())
    counts = dict(zip(COUNTS, measured.counts.tolist(), strict=True))
    shown = [
        (record["input_ids"][position], label)
        for record in records
        for position, label in zip(
            record["masked_lm_positions"], record["masked_lm_ids"], strict=True
        )
    ]
    assert counts["records"] == 9
    assert counts["tokens"] == sum(len(record["input_ids"]) for record in records)
    assert counts["text_tokens"] == counts["tokens"] - 27
    assert counts["predictions"] == counts["expected_predictions"] == len(shown)
    assert counts["masked"] == sum(token == MASK for token, _ in shown)
    assert counts["kept"] == sum(token == label != MASK for token, label in shown)
    assert counts["masked"] + counts["kept"] + counts["replaced"] == len(shown)
    at_limit = sum(len(record["masked_lm_ids"]) == MAX_PREDICTIONS for record in records)
    assert counts["at_limit"] == at_limit
    assert counts["random_next"] == sum(record["next_sentence_labels"][0] for record in records)
    assert counts["unknown"] == 1
    runs = [runs_of(record) for record in records]
    assert counts["run_squares"] == sum(len(run) ** 2 for each in runs for run in each)
    assert counts["mixed_runs"] == sum(len(set(run)) > 1 for each in runs for run in each)
    num_words = num_partial = 0
    for record in records:
        splits = record["input_ids_splits_0"]
        for first, last in itertools.pairwise(splits):
            predicted = sum(first <= p < last for p in record["masked_lm_positions"])
            num_words += predicted > 0
            num_partial += 0 < predicted < last - first
    assert (counts["predicted_words"], counts["partial_words"]) == (num_words, num_partial)


def test_hashes_depend_on_text_and_masks_and_not_on_the_layout() -> None:
    draw = random.Random(3)
    record = make_record(draw)
    again, other = dict(record), dict(record)
    other["input_ids"] = list(record["input_ids"])
    position = record["masked_lm_positions"][0]
    other["input_ids"][position] = 9 if record["input_ids"][position] != 9 else 10
    label = {**record, "next_sentence_labels": [1 - record["next_sentence_labels"][0]]}
    ragged = measure([record, again, other, label], make_rule())
    padded = measure([pad(record)], make_rule())
    assert len(set(ragged.texts.tolist())) == 1
    assert ragged.instances[0] == ragged.instances[1] == padded.instances[0]
    assert len(set(ragged.instances.tolist())) == 3


@pytest.mark.parametrize("size", [1, 4000])
def test_records_of_any_length(size: int, tmp_path: Path) -> None:
    record = make_record(random.Random(1))
    for name in ("input_ids", "input_mask", "segment_ids"):
        record[name] = record[name] * size
    measured = measure([record], make_rule())
    is_long = bool(measured.faults[0] >> list(FAULTS).index("too_long") & 1)
    assert is_long == (size > 1)
