"""create_pretraining_data.py as a user runs it: Google's records, the same bytes, clear errors."""

import gzip
import hashlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from bert_data.records.manifest import read_manifest
from tests.records.tfrecords import split_records

PROGRAM = "create_pretraining_data"
SLOW_CASES = ("movies_512", "movies_dupe10", "udhr_cased", "wikitext_defaults", "wikitext_wwm")


class Folder:
    """A folder with a small text and vocabulary in it, where the program is run."""

    def __init__(self, path: Path, checkout: Path, text: Path, vocabulary: Path) -> None:
        self.path = path
        self.script = str(checkout / f"{PROGRAM}.py")
        self.flags = {
            "input_file": "text.txt",
            "output_file": "out",
            "vocab_file": "vocab.txt",
            "max_seq_length": 32,
            "max_predictions_per_seq": 5,
            "dupe_factor": 2,
        }
        self.write("text.txt", text.read_bytes())
        self.write("vocab.txt", vocabulary.read_bytes())

    def write(self, name: str, content: bytes) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_bytes(content)

    def command(self, **flags: object) -> list[str]:
        given = {
            name: value for name, value in {**self.flags, **flags}.items() if value is not None
        }
        return [
            sys.executable,
            self.script,
            *(f"--{name}={value}" for name, value in given.items()),
        ]

    def run(
        self, *, before: Callable[[], None] | None = None, **flags: object
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(**flags),
            cwd=self.path,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=before,
        )

    def make(self, **flags: object) -> dict[str, bytes | None]:
        """Runs it well; returns the files of the folder that its outputs lie in."""
        done = self.run(**flags)
        assert done.returncode == 0, done.stderr
        names = str(flags.get("output_file", "out"))
        return contents((self.path / names.split(",")[0]).parent)

    def fail(self, **flags: object) -> str:
        """Runs it badly; nothing is left behind; returns the sentence."""
        before = contents(self.path)
        done = self.run(**flags)
        assert done.returncode != 0
        assert contents(self.path) == before
        return only_error(done.stderr)


def contents(folder: Path) -> dict[str, bytes | None]:
    """All files with their bytes, hidden ones too, and folders and links with None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def only_error(stderr: str) -> str:
    """The one line of standard error that is no line of the log, and the last."""
    lines = [line for line in stderr.splitlines() if not is_log(line)]
    assert len(lines) == 1, stderr
    assert stderr.endswith(f"{lines[0]}\n")
    start = f"{PROGRAM}: error: "
    assert lines[0].startswith(start)
    return lines[0].removeprefix(start)


def is_log(line: str) -> bool:
    """Whether absl wrote it: level, date, time, thread, file and line."""
    return line[:1] in "IW" and "] " in line


@pytest.fixture
def folder(tmp_path, checkout, small_text, small_vocabulary) -> Folder:
    return Folder(tmp_path, checkout, small_text, small_vocabulary)


def golden_cases() -> list[object]:
    """The names of the goldens' cases, as far as a test has to know them before it runs."""
    path = Path(__file__).resolve().parents[2] / "shared/goldens/create_pretraining_data.json"
    if not path.is_file():
        return [
            pytest.param("", marks=pytest.mark.skip(reason="needs ../shared, which is not here"))
        ]
    names = json.loads(path.read_text())["cases"]
    slow = [pytest.mark.slow]
    return [pytest.param(name, marks=slow if name in SLOW_CASES else []) for name in names]


@pytest.mark.parametrize("case", golden_cases())
def test_googles_records_in_googles_order(shared, folder, case):
    golden = json.loads((shared / "goldens/create_pretraining_data.json").read_text())["cases"][
        case
    ]
    flags = {
        **dict.fromkeys(folder.flags),  # that program's defaults
        "input_file": ",".join(str(shared / name) for name in golden["input"]),
        "vocab_file": shared / golden["vocab"],
        "output_file": ",".join(f"out{i}" for i in range(golden["num_outputs"])),
        "record_layout": "reference",
        **golden["flags"],
    }
    if "error" in golden:
        assert "not UTF-8" in folder.fail(**flags)
        return
    made = folder.make(**flags)
    for number, expected in enumerate(golden["records"]):
        data = made[f"out{number}"]
        assert data is not None
        assert digest(data) == tuple(expected)


def digest(shard: bytes) -> tuple[str, int]:
    """The goldens' digest: of each record's length and bytes, entries sorted by name.

    Ours are in that order, which `records/test_examples.py` holds.
    """
    sha, count, at = hashlib.sha256(), 0, 0
    while at < len(shard):
        length = int.from_bytes(shard[at : at + 8], "little")
        sha.update(shard[at : at + 8])
        sha.update(shard[at + 12 : at + 12 + length])
        count, at = count + 1, at + 16 + length
    return sha.hexdigest(), count


