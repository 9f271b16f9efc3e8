"""No run replaces what it reads, in any command and by whatever name."""

import json
import os
from pathlib import Path

import pytest

from bert_data.inspection.terminal import open_page
from bert_data.records.sets import manifest  # noqa: F401 - registers the side files of sets
from bert_data.storage import OutputSet, refuse_inputs
from bert_data.tokens import store_files  # noqa: F401 - registers those of stores
from tests.forking import Programs
from tests.program_folder import contents

PIPELINE = "inputs: [{name: a, files: text.txt}]\nsteps: [{length: {min_words: 1}}]\n"
URLS = "url_filter:blocked_domain_files=list.txt"

# The module, its flags, and the output that is an input too.
COMMANDS = {
    "train_vocab, text": ("train_vocab", ["--output_file=text.txt"], "text.txt"),
    "train_vocab, by its tokenizer.json": (
        "train_vocab",
        ["--output_file=new.txt", "--tokenizer_output_file=hard.txt"],
        "hard.txt",
    ),
    "tokenize, text": ("tokenize", ["--input_file=s.bin", "--output_prefix=s"], "s.bin"),
    "tokenize, vocabulary": ("tokenize", ["--vocab_file=v.idx", "--output_prefix=v"], "v.idx"),
    "tokenize, a link": ("tokenize", ["--output_prefix=l"], "l.store.json"),
    "curate, text": ("curate", ["--output_file=text.txt"], "text.txt"),
    "curate, a link": ("curate", ["--output_file=hard.txt"], "hard.txt"),
    "curate, list": ("curate", ["--output_file=list.txt", f"--steps={URLS}"], "list.txt"),
    "curate, vocabulary": (
        "curate",
        ["--output_file=vocab.txt", "--vocab_file=vocab.txt"],
        "vocab.txt",
    ),
    "curate, report": ("curate", ["--output_file=new", "--report=text.txt"], "text.txt"),
    "curate, pipeline": ("curate", ["--pipeline=p.yaml", "--output_file=p.yaml"], "p.yaml"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, small_text, small_vocabulary):
    folder = tmp_path_factory.mktemp("inputs")
    text, vocabulary = small_text.read_bytes(), small_vocabulary.read_bytes()
    for name in ("text.txt", "s.bin", "list.txt"):
        (folder / name).write_bytes(text)
    for name in ("vocab.txt", "v.idx"):
        (folder / name).write_bytes(vocabulary)
    (folder / "p.yaml").write_text(PIPELINE)
    os.link(folder / "text.txt", folder / "hard.txt")
    (folder / "l.store.json").symlink_to("text.txt")
    return folder


def run(programs: Programs, folder: Path, module: str, flags: list[str]) -> str:
    """The last line of what a command says."""
    settings = {"--input_file": "text.txt", "--overwrite": ""}
    if module == "tokenize":
        settings["--vocab_file"] = "vocab.txt"
    flags = [*(f"{name}={value}" if value else name for name, value in settings.items()), *flags]
    done = programs.run(["-m", f"bert_data.cli.{module}", *flags], cwd=folder)
    assert done.returncode == 1, done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("case", COMMANDS)
@pytest.mark.process
def test_no_command_overwrites_its_input(programs, folder, case):
    module, flags, output = COMMANDS[case]
    before = contents(folder)
    assert run(programs, folder, module, flags).endswith(f"output '{output}' is an input too")
    assert contents(folder) == before


@pytest.mark.process
def test_an_earlier_set_that_is_read_is_not_removed(programs, folder):
    """Curated anew into fewer files, the others would be removed as those of an earlier set."""
    flags = ["--output_file=c.txt@2", "--steps=length:min_words=1"]
    command = ["-m", "bert_data.cli.curate", "--input_file=text.txt", *flags]
    assert programs.run(command, cwd=folder).returncode == 0
    before = contents(folder)
    flags = ["--input_file=c-*-of-00002.txt", "--output_file=c.txt@1", flags[1]]
    assert "c-00000-of-00002.txt' is an input too" in run(programs, folder, "curate", flags)
    assert contents(folder) == before


class TestRefuseInputs:
    def test_a_folder_that_holds_an_input(self, tmp_path):
        path = tmp_path / "hub" / "preprocess" / "assets" / "vocab.txt"
        path.parent.mkdir(parents=True)
        path.touch()
        with pytest.raises(ValueError, match=r"hub' holds the input '.*vocab\.txt'"):
            refuse_inputs([], [str(path)], folders=[f"{tmp_path}/hub"])
        refuse_inputs([f"{path}.new"], [str(path)], folders=[f"{tmp_path}/hu"])

    def test_a_file_named_like_a_folder_that_holds_an_input(self, tmp_path):
        (tmp_path / "text.txt").touch()
        outputs = OutputSet(
            str(tmp_path), [str(tmp_path)], reads=[str(tmp_path / "text.txt")], overwrite=True
        )
        with pytest.raises(IsADirectoryError, match="is a directory, not a file to write"):
            outputs.__enter__()

    def test_a_uri_of_a_local_file(self, tmp_path):
        (tmp_path / "a").touch()
        with pytest.raises(ValueError, match="a' is an input too"):
            refuse_inputs([f"file://{tmp_path}/a"], [str(tmp_path / "a")])
        with pytest.raises(ValueError, match="a' is an input too"):
            refuse_inputs([str(tmp_path / "a")], [f"file://{tmp_path}/a"])

    def test_what_a_set_would_remove(self, tmp_path):
        paths = [str(tmp_path / name) for name in "ab"]
        Path(paths[1]).touch()
        outputs = OutputSet(
            paths[0], paths[:1], reads=paths[1:], overwrite=True, obsolete=lambda: paths[1:]
        )
        with pytest.raises(ValueError, match="b' is an input too"):
            outputs.__enter__()
        assert contents(tmp_path) == {"b": b""}

    def test_a_folder_of_the_name_of_what_a_set_would_remove(self, tmp_path):
        """A manifest that lists it, or "..", is damaged or somebody's."""
        path, folder = tmp_path / "a", tmp_path / "b"
        folder.mkdir()
        (folder / "thesis").write_bytes(b"precious")
        obsolete = [str(folder), f"{folder}/.."]
        with OutputSet(
            str(path), [str(path)], reads=[], overwrite=True, obsolete=lambda: obsolete
        ) as outputs:
            outputs.open(str(path)).__enter__().close()
            outputs.commit([str(path)])
        assert contents(tmp_path) == {"a": b"", "b": None, "b/thesis": b"precious"}


class TestSideFiles:
    """Files that belong to an input are not replaced, by whatever name or link."""

    @pytest.mark.parametrize("output", ["s.store.json", "s.bin", "link", "hard"])
    def test_the_rest_of_a_store(self, tmp_path, output):
        for ending in (".bin", ".idx", ".store.json"):
            (tmp_path / f"s{ending}").touch()
        (tmp_path / "link").symlink_to("s.bin")
        os.link(tmp_path / "s.store.json", tmp_path / "hard")
        with pytest.raises(ValueError, match=r"is read too: '.*/s\.\w+.*' belongs to an input"):
            refuse_inputs([str(tmp_path / output)], [str(tmp_path / "s.idx")])
        refuse_inputs([str(tmp_path / "t.bin")], [str(tmp_path / "s.idx")])

    @pytest.mark.parametrize("output", ["index.b.npy", "manifest.a.json", "link", "hard"])
    def test_the_index_and_the_manifest_of_a_shard(self, tmp_path, output):
        files = [{"name": name} for name in "ab"]
        noted = {"format": "bert_data records", "files": files}
        (tmp_path / "manifest.a.json").write_text(json.dumps(noted))
        (tmp_path / "manifest.c.json").write_text(json.dumps({**noted, "files": []}))
        for name in ("a", "b", "index.b.npy"):
            (tmp_path / name).touch()
        (tmp_path / "link").symlink_to("manifest.a.json")
        os.link(tmp_path / "index.b.npy", tmp_path / "hard")
        with pytest.raises(ValueError, match=r"is read too: .* belongs to an input"):
            refuse_inputs([str(tmp_path / output)], [str(tmp_path / "b")])
        refuse_inputs([str(tmp_path / "manifest.c.json")], [str(tmp_path / "b")])

    def test_of_remote_files_by_their_names(self):
        reads = ["s3://b/x/train-00001-of-00002", "s3://b/x/s.idx"]
        for name in ("index.train-00001-of-00002.npy", "manifest.train.json", "s.store.json"):
            with pytest.raises(ValueError, match="is read too"):
                refuse_inputs([f"s3://b/x/{name}"], reads)
        refuse_inputs(["s3://b/x/manifest.other.json"], reads)

    @pytest.mark.process
    def test_the_checksums_of_a_store_that_create_reads(self, programs, folder):
        for name in ("store.idx", "store.bin", "store.store.json"):
            (folder / name).write_bytes(b"precious")
        (folder / "link").symlink_to("store.store.json")
        before = contents(folder)
        flags = ["--input_file=store.idx", "--output_file=link"]
        flags.append("--vocab_file=vocab.txt")
        assert "is read too" in run(programs, folder, "create", flags)
        assert contents(folder) == before

    def test_a_page_replaces_no_shard_of_a_pattern_and_no_manifest_by_a_link(self, tmp_path):
        noted = {"format": "bert_data records", "files": [{"name": "train-00000-of-00001"}]}
        (tmp_path / "manifest.train.json").write_text(json.dumps(noted))
        (tmp_path / "train-00000-of-00001").write_bytes(b"precious")
        (tmp_path / "link").symlink_to("manifest.train.json")
        (tmp_path / "other").symlink_to("manifest.other.json")
        before = contents(tmp_path)
        for name in ("train-00000-of-00001", "link"):
            for pattern in ("train@1", "train-*"):
                reads = [str(tmp_path / pattern)]
                with (
                    pytest.raises(ValueError, match=r"is an input too|is read too"),
                    open_page(str(tmp_path / name), "title", reads=reads, overwrite=True),
                ):
                    pass
        with (
            pytest.raises(ValueError, match="has the name of a set's index or manifest"),
            open_page(str(tmp_path / "other"), "title", overwrite=True),
        ):
            pass
        assert contents(tmp_path) == before
