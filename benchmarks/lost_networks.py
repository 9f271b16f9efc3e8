"""Runs on a Ray cluster whose hosts lose their network: how long they take, and their bytes.

    sudo python benchmarks/lost_networks.py --at_a_time=2

Of each cluster, the head, two nodes and the host of the command are namespaces of this machine with
networks of their own (tests/work/hosts.py); the folder that they share needs no network. `curate`
looks for near duplicates in made-up text, and in the middle of its first pass a cable is pulled.
What ends with an error is run again, with all cables in their places.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import describe_machine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.work.hosts import Host, Network

_HERE = Path(__file__).resolve().parent.parent
_NUM_DOCUMENTS, _NUM_WORDS = 24_000, 400
_FIRST_DONE = 5  # tasks
_NODE, _COMMAND, _HEAD = "node-1", "command", "head"
_FAULTS: dict[str, tuple[str, float | None]] = {
    "nobody": (_NODE, 0.0),
    "a node, for 5 s": (_NODE, 5.0),
    "a node, for 40 s": (_NODE, 40.0),
    "a node, for good": (_NODE, None),
    "the command's host, for 5 s": (_COMMAND, 5.0),
    "the command's host, for 40 s": (_COMMAND, 40.0),
    "the command's host, for good": (_COMMAND, None),
    "the head, for good": (_HEAD, None),
}
_CURATE = (
    sys.executable, "-m", "bert_data", "curate", "--input_file=in.jsonl", "--shard_mb=1",
    "--steps=near_duplicates", "--output_file=out/clean.jsonl@2",
)  # fmt: skip
_START = ("ray", "start", "--object-store-memory=100000000")


def write_text(path: Path) -> None:
    """Write documents of random words; every third one is nearly another one."""
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmno", k=draw.randint(2, 9))) for _ in range(5000)]
    earlier: list[list[str]] = []
    with path.open("w") as file:
        for number in range(_NUM_DOCUMENTS):
            document = draw.choices(words, k=_NUM_WORDS)
            if number % 3 == 2:
                document = [*draw.choice(earlier[-500:])[:-1], "end"]
            earlier.append(document)
            file.write(json.dumps({"text": " ".join(document)}) + "\n")


def digest(folder: Path) -> str:
    """Return a digest of the files in a folder that are no longer hidden."""
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith("."):
            total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()


def start(head: Host, nodes: list[Host]) -> list[str]:
    """Start Ray; return the flags of its cluster."""
    head.run(*_START, "--head", "--port=6379", "--num-cpus=1", "--include-dashboard=false")
    for node in nodes:
        cpus = f"--num-cpus={0 if node.name == _COMMAND else 1}"
        node.run(*_START, f"--address={head.address}:6379", cpus)
    return ["--engine=ray", f"--ray_address={head.address}:6379"]


def wait_for_tasks(folder: Path, process: "subprocess.Popen[str]") -> None:
    """Wait until some tasks of the first pass are done."""
    while len([*folder.glob("out/.*/*/pass-0/[0-9]*")]) < _FIRST_DONE and process.poll() is None:
        time.sleep(0.05)


def begin_curate(host: Host, flags: list[str]) -> "subprocess.Popen[str]":
    return host.begin(*_CURATE, *flags, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def try_fault(name: str, text: Path) -> tuple[str, float, int, str, str]:
    """Return (fault, seconds from it to the end, status, digest, the same after another run)."""
    where, seconds = _FAULTS[name]
    with tempfile.TemporaryDirectory(dir=text.parent) as place:
        shared = Path(place)
        os.link(text, shared / "in.jsonl")
        with Network(shared) as network:
            hosts = {each: network.add(each) for each in (_HEAD, _NODE, "node-2", _COMMAND)}
            flags = start(hosts[_HEAD], [hosts[_NODE], hosts["node-2"], hosts[_COMMAND]])
            process = begin_curate(hosts[_COMMAND], flags)
            wait_for_tasks(shared, process)
            begun = time.monotonic()
            if seconds != 0:
                hosts[where].cut()
            if seconds:
                time.sleep(seconds)
                hosts[where].join()
            status = process.wait()
            took = time.monotonic() - begun
            hosts[where].join()
        made = digest(shared / "out")
        if status:  # again, with another cluster
            with Network(shared) as network:
                head = network.add(_HEAD)
                begin_curate(head, start(head, [])).wait()
        return name, took, status, made, digest(shared / "out")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at_a_time", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to work")
    flags = parser.parse_args()
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    os.environ |= {"PYTHONPATH": str(_HERE), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "ab" * 32}
    with tempfile.TemporaryDirectory(dir=flags.folder) as place:
        text = Path(place, "in.jsonl")
        write_text(text)
        local = (*_CURATE, "--num_workers=2")
        subprocess.run(local, cwd=place, check=True, capture_output=True)
        expected = digest(Path(place, "out"))
        print(describe_machine(), end="\n\n")
        print("| network lost by | s until the end | status | bytes | bytes after a second run |")
        print("|---|---|---|---|---|")
        with concurrent.futures.ThreadPoolExecutor(flags.at_a_time) as pool:
            for name, took, status, made, again in pool.map(
                lambda name: try_fault(name, text), _FAULTS
            ):
                first = "the same" if made == expected else "DIFFERENT" if not status else "none"
                second = "the same" if again == expected else "DIFFERENT"
                print(f"| {name} | {took:.0f} | {status} | {first} | {second} |", flush=True)


if __name__ == "__main__":
    main()