class TestTheSameBytes:
    def test_for_any_number_of_workers(self, folder):
        runs = [
            folder.make(num_workers=n, output_file=f"{n}/out@3", compression="gzip")
            for n in (1, 2, 5, 0)
        ]
        assert runs[0] == runs[1] == runs[2] == runs[3]
        assert len(runs[0]) == 7

    def test_for_little_memory(self, folder):
        """So many predictions that the instances do not fit: they go through buckets on disk."""
        long = {
            "max_seq_length": 4096, "max_predictions_per_seq": 4096, "masked_lm_prob": 1,
            "dupe_factor": 50, "num_workers": 2,
        }  # fmt: skip
        much = folder.make(output_file="much/out@3", max_memory_mb=1000, **long)
        little = folder.make(output_file="little/out@3", max_memory_mb=300, work_dir="work", **long)
        rows = json.loads(much["manifest.out.json"])["counts"]["instances"]["num_instances"] * 4096
        assert rows > 6_000_000  # more than may be in memory
        assert little == much
        assert contents(folder.path / "work") == {}

    def test_for_compressed_input(self, folder):
        plain = folder.make(output_file="plain/out")
        text = (folder.path / "text.txt").read_bytes()
        folder.write("text.txt.gz", gzip.compress(text[:1000]) + gzip.compress(text[1000:]))
        folder.write("text.txt.zst", zstandard.compress(text))
        for ending in ("gz", "zst"):
            name = f"text.txt.{ending}"
            assert folder.make(input_file=name, output_file=f"{ending}/out") == plain

    def test_again_and_not_with_another_seed(self, folder):
        first = folder.make(output_file="first/out")
        assert folder.make(output_file="again/out") == first
        assert folder.make(output_file="other/out", random_seed=7)["out"] != first["out"]
        negative = folder.make(output_file="negative/out", random_seed=-12345)
        assert negative["out"] == first["out"]

    def test_gzip_holds_what_plain_files_hold(self, folder):
        plain = folder.make(output_file="plain/out@2")
        packed = folder.make(output_file="packed/out@2", compression="gzip")
        for name in ("out-00000-of-00002", "out-00001-of-00002"):
            assert gzip.decompress(packed[name] or b"") == plain[name]
            assert packed[f"index.{name}.npy"] == plain[f"index.{name}.npy"]


class TestInputs:
    def test_a_pattern_is_its_files_sorted(self, folder):
        folder.write("b/2.txt", b"ba do\n\nki\n")
        folder.write("b/1.txt", b"lu me no\n")
        by_pattern = folder.make(input_file="b/*.txt", output_file="p/out")
        assert by_pattern == folder.make(input_file="b/1.txt,b/2.txt", output_file="l/out")
        assert by_pattern != folder.make(input_file="b/2.txt,b/1.txt", output_file="r/out")

    def test_undecodable_bytes_can_be_replaced_or_ignored(self, folder):
        folder.write("bad.txt", b"ba do\nki\xff lu\n")
        for how in ("replace", "ignore"):
            made = folder.make(input_file="bad.txt", output_file=f"{how}/o", encoding_errors=how)
            assert json.loads(made["manifest.o.json"] or b"")["counts"]["text"]["num_replaced"] == 1


class TestOutputs:
    def test_a_list_gets_records_in_turn(self, folder):
        one = split_records(folder.make(output_file="one/out")["out"] or b"")
        made = folder.make(output_file="two/a,two/b")
        assert set(made) == {"a", "b", "index.a.npy", "index.b.npy", "manifest.a.json"}
        for number, name in enumerate("ab"):
            records = [record for _, record in split_records(made[name] or b"")]
            assert records == [record for _, record in one[number::2]]

    def test_shards_have_the_names_of_path_at_n(self, folder):
        made = folder.make(output_file="d/out@2")
        shards = [f"out-{i:05d}-of-00002" for i in range(2)]
        assert set(made) == {*shards, *(f"index.{s}.npy" for s in shards), "manifest.out.json"}
        manifest = read_manifest(str(folder.path / "d/manifest.out.json"))
        assert [file.name for file in manifest.files] == shards
        assert manifest.max_seq_length == 32
        assert manifest.flags["dupe_factor"] == 2

    def test_are_overwritten_when_asked_to(self, folder):
        folder.make(output_file="d/out@3", random_seed=1)
        new = folder.make(output_file="d/out@2", overwrite=True, random_seed=2)
        assert new == folder.make(output_file="e/out@2", random_seed=2)

    def test_the_log_says_what_was_made(self, folder):
        done = folder.run(num_examples=2)
        assert done.stdout == ""
        assert done.stderr.count("tokens: [CLS]") == 2
        for word in ("documents", "sentences", "[UNK]", "padding", "next sentence", "MB/s"):
            assert word in done.stderr


