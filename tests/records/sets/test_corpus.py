"""Records of a token store are those of its text; what does not go together is refused."""

import dataclasses
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from bert_data.errors import CorruptDataError
from bert_data.inspection.configs import CheckConfig
from bert_data.inspection.figures import DOUBTFUL
from bert_data.inspection.set_check import check_set
from bert_data.reader import ReaderConfig, iterate_arrays
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.manifest import read_manifest
from bert_data.text.text_config import TextConfig
from bert_data.tokens.store import StoreShape
from bert_data.tokens.store_files import read_notes
from bert_data.tokens.store_making import StoreConfig, make_stores
from bert_data.tokens.store_writer import StoreWriter
from bert_data.tokens.tokenizer_file import load_tokenizer
from tests.rows import mostly_slow
from tests.tokens.json_files import byte_pairs, wordpiece

INSTANCES = InstanceConfig(max_seq_length=32, max_predictions_per_seq=5, dupe_factor=2)


@pytest.fixture
def folder(tmp_path, small_text, small_vocabulary) -> Path:
    documents = [text.split("\n") for text in small_text.read_text().strip().split("\n\n")]
    (tmp_path / "text.txt").write_bytes(small_text.read_bytes())
    (tmp_path / "vocab.txt").write_bytes(small_vocabulary.read_bytes())
    rows = [{"text": value} for value in (documents[0], [], *documents[1:], "")]
    (tmp_path / "text.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def records(folder: Path, input_file: str, **settings) -> bytes:
    """The bytes of the shard."""
    settings = {"vocab_file": str(folder / "vocab.txt"), **settings}
    create_dataset(
        DatasetConfig(
            input_file=str(folder / input_file),
            output_file=str(folder / "out" / "t"),
            instances=settings.pop("instances", INSTANCES),
            overwrite=True,
            num_workers=2,
            **settings,
        )
    )
    return (folder / "out" / "t").read_bytes()


def make_store(folder: Path, input_file: str, **settings) -> None:
    settings = {"vocab_file": str(folder / "vocab.txt"), "level": "sentence", **settings}
    make_stores(
        StoreConfig(
            input_file=str(folder / input_file),
            output_prefix=str(folder / "s"),
            overwrite=True,
            **settings,
        )
    )


def test_a_store_of_another_case_is_refused(folder):
    for do_lower_case in (True, False):
        make_store(folder, "text.txt", do_lower_case=do_lower_case)
        records(folder, "s", do_lower_case=do_lower_case)
        with pytest.raises(
            ValueError, match=f"was made with do_lower_case {str(do_lower_case).lower()}, b"
        ):
            records(folder, "s", do_lower_case=not do_lower_case)


def test_formats_give_the_same_records(folder):
    expected = records(folder, "text.txt")
    assert records(folder, "text.jsonl") == expected
    values = [
        json.loads(row)["text"] or None for row in (folder / "text.jsonl").read_text().splitlines()
    ]
    column = pyarrow.array(values, pyarrow.list_(pyarrow.string()))
    parquet.write_table(pyarrow.table({"t": column}), folder / "a.parquet", row_group_size=7)
    text = TextConfig(text_field="t", on_error="skip")
    assert records(folder, "a.parquet", text=text) == expected
    lines = (folder / "text.txt").read_text().replace("\n\n", "\n = Heading = \n")
    (folder / "a.tokens").write_text(lines)
    assert records(folder, "a.tokens", text=TextConfig(input_format="wikitext")) == expected


def test_a_store_gives_the_records_of_its_text(folder):
    expected = records(folder, "text.txt")
    make_store(folder, "text.jsonl")
    for name in ("s", "s.bin", "s.idx", "s.bin,", "s.idx,"):
        name = name.replace(",", f",{folder}/s.idx")
        assert records(folder, name) == expected
    assert records(folder, "s", text=TextConfig(input_format="store")) == expected
    (folder / "s.store.json").unlink()  # as stores of other programs are
    assert records(folder, "s") == expected


@mostly_slow("masking", ["tokens", "spans", "ngrams"])
@mostly_slow("whole_words", [False, True])
@pytest.mark.parametrize("make_tokenizer", [wordpiece, byte_pairs])
def test_special_tokens_of_the_text_are_counted_and_not_predicted(
    folder, caplog, make_tokenizer, whole_words, masking
):
    tokens = (folder / "vocab.txt").read_text().split()
    special = tuple(tokens[:5])
    path = make_tokenizer(folder / "t.json", tokens if make_tokenizer is wordpiece else special)
    words = (folder / "text.txt").read_text().split(" ")
    for number in range(0, len(words), 7):
        words[number] += f" {special[number % 5]}"
    (folder / "marked.txt").write_text(" ".join(words))
    counts = Counter(special[number % 5] for number in range(0, len(words), 7))
    del counts["[UNK]"]  # stands for words that the vocabulary lacks, which are predicted
    config = dataclasses.replace(INSTANCES, masking=masking, do_whole_word_mask=whole_words)
    settings = {"vocab_file": None, "tokenizer_file": path}
    shard = records(folder, "marked.txt", instances=config, **settings)
    batches = iterate_arrays(ReaderConfig(input_patterns=str(folder / "out" / "t"), batch_size=64))
    labels = {number for batch in batches for number in batch["masked_lm_ids"].flat}
    ids = load_tokenizer(None, path).ids
    assert labels & {ids[token] for token in special} <= {ids["[PAD]"], ids["[UNK]"]}  # padding
    report = check_set(CheckConfig(input_patterns=str(folder / "out" / "t"), vocab_file=path))
    assert {name for name, number in report.faults.items() if number} == {"inside"}
    assert next(f for f in report.findings if f.name == "inside").severity == DOUBTFUL
    manifest = read_manifest(str(folder / "out" / "manifest.t.json"))
    assert manifest.counts["special_tokens"] == counts
    for token, count in counts.items():
        assert f"{token} {count}" in caplog.text
    make_store(folder, "marked.txt", **settings)
    assert read_notes(str(folder / "s")).special_tokens == counts
    assert records(folder, "s", instances=config, **settings) == shard
    again = read_manifest(str(folder / "out" / "manifest.t.json"))
    assert again.counts["special_tokens"] == counts
    records(folder, "marked.txt", special_tokens_in_text="text", instances=config, **settings)
    as_text = read_manifest(str(folder / "out" / "manifest.t.json"))
    assert as_text.flags["special_tokens_in_text"] == "text"
    assert "special_tokens" not in as_text.counts
    with pytest.raises(ValueError, match=r"marked\.txt:\d+: the text has .*, a special token; "):
        records(folder, "marked.txt", special_tokens_in_text="refuse", **settings)


def test_a_text_that_is_named_like_a_store(folder):
    text = (folder / "text.txt").read_bytes()
    (folder / "corpus.bin").write_bytes(text)
    with pytest.raises(
        FileNotFoundError, match=r"`input_format=lines` reads .*/corpus\.bin as text"
    ):
        records(folder, "corpus.bin")
    lines = TextConfig(input_format="lines")
    assert records(folder, "corpus.bin", text=lines) == records(folder, "text.txt")


def test_a_store_with_other_tokens_than_its_notes_say_is_refused(folder):
    make_store(folder, "text.txt")
    data = bytearray((folder / "s.bin").read_bytes())
    data[100] ^= 1
    (folder / "s.bin").write_bytes(data)
    with pytest.raises(CorruptDataError, match=r"s\.bin: .*its CRC-32 is not the one in its notes"):
        records(folder, "s")


def test_what_does_not_go_together(folder, tmp_path):
    make_store(folder, "text.txt")
    vocabulary = (folder / "vocab.txt").read_text()
    (folder / "other.txt").write_text(vocabulary + "new\n")
    with pytest.raises(ValueError, match=r"made with another vocabulary \(.* than .*other\.txt"):
        records(folder, "s", vocab_file=str(folder / "other.txt"))
    make_store(folder, "text.txt", level="document")
    with pytest.raises(ValueError, match="the token store's sequences are documents"):
        records(folder, "s")
    make_store(folder, "text.txt", append_eod=True, eod_token="ba")
    with pytest.raises(ValueError, match="has an end-of-document token in each document"):
        records(folder, "s")
    make_store(folder, "text.txt", prepend_bos=True, bos_token="ba")
    with pytest.raises(ValueError, match=r"has a start-of-document token .*`prepend_bos=False`"):
        records(folder, "s")
    for other in ("text.txt", "none*"):
        with pytest.raises(
            ValueError, match=rf"s' names token stores, but .*{re.escape(other)}' does not"
        ):
            records(folder, f"s,{folder}/{other}")
    with pytest.raises(FileNotFoundError):
        records(folder, "none", text=TextConfig(input_format="store"))
    assert not list((folder / "out").glob("*")) if (folder / "out").exists() else True


def test_ids_that_the_vocabulary_has_not(folder, caplog):
    with StoreWriter(str(folder / "s"), np.dtype("<u2"), StoreShape()) as writer:
        for number in (5, 6, 60_000):
            writer.add(np.full(9, number, "<u2"), np.array([9], np.int32), np.array([1], np.int64))
    with pytest.raises(ValueError, match=r"the token store has id 60000; .*vocab\.txt has "):
        records(folder, "s")
    assert "each document is one sequence; does the store hold sentences?" in caplog.text


def test_a_store_of_other_dtypes(folder):
    with StoreWriter(str(folder / "s"), np.dtype("<i8")) as writer:
        writer.add(np.full(9, 7, "<i8"), np.array([9], np.int32), np.array([1], np.int64))
    with pytest.raises(ValueError, match="holds int64; it must hold uint16 or int32"):
        records(folder, "s")


class TestTokenizerFile:
    def test_of_berts_rules_gives_the_records_of_the_vocabulary(self, folder):
        tokens = (folder / "vocab.txt").read_text().split("\n")[:-1]
        file = wordpiece(folder / "t.json", tokens)
        expected = records(folder, "text.txt")
        assert records(folder, "text.txt", vocab_file=None, tokenizer_file=file) == expected

    def test_bpe(self, folder):
        special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
        settings = {"vocab_file": None, "tokenizer_file": byte_pairs(folder / "b.json", special)}
        records_of_text = records(folder, "text.txt", **settings)
        make_store(folder, "text.txt", **settings)
        assert records(folder, "s", **settings) == records_of_text
        whole_words = InstanceConfig(
            max_seq_length=32, max_predictions_per_seq=5, do_whole_word_mask=True
        )
        masked_by_word = records(folder, "text.txt", instances=whole_words, **settings)
        assert masked_by_word != records_of_text
        byte_pairs(folder / "b.json", special[:4])
        with pytest.raises(ValueError, match=r"b\.json does not say .* used as mask, which"):
            records(folder, "text.txt", **settings)
        definition = json.loads((folder / "b.json").read_text())
        definition["pre_tokenizer"] = {"type": "Whitespace"}
        (folder / "b.json").write_text(json.dumps(definition))
        named = {**settings, "special_tokens": {"mask": "[SEP]"}}
        with pytest.raises(ValueError, match=r"that continue words, .*b\.json has none"):
            records(folder, "text.txt", instances=whole_words, **named)


def write_rows(folder: Path, gone: set[int] = frozenset()) -> None:
    """The folder's text as rows with ids, some of which are not there."""
    texts = (folder / "text.txt").read_text().strip().split("\n\n")
    rows = [{"text": text.split("\n"), "key": n} for n, text in enumerate(texts) if n not in gone]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.mark.parametrize("num_partitions", [0, 2])
def test_records_without_documents_are_those_of_the_text_without_them(folder, num_partitions):
    """Partitions are cut by the size of the whole text, so their records are only counted."""
    write_rows(folder)
    (folder / "ids.txt").write_text("3\nrows.jsonl:8\nnone\n")
    own = {"without_documents": f"{folder}/ids.txt", "id_field": "key"}
    own |= {"num_partitions": num_partitions, "output_file": f"{folder}/out/t@2"}
    settings = {"vocab_file": f"{folder}/vocab.txt", "instances": INSTANCES, "num_workers": 1}
    config = DatasetConfig(input_file=f"{folder}/rows.jsonl", **{**settings, **own})
    with pytest.raises(ValueError, match=r"has 1 of the 3 names .* which `strict_without` refuses"):
        create_dataset(dataclasses.replace(config, strict_without=True))
    assert not [*(folder / "out").glob("[!.]*")]
    made = create_dataset(config)
    listed = folder / "out/without.t.not_found.txt"
    assert listed.read_text() == "none\n"
    digest = hashlib.sha256((folder / "ids.txt").read_bytes()).hexdigest()
    assert made.manifest.flags["without_documents"] == digest
    counts = {"num_names": 3, "num_found": 2, "num_documents": 2}
    assert made.manifest.counts["without_documents"] == counts
    assert made.manifest == read_manifest(f"{folder}/out/manifest.t.json")
    write_rows(folder, {3, 7})
    fresh = dataclasses.replace(config, without_documents=None, overwrite=True)
    shards = [Path(path).read_bytes() for path in made.paths]
    again = create_dataset(fresh)
    assert again.tokens == made.tokens and not listed.exists()
    if not num_partitions:
        assert shards == [Path(path).read_bytes() for path in again.paths]


def test_documents_are_left_out_of_text_alone(folder):
    make_store(folder, "text.txt")
    (folder / "ids.txt").write_text("a")
    own = {"without_documents": f"{folder}/ids.txt"}
    with pytest.raises(ValueError, match=r"s: `without_documents` is for text; .*\(bert-data tok"):
        records(folder, "s", **own)
    with pytest.raises(ValueError, match=r"t\.not_found\.txt' is an input too"):
        (folder / "out").mkdir(exist_ok=True)
        (folder / "out/without.t.not_found.txt").write_text("a")
        records(folder, "text.txt", without_documents=f"{folder}/out/without.t.not_found.txt")
