"""Records and samples without some documents are those that a fresh run makes without them."""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.causal import GptConfig, build_datasets
from bert_data.datasets.dataset_config import DatasetConfig
from bert_data.datasets.forgetting_sets import find_set, forget_in_set
from bert_data.datasets.masked_lm import create_dataset
from bert_data.datasets.sample_set import SampleExportConfig, describe_request, export_splits
from bert_data.objectives.making import InstanceConfig
from bert_data.text.documents import TextConfig
from bert_data.tokens.forgetting_stores import ForgetConfig, Forgotten
from bert_data.tokens.store_making import StoreConfig, make_stores
from tests.goldens.inputs import WORDS
from tests.hypotheses import examples

Rows = list[dict[str, Any]]

GONE = {"d3", "d17", "d18", "d30", "twice", "empty"}
INSTANCES = InstanceConfig(max_seq_length=32, max_predictions_per_seq=5, dupe_factor=2)


def rows_of_text() -> Rows:
    """Return 40 documents; two have the same id, one no text, one no id."""
    rows: Rows = []
    for number in range(40):
        sentences = [
            " ".join(WORDS[(number * 7 + each * 5 + n) % len(WORDS)] for n in range(3 + each % 5))
            for each in range(1 + number % 6)
        ]
        rows.append({"id": f"d{number}", "text": sentences, "url": f"http://a/{number}"})
    rows[5]["id"] = rows[25]["id"] = "twice"
    rows[9] |= {"id": "empty", "text": ""}
    del rows[11]["id"]
    return rows


def write_text(folder: Path, rows: Rows) -> str:
    """Write a text of three files, one of them compressed; return the pattern of their names."""
    shutil.rmtree(folder / "text", ignore_errors=True)
    (folder / "text").mkdir(parents=True)
    for number in range(3):
        own = [row for place, row in rows if place % 3 == number]
        lines = "".join(json.dumps(row) + "\n" for row in own).encode()
        is_last = number == 2
        path = folder / "text" / f"{number}.jsonl{'.gz' * is_last}"
        path.write_bytes(gzip.compress(lines, mtime=0) if is_last else lines)
    return f"{folder}/text/*"


def all_rows() -> list[tuple[int, dict[str, Any]]]:
    return [*enumerate(rows_of_text())]


def rows_left() -> list[tuple[int, dict[str, Any]]]:
    return [(place, row) for place, row in all_rows() if row.get("id") not in GONE]


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def forget(folder: Path, input_file: str, output: str, ids: set[str] = GONE, **more) -> Forgotten:
    (folder / "ids.txt").write_text("".join(f"{each}\n" for each in sorted(ids)))
    config = ForgetConfig(
        input_file=f"{folder}/{input_file}",
        documents=f"{folder}/ids.txt",
        output_prefix=f"{folder}/{output}",
        num_workers=1,
        **more,
    )
    earlier = find_set(str(config.input_file))
    assert earlier is not None
    return forget_in_set(config, earlier)


def equals_fresh(folder: Path, forget_all: Callable[[], Any], run: Callable[[], Any]) -> None:
    """Compare what is written to a folder by forgetting, and by a fresh run."""
    forget_all()
    new = files_in(folder)
    for name in new:
        os.remove(folder / name)
    run()
    fresh = files_in(folder)
    notes = {name for name in new if name.endswith(".store.json")}  # say how many are gone
    assert new.keys() == fresh.keys()
    assert {n for n in new if new[n] != fresh[n]} <= notes


OWN = {
    "nsp": {},
    "sop": {"next_sentence": "sop", "masking": "ngrams"},
    "none": {"next_sentence": "none", "masking": "spans"},
    "words": {"do_whole_word_mask": True, "random_seed": 7},
}
FILES = [
    ("r@2", {}),
    ("r@3", {"compression": "gzip", "record_layout": "reference"}),
    ("r.parquet", {"output_format": "parquet"}),
    ("r@2", {"output_format": "parquet", "record_layout": "reference"}),
]


