"""Checks of whole sets: nothing is found in good ones, and every planted fault is."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bert_data.inspection.configs import CheckConfig
from bert_data.inspection.figures import DOUBTFUL, HARMFUL
from bert_data.inspection.set_check import Report, check_set
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from tests.goldens.inputs import as_text, documents
from tests.goldens.reading import write_vocabulary as write_words
from tests.inspection.making import (
    CLS,
    FIRST_PIECE,
    FIRST_WORD,
    MASK,
    SEP,
    VOCAB_SIZE,
    Record,
    make_records,
    write_set,
    write_vocabulary,
)
from tests.rows import mostly_slow

COVERS = ("inspection/configs", "inspection/judging", "inspection/rules")

NUM_RECORDS = 900


def check(pattern: str, vocab_file: Path | None = None, **options: Any) -> Report:
    vocabulary = None if vocab_file is None else str(vocab_file)
    return check_set(CheckConfig(input_patterns=pattern, vocab_file=vocabulary, **options))


def names(report: Report) -> list[str]:
    return [finding.name for finding in report.findings]


@mostly_slow("seed", range(2))
@mostly_slow("layout", ["ragged", "reference"])
@mostly_slow("is_pair", [True, False])
def test_a_good_set_has_no_findings(layout: str, is_pair: bool, seed: int, tmp_path: Path) -> None:
    records = make_records(NUM_RECORDS, seed, is_pair=is_pair)
    objective = "nsp" if is_pair else "none"
    pattern = write_set(tmp_path, records, layout=layout, flags={"next_sentence": objective})
    for vocab_file in (None, tmp_path / "vocab.txt"):
        report = check(pattern, vocab_file)
        assert report.findings == []
        assert not report.is_harmful
        assert report.num_records == NUM_RECORDS
        assert not any(report.faults.values())
        lengths = np.bincount([len(record["input_ids"]) for record in records])
        np.testing.assert_array_equal(report.num_of_length, lengths)


Plant = Callable[[int, Record], None]


def every(step: int, plant: Callable[[Record], None]) -> Plant:
    return lambda number, record: plant(record) if number % step == 0 else None


def show(record: Record, how: str) -> None:
    """Show a mask, the token itself or another one for each token to predict."""
    for position, label in zip(record["masked_lm_positions"], record["masked_lm_ids"], strict=True):
        other = FIRST_WORD if label != FIRST_WORD else FIRST_WORD + 1
        record["input_ids"][position] = {"mask": MASK, "keep": label, "other": other}[how]


def predict(record: Record, position: int) -> None:
    """Predict one token more, by hand."""
    record["masked_lm_positions"].append(position)
    record["masked_lm_ids"].append(record["input_ids"][position])
    record["masked_lm_weights"].append(1.0)


def forget(record: Record) -> None:
    """Predict one token less."""
    position, label = record["masked_lm_positions"].pop(), record["masked_lm_ids"].pop()
    record["masked_lm_weights"].pop()
    record["input_ids"][position] = label


def put_inside(record: Record) -> None:
    """Make a token of text [SEP], as encoders do that frame each text."""
    place = next(i for i in range(1, 9) if i not in record["masked_lm_positions"])
    record["input_ids"][place] = SEP


def put(name: str, index: int, value: float) -> Callable[[Record], None]:
    return lambda record: record[name].__setitem__(index, value)


PLANTS: dict[str, tuple[Plant, str]] = {
    "masked_share": (every(1, lambda r: show(r, "mask")), HARMFUL),
    "form": (every(90, put("segment_ids", 3, 1)), HARMFUL),
    "ids": (every(90, put("masked_lm_ids", 0, VOCAB_SIZE)), HARMFUL),
    "mask": (every(90, put("input_mask", 3, 0)), HARMFUL),
    "positions": (every(90, put("masked_lm_positions", 0, 39)), HARMFUL),
    "specials": (every(90, put("masked_lm_ids", 0, CLS)), HARMFUL),
    "inside": (every(90, put_inside), HARMFUL),
    "label": (every(90, put("next_sentence_labels", 0, 2)), HARMFUL),
    "splits": (every(90, put("input_ids_splits_0", 1, 0)), HARMFUL),
    "too_few": (every(90, forget), HARMFUL),
    "next_sentence_share": (every(2, put("next_sentence_labels", 0, 0)), HARMFUL),
}


@mostly_slow("name", PLANTS)
def test_a_planted_fault_is_found(name: str, tmp_path: Path) -> None:
    plant, severity = PLANTS[name]
    pattern = write_set(tmp_path, make_records(NUM_RECORDS, 0), change=plant)
    report = check(pattern, tmp_path / "vocab.txt")
    finding_of = {finding.name: finding for finding in report.findings}
    assert name in finding_of
    assert finding_of[name].severity == severity
    assert report.is_harmful
    alike = {
        "words",
        "splits",
        "ids",
        "specials",
        "inside",
        "positions",
    }  # one fault may show twice
    assert set(finding_of) - {name} <= alike | ({"kept_share", "replaced_share"} & {*finding_of})
    faulty = next(figure for figure in report.figures if figure.name == "records with a fault")
    assert report.faults.get(name, 0) <= faulty.part <= sum(report.faults.values())
    if name in ("form", "label", "too_few"):  # every 90th, the first in the first shard
        assert "10 of 900 records" in finding_of[name].sentence
        assert finding_of[name].sentence.endswith(
            f"record 0 of {tmp_path / 'train-00000-of-00002'}"
        )


def test_row_splits_are_compared_with_the_vocabulary(tmp_path: Path) -> None:
    records = make_records(50, 0)
    assert any(token >= FIRST_PIECE for record in records for token in record["input_ids"])
    for record in records:
        record["input_ids_splits_0"] = list(range(len(record["input_ids"]) + 1))
    pattern = write_set(tmp_path, records)
    assert names(check(pattern)) == []  # words are whatever the splits say
    assert names(check(pattern, tmp_path / "vocab.txt")) == ["words"]


def test_a_prediction_too_many(tmp_path: Path) -> None:
    records = make_records(NUM_RECORDS, 0)
    for record in records[:5]:
        predict(record, len(record["input_ids"]) - 1)
    report = check(write_set(tmp_path, records))
    assert names(report) == ["specials", "too_many"]
    assert "5 of 900 records that predict a special token" in report.findings[0].sentence


@pytest.mark.parametrize(("num_with", "severity"), [(9, DOUBTFUL), (10, HARMFUL)])
def test_special_tokens_of_the_text_are_doubtful_while_they_are_few(
    num_with: int, severity: str, tmp_path: Path
) -> None:
    records = make_records(NUM_RECORDS, 0)
    for record in records[:num_with]:
        put_inside(record)
    pattern = write_set(tmp_path, records)
    for vocab_file in (None, tmp_path / "vocab.txt"):
        found = next(f for f in check(pattern, vocab_file).findings if f.name == "inside")
        assert found.severity == severity
        sentence = f"{num_with} of 900 records with a special token inside a segment"
        assert found.sentence.startswith(sentence)


def test_whole_words_that_are_predicted_in_part(tmp_path: Path) -> None:
    pattern = write_set(tmp_path, make_records(100, 0), flags={"do_whole_word_mask": True})
    report = check(pattern)
    assert names(report) == ["partial_words"]
    assert any(figure.name == "words predicted in part" for figure in report.figures)


@pytest.mark.parametrize(("share", "severity"), [(0.1, DOUBTFUL), (0.4, HARMFUL)])
def test_unknown_words(share: float, severity: str, tmp_path: Path) -> None:
    text = {"num_documents": 40, "num_unknown": int(9000 * share), "num_tokens": 9000}
    pattern = write_set(tmp_path, make_records(100, 0), counts={"text": text})
    report = check(pattern)
    assert [(f.name, f.severity) for f in report.findings] == [("unknown", severity)]
    # The records themselves hold none: the vocabulary shows it.
    assert names(check(pattern, tmp_path / "vocab.txt")) == []


def test_a_single_document(tmp_path: Path) -> None:
    text = {"num_documents": 1, "num_unknown": 0, "num_tokens": 9000}
    report = check(write_set(tmp_path, make_records(100, 0), counts={"text": text}))
    assert [(f.name, f.severity) for f in report.findings] == [("same_document", HARMFUL)]


def test_sets_that_repeat(tmp_path: Path) -> None:
    records = make_records(NUM_RECORDS, 0)
    pattern = write_set(tmp_path, records + records[:40])
    report = check(pattern)
    assert names(report) == ["copies"]
    figures = {figure.name: figure for figure in report.figures}
    num_telling = sum(len(record["masked_lm_ids"]) >= 5 for record in records[:40])
    assert figures["exact copies of other records"].part == num_telling > 10
    first = next(i for i in range(40) if len(records[i]["masked_lm_ids"]) >= 5)
    copy = first + NUM_RECORDS
    expected = f"record {copy // 2} of {tmp_path}/train-0000{copy % 2}-of-00002, which equals"
    assert expected in report.findings[0].sentence


def test_too_low_a_limit_of_predictions(tmp_path: Path) -> None:
    records = make_records(100, 0)
    for record in records:
        while len(record["masked_lm_ids"]) > 2:
            forget(record)
    report = check(write_set(tmp_path, records, max_predictions_per_seq=2))
    assert [(f.name, f.severity) for f in report.findings] == [("prediction_limit", DOUBTFUL)]
    assert "are at the limit, 2; masked_lm_prob 0.15 allows 6" in report.findings[0].sentence


@pytest.mark.parametrize(
    "options",
    [
        {"record_layout": "ragged"},
        {"record_layout": "reference", "compression": "gzip"},
        {"record_layout": "reference", "feature_names": "v2"},
        {"output_format": "parquet"},
    ],
    ids=lambda options: "-".join(options.values()),
)
@pytest.mark.parametrize("objective", ["nsp", "sop", "none"])
def test_our_own_sets_are_good(
    options: dict[str, str],
    objective: str,
    tmp_path: Path,
    small_text: Path,
    small_vocabulary: Path,
) -> None:
    instances = InstanceConfig(
        max_seq_length=32,
        max_predictions_per_seq=5,
        dupe_factor=3,
        do_whole_word_mask=objective == "none",
        next_sentence=objective,
    )
    dataset = create_dataset(
        DatasetConfig(
            input_file=str(small_text),
            output_file=str(tmp_path / "set@2"),
            vocab_file=str(small_vocabulary),
            instances=instances,
            **options,  # type: ignore[arg-type]
        )
    )
    report = check(str(tmp_path / "set-*"), small_vocabulary, num_workers=2)
    assert not report.is_harmful
    assert set(names(report)) <= {"unknown"}  # every 101st word
    counts = dataset.instances
    assert (report.num_records, report.num_tokens) == (counts.num_instances, counts.num_tokens)
    counted = {figure.name: figure.part for figure in report.figures}
    predictions = counts.num_masked + counts.num_kept + counts.num_replaced
    assert counted["tokens to predict"] == predictions
    json.dumps(report.as_json())


def make_set(folder: Path, **settings: Any) -> str:
    """A set of some thousand predictions in records with many of them."""
    instances = InstanceConfig(dupe_factor=8, max_predictions_per_seq=40, **settings)
    text = folder / "text"
    text.write_bytes(as_text(documents(150, 8, 14)))
    config = DatasetConfig(
        input_file=str(text),
        output_file=str(folder / "set@2"),
        vocab_file=write_words(folder, "pieces"),
        instances=instances,
    )
    create_dataset(config)
    return str(folder / "set-*")


@pytest.mark.parametrize("lower", [True, False])
def test_tokens_that_the_case_of_the_set_cannot_have(tmp_path: Path, *, lower: bool) -> None:
    text, vocab_file = tmp_path / "text", tmp_path / "vocab.txt"
    text.write_text("The cat sat.\nThe dog sat.\n\nA cat.\nThe end.\n\n" * 20)
    words = ["The", "A", "the", "a", "cat", "dog", "sat", "end", "."]
    vocab_file.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    files = {"input_file": str(text), "output_file": str(tmp_path / "set")}
    create_dataset(DatasetConfig(vocab_file=str(vocab_file), do_lower_case=lower, **files))
    found = [f for f in check(str(tmp_path / "set"), vocab_file).findings if f.name == "case"]
    assert [f.severity for f in found] == [HARMFUL] * lower
    assert all(f.sentence.startswith(f"2 of the 14 tokens of {vocab_file}, such") for f in found)
    (tmp_path / "manifest.set.json").unlink()
    report = check(str(tmp_path / "set"), vocab_file)
    assert ("case", DOUBTFUL) in [(f.name, f.severity) for f in report.findings]
    assert "case" not in names(check(str(tmp_path / "set"), vocab_file, do_lower_case=False))
    assert names(check(str(tmp_path / "set"), vocab_file, do_lower_case=True))[0] == "case"
    with pytest.raises(ValueError, match="set `do_lower_case=False` to keep"):
        check(str(tmp_path / "set"), vocab_file, text_file=str(text))


RULES: dict[str, dict[str, Any]] = {
    "tokens": {},
    "words": {"do_whole_word_mask": True},
    "ngrams": {"masking": "ngrams"},
    "ngrams of words": {"masking": "ngrams", "do_whole_word_mask": True, "max_ngram": 5},
    "pairs": {"masking": "ngrams", "max_ngram": 2},
    "unigrams": {"masking": "ngrams", "max_ngram": 1},
    "spans": {"masking": "spans", "masked_lm_prob": 0.3},
}


@pytest.mark.parametrize("name", RULES)
def test_sets_of_every_masking_rule_are_good(name: str, tmp_path: Path) -> None:
    pattern = make_set(tmp_path, **RULES[name])
    vocab_file = tmp_path / "pieces.vocabulary.txt"
    assert set(names(check(pattern, vocab_file))) <= {"unknown"}
    assert set(names(check(pattern))) <= {"unknown"}


@pytest.mark.parametrize(
    ("made", "said", "finding"),
    [
        ("tokens", "ngrams", "scattered"),
        ("tokens", "pairs", "scattered"),
        ("tokens", "spans", "scattered"),
        ("ngrams", "tokens", "gathered"),
        ("pairs", "tokens", "gathered"),
        ("ngrams", "spans", "mixed_spans"),
        ("spans", "tokens", "gathered"),
        ("ngrams", "ngrams of words", "partial_words"),
    ],
)
def test_sets_of_another_masking_rule_than_the_manifest_says(
    made: str, said: str, finding: str, tmp_path: Path
) -> None:
    pattern = make_set(tmp_path, **RULES[made])
    (path,) = tmp_path.glob("manifest*.json")
    manifest = json.loads(path.read_text())
    manifest["flags"] |= {"masking": "tokens", "do_whole_word_mask": False, **RULES[said]}
    path.write_text(json.dumps(manifest))
    assert finding in names(check(pattern, tmp_path / "pieces.vocabulary.txt"))


def test_what_cannot_be_checked_is_refused(tmp_path: Path) -> None:
    pattern = write_set(tmp_path, make_records(40, 0), num_shards=1)
    (tmp_path / "other.txt").write_text("[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    with pytest.raises(ValueError, match=r"vocabulary .*other.txt has sha256"):
        check(pattern, tmp_path / "other.txt")
    with pytest.raises(ValueError, match="no file matches"):
        check(str(tmp_path / "nothing*"))
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    with pytest.raises(ValueError, match=f"no records in {empty}"):
        check(str(empty))
    with pytest.raises(ValueError, match=r"next_sentence is sop, but .* with next_sentence nsp"):
        check(pattern, next_sentence="sop")
    with pytest.raises(ValueError, match="num_workers is -1"):
        check(pattern, num_workers=-1)


def test_the_report_is_the_same_for_any_number_of_workers(tmp_path: Path) -> None:
    pattern = write_set(tmp_path, make_records(200, 0), num_shards=4)
    reports = [check(pattern, write_vocabulary(tmp_path), num_workers=n) for n in (1, 3)]
    first, second = (json.dumps(report.as_json()) for report in reports)
    assert first == second
