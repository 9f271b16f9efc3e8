"""Google's records in Google's order, BERT's and ALBERT's, for texts by formula."""

import random
from pathlib import Path
from typing import Any

import pytest
import tensorflow  # noqa: F401 (its import starts a process)
from absl.testing import flagsaver

import create_pretraining_data
from bert_data.records import fields
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from tests.goldens.reading import digest_of_records, load_goldens, write_text, write_vocabulary
from tokenization import FullTokenizer

CASES = load_goldens("create_pretraining_data.json")["cases"]
ALBERTS = load_goldens("albert.json")["cases"]


@pytest.fixture(params=CASES)
def case(request, tmp_path) -> dict[str, Any]:
    golden = CASES[request.param]
    flags = dict(golden["flags"])
    return {
        "texts": [write_text(tmp_path, name) for name in golden["texts"]],
        "vocabulary": write_vocabulary(tmp_path, golden["vocabulary"]),
        "do_lower_case": flags.pop("do_lower_case", True),
        "config": InstanceConfig(**flags),
        "outputs": [str(tmp_path / f"out{i}") for i in range(len(golden["records"]))],
        "records": golden["records"],
    }


def digests(paths: list[str]) -> list[Any]:
    return [digest_of_records(Path(path).read_bytes()) for path in paths]


def test_create_dataset_makes_them(case):
    create_dataset(
        DatasetConfig(
            input_file=",".join(case["texts"]),
            output_file=",".join(case["outputs"]),
            vocab_file=case["vocabulary"],
            do_lower_case=case["do_lower_case"],
            instances=case["config"],
            record_layout=fields.REFERENCE,
            num_workers=2,
        )
    )
    assert digests(case["outputs"]) == case["records"]


def test_the_definition_makes_them(case):
    config = case["config"]
    tokenizer = FullTokenizer(case["vocabulary"], case["do_lower_case"])
    with flagsaver.flagsaver(do_whole_word_mask=config.do_whole_word_mask):
        instances = create_pretraining_data.create_training_instances(
            case["texts"],
            tokenizer,
            config.max_seq_length,
            config.dupe_factor,
            config.short_seq_prob,
            config.masked_lm_prob,
            config.max_predictions_per_seq,
            random.Random(config.random_seed),
        )
    create_pretraining_data.write_instance_to_example_files(
        instances, tokenizer, config.max_seq_length, config.max_predictions_per_seq, case["outputs"]
    )
    assert digests(case["outputs"]) == case["records"]


@pytest.mark.parametrize("name", ALBERTS)
def test_create_dataset_makes_alberts(tmp_path, name):
    config = InstanceConfig(masking="ngrams", next_sentence="sop", **ALBERTS[name]["flags"])
    output = str(tmp_path / "out")
    create_dataset(
        DatasetConfig(
            input_file=write_text(tmp_path, "small"),
            output_file=output,
            vocab_file=write_vocabulary(tmp_path, "pieces"),
            instances=config,
            record_layout=fields.REFERENCE,
            num_workers=2,
        )
    )
    assert digests([output]) == [ALBERTS[name]["records"]]