# The flags of a mistake and what its sentence holds.
MISTAKES: dict[str, tuple[dict[str, object], str]] = {
    "no match": ({"input_file": "none*.txt"}, "no file matches 'none*.txt'"),
    "one of two without match": ({"input_file": "text.txt,n.txt"}, "no file matches 'n.txt'"),
    "no input": ({"input_file": ""}, "empty file name in the list of inputs"),
    "input is a folder": ({"input_file": "sub"}, "sub: is a directory"),
    "a match is a folder": ({"input_file": "s*b"}, "sub: is a directory"),
    "input cannot be read": (
        {"input_file": "/proc/self/mem"},
        "/proc/self/mem: Input/output error",
    ),
    "input leads nowhere": ({"input_file": "dangling"}, "dangling: No such file or directory"),
    "undecodable": ({"input_file": "text.txt,bad.txt"}, "bad.txt:3: not UTF-8 ("),
    "empty text": (
        {"input_file": "empty.txt"},
        "no sentence in the text of 1 file(s), 'empty.txt'",
    ),
    "blank text": ({"input_file": "blank.txt"}, "no sentence in the text"),
    "gz cut off": ({"input_file": "cut.gz"}, "cut.gz: byte offset "),
    "zst cut off": ({"input_file": "cut.zst"}, "cut.zst: byte offset "),
    "no vocabulary": ({"vocab_file": "none.txt"}, "none.txt: No such file or directory"),
    "vocabulary is a folder": ({"vocab_file": "sub"}, "sub: Is a directory"),
    "empty vocabulary": ({"vocab_file": "empty.txt"}, "vocabulary empty.txt is empty"),
    "blank vocabulary": ({"vocab_file": "blank.txt"}, "vocabulary blank.txt is empty"),
    "binary vocabulary": ({"vocab_file": "binary.txt"}, "vocabulary binary.txt is not text"),
    "undecodable vocabulary": (
        {"vocab_file": "bad.txt"},
        "vocabulary bad.txt is not UTF-8: line 3",
    ),
    "vocabulary without [MASK]": ({"vocab_file": "nomask.txt"}, "nomask.txt has no [MASK]"),
    "vocabulary is text": ({"vocab_file": "text.txt"}, "has no [UNK], [CLS], [SEP], [MASK]"),
    "short": ({"max_seq_length": 4}, "max_seq_length is 4; 5 to 65535 is allowed"),
    "negative length": ({"max_seq_length": -1}, "max_seq_length is -1;"),
    "too long": ({"max_seq_length": 65536}, "max_seq_length is 65536;"),
    "masked > 1": ({"masked_lm_prob": 1.1}, "masked_lm_prob is 1.1; 0 to 1 is allowed"),
    "masked < 0": ({"masked_lm_prob": -0.1}, "masked_lm_prob is -0.1; 0 to 1 is allowed"),
    "masked nan": ({"masked_lm_prob": "nan"}, "masked_lm_prob is nan; 0 to 1 is allowed"),
    "short > 1": ({"short_seq_prob": 2}, "short_seq_prob is 2"),
    "short nan": ({"short_seq_prob": "nan"}, "short_seq_prob is nan; 0 to 1 is allowed"),
    "predictions < 0": ({"max_predictions_per_seq": -1}, "max_predictions_per_seq is -1; 0 to"),
    "no passes": ({"dupe_factor": 0}, "dupe_factor is 0; 1 or more is allowed"),
    "passes < 0": ({"dupe_factor": -3}, "dupe_factor is -3; 1 or more is allowed"),
    "workers < 0": ({"num_workers": -1}, "num_workers is -1; 0 (all cores) or more is allowed"),
    "memory": ({"max_memory_mb": 10}, "max_memory_mb is 10; 300 or more is allowed"),
    "examples < 0": ({"num_examples": -1}, "num_examples is -1; 0 or more is allowed"),
    "layout": ({"record_layout": "square"}, "--record_layout=square: value should be one of"),
    "compression": ({"compression": "zip"}, "--compression=zip: value should be one of"),
    "no number": ({"max_seq_length": "long"}, "--max_seq_length=long"),
    "mistyped": ({"max_seq_lenght": 128}, "'max_seq_lenght'"),
    "missing": ({"vocab_file": None}, "--vocab_file"),
    "no output": ({"output_file": ""}, "empty file name in the list of outputs"),
    "two outputs": ({"output_file": "a,b,a"}, "two outputs have the same name: 'a' and 'a'"),
    "two ways": ({"output_file": "sub/a,sub/../sub/a"}, "two outputs have the same name"),
    "hidden": ({"output_file": "x,.x.partial"}, "output '.x.partial' has a name that unfinished"),
    "the lock": ({"output_file": "x,.x.lock"}, "output '.x.lock' has a name that unfinished"),
    "no shards": ({"output_file": "a@0"}, "output 'a@0' asks for 0 shards"),
    "output is a folder": ({"output_file": "sub"}, "sub: is a directory"),
    "overwritten folder": ({"output_file": "sub", "overwrite": True}, "sub: is a directory"),
    "folder by its slash": ({"output_file": "new/"}, "output 'new/' names a folder"),
    "index is a folder": ({"output_file": "a", "overwrite": True}, "index.a.npy: is a directory"),
    "output in a file": ({"output_file": "text.txt/out"}, "text.txt: is not a folder"),
    "output in /proc": ({"output_file": "/proc/new/out"}, "/proc/new: "),
    "name too long": ({"output_file": "new/" + "n" * 300 + "/out"}, "File name too long"),
    "exists": ({"output_file": "old"}, "old: exists already (--overwrite replaces it)"),
    "manifest exists": ({"output_file": "x"}, "manifest.x.json: exists already"),
    "work_dir in a file": ({"work_dir": "text.txt/w"}, "text.txt/w: Not a directory"),
    "work_dir in /proc": ({"work_dir": "/proc/new"}, "/proc/new: "),
    "a remote output": ({"output_file": "gs://bucket/a"}, "'gs://bucket/a' is remote"),
}


