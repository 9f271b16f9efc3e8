"""Stores of text: every format and level gives the tokens that it should, partitions are the whole
in parts, what is whole is not made again, and what is there already is not replaced.
"""

import dataclasses
import gzip
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import tokenization
from bert_data.text import lines
from bert_data.text.formats import read_documents
from bert_data.text.text_config import TextConfig
from bert_data.tokens.merging import merge_stores
from bert_data.tokens.store_files import read_notes, store_paths
from bert_data.tokens.store_making import StoreConfig, make_stores, partition_prefixes
from bert_data.tokens.verifying import verify_store
from tests.hypotheses import examples
from tests.rows import mostly_slow
from tests.tokens.json_files import byte_pairs
from tests.tokens.store_contents import sequences_of

COVERS = ("tokens/verifying", "tokens/store_form")


ENDINGS = (".bin", ".idx")


def files(prefix: Path | str) -> list[bytes]:
    return [Path(f"{prefix}{ending}").read_bytes() for ending in ENDINGS]


WORDS = st.lists(st.sampled_from(["ba", "dodo", "zzz", "ki.", "é", "ba東"]), min_size=1, max_size=4)
DOCUMENTS = st.lists(st.lists(WORDS.map(" ".join), max_size=3), min_size=1, max_size=6)


@pytest.mark.slow
@examples(15)
@given(
    DOCUMENTS.filter(any),
    st.sampled_from(["document", "sentence"]),
    st.sampled_from([None, "ba"]),
    st.integers(1, 3),
)
def test_formats_give_the_definitions_tokens(
    tmp_path_factory, small_vocabulary, documents, level, eod_token, num_workers
):
    folder = tmp_path_factory.mktemp("formats")
    write_formats(folder, documents)
    tokenizer = tokenization.FullTokenizer(str(small_vocabulary))
    eod = [] if eod_token is None else tokenizer.convert_tokens_to_ids([eod_token])

    def expected(documents: Sequence[Sequence[str]], drop: bool) -> list[list[list[int]]]:
        all_ids = []
        for sentences in documents:
            ids = [tokenizer.convert_tokens_to_ids(tokenizer.tokenize(s)) for s in sentences]
            if level == "document" and ids:
                ids = [sum(ids, [])]  # noqa: RUF017
            if ids:
                ids[-1] = ids[-1] + eod
            elif drop:
                continue
            all_ids.append(ids)
        return all_ids

    for name in ("a.txt", "a.tokens", "a.jsonl.gz", "a.parquet"):
        is_lines = name in ("a.txt", "a.tokens")
        (store,) = make_stores(
            StoreConfig(
                input_file=str(folder / name),
                output_prefix=str(folder / name) + ".store",
                vocab_file=str(small_vocabulary),
                text=TextConfig(input_format="wikitext" if name == "a.tokens" else "auto"),
                level=level,
                append_eod=eod_token is not None,
                eod_token=eod_token,
                num_workers=num_workers,
            )
        )
        assert sequences_of(store.prefix) == expected(documents, drop=is_lines)
        verified = verify_store(store.prefix)
        assert verified.notes is not None and verified.notes.counts == store.notes.counts


def write_formats(folder: Path, documents: Sequence[Sequence[str]]) -> None:
    text = "\n\n".join("\n".join(document) for document in documents)
    (folder / "a.txt").write_text(text)
    heads = "".join("= head =\n" + "".join(f"{s}\n" for s in document) for document in documents)
    (folder / "a.tokens").write_text(heads)
    rows = "".join(json.dumps({"text": document}) + "\n" for document in documents)
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    column = pyarrow.array(documents, pyarrow.list_(pyarrow.string()))
    parquet.write_table(pyarrow.table({"text": column}), folder / "a.parquet")


@mostly_slow("level", ["document", "sentence"])
@mostly_slow("kind", ["vocabulary", "library"])
def test_partitions_are_the_whole_in_parts(config, tmp_path, level, kind):
    config = dataclasses.replace(config, level=level)
    if kind == "library":
        file = byte_pairs(tmp_path / "t.json")
        config = dataclasses.replace(
            config, vocab_file=None, tokenizer_file=file, append_eod=True, num_workers=3
        )
    make_stores(config)
    for num_partitions in (2, 5):
        parts = dataclasses.replace(
            config, output_prefix=f"{tmp_path}/p{num_partitions}", num_partitions=num_partitions
        )
        prefixes = [store.prefix for store in make_stores(parts)]
        assert prefixes[0].endswith(f"-00000-of-0000{num_partitions}")
        assert prefixes == list(partition_prefixes(parts.output_prefix, num_partitions))
        merged = str(tmp_path / f"merged{num_partitions}")
        notes = merge_stores(prefixes, merged)
        assert files(merged) == files(config.output_prefix)
        assert notes == read_notes(config.output_prefix) == read_notes(merged)


