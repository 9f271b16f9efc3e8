"""Masks of whole words in text that is segmented: records beside a plain definition."""

import itertools
import random
from pathlib import Path

import pytest

from bert_data.gpt.store_documents import StoreDocuments
from bert_data.inspection.configs import CheckConfig
from bert_data.inspection.set_check import check_set
from bert_data.recipes.recipe import Recipe, Stage
from bert_data.recipes.run_batches import iterate_recipe_arrays
from bert_data.recipes.stage_masking import StageMasking
from bert_data.records import definition
from bert_data.records.example_definition import write_instance_to_example_files
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.masking.rule import Shown
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.manifest import Manifest, read_manifest
from bert_data.tokens.definition import FullTokenizer
from bert_data.tokens.store_making import StoreConfig, make_stores
from tests.tokens.json_files import byte_pairs

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CHARACTERS = "的一是不了在人有我他这中大来上国个到说们"
WORDS = ["play", "##ing", "the", "。", ",", "##s", *CHARACTERS]
MARK = "##\ue000"  # of a token that continues a word as the text is segmented
SETTINGS = {"max_seq_length": 48, "max_predictions_per_seq": 12, "masked_lm_prob": 0.2}


@pytest.fixture
def folder(tmp_path) -> Path:
    drawn = random.Random(7)
    words = ["".join(drawn.choices(CHARACTERS, k=drawn.choice([1, 2, 2, 3, 4]))) for _ in range(90)]
    words += ["playing", "the", "plays", "不the"]
    lines = []
    for _ in range(120):
        spaces = drawn.choices([" ", "\u3000", "  "], [20, 1, 1], k=12)
        line = "".join(drawn.choice(words) + space for space in spaces)
        lines.append(line + drawn.choice(["。", ",", ""]) + "\n" * (1 + (drawn.random() < 0.2)))
    (tmp_path / "text.txt").write_text("".join(lines))
    (tmp_path / "vocab.txt").write_text("\n".join(SPECIAL + WORDS) + "\n")
    return tmp_path


class Segmented(FullTokenizer):
    """Marks what continues a word, as BERT-wwm's program does with Chinese characters."""

    def tokenize(self, text):
        return [
            token if number == 0 or token.startswith("##") else MARK + token
            for word in text.split()
            for number, token in enumerate(super(Segmented, self).tokenize(word))
        ]

    def convert_tokens_to_ids(self, tokens):
        return super().convert_tokens_to_ids([token.removeprefix(MARK) for token in tokens])


def mask_words(*arguments, **options):
    return definition.create_masked_lm_predictions(*arguments, do_whole_word_mask=True, **options)


def of_document(*arguments):
    return definition.create_instances_from_document(*arguments, mask=mask_words)


def defined_records(folder: Path) -> bytes:
    tokenizer = Segmented(folder / "vocab.txt")
    instances = definition.create_training_instances(
        [str(folder / "text.txt")], tokenizer, 48, 3, 0.1, 0.2, 12, random.Random(5),
        of_document=of_document,
    )  # fmt: skip
    output = str(folder / "defined.tfrecord")
    write_instance_to_example_files(instances, tokenizer, 48, 12, [output])
    return Path(output).read_bytes()


def create(folder: Path, input_file: str, output_file: str, **settings) -> Path:
    instances = {"do_whole_word_mask": True, "dupe_factor": 3, "random_seed": 5, **SETTINGS}
    instances |= settings.pop("instances", {})
    create_dataset(
        DatasetConfig(
            input_file=str(folder / input_file),
            output_file=str(folder / output_file),
            vocab_file=str(folder / "vocab.txt"),
            instances=InstanceConfig(**instances),
            **settings,
        )
    )
    return folder / output_file


def make_store(folder: Path, prefix: str = "tokens", **settings) -> None:
    make_stores(
        StoreConfig(
            input_file=str(folder / "text.txt"),
            output_prefix=str(folder / prefix),
            vocab_file=str(folder / "vocab.txt"),
            level="sentence",
            **settings,
        )
    )


def manifest_of(made: Path) -> Manifest:
    return read_manifest(str(made.with_name(f"manifest.{made.name}.json")))


@pytest.mark.process  # which TensorFlow's import starts
def test_records_are_those_of_the_definition(folder):
    made = create(folder, "text.txt", "made.tfrecord", words="spaces", record_layout="reference")
    assert made.read_bytes() == defined_records(folder)
    assert manifest_of(made).flags["words"] == "spaces"


def test_records_of_a_store_are_those_of_its_text(folder):
    of_text = create(folder, "text.txt", "of_text", words="spaces")
    make_store(folder, words="spaces")
    of_store = create(folder, "tokens", "of_store")
    assert of_store.read_bytes() == of_text.read_bytes()
    assert manifest_of(of_store).flags["words"] == "spaces"
    with pytest.raises(ValueError, match=r"words is 'spaces'; store .*tokens has its own"):
        create(folder, "tokens", "other", words="spaces")


