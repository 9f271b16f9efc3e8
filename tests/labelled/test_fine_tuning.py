"""What fine-tuning refuses before it trains; `tests/cli/test_label.py` trains."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from bert_data.labelled.fine_tuning import fine_tune
from bert_data.labelled.fine_tuning_config import FineTuningConfig
from bert_data.labelled.label_config import LabelConfig, LabelledDatasetConfig
from bert_data.labelled.records import create_labelled_dataset

COVERS = ("labelled/fine_tuning_config", "labelled/label_config")
Make = Callable[..., str]


@pytest.fixture
def make(tmp_path: Path, small_vocabulary: Path) -> Make:
    """Makes a set of one text for each label, all different; returns its file."""

    def run(name: str, *labels: str, **options: object) -> str:
        source = tmp_path / f"{name}.csv"
        rows = (f"{'ba ' * number},{label}\n" for number, label in enumerate(labels, 1))
        source.write_text("".join(["text,label\n", *rows]))
        config = LabelledDatasetConfig(
            input_file=str(source),
            output_file=str(tmp_path / name),
            vocab_file=str(small_vocabulary),
            labels=LabelConfig(**options),
            num_workers=1,
        )
        create_labelled_dataset(config)
        return str(tmp_path / name)

    return run


def config(train: str, test: str | None = None, **options: object) -> FineTuningConfig:
    few: dict = {"num_epochs": 1, "max_seq_length": 8, "batch_size": 2, **options}
    return FineTuningConfig(input_file=train, eval_input_file=test, **few)


def test_a_label_that_training_does_not_know(make: Make) -> None:
    drama = make("train", "drama", "comedy")
    for name, labels, has in (
        ("more", ("drama", "comedy", "western"), "'comedy', 'drama', 'western'"),
        ("others", ("comedy", "western"), "'comedy', 'western'"),
        ("integers", ("0", "1"), "of integers"),
    ):
        with pytest.raises(ValueError, match=rf"{name} has the classes {has}, but .* `classes`"):
            fine_tune(config(drama, make(name, *labels)))
    numbers, more = make("numbers", "0", "1", "3"), make("more_numbers", "1", "2", "4")
    with pytest.raises(ValueError, match=r"no record of .*numbers has the label '2', '4', which"):
        fine_tune(config(numbers, more))


def test_a_class_of_which_training_has_no_text(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    named = {"classes": ("a", "b", "c")}
    train, test = make("train", "a", "b", **named), make("test", "c", **named)
    with caplog.at_level(logging.WARNING):
        assert fine_tune(config(train, test)).labels == ("a", "b", "c")
    assert "no record of" in caplog.text
    assert "has the label 'c', which" in caplog.text


def test_one_class(make: Make) -> None:
    train = make("train", "a", "a", classes=("a", "b"))
    with pytest.raises(
        ValueError, match=r"every record of .*train has the label 'a'; a classifier"
    ):
        fine_tune(config(train))
    with pytest.raises(
        ValueError, match=r"every record of .*numbers has the label 1; a classifier"
    ):
        fine_tune(config(make("numbers", "1", "1")))
    with pytest.raises(ValueError, match="the label -1 is negative"):
        fine_tune(config(make("negative", "-1", "1")))


def test_an_input_is_not_replaced(make: Make, tmp_path: Path) -> None:
    train = make("train", "a", "b")
    before = Path(train).read_bytes()
    with pytest.raises(ValueError, match="train' is an input too"):
        fine_tune(config(train, output_file=train, overwrite=True))
    (tmp_path / "model.keras").touch()
    with pytest.raises(FileExistsError, match=r"model\.keras"):
        fine_tune(config(train, output_file=str(tmp_path / "model.keras")))
    assert Path(train).read_bytes() == before