@pytest.fixture
def strewn(folder) -> Folder:
    """A folder with files that mistakes need."""
    (folder.path / "sub").mkdir()
    (folder.path / "index.a.npy").mkdir()
    (folder.path / "dangling").symlink_to("nowhere")
    vocabulary = (folder.path / "vocab.txt").read_bytes()
    for name, content in {
        "bad.txt": b"ba do\n\nki \xff\n",
        "empty.txt": b"",
        "blank.txt": b"\n \n\n",
        "binary.txt": b"[UNK]\0\x01\n",
        "nomask.txt": vocabulary.replace(b"[MASK]\n", b""),
        "cut.gz": gzip.compress(b"ba do\n" * 999)[:-5],
        "cut.zst": zstandard.compress(os.urandom(999).hex().encode())[:-5],
        "old": b"old",
        "manifest.x.json": b"{}",
    }.items():
        folder.write(name, content)
    return folder


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_and_leaves_nothing(strewn, mistake):
    flags, sentence = MISTAKES[mistake]
    assert sentence in strewn.fail(**flags)


def test_files_without_their_flag(folder):
    """What a shell makes of --input_file *.txt."""
    before = contents(folder.path)
    done = subprocess.run(
        [*folder.command(), "text2.txt"],
        cwd=folder.path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "text2.txt" in only_error(done.stderr)
    assert contents(folder.path) == before


@pytest.mark.parametrize("flags", [{}, {"work_dir": "work", "compression": "gzip"}])
def test_a_full_disk(folder, flags):
    """No file may be larger than so many bytes: one after the other cannot be written."""
    whole = max(len(data or b"") for data in folder.make(output_file="whole/out").values())
    failed = 0
    for max_bytes in (0, 100, 300, 1000, 3000, 7000, 15_000, whole - 1):

        def limit(max_bytes: int = max_bytes) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, max_bytes))

        before = contents(folder.path)
        done = folder.run(before=limit, **flags)
        if done.returncode == 0:  # gzip's largest file is a smaller one
            break
        failed += 1
        sentence = only_error(done.stderr)
        assert sentence.endswith(": File too large"), max_bytes
        assert "/" in sentence or sentence.startswith((".", "out", "index", "manifest"))
        assert contents(folder.path) == before
    assert failed >= 5


@pytest.mark.parametrize("num_kilobytes", [16, 32, 48, 64])
@pytest.mark.parametrize("flags", [{"output_file": "disk/out"}, {"work_dir": "disk"}], ids=str)
def test_a_full_disk_that_is_one(folder, num_kilobytes, flags):
    disk = folder.path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={num_kilobytes}k", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        sentence = folder.fail(dupe_factor=20, **flags)
        assert "disk/" in sentence
        assert sentence.endswith(": No space left on device")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_is_read_only(folder):
    disk = folder.path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a disk")
    try:
        assert "disk: no permission to write" in folder.fail(output_file="disk/out")
        assert "disk/new: Read-only file system" in folder.fail(output_file="disk/new/out")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_folder_without_the_right_to_write(folder):
    if os.getuid() == 0:
        pytest.skip("root may write everywhere")
    (folder.path / "closed").mkdir(mode=0o500)
    assert "closed: no permission to write" in folder.fail(output_file="closed/out")


def test_the_input_is_not_replaced_by_the_output(folder):
    for flags in ({"output_file": "text.txt"}, {"output_file": "vocab.txt"}):
        sentence = folder.fail(overwrite=True, **flags)
        assert sentence == f"output '{flags['output_file']}' is an input too"
