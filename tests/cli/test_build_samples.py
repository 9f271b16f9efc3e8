"""The command from its flags to its files, its mistakes in one sentence, and its death."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.gpt.stores import write_notes, write_store

pytestmark = pytest.mark.process


@pytest.fixture
def folder(tmp_path):
    random = np.random.RandomState(0)
    for name, count in (("a", 20), ("b", 40)):
        stories = [[*random.randint(1, 99, 49), 7] for _ in range(count)]
        write_store(tmp_path / name, stories)
    return tmp_path


@pytest.fixture
def run(commands, folder):
    """Runs the command to its end; without a sentence, it must be a good one."""

    def run(sentence="", **flags):
        flags_of_run = {"input": "a,b", "seq_length": 16, "cache_dir": "cache", **flags}
        given = [f"--{name}={value}" for name, value in flags_of_run.items() if value is not None]
        if not sentence:
            return commands.well("build_samples", *given).stderr
        error = commands.error("build_samples", *given, status=2 if "--help" in sentence else 1)
        assert sentence in error
        return error

    return run


def files_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(("a.", "b."))
    }


def test_a_blend_and_its_summary(folder, run):
    flags = {"weights": "3,1", "num_samples": "400,20", "split": "9,1", "max_repeats": 4}
    said = run(**flags)
    rows = {line.split()[0]: line.split() for line in said.splitlines() if line[:2] == "  "}
    assert "train: 400 samples of 16 tokens from 2 data sets, 6,400 tokens" in said
    assert rows["b"][1:3] == ["25.00%", "25.00%"]
    assert "a is repeated 5.34 times, more than 4: its share of 75.00% takes 300" in said
    assert "b is repeated" not in said
    assert "indices of 420 samples in" in said
    kept = files_of(folder)
    assert len(kept) == 2 * (2 * 5 + 5)
    run(**flags)
    assert files_of(folder) == kept


def test_samples_of_all_splits(folder, run):
    run(
        cache_dir=None, split="8,1,1", output_file="out/{split}.parquet@2",
        output_format="parquet", epochs=2,
    )  # fmt: skip
    names = {path.name for path in (folder / "out").iterdir()}
    assert len(names) == 9
    assert {"train.parquet-00001-of-00002", "manifest.test.parquet.json"} <= names


def test_no_split_is_written_where_another_one_cannot_be(folder, run):
    flags = {"cache_dir": None, "split": "8,2"}
    run("out/valid@60: 60 shards for 36 samples", output_file="out/{split}@60", **flags)
    (folder / "out").mkdir()
    (folder / "out" / "valid").write_text("mine")
    run("out/valid: exists already", output_file="out/{split}", **flags)


def test_the_articles_example(folder, run):
    said = run(
        cache_dir=None, input="A,B,C", samples_per_epoch="100,50,400", weights="0.3,0.2,0.5",
        num_samples="1000",
    )  # fmt: skip
    rows = [line.split()[3:6] for line in said.splitlines() if line[:2] == "  "][1:]
    assert rows == [["300", "100", "3.00"], ["200", "50", "4.00"], ["500", "400", "1.25"]]
    assert not files_of(folder)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"input": "a,none"}, "none.idx: No such file or directory"),
        ({"input": "a,"}, "--input is 'a,'; it has an empty name"),
        (
            {"weights": "1,x", "num_samples": "5"},
            "--weights is 'x'; it must be a number (see --help)",
        ),
        ({"split": "969,30,1"}, "the valid split of a is empty: '969,30,1' gives it 1 of 20"),
        ({"cache_dir": None}, "--cache_dir or --output_file is missing"),
        ({"reset_position_ids": True}, "--reset_position_ids needs --eod_id"),
        ({"max_repeats": 0}, "--max_repeats is 0; more than 0 is allowed"),
        ({"samples_per_epoch": "5,5"}, "--samples_per_epoch needs --weights"),
        (
            {"samples_per_epoch": "5,5", "weights": "1,1", "num_samples": "9"},
            "--cache_dir has no effect with --samples_per_epoch; leave it out",
        ),
        ({"cache_dir": "a.bin"}, "a.bin: is not a folder"),
        (
            {"split": "1,1", "cache_dir": None, "output_file": "out"},
            "--output_file is 'out'; with 2 splits it must hold {split}",
        ),
        (
            {"split": "1", "cache_dir": None, "output_file": "out.gz"},
            "output 'out.gz' would not be gzip, as its ending says; choose another ending",
        ),
        ({"input": "a,c/d"}, "'a,c' has a comma, which separates names"),
    ],
)
def test_mistakes_are_one_sentence(folder, run, flags, sentence):
    (folder / "a,c").mkdir()
    if flags.get("split") == "969,30,1":
        write_store(folder / "a", [[1] * 50] * 19 + [[]])
    run(sentence, **flags)


def test_the_end_of_documents_is_known_from_their_stores(folder, run):
    options = {"eod_mask_loss": True, "cache_dir": None, "num_samples": 20}

    def masked(name, **flags):
        run(output_file=name, output_format="parquet", **options, **flags)
        return pq.read_table(folder / name)

    def refuse(sentence, **flags):
        run(sentence, output_file="x", **options, **flags)

    refuse("--eod_mask_loss needs --eod_id")
    write_notes(folder / "a", eod_id=7)
    refuse("--eod_mask_loss needs --eod_id")
    write_notes(folder / "b", eod_id=8)  # ends no document of it, which matters later
    refuse("documents end with different tokens: 7 in a, 8 in b")
    write_notes(folder / "b", eod_id=7)
    refuse("--eod_id is 8, but 7 ends documents, as a.store.json says", eod_id=8)
    masks = masked("noted.parquet")
    assert masks.equals(masked("given.parquet", eod_id=7))
    tokens, loss_mask = (np.array(masks[name].to_pylist()) for name in ("tokens", "loss_mask"))
    assert (tokens == 7).any()
    assert np.array_equal(loss_mask == 0, tokens == 7)


def test_samples_do_not_replace_the_indices(folder, run):
    flags = {"input": "a", "num_samples": 40, "split": "1"}
    assert "train: 40 samples of 16 tokens from 1 data set, 640 tokens" in run(**flags)
    before = files_of(folder)
    assert len(before) == 2 * 5
    for name in before:
        (folder / "link").symlink_to(name)
        error = run("is an input too", **flags, output_file="link", overwrite=True)
        (folder / "link").unlink()
        assert error == "output 'link' is an input too"