@pytest.mark.slow
@examples(15)
@given(
    st.sampled_from(sorted(OWN)),
    st.sampled_from(FILES),
    st.sampled_from(["text", "store", "stores", "partitions"]),
    st.sampled_from([0, 0, 2]),
    st.booleans(),
)
def test_records(
    tmp_path_factory, small_vocabulary, objective, files, source, num_partitions, names_source
):
    output, settings = files
    folder = tmp_path_factory.mktemp("records")
    if source == "text" or output == "r.parquet":
        num_partitions = 0
    instances = {**vars(INSTANCES), **OWN[objective]}
    own = {"vocab_file": str(small_vocabulary), "do_lower_case": False}
    by_sentence = {**own, "level": "sentence"}

    def tokenize(place: str, text: str) -> list[str]:
        if source == "text":
            return [text]
        several = source == "stores"
        texts = {"s": text} if not several else {"a": f"{text[:-1]}[01]*", "b": f"{text[:-1]}2*"}
        cut = {"num_partitions": 2} if source == "partitions" else {}
        os.makedirs(folder / place, exist_ok=True)
        for name, each in texts.items():
            make_stores(
                StoreConfig(
                    input_file=each, output_prefix=f"{folder}/{place}/{name}", **by_sentence, **cut
                )
            )
        return [f"{folder}/{place}/{name}{'@2' if cut else ''}" for name in texts]

    def create(place: str, inputs: list[str]) -> None:
        create_dataset(
            DatasetConfig(
                input_file=",".join(inputs),
                output_file=f"{folder}/{place}/{output}",
                instances=InstanceConfig(**instances),
                num_partitions=num_partitions,
                num_workers=1,
                **own,
                **settings,
            )
        )

    text = write_text(folder, all_rows())
    inputs = tokenize("old", text)
    create("old", inputs)
    needs = source == "text" or (num_partitions and source == "stores")
    given_source = {"made_from": ",".join(inputs)} if needs or names_source else {}

    def run() -> None:
        create("new", tokenize("new", write_text(folder, rows_left())))

    if source == "partitions":  # fresh ones might be cut in other places
        return forget_partitions(folder, output, own["vocab_file"], create)
    equals_fresh(
        folder / "new",
        lambda: forget(
            folder, f"old/{output}", f"new/{output}", vocab_file=own["vocab_file"], **given_source
        ),
        run,
    )
    return None


def forget_partitions(folder: Path, output: str, vocab_file: str, create: Any) -> None:
    """Forget in records of a store of two partitions; the new ones are of what is left of both."""
    done = forget(folder, f"old/{output}", f"new/{output}", vocab_file=vocab_file)
    assert (done.num_documents, done.num_forgotten) == (40, 7)
    stores = [name for name in os.listdir(folder / "new") if name.startswith("s-")]
    assert len(stores) == 8
    names = [name for name in os.listdir(folder / "new") if name not in stores]
    new = files_in(folder / "new")
    for name in names:
        os.remove(folder / "new" / name)
    create("new", [f"{folder}/new/s@2"])
    assert files_in(folder / "new") == new


@pytest.mark.parametrize("weights", [None, [3, 1]])
@pytest.mark.parametrize("output", ["x@2", "x.parquet"])
def test_samples(tmp_path, small_vocabulary, weights, output):
    def tokenize(place: str, rows: list) -> list[str]:
        os.makedirs(tmp_path / place, exist_ok=True)
        text, stores = write_text(tmp_path, rows), []
        for name, files in (("a", "[01]*"), ("b", "2*")):
            stores.append(f"{tmp_path}/{place}/{name}")
            make_stores(
                StoreConfig(
                    input_file=text[:-1] + files,
                    output_prefix=stores[-1],
                    vocab_file=str(small_vocabulary),
                    level="document",
                )
            )
        return stores

    def build(place: str, stores: list[str]) -> None:
        asked = {"num_samples": None if weights is None else [30, 10], "num_epochs": None}
        config = GptConfig(seq_length=16, split="3,1")
        built = build_datasets(stores, config, weights=weights, **asked)
        datasets = [each for each in built if each is not None]
        parquet = {"output_format": "parquet"} if "parquet" in output else {}
        export_splits(
            datasets[:1],
            SampleExportConfig(output_file=f"{tmp_path}/{place}/{output}", **parquet),
            made_from={"input": stores, "weights": weights},
            request=describe_request(stores, datasets=datasets, **asked),
        )

    build("old", tokenize("old", all_rows()))
    equals_fresh(
        tmp_path / "new",
        lambda: forget(tmp_path, f"old/{output}", f"new/{output}"),
        lambda: build("new", tokenize("new", rows_left())),
    )


@pytest.fixture
def make(tmp_path, small_vocabulary):
    """Makes a set of the text: make("r@2", input_file="s")."""
    write_text(tmp_path, all_rows())

    def create(output: str, **changes) -> Path:
        config = {
            "input_file": f"{tmp_path}/text/*",
            "output_file": f"{tmp_path}/{output}",
            "vocab_file": str(small_vocabulary),
            "instances": INSTANCES,
            "num_workers": 1,
        }
        create_dataset(DatasetConfig(**{**config, **changes}))
        return tmp_path

    return create


