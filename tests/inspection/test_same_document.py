"""Random next sentences of the same document: found in the text and in its token store."""

import json
from pathlib import Path

import numpy as np
import pytest

from bert_data.inspection.configs import CheckConfig
from bert_data.inspection.figures import HARMFUL
from bert_data.inspection.same_document import WINDOW, find_documents
from bert_data.inspection.set_check import Report, check_set
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.text.text_config import TextConfig
from bert_data.tokens.store_making import StoreConfig, make_stores
from tests.goldens.inputs import as_text, documents

LONG = 20, 30, 25  # documents, sentences and words at most


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, small_vocabulary: Path) -> Path:
    """Records, text and token store of 20 documents, and of one."""
    folder = tmp_path_factory.mktemp("same_document")
    many = as_text(documents(*LONG, seed=5))
    for name, text in (("many", many), ("one", many.replace(b"\n\n", b"\n"))):
        path = folder / f"{name}.txt"
        path.write_bytes(text)
        create_dataset(
            DatasetConfig(
                input_file=str(path),
                output_file=str(folder / f"{name}@2"),
                vocab_file=str(small_vocabulary),
                instances=InstanceConfig(dupe_factor=2),
            )
        )
        make_stores(
            StoreConfig(
                input_file=str(path),
                output_prefix=str(folder / f"{name}_store"),
                vocab_file=str(small_vocabulary),
                level="sentence",
            )
        )
    return folder


def check(folder: Path, pattern: str, text_file: str, vocabulary: Path) -> Report:
    return check_set(
        CheckConfig(
            input_patterns=str(folder / pattern),
            vocab_file=str(vocabulary),
            text_file=str(folder / text_file),
        )
    )


@pytest.mark.parametrize("ending", [".txt", "_store"])
def test_the_text_shows_it(ending: str, folder: Path, small_vocabulary: Path) -> None:
    report = check(folder, "many-*", f"many{ending}", small_vocabulary)
    figures = {figure.name: figure for figure in report.figures}
    figure = figures["of them, of the same document"]
    assert figure.part == 0
    assert figure.whole > 0.8 * min(2000, figures["random next sentences"].part)
    assert not report.is_harmful
    report = check(folder, "one-*", f"one{ending}", small_vocabulary)
    (finding,) = [each for each in report.findings if each.severity == HARMFUL]
    assert finding.name == "same_document"
    numbers = finding.sentence.split(" random next")[0].split(" of ")
    assert numbers[0] == numbers[1]


def test_unknown_words_are_named(folder: Path, small_vocabulary: Path) -> None:
    vocabulary = folder / "smaller.txt"
    tokens = small_vocabulary.read_text().splitlines()
    vocabulary.write_text("\n".join(token for token in tokens if "ba" not in token) + "\n")
    (folder / "few").mkdir()
    create_dataset(
        DatasetConfig(
            input_file=str(folder / "many.txt"),
            output_file=str(folder / "few/set"),
            vocab_file=str(vocabulary),
            instances=InstanceConfig(dupe_factor=1),
        )
    )
    report = check(folder, "few/set", "many.txt", vocabulary)
    (finding,) = [each for each in report.findings if each.name == "unknown"]
    assert "(words such as " in finding.sentence
    words = finding.sentence.split("words such as ")[1].split(")")[0].split(", ")
    assert len(words) == 5
    assert all("ba" in word or "zzz" in word for word in words)


def test_the_manifest_says_how_the_text_is_read(
    tmp_path: Path, folder: Path, small_vocabulary: Path
) -> None:
    rows = (folder / "many.txt").read_text().split("\n\n")
    text = "".join(json.dumps({"body": row.splitlines()}) + "\n" for row in rows)
    (tmp_path / "many.txt").write_text(text)
    create_dataset(
        DatasetConfig(
            input_file=str(tmp_path / "many.txt"),
            output_file=str(tmp_path / "set"),
            vocab_file=str(small_vocabulary),
            text=TextConfig(input_format="jsonl", text_field="body"),
            instances=InstanceConfig(dupe_factor=1),
        )
    )
    report = check(tmp_path, "set", "many.txt", small_vocabulary)
    assert not report.is_harmful


def test_a_window_in_several_documents_says_nothing() -> None:
    rng = np.random.default_rng(2)
    a, b, c = rng.integers(5, 90, (3, WINDOW + 4)).astype(np.int32)
    windows = np.stack([a[2:-2], b[2:-2], c[2:-2]])
    tokens = np.concatenate([a, b, a, rng.integers(5, 90, 50)])
    numbers = np.repeat([0, 1, 2, 3], [a.size, b.size, a.size, 50])
    for cut in (1, 7, 33, 200):  # in runs of any size
        runs = ((tokens[i : i + cut], numbers[i : i + cut]) for i in range(0, tokens.size, cut))
        assert find_documents(windows, runs).tolist() == [-2, 1, -1]
    # Across the end of a document, nothing is found.
    runs = iter([(tokens, np.arange(tokens.size) // 10)])
    assert find_documents(windows, runs).tolist() == [-1, -1, -1]
    assert find_documents(windows[:0], iter(())).size == 0


def test_another_text_is_refused(tmp_path: Path, folder: Path, small_vocabulary: Path) -> None:
    (tmp_path / "other.txt").write_text("ba do ki lu.\n\nme no.\n")
    with pytest.raises(ValueError, match="segments of records that were looked for is in"):
        check(folder, "many-*", str(tmp_path / "other.txt"), small_vocabulary)


def test_a_text_needs_a_vocabulary() -> None:
    with pytest.raises(ValueError, match="text_file is 'a'; it needs `vocab_file`"):
        CheckConfig(input_patterns="b", text_file="a")
