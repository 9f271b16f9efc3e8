"""Training and applying a classifier, compared with the `fasttext` package.

    python benchmarks/classifier.py --peer=PYTHON > benchmarks/results/classifier.md

PYTHON is an interpreter with fasttext (or fasttext-numpy2-wheel, for NumPy 2). Whole processes that
train are timed from outside, in turn, with the same texts and settings: user and system seconds,
and those on the clock; medians. Both models then judge the same held-out texts, a tenth, by the
code of their own program. Applying is timed inside a process, on one core: CPU seconds for all
texts to train on, once the model is loaded, both with the model that we trained.
"""

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from machine import describe_machine
from token_stores import run

_CORPORA = Path(__file__).resolve().parents[2] / "shared/data/corpora"
_LABELS = "hq", "cc"
_TRAIN_PEER = """
import json, sys, fasttext
path, model, arguments = sys.argv[1:]
fasttext.train_supervised(path, verbose=0, **json.loads(arguments)).save_model(model)
"""
_JUDGE_PEER = """
import sys, time, fasttext
model, path = fasttext.load_model(sys.argv[1]), sys.argv[2]
lines = [line.rstrip("\\n").split(" ", 1) for line in open(path, encoding="utf-8")]
start = time.process_time()
judged = [model.predict(text)[0][0] for _, text in lines]
print(time.process_time() - start, file=sys.stderr)
print("\\n".join(judged))
"""
_JUDGE_OURS = """
import sys, tempfile, time
from bert_data.curation.classifying.label_probability import open_classifier, write_model
lines = [line.rstrip("\\n").split(" ", 1) for line in open(sys.argv[2], encoding="utf-8")]
with tempfile.TemporaryDirectory() as folder:
    from pathlib import Path
    write_model(Path(folder), sys.argv[1], "hq")
    classifier = open_classifier(folder, "hq")
    classifier.score("a text")
    start = time.process_time()
    judged = ["__label__hq" if classifier.score(text) > 0.5 else "__label__cc" for _, text in lines]
    print(time.process_time() - start, file=sys.stderr)
print("\\n".join(judged))
"""


class Task(NamedTuple):
    """Texts of two classes, and the settings of the training: ours and the peer's."""

    name: str
    texts: list[tuple[str, str]]
    ours: dict[str, float]
    peer: dict[str, float]


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--peer", required=True)
    parser.add_argument("--corpora", type=Path, default=_CORPORA)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print("# Training and applying a classifier\n")
    print(f"{describe_machine()}.\n")
    trained, applied = [], []
    for task in tasks(arguments.corpora):
        with tempfile.TemporaryDirectory() as folder:
            rows, speeds = measure(task, Path(folder), arguments.peer, arguments.runs)
        trained += rows
        applied += speeds
        print("\n".join([*rows, *speeds]), file=sys.stderr)
    print("| texts | training | threads | CPU s | s on the clock | F1 |\n|---|---|--:|--:|--:|--:|")
    print("\n".join(trained))
    print("\n| texts | applying | MB per CPU second |\n|---|---|--:|")
    print("\n".join(applied))


def tasks(corpora: Path) -> Iterator[Task]:
    """Yields film reviews by their verdict, and Wikipedia against reviews, 40 words at a time."""
    reviews = (corpora / "movie_reviews.txt").read_text(encoding="utf-8").strip().split("\n\n")
    texts = [(_LABELS[number < 1000], " ".join(t.split())) for number, t in enumerate(reviews)]
    yield Task(
        "2,000 film reviews, 25 epochs",
        texts,
        {"epochs": 25, "learning_rate": 0.5},
        {"epoch": 25, "lr": 0.5, "wordNgrams": 2},
    )
    wiki = (corpora / "wikitext.txt").read_text(encoding="utf-8").replace("<unk>", "")
    parts = [("hq", part) for part in _parts(wiki)]
    parts += [("cc", part) for part in _parts("\n".join(reviews))]
    name = f"{len(parts):,} texts of 40 words"
    yield Task(f"{name}, 5 epochs", parts, {}, {"wordNgrams": 2})
    yield Task(
        f"{name}, characters, 5 epochs",
        parts,
        {"min_characters": 3, "max_characters": 6},
        {"wordNgrams": 2, "minn": 3, "maxn": 6},
    )


