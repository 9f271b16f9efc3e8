"""Fixtures that all tests share, and the settings that must be in place before TensorFlow loads."""

import gc
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tests.goldens.inputs import VOCABULARIES, WORDS

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster

    from tests.work.slurm_cluster import Cluster as SlurmCluster
from bert_data import interrupts
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.storage import file_systems
from tests.forking import TENSORFLOW_MODULES, Programs
from tests.hypotheses import PLAIN
from tests.object_store import ObjectStore, Server
from tests.other_stores import AZURITE, FAKE_GCS, OtherStore, served

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Tests never use an accelerator, so that they give the same results on every machine.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
# As many tests run at a time as there are cores; more threads than cores only wait for each other.
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
# A shell ignores Ctrl-C for what it starts in the background, nohup ignores the end of a terminal,
# and what tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How many examples Hypothesis tries: see tests/hypotheses.py for tests that name a number.
PROFILES = {
    "dev": {},
    "ci": {"derandomize": True, "database": None},
    "quick": {"max_examples": PLAIN * 3 // 10},
    "thorough": {"max_examples": 30 * PLAIN},
}
for name, values in PROFILES.items():
    hypothesis.settings.register_profile(name, deadline=None, print_blob=True, **values)
hypothesis.settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")
)

gc.disable()  # until all modules are imported
interrupts.SECONDS_TO_END = 1e6  # signals of tests are not to end this process

RAY_NODE = {"num_cpus": 1, "object_store_memory": 100_000_000}

CHECKOUT = Path(__file__).resolve().parent.parent


class ProcessGuard:
    """Fails a test that starts a process, itself or by a fixture, without the mark `process`."""

    EVENTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system")

    def __init__(self) -> None:
        self._test: pytest.Item | None = None
        sys.addaudithook(lambda event, _: self._check() if event in self.EVENTS else None)
        # multiprocessing raises none of these events.
        start = BaseProcess.start

        def checked_start(process: BaseProcess) -> None:
            self._check()
            start(process)

        BaseProcess.start = checked_start  # type: ignore[method-assign]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._test = item
        try:
            return (yield)
        finally:
            self._test = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self) -> None:
        self._test = None  # the fixtures that end now may be those of other tests

    def _check(self) -> None:
        if self._test is not None and self._test.get_closest_marker("process") is None:
            pytest.fail("it starts a process: mark it with @pytest.mark.process")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ProcessGuard())


