"""Commands on a Ray cluster of hosts with networks, names, processes and a /tmp of their own.

head 10.77.0.1    node-1 10.77.0.2    node-2 10.77.0.3
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

from bert_data.tokens.store_making import StoreConfig, make_stores
from tests.work.hosts import Host, Network, why_not

pytestmark = [pytest.mark.process, pytest.mark.slow]
TOKEN = "0123456789abcdef" * 4


@pytest.fixture(scope="module")
def hosts(tmp_path_factory, checkout):
    """The folder that hosts share, and the hosts."""
    reason = why_not(checkout) or why_not(Path(sys.prefix))
    if reason:
        pytest.skip(reason)
    shared = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch, Network(shared) as network:
        patch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
        patch.setenv("PYTHONPATH", str(checkout))
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", TOKEN)
        yield shared, [network.add(name) for name in ("head", "node-1", "node-2")]


def tokenize(host: Host, address: str, *flags: str, is_checked: bool = True) -> str:
    """Run the command; its text and vocabulary are in the shared folder."""
    command = (sys.executable, "-m", "bert_data", "tokenize", "--input_file=text.txt")
    cluster = ("--engine=ray", f"--ray_address={address}:6379")
    common = ("--vocab_file=vocab.txt", "--output_prefix=out/s", "--num_partitions=5")
    return host.run(*command, *common, *cluster, *flags, is_checked=is_checked)


def test_hosts_write_what_one_machine_writes(hosts, tmp_path, small_text, small_vocabulary):
    shared, (head, *nodes) = hosts
    shutil.copy(small_text, shared / "text.txt")
    shutil.copy(small_vocabulary, shared / "vocab.txt")
    common = ("--num-cpus=1", "--object-store-memory=100000000")
    head.run("ray", "start", "--head", "--port=6379", "--include-dashboard=false", *common)
    for node in nodes:
        node.run("ray", "start", f"--address={head.address}:6379", *common)
    assert "3 nodes with 3 cores" in tokenize(head, head.address)
    make_stores(
        StoreConfig(
            input_file=str(shared / "text.txt"),
            vocab_file=str(shared / "vocab.txt"),
            output_prefix=str(tmp_path / "local" / "s"),
            num_partitions=5,
        )
    )
    written, local = Path(shared, "out"), tmp_path / "local"
    assert contents(written) == contents(local)
    assert len(contents(local)) == 5 * 4


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_head_without_a_network_is_named(hosts):
    _, (head, node, _) = hosts
    head.cut()
    try:
        printed = tokenize(node, head.address, "--overwrite", is_checked=False)
    finally:
        head.join()
    line = printed.splitlines()[-1]
    assert "error: no head of a Ray cluster answers at '10.77.0.1:6379': " in line
