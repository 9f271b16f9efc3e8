"""Hadoop's file system: what its errors mean, and, where there is a cluster, what it does."""

import os
import re
import signal
import subprocess
import sys
import threading

import pytest
from pyarrow import fs

from bert_data import storage
from bert_data.storage import file_systems
from bert_data.storage.remote_files import RemoteFiles, upload
from bert_data.storage.schemes import hadoop
from bert_data.storage.schemes.hadoop import HadoopFiles, explain

SETTINGS = ("ARROW_LIBHDFS_DIR", "HADOOP_HOME", "JAVA_HOME", "CLASSPATH")
READ = "import sys; from bert_data import storage; print(storage.read_bytes(sys.argv[1]))"
UPLOAD = """
import sys
from bert_data.storage.remote_files import upload
upload(sys.argv[1], sys.argv[2])
"""
WRITE_SET = """
import os, signal, sys
from bert_data.storage import OutputSet
from bert_data.storage.schemes.hadoop import HadoopFiles
names, killed = sys.argv[1].split(","), sys.argv[2]
move = HadoopFiles.move
def move_or_die(self, source, target):
    if killed and target.endswith(killed):
        os.kill(os.getpid(), signal.SIGKILL)
    move(self, source, target)
HadoopFiles.move = move_or_die
with OutputSet(names[0], names, reads=[], overwrite=False) as outputs:
    for name in names:
        with outputs.open(name) as file:
            file.write(b"content")
    outputs.commit(names[:-1], names[-1:])
"""
INTERRUPTED = """
import os, signal, sys
from bert_data import storage
storage.exists(sys.argv[1])
try:
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()
except KeyboardInterrupt:
    print("cleaned up")
"""
FORKED = """
import os, sys
from bert_data import storage
storage.exists(sys.argv[1])
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
try:
    storage.exists(sys.argv[1])
except OSError as error:
    print(error.strerror)
"""
OPEN = "hdfsOpenFile(/a): FileSystem#open((Lorg/apache/hadoop/fs/Path;I)Lx/y;) error:\n"
STACK = "\tat org.apache.hadoop.ipc.Client.call(Client.java:1457)\n\t... 21 more\n"


@pytest.mark.parametrize(
    ("error", "said", "kind", "sentence"),
    [
        (  # libhdfs 2: the stack only
            OSError(255, "Unknown error 255"),
            f"{OPEN}java.net.ConnectException: Call From a/1.2.3.4 to b:1 failed on connection"
            " exception: java.net.ConnectException: Connection refused; For more details see: "
            f" http://wiki\n{STACK}Caused by: java.net.ConnectException: Connection refused\n",
            ConnectionRefusedError,
            "the cluster cannot be reached (ConnectException: Call From a/1.2.3.4 to b:1 failed on"
            " connection exception: java.net.ConnectException: Connection refused)",
        ),
        (  # libhdfs 3: the root cause, and the stack right after it
            OSError(255, "Unknown error 255"),
            f"{OPEN}ConnectException: Connection refusedjava.net.ConnectException: Call From\n",
            ConnectionRefusedError,
            "the cluster cannot be reached (ConnectException: Connection refused)",
        ),
        (
            OSError(255, "Unknown error 255"),
            f"{OPEN}org.apache.hadoop.ipc.RemoteException(org.apache.hadoop.hdfs.protocol."
            f"NSQuotaExceededException): The NameSpace quota of directory /q is exceeded\n{STACK}",
            OSError,
            "a quota is exceeded (The NameSpace quota of directory /q is exceeded)",
        ),
        (
            OSError(30, "Read-only file system"),
            f"{OPEN}RemoteException: Cannot create file/a. Name node is in safe mode.\nIt was\n",
            OSError,
            "the namenode is in safe mode, and changes nothing (Cannot create file/a. Name node is"
            " in safe mode)",
        ),
        (
            PermissionError(13, "Permission denied"),
            f"{OPEN}RemoteException: Permission denied: user=bob, access=WRITE,"
            ' inode="/out/.a.b.node7-89abcdef01234567.writing":root:supergroup:drwxr-xr-x\n'
            "org.apache.hadoop.security.AccessControlException: Permission denied\n",
            PermissionError,
            "access is forbidden (Permission denied: user=bob, access=WRITE,"
            ' inode="/out/a.b":root:supergroup:drwxr-xr-x)',
        ),
        (PermissionError(13, "Permission denied"), "", PermissionError, "access is forbidden"),
        (
            OSError(255, "Unknown error 255"),
            f"{OPEN}(unable to get stack trace for java.io.EOFException exception: E::g error.)\n",
            ConnectionRefusedError,
            "the cluster cannot be reached (EOFException)",
        ),
        (
            OSError(255, "HDFS Write failed. Detail: [errno 255] Unknown error 255"),
            f"{OPEN}IOException: All datanodes [a:1] are bad. Aborting...java.io.IOException: A\n",
            OSError,
            "no datanode could read or write the data (IOException: All datanodes [a:1] are bad."
            " Aborting)",
        ),
        (
            OSError(5, "HDFS Rename failed. Detail: [errno 5] Input/output error"),
            "",
            OSError,
            "Hadoop failed (HDFS Rename failed)",
        ),
        (
            OSError("Unable to load libjvm\ndlopen(/a/libjvm.so) failed: /a/libjvm.so: cannot"),
            "",
            OSError,
            "libjvm.so cannot be loaded; hdfs:// needs ARROW_LIBHDFS_DIR, ",
        ),
        (
            OSError("HDFS connection failed"),
            "loadFileSystems error:\n(unable to get root cause for java.lang.NoClassDefFoundError)",
            OSError,
            "CLASSPATH leads to no Hadoop; hdfs:// needs ARROW_LIBHDFS_DIR, ",
        ),
        (FileNotFoundError(2, "none"), "", FileNotFoundError, "No such file or directory"),
    ],
)
def test_what_an_error_means(error, said, kind, sentence):
    explained = explain(error, said)
    assert type(explained) is kind and explained.errno
    assert explained.strerror == sentence or sentence.endswith(", ")
    assert explained.strerror.startswith(sentence)


