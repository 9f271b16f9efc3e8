"""create_pretraining_data as a module: what programs written for google-research/bert import."""

import json
import random
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest
import tensorflow as tf
from absl.testing import flagsaver

import create_pretraining_data
import tokenization
from bert_data.cli import create
from tests.program_folder import Folder
from tests.records.formats.tfrecords import split_records

COVERS = ("cli/originals", "records/example_definition")
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


def test_functions_of_a_program_are_called(monkeypatch, small_text, tokenizer):
    def masks_nothing(tokens, *_):
        return list(tokens), [], []

    module, make = create_pretraining_data, create_pretraining_data.create_training_instances
    arguments = ([str(small_text)], tokenizer, 32, 1, 0.1, 0.15, 5)
    with monkeypatch.context() as patch:
        patch.setattr(module, "create_masked_lm_predictions", masks_nothing)
        instances = make(*arguments, random.Random(1))
    assert instances and not any(instance.masked_lm_labels for instance in instances)
    with monkeypatch.context() as patch:
        patch.setattr(module, "truncate_seq_pair", lambda a, *_: a.clear())
        assert all(i.tokens[:2] == ["[CLS]", "[SEP]"] for i in make(*arguments, random.Random(1)))
    with monkeypatch.context() as patch:
        patch.setattr(module, "create_instances_from_document", lambda *_: [_[1]])
        assert len(set(make(*arguments, random.Random(1)))) > 1
    with monkeypatch.context() as patch:
        patch.setattr(module, "TrainingInstance", dict)
        assert {*make(*arguments, random.Random(1))[0]} == {*vars(instances[0])}
    with monkeypatch.context() as patch:
        patch.setattr(module, "MaskedLmInstance", _Late)
        assert {p for i in make(*arguments, random.Random(1)) for p in i.masked_lm_positions} == {1}


class _Late(create_pretraining_data.MaskedLmInstance):
    """A prediction that says it is of the first word."""

    def __new__(cls, index, label):
        return super().__new__(cls, 1, label)


def test_features_of_a_program_are_written(monkeypatch, tmp_path, tokenizer):
    ids = tokenizer.convert_tokens_to_ids(["ba"])
    instance = create_pretraining_data.TrainingInstance(["ba"], [0], [0], ["ba"], False)
    monkeypatch.setattr(
        create_pretraining_data,
        "create_float_feature",
        lambda values: create_pretraining_data.create_int_feature(map(int, values)),
    )
    create_pretraining_data.write_instance_to_example_files(
        [instance], tokenizer, 1, 1, [str(tmp_path / "out")]
    )
    ((_, record),) = split_records((tmp_path / "out").read_bytes())
    feature = tf.train.Example.FromString(record).features.feature
    assert list(feature["input_ids"].int64_list.value) == ids
    assert list(feature["masked_lm_weights"].int64_list.value) == [1]


def _set_method(patch):
    patch.setattr(tokenization.BasicTokenizer, "_run_split_on_punc", lambda _, text: [text])


PATCHES = {
    "none": lambda _: None,
    **{
        name: lambda patch, name=name: patch.setattr(create_pretraining_data, name, print)
        for name in create_pretraining_data.__all__
        if name not in ("FLAGS", "main")
    },
    **{
        f"tokenization.{name}": lambda patch, name=name: patch.setattr(tokenization, name, print)
        for name in ("FullTokenizer", "BasicTokenizer", "WordpieceTokenizer", "load_vocab")
    },
    "tokenization.BasicTokenizer's method": _set_method,
    "tokenization.FullTokenizer of another module": lambda patch: patch.setattr(
        create_pretraining_data, "tokenization", types.SimpleNamespace(FullTokenizer=print)
    ),
    "none in another module": lambda patch: patch.setattr(
        create_pretraining_data, "tokenization", types.SimpleNamespace()
    ),
}


