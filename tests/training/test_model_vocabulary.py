"""The vocabulary of a model is known, and another one is refused."""

import json
from pathlib import Path

import pytest

from bert_data.errors import CorruptDataError
from bert_data.labelled.classifier import load_encoder, text_classifier
from bert_data.tokens.hugging_face_files import tokenizer_json
from bert_data.tokens.vocabulary import load_vocabulary
from bert_data.training.bert_config import BertConfig
from bert_data.training.evaluation import load_pretrained
from bert_data.training.loop import train
from bert_data.training.model_vocabulary import (
    ModelVocabulary,
    check_vocabulary,
    find_vocabularies,
    keep_vocabulary,
)
from bert_data.training.run_output import HeldOutData
from bert_data.training.training_config import TrainingConfig
from tests.hub.exports import TOKENS
from tests.training.tiny import batches_of, random_batch, tiny_config

SIZE = len(TOKENS)


def write(path: Path, *tokens: str, end: str = "\n") -> ModelVocabulary:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes("".join(f"{token}{end}" for token in tokens or TOKENS).encode())
    return ModelVocabulary.read(str(path))


def write_other(path: Path) -> ModelVocabulary:
    return write(path, *("plot" if token == "film" else token for token in TOKENS))


def digest_alone(vocabulary: ModelVocabulary) -> ModelVocabulary:
    """The manifest of records."""
    return ModelVocabulary(source="of records", size=vocabulary.size, sha256=vocabulary.sha256)


def test_files_of_the_same_tokens_are_the_same(tmp_path: Path) -> None:
    lines = write(tmp_path / "vocab.txt")
    (tmp_path / "tokenizer.json").write_text(tokenizer_json(TOKENS, do_lower_case=True))
    definition = ModelVocabulary.read(str(tmp_path / "tokenizer.json"))
    windows = write(tmp_path / "windows.txt", end="\r\n")
    assert lines.is_same(definition) and definition.is_same(lines)
    assert lines.is_same(windows) and lines.sha256 != windows.sha256
    assert lines.is_same(ModelVocabulary.of(load_vocabulary(tmp_path / "vocab.txt")))
    assert digest_alone(lines).is_same(definition)
    assert not digest_alone(windows).is_same(digest_alone(lines))  # they do not tell
    assert not lines.is_same(write_other(tmp_path / "other.txt"))


@pytest.mark.parametrize("content", [b"\xff\xfe\x00model", b'{"model": {"vocab": [["a", 0.5]]}}'])
def test_tokenizers_of_other_kinds_have_a_digest(tmp_path: Path, content: bytes) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(content)
    one, two = (ModelVocabulary.read(str(tmp_path / name)) for name in ("a", "b"))
    assert one.is_same(two) and len(one.sha256) == 64
    (tmp_path / "b").write_bytes(content.replace(b"m", b"n").replace(b"0.5", b"0.6"))
    assert not one.is_same(ModelVocabulary.read(str(tmp_path / "b")))


def test_a_folder_keeps_digest_and_file(tmp_path: Path) -> None:
    vocabulary = write(tmp_path / "some" / "own.txt")
    model = tmp_path / "model"
    model.mkdir()
    keep_vocabulary(str(model), vocabulary)
    assert (model / "own.txt").read_bytes() == (tmp_path / "some" / "own.txt").read_bytes()
    (found,) = find_vocabularies(str(model / "model.ckpt-5"))
    assert found.is_same(vocabulary) and found.path == str(model / "own.txt")
    (model / "own.txt").unlink()
    (found,) = find_vocabularies(str(model))
    assert found.is_same(vocabulary) and found.path is None


def test_a_file_of_the_users_stays(tmp_path: Path) -> None:
    vocabulary = write(tmp_path / "some" / "vocab.txt")
    mine = write_other(tmp_path / "model" / "vocab.txt")
    keep_vocabulary(str(tmp_path / "model"), vocabulary)
    assert ModelVocabulary.read(str(tmp_path / "model" / "vocab.txt")).is_same(mine)
    (found,) = find_vocabularies(str(tmp_path / "model"))
    assert found.is_same(vocabulary) and found.path is None


def test_a_file_that_is_called_like_the_record(tmp_path: Path) -> None:
    vocabulary = write(tmp_path / "some" / "vocabulary.json")
    model = tmp_path / "model"
    model.mkdir()
    keep_vocabulary(str(model), vocabulary)
    assert json.loads((model / "vocabulary.json").read_text())["file"] is None
    (found,) = find_vocabularies(str(model))
    assert found.is_same(vocabulary)