class Unreachable:
    """pyarrow's answers about a namenode that does not answer."""

    error = OSError(255, "HDFS list directory failed. Detail: [errno 255] Unknown error 255")

    def get_file_info(self, what: str | fs.FileSelector) -> fs.FileInfo:
        if isinstance(what, str):
            return fs.FileInfo(what, type=fs.FileType.NotFound)
        raise self.error

    num_refusals = 0

    def move(self, source: str, target: str) -> None:
        self.num_refusals -= 1
        if self.num_refusals >= 0:
            raise OSError(5, "HDFS Rename failed. Detail: [errno 5] Input/output error")

    def delete_file(self, key: str) -> None:
        raise OSError(5, "HDFS delete failed. Detail: [errno 5] Input/output error")


@pytest.fixture
def namenode(monkeypatch):
    """hdfs://h leads to the answers of `Unreachable`."""
    system = Unreachable()
    monkeypatch.setattr(file_systems, "file_system", lambda *_: (HadoopFiles(system), "/"))
    return system


@pytest.mark.parametrize(
    "ask",
    [
        storage.exists,
        storage.read_status,
        storage.read_bytes,
        storage.file_size,
        storage.list_folder,
        storage.remove,
        storage.expand_inputs,
        lambda path: storage.glob(f"{path}*"),
        lambda path: storage.refuse_existing([path], overwrite=False),
    ],
)
def test_what_cannot_be_asked_is_not_missing(namenode, ask):
    with pytest.raises(OSError, match="Hadoop failed") as caught:
        ask("hdfs://h/x/a")
    assert not isinstance(caught.value, FileNotFoundError)
    namenode.error = PermissionError(13, "HDFS list directory failed. Detail: [errno 13] Perm")
    with pytest.raises(PermissionError, match="access is forbidden"):
        ask("hdfs://h/x/a")


@pytest.mark.parametrize("kind", [FileNotFoundError(2, "none"), NotADirectoryError(20, "none")])
def test_what_is_missing(namenode, kind):
    namenode.error = kind
    assert storage.read_status("hdfs://h/x/a") is None and storage.glob("hdfs://h/x/*") == []
    storage.remove("hdfs://h/x/a")
    with pytest.raises(FileNotFoundError, match="No such file"):
        storage.read_bytes("hdfs://h/x/a")


def test_a_name_that_another_process_takes_at_the_same_moment(namenode):
    namenode.error = FileNotFoundError(2, "none")
    namenode.num_refusals = 3
    HadoopFiles(namenode).move("/a", "/b")
    assert namenode.num_refusals == -1
    namenode.num_refusals = 100
    with pytest.raises(OSError, match=r"Hadoop failed \(HDFS Rename failed\)"):
        HadoopFiles(namenode).move("/a", "/b")