ROWS = [{"text": f"ba {'ki ' * (n % 5)}do", "id": f"d{min(n, 57)}"} for n in range(60)]


def write_rows(folder: Path, gone: set[int] = frozenset()) -> str:
    """Three files of rows; those that are gone are not in them."""
    folder.mkdir()
    for file in range(3):
        rows = (ROWS[n] for n in range(20 * file, 20 * (file + 1)) if n not in gone)
        (folder / f"{file}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return f"{folder}/*.jsonl"


@pytest.mark.parametrize("num_partitions", [1, 3])
def test_stores_without_documents_are_those_of_the_text_without_them(
    config, tmp_path, num_partitions
):
    (tmp_path / "ids.txt").write_text("d3\n2.jsonl:2\nd57\n1.jsonl:20\nd60\n0.jsonl:21\n")
    config = dataclasses.replace(config, input_file=write_rows(tmp_path / "all"))
    own = {"without_documents": f"{tmp_path}/ids.txt", "output_prefix": f"{tmp_path}/p"}
    left = dataclasses.replace(config, num_partitions=num_partitions, **own)
    stores = make_stores(left)
    rest = write_rows(tmp_path / "rest", {3, 41, 57, 58, 59, 39})
    make_stores(dataclasses.replace(config, input_file=rest))
    merged, notes = f"{tmp_path}/p", stores[0].notes
    if num_partitions > 1:
        merged = f"{tmp_path}/merged"
        merge_stores([store.prefix for store in stores], merged)
        notes = read_notes(merged)
    assert files(merged) == files(config.output_prefix)
    assert verify_store(merged).notes == notes and notes is not None
    digest = hashlib.sha256((tmp_path / "ids.txt").read_bytes()).hexdigest()
    assert notes.settings["without_documents"] == digest
    counts = {"num_names": 6, "num_found": 4, "num_documents": 6}
    assert notes.without == {**counts, "found": [0, 1, 2, 3]}
    listed = tmp_path / "without.p.not_found.txt"
    assert listed.read_text() == "d60\n0.jsonl:21\n"
    listed.unlink()
    Path(f"{stores[-1].prefix}.bin").unlink()
    Path(f"{stores[-1].prefix}.idx").unlink()
    with pytest.raises(FileExistsError, match="damaged"):
        make_stores(left)
    for path in tmp_path.glob(f"{Path(stores[-1].prefix).name}.*"):
        path.unlink()
    assert [store.is_new for store in make_stores(left)] == [False] * (num_partitions - 1) + [True]
    assert listed.read_text() == "d60\n0.jsonl:21\n"
    with pytest.raises(ValueError, match=r"has 2 of the 6 names in .*, which `strict_without`"):
        make_stores(dataclasses.replace(left, strict_without=True))
    other = dataclasses.replace(left, without_documents=None)
    with pytest.raises(FileExistsError, match=r"was made with without_documents .*, not None"):
        make_stores(other)
    with pytest.raises(ValueError, match="is an input too"):
        make_stores(dataclasses.replace(left, without_documents=str(listed)))
    make_stores(dataclasses.replace(other, overwrite=True))
    assert not listed.exists()


@pytest.mark.slow
@examples(15)
@given(
    st.lists(
        st.sampled_from(
            [b"the cat\n", b" a\r\n", b"\n", b" \t\n", b"= h =\n", b"\xc3\xa9\xe3\x80\x80\n"]
        ),
        min_size=1,
    ),
    st.integers(1, 30),
    st.sampled_from(["lines", "wikitext"]),
)
def test_library_tokens_of_lines_are_those_of_documents(tmp_path_factory, rows, block_bytes, name):
    """At sentence level no document is kept in memory; they are the same all the same."""
    folder = tmp_path_factory.mktemp("lines")
    (folder / "a").write_bytes(b"".join(rows) + b"the end")
    documents = [
        list(document.text)
        for block in read_documents([str(folder / "a")], TextConfig(input_format=name))
        for document in block.documents
    ]
    (folder / "b").write_text("".join(json.dumps({"text": d}) + "\n" for d in documents))
    path = byte_pairs(folder / "t.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "DEFAULT_BLOCK_BYTES", block_bytes)
        for file, input_format in (("a", name), ("b", "jsonl")):
            config = StoreConfig(
                input_file=str(folder / file),
                output_prefix=str(folder / f"{file}.s"),
                tokenizer_file=path,
                text=TextConfig(input_format=input_format),
                level="sentence",
                append_eod=True,
            )
            make_stores(config)
    assert files(folder / "a.s") == files(folder / "b.s")


class TestWhatIsThere:
    def test_is_left_as_it_is_if_it_is_the_same(self, config):
        (store,) = make_stores(config)
        before = {path: path.stat().st_mtime_ns for path in Path(store.prefix).parent.iterdir()}
        (again,) = make_stores(config)
        assert (again.is_new, again.notes) == (False, store.notes)
        assert before == {p: p.stat().st_mtime_ns for p in Path(store.prefix).parent.iterdir()}

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"level": "sentence"}, "was made with level 'document', not 'sentence'"),
            ({"do_lower_case": False}, "was made with do_lower_case True, not False"),
            ({"append_eod": True, "eod_token": "ba"}, "was made with eod_id None, not 7"),
            ({"text": TextConfig(encoding_errors="ignore")}, "was made with encoding_errors"),
            (
                {"special_tokens_in_text": "text"},
                "was made with special_tokens_in_text None, not 'text'",
            ),
        ],
    )
    def test_of_other_settings_is_refused(self, config, changes, reason):
        make_stores(config)
        before = files(config.output_prefix)
        other = dataclasses.replace(config, **changes)
        with pytest.raises(FileExistsError, match=f"{reason}.*; `overwrite` replaces it"):
            make_stores(other)
        assert files(config.output_prefix) == before
        assert make_stores(dataclasses.replace(other, overwrite=True))[0].is_new

    def test_of_other_text_or_vocabulary_is_refused(self, config, tmp_path, small_text):
        text = tmp_path / "text.txt"
        text.write_bytes(small_text.read_bytes())
        config = dataclasses.replace(config, input_file=str(text))
        make_stores(config)
        with open(text, "a") as file:
            file.write("ba\n")
        with pytest.raises(FileExistsError, match="was made from other text"):
            make_stores(config)
        make_stores(dataclasses.replace(config, overwrite=True))
        other = tmp_path / "other" / "text.txt"
        other.parent.mkdir()
        other.write_bytes(b"do" + text.read_bytes()[2:])
        os.utime(other, (0, 0))
        with pytest.raises(FileExistsError, match="was made from other text"):
            make_stores(dataclasses.replace(config, input_file=str(other)))
        later = os.path.getmtime(config.output_prefix + ".store.json") + 5
        os.utime(text, (later, later))
        with pytest.raises(FileExistsError, match=r"was made before .*text\.txt was changed"):
            make_stores(config)
        vocabulary = tmp_path / "v.txt"
        vocabulary.write_bytes(Path(config.vocab_file or "").read_bytes() + b"new\n")
        with pytest.raises(FileExistsError, match="was made with another vocabulary"):
            make_stores(dataclasses.replace(config, vocab_file=str(vocabulary)))

    @pytest.mark.parametrize("num_partitions", [1, 3])
    def test_of_other_partitions_is_refused_or_removed(self, config, num_partitions):
        make_stores(dataclasses.replace(config, num_partitions=2))
        folder = Path(config.output_prefix).parent
        beside = folder / "s-00000-of-00002.txt"
        beside.touch()
        config = dataclasses.replace(config, num_partitions=num_partitions)
        before = sorted(folder.iterdir())
        with pytest.raises(FileExistsError, match="of another number of partitions"):
            make_stores(config)
        assert sorted(folder.iterdir()) == before
        stores = make_stores(dataclasses.replace(config, overwrite=True))
        files = [Path(path) for each in stores for path in store_paths(each.prefix)]
        assert sorted(folder.iterdir()) == sorted([beside, *files])

    def test_without_notes_or_whole_files_is_refused(self, config):
        make_stores(config)
        path = Path(config.output_prefix + ".bin")
        path.write_bytes(path.read_bytes()[:-2])
        with pytest.raises(FileExistsError, match=r"is damaged \(.*s\.bin: .*store\.json says"):
            make_stores(config)
        Path(config.output_prefix + ".store.json").unlink()
        with pytest.raises(FileExistsError, match="has no notes of what made it"):
            make_stores(config)


@pytest.mark.parametrize(
    "content", [b"", b"\n \n", b'{"text": ""}\n', b'{"text": []}\n{"text": "\\u0001"}\n']
)
def test_no_token_is_an_error_and_nothing_is_written(config, tmp_path, content):
    path = tmp_path / ("a.jsonl" if b"{" in content else "a.txt")
    path.write_bytes(content)
    with pytest.raises(ValueError, match="no sentences in "):
        make_stores(dataclasses.replace(config, input_file=str(path)))
    assert not Path(config.output_prefix).parent.exists()


@pytest.mark.parametrize("num_partitions", [1, 2, 3])
@pytest.mark.parametrize("ending", ["txt", "jsonl"])
def test_inputs_without_a_document_are_named(config, tmp_path, caplog, ending, num_partitions):
    row = (lambda text: json.dumps({"text": text})) if ending == "jsonl" else str
    contents = {"a": ["ba", "", "do"], "b": [], "c": ["", " "] * 400, "d": ["ba", *[""] * 900]}
    paths = [tmp_path / name / f"x.{ending}" for name in contents]
    for path, texts in zip(paths, contents.values(), strict=True):
        path.parent.mkdir()
        path.write_text("".join(row(text) + "\n" for text in texts))
    paths.append(paths[0])  # so that the last part has a token
    config = dataclasses.replace(
        config, input_file=",".join(map(str, paths)), num_partitions=num_partitions
    )
    for _ in ("made", "found"):
        caplog.clear()
        stores = make_stores(config)
        assert f"2 of 5 files gave no document: {paths[1]}, {paths[2]}" in caplog.text
    if num_partitions == 1:
        marks = [each.get("is_empty", False) for each in stores[0].notes.inputs]
        assert marks == [False, True, True, False, False]


def test_parts_of_an_input_are_merged_with_what_they_gave(config, tmp_path):
    path = tmp_path / "a.jsonl"
    for texts in (["ba", "", "", "do"], ["", "", "ba ba ba", "do"], ["ba", "do do do", "", ""]):
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        other = dataclasses.replace(config, input_file=f"{path},{path}", overwrite=True)
        stores = make_stores(dataclasses.replace(other, num_partitions=2))
        merge_stores([each.prefix for each in stores], str(tmp_path / "merged"), overwrite=True)
        (whole,) = make_stores(other)
        assert read_notes(str(tmp_path / "merged")).inputs == whole.notes.inputs


def test_an_input_that_the_notes_cannot_name(config, tmp_path):
    (tmp_path / "a\udcff.txt").write_text("ba\n")
    with pytest.raises(ValueError, match=r"'a\\udcff.txt' has a name that is not UTF-8; rename"):
        make_stores(dataclasses.replace(config, input_file=str(tmp_path / "a*.txt")))


def test_a_partition_without_a_token_is_told_as_one(config, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": ""}\n' * 40 + '{"text": "ba ba ba ba ba ba"}\n' * 20)
    config = dataclasses.replace(config, input_file=str(path), num_partitions=8)
    with pytest.raises(ValueError, match=r"no sentences in a partition .*fewer `num_partitions`"):
        make_stores(config)
    assert len(make_stores(dataclasses.replace(config, num_partitions=2))) == 2


def test_skipped_rows_are_counted(config, tmp_path, caplog):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "ba"}\n' + "null\n" * 5 + '{"text": "do"}\n')
    config = dataclasses.replace(config, input_file=str(path))
    with pytest.raises(ValueError, match=r"a\.jsonl:2: not a JSON object"):
        make_stores(config)
    (store,) = make_stores(dataclasses.replace(config, text=TextConfig(on_error="skip")))
    assert store.notes.counts["num_skipped"] == 5
    assert caplog.text.count("skipped: ") == 3
    assert sequences_of(store.prefix) == [[[5 + 2]], [[8]]]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"files_per_partition": 2}, "`files_per_partition=2` needs `store_rules=curator`"),
        (
            {"store_rules": "curator", "num_partitions": 2},
            "num_partitions is 2, but `store_rules=curator` makes stores of whole files; set",
        ),
        ({"num_workers": 0}, "num_workers is 0; 1 to 1,024 is allowed"),
        ({"output_prefix": "a/"}, "output_prefix is 'a/'; it must end with the name of a store"),
        ({"output_prefix": "a.idx"}, "output_prefix is 'a.idx'; it must end with the name of a st"),
    ],
)
def test_settings_that_are_refused(config, changes, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        dataclasses.replace(config, **changes)
