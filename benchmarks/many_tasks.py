"""Commands with many files, tasks and outputs of almost no data: what each one more costs.

    python benchmarks/many_tasks.py --files=250,1000 > benchmarks/results/many_tasks.md

Each file has two documents made by formula. CPU of the command's own process and of its tasks, its
memory, and the most files that it had open, with 1,024 allowed as in a shell; twice the files
should cost twice the CPU, no more.
"""

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import threading
from pathlib import Path

from machine import describe_machine

STOP = ["the", "of", "to", "and", "that", "with", "have", "be"]
WORDS = [a + b + c for a in ("ba", "ko", "ri") for b in ("n", "r") for c in ("ing", "ow", "ad")]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *STOP, *WORDS]
_RUN = (
    "import sys; sys.path.insert(0, {folder!r}); import many_tasks; many_tasks.measure({command})"
)
_LOOK_SECONDS = 0.1


def write_text(folder, num_files):
    for number in range(num_files):
        chance = random.Random(number)
        sentences = [" ".join(chance.choices(STOP + WORDS, k=12)) + "." for _ in range(16)]
        rows = [json.dumps({"text": "\n".join(part)}) for part in (sentences[:8], sentences[8:])]
        (folder / f"in-{number:06d}.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")


def commands(folder, n):
    """Yield what is done, and the command."""
    text, vocab = f"--input_file={folder}/in-*.jsonl", f"--vocab_file={folder}/vocab.txt"
    curate = f"curate {text} --preset=gopher --shard_mb=0.001 --output_file={folder}/web.jsonl@{n}"
    yield f"`curate`, {n:,} files to as many", [*curate.split(), "--num_workers=2"]
    tokenize = f"tokenize {text} {vocab} --output_prefix={folder}/s --num_partitions={n}"
    yield f"`tokenize`, {n:,} partitions", [*tokenize.split(), "--num_workers=2"]
    create = f"create {text} {vocab} --output_file={folder}/t@{n} --num_partitions=64"
    create += " --max_seq_length=64 --max_predictions_per_seq=10 --dupe_factor=2"
    yield f"`create`, 64 partitions, {n:,} shards", [*create.split(), "--num_workers=2"]


def measure(command):
    """Run a command in this process, and print what it took to descriptor 3."""
    from bert_data.cli.main import main

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    most, ended = [0], threading.Event()

    def look():
        while not ended.wait(_LOOK_SECONDS):
            most[0] = max(most[0], len(os.listdir("/proc/self/fd")))

    threading.Thread(target=look, daemon=True).start()
    sys.argv = ["bert-data", *command]
    try:
        status = main()
    except SystemExit as end:
        status = end.code
    ended.set()
    own, tasks = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    seconds = [each.ru_utime + each.ru_stime for each in (own, tasks)]
    os.write(3, json.dumps([status, *seconds, own.ru_maxrss // 1000, most[0]]).encode())


def run(command):
    read, write = os.pipe()
    program = _RUN.format(folder=os.path.dirname(__file__), command=command)
    actions = [
        (os.POSIX_SPAWN_DUP2, write, 3),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    process = os.posix_spawn(
        sys.executable, [sys.executable, "-c", program], dict(os.environ), file_actions=actions
    )
    os.close(write)
    with open(read) as file:
        status, *figures = json.loads(file.read())
    os.waitpid(process, 0)
    if status:
        sys.exit(f"{command} ended with status {status}")
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", default="250,1000", help="numbers of files, separated by commas")
    arguments = parser.parse_args()
    print("# Many tasks on almost no data\n")
    print(f"    python benchmarks/many_tasks.py --files={arguments.files}\n")
    print(describe_machine() + "\n")
    print("| command | CPU s of the command | of its tasks | MB of the command | open files |")
    print("|---|--:|--:|--:|--:|")
    for n in map(int, arguments.files.split(",")):
        with tempfile.TemporaryDirectory() as name:
            write_text(Path(name), n)
            for what, command in commands(name, n):
                own, tasks, megabytes, most = run(command)
                print(f"| {what} | {own:.1f} | {tasks:.1f} | {megabytes} | {most} |", flush=True)


if __name__ == "__main__":
    main()
