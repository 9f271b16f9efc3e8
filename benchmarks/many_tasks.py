"""Commands with many files, tasks and outputs of almost no data: what each one more costs.

    python benchmarks/many_tasks.py --files=250,1000 > benchmarks/results/many_tasks.md

Each file has two documents made by formula. CPU of the command's own process and of its tasks, its
memory, and the most files that it had open, with 1,024 allowed as in a shell; twice the files
should cost twice the CPU, no more. Then, on much data, two runs at once of one worker and half of
it each beside one run of two workers, in turn: what workers cost in wall seconds.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
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


def commands_on_much(text, folder, output, n):
    """Yield the commands of n workers, which write four files each."""
    text, vocab = [f"--input_file={text}", f"--num_workers={n}"], f"--vocab_file={folder}/vocab.txt"
    make = [*text, vocab, f"--num_partitions={4 * n}"]
    yield ["create", *make, "--dupe_factor=1", f"--output_file={output}/t@{4 * n}"]
    yield ["tokenize", *make, "--level=sentence", f"--output_prefix={output}/s"]
    yield ["curate", *text, "--steps=gopher_quality", f"--output_file={output}/c.jsonl@{4 * n}"]


def wall_seconds(commands):
    """Run commands at once."""
    start, null = time.monotonic(), subprocess.DEVNULL
    started = [[sys.executable, "-m", "bert_data", *each, "--overwrite"] for each in commands]
    running = [subprocess.Popen(command, stderr=null) for command in started]
    if any(map(subprocess.Popen.wait, running)):
        sys.exit(f"{commands} failed")
    return time.monotonic() - start


def compare_workers(folder, megabytes, num_runs):
    write_text(folder, 1000)
    rows = "".join(path.read_text() for path in sorted(folder.glob("in-*.jsonl"))).splitlines()
    text = "".join(f"{json.loads(row)['text']}\n\n" for row in rows)
    halves = [folder / "much-0.txt", folder / "much-1.txt"]
    for half in halves:
        half.write_text(text * (megabytes * 500_000 // len(text)))
    apart = zip(*(commands_on_much(half, folder, f"{half}.out", 1) for half in halves), strict=True)
    together = commands_on_much(f"{folder}/much-*.txt", folder, f"{folder}/out", 2)
    print(f"\nTwo workers on {megabytes} MB of text, medians of {num_runs} runs in turn\n")
    print("| command | two runs at once, s | one run, s | ratio |\n|---|--:|--:|--:|")
    for pair, one in zip(apart, together, strict=True):
        seconds = [(wall_seconds(pair), wall_seconds([one])) for _ in range(num_runs + 1)][1:]
        two, both = map(statistics.median, zip(*seconds, strict=True))
        print(f"| `{one[0]}` | {two:.1f} | {both:.1f} | {two / both:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", default="250,1000", help="numbers of files, separated by commas")
    parser.add_argument("--megabytes", type=int, default=100, help="of text for two workers")
    parser.add_argument("--runs", type=int, default=5)
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
    with tempfile.TemporaryDirectory() as name:
        compare_workers(Path(name), arguments.megabytes, arguments.runs)


if __name__ == "__main__":
    main()