def _parts(text: str) -> Iterator[str]:
    words = re.findall("[a-z]+", text.lower())
    for start in range(0, len(words), 40):
        yield " ".join(words[start : start + 40])


def measure(task: Task, folder: Path, peer: str, runs: int) -> tuple[list[str], list[str]]:
    """Returns the rows of a task, on training and on applying."""
    texts = list(task.texts)
    random.Random(0).shuffle(texts)
    num_held_out = len(texts) // 10
    held_out, train = folder / "held_out.txt", folder / "train.txt"
    for path, part in (held_out, texts[:num_held_out]), (train, texts[num_held_out:]):
        path.write_text("".join(f"__label__{label} {text}\n" for label, text in part))
    for label in _LABELS:
        rows = [json.dumps({"text": text}) for each, text in texts[num_held_out:] if each == label]
        (folder / f"{label}.jsonl").write_text("\n".join(rows))
    labels = [f"__label__{label}" for label, _ in texts[:num_held_out]]
    commands, scripts = {}, {"bert_data": (sys.executable, _JUDGE_OURS)}
    scripts["fasttext"] = (peer, _JUDGE_PEER)
    for threads in 1, 2:
        commands["bert_data", threads] = [
            sys.executable, "-m", "bert_data.cli.train_classifier",
            f"--positive_file={folder}/hq.jsonl", f"--negative_file={folder}/cc.jsonl",
            "--positive_label=hq", "--negative_label=cc", "--held_out=0", "--overwrite",
            f"--output_file={folder}/bert_data.bin", f"--num_workers={threads}",
            *(f"--{name}={value}" for name, value in task.ours.items()),
        ]  # fmt: skip
        settings = json.dumps({**task.peer, "thread": threads})
        commands["fasttext", threads] = [
            peer, "-c", _TRAIN_PEER, str(train), f"{folder}/fasttext.bin", settings,
        ]  # fmt: skip
    seconds: dict[tuple[str, int], list[tuple[float, float]]] = {key: [] for key in commands}
    scores: dict[tuple[str, int], list[float]] = {key: [] for key in commands}
    for _ in range(runs):
        for key, command in commands.items():
            seconds[key].append(run(command)[:2])
            model = f"{folder}/{key[0]}.bin"
            scores[key].append(f1(judge(*scripts[key[0]], model, held_out)[0], labels))
    trained = []
    for (name, threads), values in seconds.items():
        cpu, clock = (statistics.median(column) for column in zip(*values, strict=True))
        score = statistics.median(scores[name, threads])
        trained.append(
            f"| {task.name} | {name} | {threads} | {cpu:.1f} | {clock:.1f} | {score:.3f} |"
        )
    applied = []
    for name, (python, script) in scripts.items():
        times = [judge(python, script, f"{folder}/bert_data.bin", train)[1] for _ in range(runs)]
        speed = train.stat().st_size / 1e6 / statistics.median(times)
        applied.append(f"| {task.name} | {name} | {speed:.1f} |")
    return trained, applied


def judge(python: str, script: str, model: str, texts: Path) -> tuple[list[str], float]:
    """Returns the labels that a model gives, and the CPU seconds that it took."""
    done = subprocess.run(
        [python, "-c", script, model, str(texts)], capture_output=True, text=True, check=True
    )
    return done.stdout.split(), float(done.stderr.split()[-1])


def f1(judged: list[str], labels: list[str]) -> float:
    """Returns the mean F1 of the labels."""
    scores = []
    for label in sorted(set(labels)):
        right = sum(a == b == label for a, b in zip(judged, labels, strict=True))
        scores.append(2 * right / (judged.count(label) + labels.count(label)))
    return statistics.mean(scores)


if __name__ == "__main__":
    main()