def test_an_address_in_brackets_is_no_pattern(namenode):
    namenode.error = FileNotFoundError(2, "none")
    assert storage.glob("hdfs://[::1]:8020/a") == []
    assert storage.glob("hdfs://[::1]:8020/[a]") == []


def test_options_of_a_uri(monkeypatch):
    opened = []
    monkeypatch.setattr(
        fs, "HadoopFileSystem", lambda *place, **options: opened.append((place, options))
    )
    monkeypatch.setenv("CLASSPATH", "a.jar")
    monkeypatch.setenv("LIBHDFS_OPTS", "-Xmx1g")
    hadoop.open_hadoop("hdfs://Name:8020", "")
    hadoop.open_hadoop("hdfs://bob@nameservice1", "?replication=2&buffer_size=4096")
    hadoop.open_hadoop("viewfs://", "?user=eve")
    assert opened == [
        (("hdfs://Name", 8020), {"replication": 0}),
        (("hdfs://nameservice1", 0), {"user": "bob", "replication": 2, "buffer_size": 4096}),
        (("viewfs:///", 0), {"user": "eve", "replication": 0}),
    ]
    assert os.environ["LIBHDFS_OPTS"] == "-Xmx1g -Xrs"  # or Ctrl-C would end Python at once
    with pytest.raises(ValueError, match="option 'usr' must be one of user, replication, "):
        storage.read_bytes("hdfs://h/a?usr=x")
    with pytest.raises(ValueError, match="option 'replication' is 'two'; it must be a number"):
        storage.read_bytes("hdfs://h/a?replication=two")


@pytest.mark.process
@pytest.mark.parametrize("classpath", ["", "a.jar"])
def test_without_hadoop_one_sentence_says_what_to_set(programs, tmp_path, classpath):
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    environment |= {"CLASSPATH": classpath, "JAVA_HOME": str(tmp_path)}
    command = ["-m", "bert_data.cli.train_vocab", "--input_file=hdfs://127.0.0.1:1/a"]
    command += ["--vocab_size=9", "--output_file=v.txt"]
    done = programs.run(command, cwd=tmp_path, env=environment)
    (line,) = done.stderr.splitlines()
    reason = "lib(jvm|hdfs).so cannot be loaded" if classpath else "CLASSPATH is not set"
    assert re.search(f"hdfs://127.0.0.1:1/a: {reason}; hdfs:// needs ARROW_LIBHDFS_DIR, ", line)
    assert done.returncode == 1


@pytest.fixture
def source(tmp_path):
    (tmp_path / "a").write_bytes(b"0123456" * (3 << 20))
    return tmp_path / "a"


def run(code: str, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code, *arguments]
    both = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=both)


def test_names(hadoop_folder):
    uri = hadoop_folder.uri
    for key in ("in/a.txt", "in/x/b%20 ü.txt", "in/.b.txt", "inn"):
        hadoop_folder.put(key, key.encode())
    assert storage.list_folder(uri("in")) == storage.list_folder(uri("in/"))
    assert storage.list_folder(uri("in")) == [".b.txt", "a.txt", "x"]
    assert storage.glob(uri("*/*.txt")) == [uri("in/.b.txt"), uri("in/a.txt")]
    assert list(storage.walk_files(uri("in"))) == [uri("in/a.txt"), uri("in/x/b%20 ü.txt")]
    assert storage.read_bytes(uri("in/x/b%20 ü.txt")).decode() == "in/x/b%20 ü.txt"
    doubled = uri("in/a.txt").replace("/bert_data", "//bert_data").replace("in/", "in//")
    assert storage.read_bytes(doubled) == b"in/a.txt"
    assert storage.folder_size(uri("in")) == sum(map(len, ("in/a.txt", "in/.b.txt"))) + 16
    statuses = storage.read_statuses([uri("in"), uri("inn"), uri("none"), uri("inn/x")])
    assert [status and status.is_folder for status in statuses] == [True, False, None, None]
    storage.remove(uri("inn"))
    storage.remove(uri("inn"))
    storage.remove_folder(uri("in"))
    storage.remove_folder(uri("in"))
    assert hadoop_folder.keys() == []


