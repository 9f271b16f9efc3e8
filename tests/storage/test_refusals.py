"""No run replaces what it reads, in any command and by whatever name."""

import os
from pathlib import Path

import pytest

from bert_data.storage import OutputSet, refuse_inputs
from tests.forking import Programs
from tests.storage.output_sets import contents

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
    "tokenize, vocabulary": (
        "tokenize",
        ["--vocab_file=v.idx", "--output_prefix=v"],
        "v.idx",
    ),
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
    "curate, pipeline": (
        "curate",
        ["--pipeline=p.yaml", "--output_file=p.yaml"],
        "p.yaml",
    ),
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