def pytest_collection_finish() -> None:
    """Spare the garbage collector the modules: most of TensorFlow's objects stay to the end.

    Where TensorFlow is among them, it looks for GPUs here: that starts a process, once, and the
    test that came first would have to be marked, whichever that is.
    """
    if "tensorflow" in sys.modules:
        import_tensorflow(finds_devices=False)
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The project's top folder, where the scripts stand."""
    return CHECKOUT


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is found out about tokenizers out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real text and golden files beside the checkout; skips where there is none."""
    folder = CHECKOUT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared (real text and golden files), which is not here")
    return folder


@pytest.fixture(scope="session")
def programs() -> Iterator[Programs]:
    """Runs programs without the time that imports take; see tests/forking.py."""
    programs = Programs(CHECKOUT)
    yield programs
    programs.close()


@pytest.fixture(scope="session")
def tensorflow_programs() -> Iterator[Programs]:
    """Runs programs that need TensorFlow without the time that its import takes."""
    programs = Programs(CHECKOUT, TENSORFLOW_MODULES)
    yield programs
    programs.close()


@pytest.fixture(scope="session")
def ray_folder() -> Iterator[str]:
    """The folder in which Ray keeps its sockets and logs, whose path must be short.

    Workers import this checkout, wherever tests work.
    """
    with (
        tempfile.TemporaryDirectory(
            prefix="ray-", dir="/tmp", ignore_cleanup_errors=True
        ) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("PYTHONPATH", str(CHECKOUT), prepend=os.pathsep)
        yield folder


@pytest.fixture(scope="module")
def ray_cluster(ray_folder: str) -> "Iterator[Cluster]":
    """A Ray cluster of processes: a head and a node, with one core each."""
    from ray.cluster_utils import Cluster

    head = {**RAY_NODE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        cluster.add_node(**RAY_NODE)
        yield cluster
    finally:
        cluster.shutdown()


@pytest.fixture(scope="module")
def slurm_cluster() -> "Iterator[SlurmCluster]":
    """A real Slurm cluster, which SLURM_CONF names; skips where Slurm is not installed."""
    from tests.work.slurm_cluster import Cluster, skip_without_slurm

    skip_without_slurm()
    with (
        tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder,
        pytest.MonkeyPatch.context() as patch,
        Cluster(Path(folder)) as cluster,
    ):
        patch.setenv("SLURM_CONF", str(cluster.conf))
        yield cluster


@pytest.fixture(scope="session")
def small_vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vocabulary file that fits `small_text`, with words of one, two and unknown pieces.

    The special tokens have ids 0 to 4; then come ".", "?", the syllables ("ba"), the same as
    continuations ("##ba") and every third of the two-syllable words in whole. The word "zzz" of
    the text has no pieces: [UNK].
    """
    path = tmp_path_factory.mktemp("small_vocabulary") / "vocab.txt"
    tokens = VOCABULARIES["pieces"]()
    path.write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def small_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text of 40 documents of 1 to 12 sentences of 3 to 17 words, the same in every run."""
    words = [*WORDS, "zzz"]
    state = 1
    documents = []
    for document in range(40):
        sentences = []
        for sentence in range(1 + document * 7 % 12):
            picked = []
            for _ in range(3 + (document * 5 + sentence * 11) % 15):
                state = state * 48271 % 2147483647  # Park and Miller's generator
                picked.append(words[state % len(words)])
            sentences.append(" ".join(picked) + (" ?" if state % 5 == 0 else "."))
        documents.append("\n".join(sentences) + "\n")
    path = tmp_path_factory.mktemp("small_text") / "text.txt"
    path.write_text("\n".join(documents), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def object_server() -> Iterator[Server]:
    """A server that speaks S3 on loopback; the environment has its address, and credentials."""
    server = Server()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment().items():
            patch.setenv(name, value)
        yield server
    server.close()


@pytest.fixture
def object_store(object_server: Server) -> Iterator[ObjectStore]:
    """A fresh bucket of `object_server`, without faults; see tests/object_store.py."""
    store = ObjectStore(object_server)
    store.clear()
    yield store
    store.clear()
    object_server.release()
    file_systems.file_system.cache_clear()  # else the connections to each test's bucket stay


@pytest.fixture(scope="session")
def google_server() -> Iterator[Any]:
    """A server that speaks the protocol of Google's store; skips where it is not installed."""
    if importlib.util.find_spec(FAKE_GCS) is None:
        pytest.skip(f"needs {FAKE_GCS}, of the extra dev, which is not here")
    with served("gs") as server:
        yield server


@pytest.fixture(scope="session")
def azure_server() -> Iterator[Any]:
    """A server that speaks Azure's protocol; skips where its program is not installed."""
    if shutil.which(AZURITE) is None:
        pytest.skip(f"needs {AZURITE} on PATH (npm install azurite), which is not here")
    with served("abfs") as server:
        yield server


@pytest.fixture(params=["s3", "gs", "abfs"])
def any_store(request: pytest.FixtureRequest) -> Iterator[ObjectStore]:
    """A fresh bucket of S3's protocol, Google's and Azure's; see tests/other_stores.py."""
    if request.param == "s3":
        yield request.getfixturevalue("object_store")
        return
    server = {"gs": "google_server", "abfs": "azure_server"}[request.param]
    store = OtherStore(request.getfixturevalue(server), request.param)
    store.clear()
    yield store
    store.clear()
    store.release()
