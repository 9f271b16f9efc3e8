"""Names of inputs and outputs."""

import os
import re
from pathlib import Path

import pytest
import tensorflow as tf
from hypothesis import assume, given
from hypothesis import strategies as st

from bert_data.storage import (
    OutputNames,
    OutputSet,
    expand_inputs,
    expand_output,
    expand_outputs,
    find_files,
    glob,
    pattern_of,
    split_names,
    with_ending_last,
)
from bert_data.storage.names import compile_part
from tests.hypotheses import examples


class TestInputs:
    def test_each_patterns_matches_are_sorted(self, tmp_path):
        for name in ("b.txt", "a2.txt", "a10.txt", "c.md", ".hidden.txt"):
            (tmp_path / name).touch()
        patterns = f"{tmp_path}/b.txt,{tmp_path}/a*.txt,{tmp_path}/?.md"
        names = [Path(path).name for path in expand_inputs(patterns)]
        assert names == ["b.txt", "a10.txt", "a2.txt", "c.md"]

    def test_a_file_whose_name_looks_like_a_pattern(self, tmp_path):
        for name in ("a[1].txt", "a1.txt"):
            (tmp_path / name).touch()
        assert expand_inputs(f"{tmp_path}/a[1].txt") == [f"{tmp_path}/a[1].txt"]

    def test_a_set_is_named_as_it_was_written(self, tmp_path):
        names = [f"t-0000{i}-of-00002" for i in range(2)]
        for name in (*names, "t-00000-of-00003", "u@2"):
            (tmp_path / name).touch()
        assert expand_inputs(f"{tmp_path}/t@2") == [f"{tmp_path}/{name}" for name in names]
        assert expand_inputs(f"{tmp_path}/u@2") == [f"{tmp_path}/u@2"]  # there is such a file
        assert list(map(pattern_of, ["a@0", "a@b", "a", "s3://b/a@2"])) == [
            "a@0", "a@b", "a", "s3://b/a-?????-of-00002"
        ]  # fmt: skip

    @pytest.mark.parametrize("ending", [".jsonl.gz", ".json.gz", ".parquet", ".txt.zst", ".gz"])
    def test_texts_are_named_as_curation_wrote_them(self, tmp_path, ending):
        paths = [f"{tmp_path}/a.b-0000{i}-of-00002{ending}" for i in range(2)]
        for path in (*paths, f"{tmp_path}/a.b-00000-of-00003{ending}"):
            Path(path).touch()
        assert expand_inputs(f"{tmp_path}/a.b{ending}@2") == paths
        assert find_files(f"{tmp_path}/a.b{ending}@4") == []
        other = f"{tmp_path}/a.b{ending}-00000-of-00002"
        Path(other).touch()
        assert expand_inputs(f"{tmp_path}/a.b{ending}@2") == [other]  # as records are named
        assert [*map(with_ending_last, [other, "a", f"s3://b/c{ending}-?????-of-00007"])] == [
            paths[0], "a", f"s3://b/c-?????-of-00007{ending}"
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "name", ["web-0000{}-of-00007", "web-0000{}-of-00007.bin", "web-0000{}-of-00007.jsonl.gz"]
    )
    def test_a_set_of_another_number_is_named(self, tmp_path, name):
        ending = name.removeprefix("web-0000{}-of-00007").removesuffix(".bin")
        (tmp_path / name.format(2)).touch()
        (tmp_path / name.format(3)).touch()
        (tmp_path / f"web-00000-of-00012{ending}").touch()
        with pytest.raises(ValueError) as caught:
            expand_inputs(f"{tmp_path}/web{ending}@8")
        web = f"{tmp_path}/web{ending}"
        assert str(caught.value) == f"no file matches '{web}@8', but there is '{web}@7', '{web}@12'"

    @pytest.mark.parametrize("patterns", ["{}/none*.txt", "{}/a.txt,{}/none", "{}/dangling/x"])
    def test_no_match_is_an_error_that_names_the_pattern(self, tmp_path, patterns):
        (tmp_path / "a.txt").touch()
        patterns = patterns.replace("{}", str(tmp_path))
        with pytest.raises(ValueError, match=r"^no file matches '") as caught:
            expand_inputs(patterns)
        assert patterns.split(",")[-1] in str(caught.value)

    @pytest.mark.parametrize("patterns", ["", "a,", ",a", "a,,b"])
    def test_an_empty_entry(self, patterns):
        with pytest.raises(ValueError, match="has an empty file name"):
            expand_inputs(patterns.replace("a", __file__))

    def test_uris(self, tmp_path):
        for name in ("b.txt", "a[1].txt", "c.txt"):
            (tmp_path / name).touch()
        place = f"file://{tmp_path}"
        assert expand_inputs(f"{place}/[bc].txt,{place}/a[1].txt") == [
            f"{place}/{name}" for name in ("b.txt", "c.txt", "a[1].txt")
        ]
        with pytest.raises(ValueError, match=f"no file matches '{place}/d"):
            expand_inputs(f"{place}/d*")
        with pytest.raises(IsADirectoryError) as caught:
            expand_inputs(place)
        assert caught.value.filename == place
        with pytest.raises(ValueError, match="is not a supported path"):
            expand_inputs("ftp://bucket/a")

    def test_a_folder(self, tmp_path):
        (tmp_path / "sub").mkdir()
        for pattern in (f"{tmp_path}", f"{tmp_path}/*"):
            with pytest.raises(IsADirectoryError, match="is a directory, not a file"):
                expand_inputs(pattern)


