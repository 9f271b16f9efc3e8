"""create_pretraining_data as a module: what programs written for google-research/bert import."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf
from absl.testing import flagsaver

import create_pretraining_data
import tokenization
from tests.program_folder import Folder
from tests.records.formats.tfrecords import split_records

LENGTHS = {"max_seq_length": 32, "max_predictions_per_seq": 5}


@pytest.fixture
def tokenizer(small_vocabulary: Path) -> tokenization.FullTokenizer:
    return tokenization.FullTokenizer(str(small_vocabulary))


@pytest.mark.parametrize("whole_words", [False, True])
@pytest.mark.process
def test_its_functions_write_the_records_of_the_command(
    tmp_path, checkout, small_text, small_vocabulary, programs, tokenizer, whole_words
):
    instances = None
    with flagsaver.flagsaver(do_whole_word_mask=whole_words):
        instances = create_pretraining_data.create_training_instances(
            [str(small_text)], tokenizer, 32, 2, 0.1, 0.15, 5, random.Random(12345)
        )
    outputs = [str(tmp_path / "a"), str(tmp_path / "b")]
    create_pretraining_data.write_instance_to_example_files(instances, tokenizer, 32, 5, outputs)
    (tmp_path / "folder").mkdir()
    folder = Folder(tmp_path / "folder", checkout, small_text, small_vocabulary, programs)
    files = folder.make(
        output_file="a,b", record_layout="reference", do_whole_word_mask=whole_words
    )
    for name in "ab":
        ours = [record for _, record in split_records((tmp_path / name).read_bytes())]
        assert ours == [record for _, record in split_records(files[name] or b"")]
        assert len(ours) > 100


def test_each_function_reads_the_flag_when_it_is_called():
    tokens = ["[CLS]", "a", *["##b"] * 9, "[SEP]"]
    arguments = (tokens, 1.0, 5, ["x"])
    masked = create_pretraining_data.create_masked_lm_predictions
    assert len(masked(*arguments, random.Random(1))[1]) == 5
    of_document = create_pretraining_data.create_instances_from_document
    document = [[tokens[1:-1]]]
    assert of_document(document, 0, 32, 0.0, 1.0, 5, ["x"], random.Random(1))[0].masked_lm_labels
    with flagsaver.flagsaver(do_whole_word_mask=True):
        assert masked(*arguments, random.Random(1))[1] == []  # a word of ten does not fit
        (instance,) = of_document(document, 0, 32, 0.0, 1.0, 5, ["x"], random.Random(1))
        assert instance.masked_lm_labels == []


def test_functions_of_a_program_are_called_or_main_refuses(
    monkeypatch, tmp_path, small_text, tokenizer
):
    def masks_nothing(tokens, *_):
        return list(tokens), [], []

    monkeypatch.setattr(create_pretraining_data, "create_masked_lm_predictions", masks_nothing)
    make = create_pretraining_data.create_training_instances
    arguments = ([str(small_text)], tokenizer, 32, 1, 0.1, 0.15, 5)
    instances = make(*arguments, random.Random(1))
    assert instances and not any(instance.masked_lm_labels for instance in instances)
    with pytest.raises(ValueError, match=r"^create_masked_lm_predictions is not .* in this module"):
        create_pretraining_data.main([])
    monkeypatch.undo()
    monkeypatch.setattr(create_pretraining_data, "truncate_seq_pair", lambda a, *_: a.clear())
    assert all(i.tokens[:2] == ["[CLS]", "[SEP]"] for i in make(*arguments, random.Random(1)))
    monkeypatch.undo()
    monkeypatch.setattr(
        create_pretraining_data, "create_instances_from_document", lambda *_: [_[1]]
    )
    assert len(set(make(*arguments, random.Random(1)))) > 1
    monkeypatch.undo()

    class Own(tokenization.FullTokenizer):
        pass

    monkeypatch.setattr(tokenization, "FullTokenizer", Own)
    with pytest.raises(ValueError, match=r"^tokenization.FullTokenizer is not bert_data's own"):
        create_pretraining_data.main([])


def test_examples_have_the_seven_padded_features(tmp_path, tokenizer):
    instance = create_pretraining_data.TrainingInstance(
        tokens=["[CLS]", "ba", "[MASK]", "[SEP]", "ki", "[SEP]"],
        segment_ids=[0, 0, 0, 0, 1, 1],
        masked_lm_positions=[2],
        masked_lm_labels=["##do"],
        is_random_next=True,
    )
    path = str(tmp_path / "out")
    create_pretraining_data.write_instance_to_example_files([instance], tokenizer, 8, 2, [path])
    ((_, record),) = split_records(Path(path).read_bytes())
    feature = tf.train.Example.FromString(record).features.feature
    ids = tokenizer.convert_tokens_to_ids
    assert {
        name: list(each.int64_list.value) or list(each.float_list.value)
        for name, each in feature.items()
    } == {
        "input_ids": [*ids(instance.tokens), 0, 0],
        "input_mask": [1, 1, 1, 1, 1, 1, 0, 0],
        "segment_ids": [0, 0, 0, 0, 1, 1, 0, 0],
        "masked_lm_positions": [2, 0],
        "masked_lm_ids": [*ids(["##do"]), 0],
        "masked_lm_weights": [1.0, 0.0],
        "next_sentence_labels": [1],
    }
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_features_of_numbers():
    whole = create_pretraining_data.create_int_feature(range(3))
    assert list(whole.int64_list.value) == [0, 1, 2]
    decimal = create_pretraining_data.create_float_feature([0.5, 1])
    assert list(decimal.float_list.value) == [0.5, 1.0]


def test_files_that_exist_stay_until_the_new_ones_are_whole(tmp_path, tokenizer):
    path = tmp_path / "out"
    path.write_bytes(b"earlier")
    instance = create_pretraining_data.TrainingInstance(["ba"] * 9, [0] * 9, [], [], False)
    with pytest.raises(ValueError, match="an instance has 9 tokens; it may have at most 8"):
        create_pretraining_data.write_instance_to_example_files(
            [instance], tokenizer, 8, 2, [str(path)]
        )
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]
    create_pretraining_data.write_instance_to_example_files([], tokenizer, 8, 2, [str(path)])
    assert path.read_bytes() == b""


@pytest.mark.process
def test_a_script_has_flags_of_its_own_and_parses_none(tmp_path, checkout, small_vocabulary):
    """Only Google's flags are defined on import, none is required, TensorFlow is not loaded."""
    script = tmp_path / "script.py"
    script.write_text(
        "import random, sys\n"
        "from absl import flags\n"
        "from create_pretraining_data import create_instances_from_document, truncate_seq_pair\n"
        "from tokenization import FullTokenizer\n"
        "flags.DEFINE_integer('num_workers', 3, '')\n"
        "flags.DEFINE_string('output_format', '', '')\n"
        "words = FullTokenizer(sys.argv[1]).tokenize('bado kilu')\n"
        "rng = random.Random(1)\n"
        "instances = create_instances_from_document([[words]], 0, 16, .1, .15, 5, ['no'], rng)\n"
        "assert len(instances) == 1\n"
        "assert 'tensorflow' not in sys.modules\n"
        "flags.FLAGS(sys.argv[:1])\n"
        "assert (flags.FLAGS.dupe_factor, flags.FLAGS.do_lower_case) == (10, True)\n"
    )
    command = [sys.executable, str(script), str(small_vocabulary)]
    subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(checkout)}, check=True)


@pytest.mark.process
def test_main_takes_flags_that_a_script_has_set(tmp_path, checkout, small_text, small_vocabulary):
    script = tmp_path / "script.py"
    script.write_text(
        "import create_pretraining_data\n"
        "from absl import app\n"
        "FLAGS = create_pretraining_data.FLAGS\n"
        f"FLAGS.input_file, FLAGS.vocab_file = {str(small_text)!r}, {str(small_vocabulary)!r}\n"
        "FLAGS.output_file, FLAGS.do_lower_case = 'out', False\n"
        "app.run(create_pretraining_data.main)\n"
    )
    command = [sys.executable, str(script), "--max_seq_length=32", "--dupe_factor=1"]
    subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(checkout)}, check=True)
    manifest = json.loads((tmp_path / "manifest.out.json").read_text())
    assert manifest["flags"]["do_lower_case"] is False