@pytest.mark.process  # which TensorFlow's import starts
def test_row_splits_are_those_of_words(folder):
    import tensorflow as tf

    made = create(folder, "text.txt", "made", words="spaces")
    words = set((folder / "text.txt").read_text().split())
    vocabulary, found = SPECIAL + WORDS, set()
    for record in tf.data.TFRecordDataset(str(made)).as_numpy_iterator():
        features = tf.train.Example.FromString(record).features.feature
        ids, places, labels, splits = (
            list(features[name].int64_list.value)
            for name in (
                "input_ids", "masked_lm_positions", "masked_lm_ids", "input_ids_splits_0",
            )
        )  # fmt: skip
        for place, label in zip(places, labels, strict=True):
            ids[place] = label
        for start, end in itertools.pairwise(splits):
            tokens = [vocabulary[number] for number in ids[start:end]]
            found.add("".join(token.removeprefix("##") for token in tokens))
    assert found >= words


def test_the_check_of_records_passes(folder):
    for number, masking in enumerate(("tokens", "ngrams", "spans")):
        instances = {"masking": masking, "do_whole_word_mask": masking == "tokens"}
        made = create(folder, "text.txt", f"made{number}", words="spaces", instances=instances)
        report = check_set(
            CheckConfig(input_patterns=str(made), vocab_file=str(folder / "vocab.txt"))
        )
        assert report.findings == []


def test_whole_words_of_single_characters_are_warned_of(folder, caplog):
    create(folder, "text.txt", "made", instances={"do_whole_word_mask": True})
    assert (
        "20 of the 31 tokens of" in caplog.text and "are single Chinese characters" in caplog.text
    )
    caplog.clear()
    create(folder, "text.txt", "words", words="spaces")
    assert "single Chinese characters" not in caplog.text


@pytest.mark.process
@pytest.mark.parametrize("num_partitions", [0, 2])
def test_words_that_are_too_long_to_predict_are_warned_of(folder, caplog, num_partitions):
    """As in text that is not segmented, where a line is a word."""
    lines = (folder / "text.txt").read_text().split("\n")
    (folder / "whole.txt").write_text("\n".join("".join(line.split()) for line in lines))
    for name, is_warned in (("whole.txt", True), ("text.txt", False)):
        caplog.clear()
        create(folder, name, f"{name[:-4]}@2", words="spaces", num_partitions=num_partitions)
        assert ("words have more tokens than an instance may predict" in caplog.text) == is_warned


def test_gpt_samples_refuse_ids_of_words(folder):
    make_stores(
        StoreConfig(
            input_file=str(folder / "text.txt"),
            output_prefix=str(folder / "documents"),
            vocab_file=str(folder / "vocab.txt"),
            words="spaces",
        )
    )
    with pytest.raises(ValueError, match="`words=spaces`, whose ids say what a word is"):
        StoreDocuments(str(folder / "documents"))


def test_words_need_rules_of_bert(folder):
    byte_pairs(folder / "tokenizer.json")
    with pytest.raises(ValueError, match="words is 'spaces'; it needs WordPiece with BERT's rules"):
        create_dataset(
            DatasetConfig(
                input_file=str(folder / "text.txt"),
                output_file=str(folder / "out"),
                tokenizer_file=str(folder / "tokenizer.json"),
                words="spaces",
            )
        )


def test_a_recipe_masks_whole_words_of_a_store(folder):
    make_store(folder, words="spaces")
    masking = StageMasking(whole_words=True, rate=0.3, shown=Shown(1, 0, 0))
    recipe = Recipe(
        stores={"s": str(folder / "tokens")},
        vocab_file=str(folder / "vocab.txt"),
        stages=[Stage(epochs={"s": 1}, max_seq_length=48, batch_size=4, masking=masking)],
    )
    tokenizer = Segmented(folder / "vocab.txt")
    lines = {
        tuple(tokenizer.convert_tokens_to_ids(tokens)): tokens
        for line in (folder / "text.txt").read_text().split("\n")
        if (tokens := tokenizer.tokenize(line))
    }
    by_ids, num_words = [*lines], 0
    for batch in iterate_recipe_arrays(recipe):
        for ids, places, labels, weights in zip(
            batch["input_ids"], batch["masked_lm_positions"], batch["masked_lm_ids"],
            batch["masked_lm_weights"], strict=True,
        ):  # fmt: skip
            is_real = weights > 0
            original = ids.copy()
            original[places[is_real]] = labels[is_real]
            masked, rest = ids == tokenizer.vocab["[MASK]"], original.tolist()[1:]
            at = 1
            while line := next((each for each in by_ids if tuple(rest[: len(each)]) == each), None):
                for word in definition.list_words(lines[line], (), do_whole_word_mask=True):
                    assert len({bool(masked[at + place]) for place in word}) == 1
                    num_words += len(word) > 1 and bool(masked[at + word[0]])
                at, rest = at + len(line), rest[len(line) :]
    assert num_words > 50