class TestCommas:
    @pytest.mark.parametrize(
        ("names", "path"),
        [
            ("a,b/c.txt", "a,b"),
            ("none/x,a,b/c.txt,none", "a,b"),
            ("x,y,z.txt", "x,y,z.txt"),
            ("other.txt,x,y,z.txt", "x,y,z.txt"),
        ],
    )
    def test_a_comma_of_an_existing_path_is_refused(self, tmp_path, monkeypatch, names, path):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a,b").mkdir()
        (tmp_path / "a,b" / "c.txt").touch()
        (tmp_path / "x,y,z.txt").touch()
        for expand in (expand_inputs, expand_outputs):
            with pytest.raises(ValueError, match=rf"^'{path}' has a comma, .* write \? for"):
                expand(names)
        assert expand_inputs("a?b/c.txt,x?y?z.txt") == ["a,b/c.txt", "x,y,z.txt"]

    def test_lists_stay_lists(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        long = ["n" * 100] * 5  # no name of a file may have as many bytes
        for names in (["a", "b/c", "/d", "s3://b/e", "file:///g"], long, ["a", "\udcff", "\ud800"]):
            assert split_names(",".join(names)) == ",".join(names).split(",")

    def test_a_name_alone_may_have_commas(self):
        assert expand_output("a,b/t@2").paths == tuple(f"a,b/t-0000{i}-of-00002" for i in range(2))


class TestOutputNames:
    def test_names_as_given(self):
        assert expand_outputs("x/a,b") == OutputNames(name="x/a", paths=("x/a", "b"))

    def test_shards(self):
        names = expand_outputs("d/t@3,u")
        shards = tuple(f"d/t-{i:05d}-of-00003" for i in range(3))
        assert names == OutputNames(name="d/t", paths=(*shards, "u"))
        assert len(expand_outputs("t@99999").paths) == 99_999

    @pytest.mark.parametrize("name", ["a@b", "user@host@2x", "@3", "a@"])
    def test_an_at_sign_in_a_name(self, name):
        assert expand_outputs(name).paths == (name,)

    @pytest.mark.parametrize("count", ["0", "00", "100000", "-1"])
    def test_numbers_of_shards_out_of_range(self, count):
        with pytest.raises(
            ValueError, match=f"'t@{count}' asks for .* shards; the number must be 1 to 99999"
        ):
            expand_outputs(f"t@{count}")

    @pytest.mark.parametrize(
        "names", ["a,b,a", "a,./a", "t@2,t-00001-of-00002", "t@2,t@2", "x/../a,a"]
    )
    def test_two_of_the_same_name(self, names):
        with pytest.raises(ValueError, match=r"^two outputs have the same name: '"):
            expand_outputs(names)

    def test_two_of_the_same_name_by_a_link(self, tmp_path):
        (tmp_path / "link").symlink_to(tmp_path)
        with pytest.raises(ValueError, match="two outputs have the same name"):
            expand_outputs(f"{tmp_path}/a,{tmp_path}/link/a")

    @pytest.mark.parametrize("names", ["", "a,,b", "a,"])
    def test_an_empty_entry(self, names):
        with pytest.raises(ValueError, match="has an empty file name"):
            expand_outputs(names)

    @pytest.mark.parametrize("name", ["d/", "d/@3", ".", "..", "d/.", "/"])
    def test_a_folder(self, name):
        with pytest.raises(ValueError, match="names a folder, not a file"):
            expand_outputs(name)

    def test_a_uri(self, tmp_path):
        names = expand_outputs(f"file://{tmp_path}/a@2,file://{tmp_path}/b")
        assert names.name == f"file://{tmp_path}/a"
        assert [name.removeprefix(f"file://{tmp_path}/") for name in names.paths] == [
            "a-00000-of-00002", "a-00001-of-00002", "b",
        ]  # fmt: skip
        with pytest.raises(ValueError, match="two outputs have the same name"):
            expand_outputs(f"file://{tmp_path}/a,{tmp_path}/a")


NAMES = [
    "a", "b", "ab", ".a", "^", "]", "a-b", "[a", "b]", "!", "\\", "A1", "é", "a b", "*", "[^a]",
]  # fmt: skip
PARTS = st.one_of(
    st.sampled_from(
        ["*", "?", "**", "[^a]*", "[!a]*", ".*", "[a-b]", "[[:alpha:]]*", "a", "b", "."]
    ),
    st.text("ab*?[]^!-\\.1é ", min_size=1, max_size=6),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A folder of files and folders, with files in folders in folders."""
    root = tmp_path_factory.mktemp("tree")
    for name in NAMES:
        folder = root / f"{name}.d"
        for inner in ("a", ".b"):
            (folder / inner).mkdir(parents=True)
        for file in NAMES:
            (folder / file).touch() if file != "a" else None
            (folder / "a" / file).touch()
        (root / name).touch()
    (root / "link").symlink_to(root / "a.d")
    (root / "dangling").symlink_to(root / "none")
    return root


@examples(200)
@given(st.lists(PARTS, min_size=1, max_size=3), st.booleans(), st.sampled_from(["", "/"]))
def test_matches_are_those_of_tensorflow(tree, parts, is_relative, ending):
    os.chdir(tree)
    pattern = "/".join(parts) + ending
    assume(set(pattern) & set("*?[\\"))
    if not is_relative:
        pattern = f"{tree}/{pattern}"
    expected = [re.sub(r"^\./(?!$)", "", path) for path in tf.io.gfile.glob(pattern)]
    matches = [re.sub(r"^\./(?!$)", "", path) for path in glob(pattern)]
    assert matches == sorted(matches)
    # TensorFlow also compares byte by byte, so that "??" matches "é".
    by_bytes = [path for path in set(expected) - set(matches) if "é" in path]
    assert sorted([*matches, *by_bytes]) == sorted(expected)
    assert not by_bytes or set(pattern) & set("?[")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("[^a]", "b ^ ]"),
        ("[]^]", "^ ]"),
        ("[a\\-c]", "a"),
        ("[z-a]", ""),
        ("[[:nope:]]", ""),
        ("\\*", "*"),
        ("a\\", ""),
    ],
)
def test_brackets_and_escapes(pattern, names):
    matches = compile_part(pattern).fullmatch
    assert [name for name in ("a", "b", "^", "]", "*", "a\\") if matches(name)] == [
        name
        for name in ("a", "b", "^", "]", "*", "a\\")
        if name in names.split() or (pattern == "[^a]" and name == "*")
    ]


def test_many_stars_take_no_time():
    assert compile_part("*" * 5000 + "b").fullmatch("a" * 5000) is None


def test_of_a_uri(tree):
    matches = glob(f"file://{tree}/[^a]*.d/*b")
    assert matches and matches == [f"file://{path}" for path in glob(f"{tree}/[^a]*.d/*b")]
    assert glob(f"file://{tree}/none*") == glob(f"file://{tree}/none") == []


def test_a_dash_is_no_name_of_standard_input():
    with pytest.raises(ValueError, match=r"^no file matches '-'; /dev/stdin is standard"):
        expand_inputs("-")


def test_a_name_without_room_for_the_files_beside_it(tmp_path):
    longest = str(tmp_path / ("ä" * 100))
    with OutputSet(longest, [longest], reads=(), overwrite=False) as outputs:
        with outputs.open(longest) as file:
            file.write(b"text")
        outputs.commit([longest])
    assert Path(longest).read_bytes() == b"text"
    name = "ä" * 100 + "a"
    with pytest.raises(ValueError, match=f"output '{name}' has a name of 201 bytes; 200 are al"):
        OutputSet(name, [name], reads=(), overwrite=False)