@pytest.mark.parametrize("case", PATCHES)
def test_main_calls_what_a_program_has_put_in_its_place(monkeypatch, case):
    called = []
    monkeypatch.setattr(create, "main", called.append)
    monkeypatch.setattr(create, "create_by", called.append)
    PATCHES[case](monkeypatch)
    create_pretraining_data.main(["program"])
    if case.startswith("none"):
        assert called == [["program"]]
        return
    (functions,) = called
    name = case.partition("'")[0].partition(" ")[0]
    assert functions.names == [name]
    is_written = name in {
        "create_float_feature", "create_int_feature", "write_instance_to_example_files"
    }  # fmt: skip
    assert (functions.write_instance_to_example_files is not None) == is_written
    if name == "tokenization.FullTokenizer":
        assert functions.full_tokenizer is print
    if name == "create_training_instances":
        assert functions.create_training_instances is print


@pytest.mark.parametrize(
    "name", sorted({"_is_control", "_is_punctuation", "_is_whitespace", *tokenization.__all__})
)
def test_main_refuses_what_nothing_would_call(monkeypatch, name):
    if f"tokenization.{name}" in PATCHES:
        return
    monkeypatch.setattr(tokenization, name, print)
    with pytest.raises(ValueError, match=rf"^tokenization.{name} is not the one that it was"):
        create_pretraining_data.main(["program"])


def test_main_refuses_other_flags(monkeypatch):
    monkeypatch.setattr(create_pretraining_data, "FLAGS", types.SimpleNamespace())
    with pytest.raises(ValueError, match=r"^FLAGS is not absl's; set the flags themselves"):
        create_pretraining_data.main(["program"])


def test_a_tokenizer_takes_the_classes_of_its_module(monkeypatch, small_vocabulary):
    class Basic(tokenization.BasicTokenizer):
        def tokenize(self, text):
            return ["ba"]

    monkeypatch.setattr(tokenization, "BasicTokenizer", Basic)
    assert tokenization.FullTokenizer(str(small_vocabulary)).tokenize("ki") == ["ba"]
    monkeypatch.setattr(tokenization, "load_vocab", lambda _: {"[UNK]": 0})
    assert tokenization.FullTokenizer(str(small_vocabulary)).tokenize("ki") == ["[UNK]"]


@pytest.mark.process
def test_a_program_makes_a_set_by_functions_of_its_own(
    tmp_path, checkout, small_text, small_vocabulary
):
    """A tokenizer with two tokens of each line, and no masks; `check` takes the set."""
    script = tmp_path / "script.py"
    script.write_text(
        "import create_pretraining_data, tokenization\n"
        "from absl import app\n"
        "class Short(tokenization.FullTokenizer):\n"
        "    def tokenize(self, text):\n"
        "        return super().tokenize(text)[:2]\n"
        "tokenization.FullTokenizer = Short\n"
        "def masks_nothing(tokens, *_):\n"
        "    return list(tokens), [], []\n"
        "create_pretraining_data.create_masked_lm_predictions = masks_nothing\n"
        "app.run(create_pretraining_data.main)\n"
    )
    flags = [f"--input_file={small_text}", f"--vocab_file={small_vocabulary}", "--output_file=out"]
    command = [sys.executable, str(script), *flags, "--max_seq_length=32"]
    settings = {"cwd": tmp_path, "env": {"PYTHONPATH": str(checkout)}, "check": True}
    done = subprocess.run(command, **settings, capture_output=True, text=True)
    names = "create_masked_lm_predictions, tokenization.FullTokenizer"
    assert f"{names}: this program's own; the plain definition makes the instances" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "index.out.npy", "manifest.out.json", "out", "script.py"
    ]  # fmt: skip
    check = [sys.executable, "-m", "bert_data", "check", "--input_file=out"]
    report = subprocess.run(check, **settings, capture_output=True, text=True).stdout
    assert re.search(r"tokens to predict +0.0% ", report)


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