def test_what_cannot_be_read_or_written(hadoop_folder, source, capfd):
    hadoop_folder.put("in/a", b"")
    uri = hadoop_folder.uri
    with pytest.raises(FileNotFoundError, match="No such file"):
        storage.read_bytes(uri("none"))
    with pytest.raises(IsADirectoryError):
        storage.read_bytes(uri("in"))
    with pytest.raises(IsADirectoryError):
        upload(source, uri("in"))
    with pytest.raises(FileExistsError, match="is not a directory"):
        upload(source, uri("in/a/b"))
    with pytest.raises(OSError, match=r"Pathname .*/a:b.* is not a valid"):
        upload(source, uri("a:b"))
    assert storage.read_bytes(uri("in/a")) == b"" and hadoop_folder.keys() == ["in/a"]
    assert "at org.apache" not in capfd.readouterr().err


def test_ranges(hadoop_folder):
    content = bytes(range(256)) * 10_000
    hadoop_folder.put("a", content)
    files = RemoteFiles([hadoop_folder.uri("a")], [len(content)])
    found = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(files.read(0, n * 99_991, 300)))
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(content[n * 99_991 :][:300] for n in range(20))
    assert storage.map_file(hadoop_folder.uri("a")).data.tobytes() == content


def test_an_upload_replaces_a_file(hadoop_folder, source):
    hadoop_folder.put("a", b"before")
    upload(source, hadoop_folder.uri("a"))
    assert hadoop_folder.contents() == {"a": source.read_bytes()}


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_kill_in_an_upload_replaces_nothing(hadoop_folder, tmp_path, number):
    """Files are written under hidden names; the next run of the same set removes them."""
    os.mkfifo(tmp_path / "pipe")
    hadoop_folder.put("a", b"before")
    command = [sys.executable, "-c", UPLOAD, str(tmp_path / "pipe"), hadoop_folder.uri("a")]
    with (
        subprocess.Popen(command, stderr=subprocess.DEVNULL) as process,
        open(tmp_path / "pipe", "wb") as pipe,
    ):
        pipe.write(bytes(20 << 20))
        process.send_signal(number)
    assert process.returncode == (-number if number == signal.SIGKILL else -signal.SIGINT)
    left = hadoop_folder.uploads()
    assert len(left) == (number == signal.SIGKILL)
    assert storage.glob(hadoop_folder.uri("*")) == [hadoop_folder.uri("a")]
    assert hadoop_folder.get("a") == b"before"


@pytest.mark.process
@pytest.mark.parametrize("killed", ["b", "m"])
def test_the_next_run_removes_what_a_killed_one_left(hadoop_folder, tmp_path, killed):
    names = ",".join(hadoop_folder.uri(f"out/{name}") for name in "abm")
    done = run(WRITE_SET, names, killed, TMPDIR=str(tmp_path))
    assert done.returncode == -signal.SIGKILL
    assert hadoop_folder.uploads() and not hadoop_folder.get("out/m")
    done = run(WRITE_SET, names, "", TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert hadoop_folder.contents("out/") == dict.fromkeys("abm", b"content")


@pytest.mark.process
def test_a_user_without_permission(hadoop_folder):
    hadoop_folder.put("a", b"content")
    uri = hadoop_folder.uri("a").replace("hdfs://", "hdfs://nobody@")
    line = run(UPLOAD, __file__, uri).stderr.splitlines()[-1]
    assert "PermissionError: [Errno 13] access is forbidden (" in line
    assert "Permission denied: user=nobody, access=WRITE" in line
    assert hadoop_folder.contents() == {"a": b"content"}


@pytest.mark.process
def test_ctrl_c_after_java_has_started(hadoop_folder):
    done = run(INTERRUPTED, hadoop_folder.uri("a"), LIBHDFS_OPTS="")
    assert (done.returncode, done.stdout) == (0, "cleaned up\n")


@pytest.mark.process
def test_a_forked_process_is_refused(hadoop_folder):
    done = run(FORKED, hadoop_folder.uri("a"))
    assert done.returncode == 0 and "was forked from one that has used it" in done.stdout


@pytest.mark.process
def test_a_namenode_that_is_not_there(hadoop_folder):
    done = run(READ, "hdfs://127.0.0.1:1/a")
    assert "the cluster cannot be reached" in done.stderr.splitlines()[-1]
    assert "at org.apache" not in done.stderr
