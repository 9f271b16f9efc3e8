"""The summary of a run is right, word for word where that does not depend on the clock."""

import dataclasses
import re

import pytest

from bert_data.progress import size
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.instances.rows import Instance
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.summary import describe_examples, summarize_records
from bert_data.text.text_config import TextConfig
from tests.records.corpora import TOKENS, vocabulary_of

COVERS = ("cli/create", "records/sets/creating")


@pytest.mark.parametrize(
    ("next_sentence", "label", "line"),
    [
        ("nsp", False, "next sentence: it follows"),
        ("nsp", True, "next sentence: random"),
        ("sop", True, "sentence order: swapped"),
        ("none", None, None),
    ],
)
def test_an_example_reads_as_lines(dataset, next_sentence, label, line):
    vocabulary = vocabulary_of(TOKENS)
    flags = {"next_sentence": next_sentence}
    manifest = dataclasses.replace(dataset.manifest, flags=flags)
    token = vocabulary.ids
    instance = Instance(
        ids=(2, token["one"], 4, 3, token["two"], token["end"], 3),
        segment_ids=(0, 0, 0, 0, 1, 1, 1),
        masked_positions=(1, 2, 5),
        masked_ids=(token["one"], token["##ab"], token["three"]),
        label=label,
    )
    dataset = dataclasses.replace(
        dataset, vocabulary=vocabulary, manifest=manifest, examples=[instance, instance]
    )
    title, *lines = describe_examples(dataset).splitlines()
    assert title.startswith("examples")
    one = [
        "  tokens: [CLS] one [MASK] [SEP] two end [SEP]",
        *([f"  {line}"] if line else []),
        "  to predict: 1 one (kept), 2 ##ab (masked), 5 three (replaced)",
    ]
    assert lines == [*one, *one]


def test_the_lines_of_a_long_example_are_cut(dataset):
    instance = Instance(
        ids=(2, *[dataset.vocabulary.ids["ba"]] * 500, 3),
        segment_ids=(0,) * 502,
        masked_positions=tuple(range(1, 80)),
        masked_ids=(dataset.vocabulary.ids["do"],) * 79,
        label=False,
    )
    dataset = dataclasses.replace(dataset, examples=[instance])
    _, tokens, _, predicted = describe_examples(dataset).splitlines()
    assert tokens.startswith("  tokens: [CLS] ba ba ba ba") and tokens.endswith(" ba ...")
    assert predicted.startswith("  to predict: 1 do (") and predicted.endswith(" ...")
    assert max(len(tokens), len(predicted)) <= 162


@pytest.fixture
def dataset(small_vocabulary, tmp_path):
    (tmp_path / "text.txt").write_bytes(b"ba do ki\nlu zzz\n\nme\xff\n")
    return create_dataset(
        DatasetConfig(
            input_file=str(tmp_path / "text.txt"),
            output_file=str(tmp_path / "t@2"),
            vocab_file=str(small_vocabulary),
            instances=InstanceConfig(max_seq_length=16, dupe_factor=3),
            text=TextConfig(encoding_errors="ignore"),
            num_workers=1,
            num_examples=2,
        )
    )


def test_the_summary_counts_what_was_made(dataset):
    text = summarize_records(dataset)
    counts = dataset.instances
    mean = counts.num_tokens / counts.num_instances
    predicted = counts.num_masked + counts.num_kept + counts.num_replaced
    for pattern in (
        r"documents +2\b",
        r"sentences +3\b",
        r"tokens +6 \(1 \[UNK\], 16.7%\)",
        r"undecodable +1 invalid byte",
        rf"instances +{counts.num_instances} of {mean:.1f} tokens",
        rf"next sentence +{100 * counts.num_random_next / counts.num_instances:.1f}% random",
        rf"to predict +{predicted} tokens: {100 * counts.num_masked / predicted:.1f}% \[MASK\]",
        r"tokenize +\d+\.\d\d s, \d+\.\d MB/s",
        r"make instances +\d",
        r"write records +\d",
        rf"wrote +{re.escape(dataset.paths[1])} +\d+ records, [\d,.]+ (kB|MB|bytes)",
    ):
        assert re.search(pattern, text), f"{pattern} is not in\n{text}"


def test_as_many_examples_as_asked_for(dataset):
    assert len(dataset.examples) == 2
    assert all(example.ids[0] == dataset.vocabulary.cls_id for example in dataset.examples)


def test_nothing_to_predict(small_vocabulary, tmp_path):
    (tmp_path / "text.txt").write_text("ba\n")
    dataset = create_dataset(
        DatasetConfig(
            input_file=str(tmp_path / "text.txt"),
            output_file=str(tmp_path / "t"),
            vocab_file=str(small_vocabulary),
            instances=InstanceConfig(max_predictions_per_seq=0, dupe_factor=1),
            num_examples=99,
        )
    )
    assert "to predict     0 tokens" in summarize_records(dataset)
    assert len(dataset.examples) == 1
    assert "to predict: nothing" in describe_examples(dataset)


def test_the_longest_name_of_a_stage_ends_before_its_value(dataset):
    stage = dataclasses.replace(dataset.stages[0], name="make partitions", seconds=0.5)
    assert "  make partitions 0.50 s, " in summarize_records(
        dataclasses.replace(dataset, stages=[stage])
    )


def test_many_files_are_summed_up(dataset):
    files = dataset.manifest.files * 20
    many = dataclasses.replace(
        dataset,
        paths=[f"t-{i}" for i in range(len(files))],
        manifest=dataclasses.replace(dataset.manifest, files=files),
    )
    lines = [line for line in summarize_records(many).splitlines() if " wrote " in line]
    assert len(lines) == 10
    num_bytes = sum(file.num_bytes for file in files)
    assert summarize_records(many).splitlines()[-1].endswith(f"{size(num_bytes)} in all")