def test_a_folder_without_a_record_has_the_files_in_it(tmp_path: Path) -> None:
    used = write(tmp_path / "used.txt")
    assert find_vocabularies(str(tmp_path / "none")) == []
    assert check_vocabulary(used, str(tmp_path), vocab_size=SIZE) == used
    write_other(tmp_path / "vocab.txt")
    with pytest.raises(ValueError, match=r"used.txt \(11 tokens, sha256 .*\) is not .*vocab.txt"):
        check_vocabulary(used, str(tmp_path))
    (tmp_path / "tokenizer.json").write_text(tokenizer_json(TOKENS, do_lower_case=True))
    check_vocabulary(used, str(tmp_path))  # it is the other file's


@pytest.mark.parametrize(
    ("num_rows", "is_refused"), [(11, 0), (16, 0), (12, 1), (136, 0), (144, 1)]
)
def test_a_smaller_vocabulary_is_another_one(
    tmp_path: Path, num_rows: int, is_refused: int
) -> None:
    used = write(tmp_path / "some" / "used.txt")
    if not is_refused:
        check_vocabulary(used, str(tmp_path), vocab_size=num_rows)
        return
    with pytest.raises(
        ValueError, match=f"has another size than the {num_rows} of .*; `allow_othe"
    ):
        check_vocabulary(used, str(tmp_path), vocab_size=num_rows)
    check_vocabulary(used, str(tmp_path), vocab_size=num_rows, allow_other=True)


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "vocabulary.json").write_text(json.dumps({"file": None, "size": 3}))
    with pytest.raises(CorruptDataError, match=r"vocabulary.json.*sha256 is missing"):
        find_vocabularies(str(tmp_path))


@pytest.mark.parametrize("content", ['{"the": 5, "size": 2}', '["the", "a"]', "{}", "7"])
def test_a_file_of_another_program_is_not_the_record(tmp_path: Path, content: str) -> None:
    (tmp_path / "vocabulary.json").write_text(content)
    with pytest.raises(ValueError, match=r"vocabulary.json does not say which .*; rename it"):
        find_vocabularies(str(tmp_path))


def run(
    folder: Path, vocabulary: ModelVocabulary | None, steps: int = 1, **changes: object
) -> None:
    examples = random_batch(num_examples=4)
    values = {"output_dir": str(folder), "num_train_steps": steps, "num_warmup_steps": 0}
    config = TrainingConfig(**{**values, "batch_size": 4, **changes})
    held_out = None
    if config.eval_every_steps:
        held_out = HeldOutData(make_batches=lambda: [examples])
    sizes: BertConfig = tiny_config(num_hidden_layers=1)
    train(config, sizes, batches_of(examples, 4), vocabulary=vocabulary, held_out=held_out)


@pytest.mark.slow
def test_every_beginning_of_a_run_compares(tmp_path: Path) -> None:
    vocabulary = write(tmp_path / "v" / "vocab.txt")
    other = digest_alone(write_other(tmp_path / "v" / "other.txt"))
    first = tmp_path / "first"
    run(first, vocabulary, eval_every_steps=1)
    for folder in (first, first / "best"):
        (found,) = find_vocabularies(str(folder))
        assert found.is_same(vocabulary) and found.path == str(folder / "vocab.txt")
    beginnings = {
        "second": {"init_checkpoint": str(first)},
        "third": {"continue_from": str(first / "model.ckpt-1"), "steps": 2},
        "first": {"steps": 2},
    }
    for name, changes in beginnings.items():
        with pytest.raises(
            ValueError, match=r"of records .* is not .*first/vocab.txt .*; `allow_o"
        ):
            run(tmp_path / name, other, **changes)
        run(tmp_path / name, digest_alone(vocabulary), **changes)
        assert (tmp_path / name / "vocab.txt").exists()  # the file of the other run
    run(first, None, 3)  # it is not known: as before
    run(first, other, 4, allow_other_vocabulary=True)
    assert find_vocabularies(str(first))[0].is_same(other)
    with pytest.raises(ValueError, match=r"v/vocab.txt .* is not .*first"):
        load_pretrained(str(first), vocab_file=str(tmp_path / "v" / "vocab.txt"))
    classifier = text_classifier(tiny_config(num_hidden_layers=1), num_labels=2)
    with pytest.raises(ValueError, match=r"v/vocab.txt .* is not .*first"):
        load_encoder(classifier, str(first), vocab_file=str(tmp_path / "v" / "vocab.txt"))