def test_what_is_refused(make, small_vocabulary, tmp_path, caplog):
    folder, vocabulary = make("old/r@2"), str(small_vocabulary)
    of_text = {"made_from": f"{tmp_path}/text/*", "vocab_file": vocabulary}

    def refused(sentence: str, ids=GONE, source="old/r@2", output="new/r@2", **changes) -> None:
        with pytest.raises((ValueError, OSError), match=sentence):
            forget(folder, source, output, ids, **{**of_text, **changes})
        assert not (folder / "new").exists()

    refused("neither is set", vocab_file=None)
    refused("`made_from` names the text", made_from=None)
    refused("name as many .PATH@2.", output="new/r@3")
    refused("no document has one of the 1 id", ids={"x"})
    refused("no document has one of the 1 id", ids={"empty"})
    (folder / "there-00000-of-00002").write_text("")
    refused("exists already", output="there@2")
    refused("is an input too", output="old/r@2", overwrite=True)
    (folder / "other.txt").write_text(Path(vocabulary).read_text() + "more\n")
    refused("made with another vocabulary", vocab_file=f"{folder}/other.txt")
    refused(
        "not what it was when the set was made .0.jsonl, id 'd0'.", made_from=f"{folder}/text/[12]*"
    )
    make("parts/r@2", num_partitions=2)
    refused("cut by the bytes of the text", source="parts/r@2")
    make("silent/r@2", no_provenance=True)
    refused("no list beside it", source="silent/r@2")
    rows = all_rows()
    rows[20][1]["text"][0] += " ba"
    write_text(folder, rows)
    refused("id 'd20'")
    assert find_set(f"{folder}/old/r-00000-of-00002") is None
    forget_ids = {"d1", "x"}
    write_text(folder, all_rows())
    forget(folder, "old/r-*", "new/r@2", forget_ids, **of_text)
    assert "no document has 1 of the 2 ids" in caplog.text


def test_names_of_fields_are_kept(make, small_vocabulary):
    """The manifest names the field of ids, where it is another."""
    folder = make("old/r", id_field="url", text=TextConfig(on_error="skip"))
    of_text = {"made_from": f"{folder}/text/*", "vocab_file": str(small_vocabulary)}
    done = forget(folder, "old/r", "new/r", {"http://a/4"}, **of_text)
    assert (done.num_documents, done.num_forgotten) == (39, 1)
    every = {row["url"] for row in rows_of_text()}
    with pytest.raises(ValueError, match="no sentences in"):
        forget(folder, "old/r", "none/r", every, **of_text)
    assert not (folder / "none").exists()
    assert '"id_field": "url"' in (folder / "new" / "manifest.r.json").read_text()


def test_stores(make, small_vocabulary):
    """A store that has lost the documents is taken as it is; one that has changed is refused."""
    folder, vocabulary = make("text/unused"), str(small_vocabulary)
    store = {"input_file": f"{folder}/text/*", "vocab_file": vocabulary, "level": "sentence"}
    shutil.rmtree(folder / "text")
    write_text(folder, all_rows())
    make_stores(StoreConfig(**store, output_prefix=f"{folder}/s"))
    make("old/r", input_file=f"{folder}/s")
    with pytest.raises(ValueError, match="would replace the store that has the documents"):
        forget(folder, "old/r", "r2", vocab_file=vocabulary)
    forget(folder, "old/r", "new/r", vocab_file=vocabulary)
    clean = {"made_from": f"{folder}/new/s", "vocab_file": vocabulary}
    forget(folder, "old/r", "again/r", **clean)
    names = [name for name in os.listdir(folder / "new") if not name.startswith("s.")]
    assert sorted(os.listdir(folder / "again")) == sorted(names)
    for name in names:
        text = (folder / "again" / name).read_bytes()
        assert text == (folder / "new" / name).read_bytes()
    done = forget(folder, "old/r", "new/r2", vocab_file=vocabulary)  # goes on with what is there
    assert (done.num_forgotten, done.prefixes) == (7, [f"{folder}/new/r2"])
    with pytest.raises(FileExistsError, match=r"exists already .*s\.bin"):
        forget(folder, "old/r", "new/r3", {"d4"}, vocab_file=vocabulary)
    write_text(folder, [*all_rows(), *all_rows()])
    make_stores(StoreConfig(**store, output_prefix=f"{folder}/more", id_field="url"))
    with pytest.raises(ValueError, match="more: not the token stores that the set was made of"):
        forget(folder, "old/r", "other/r", made_from=f"{folder}/more", vocab_file=vocabulary)
    with pytest.raises(ValueError, match="no document has one of"):
        forget(folder, "old/r", "other/r", {"x"}, vocab_file=vocabulary)
    with pytest.raises(ValueError, match="not the token stores that the set was made of"):
        forget(folder, "again/r", "other/r", made_from=f"{folder}/s", vocab_file=vocabulary)
    write_text(folder, all_rows()[1:])
    make_stores(StoreConfig(**store, output_prefix=f"{folder}/s", overwrite=True))
    with pytest.raises(ValueError, match="not the token stores that the set was made of"):
        forget(folder, "old/r", "other/r", vocab_file=vocabulary)
    make_stores(StoreConfig(**store, output_prefix=f"{folder}/d", do_lower_case=False))
    with pytest.raises(ValueError, match="do_lower_case false, but true is requested"):
        forget(folder, "old/r", "other/r", made_from=f"{folder}/d", vocab_file=vocabulary)
    assert not (folder / "other").exists()
