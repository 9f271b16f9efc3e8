"""Cost of taking documents out of token stores and curated sets, compared with making them anew.

    python benchmarks/forgetting.py > benchmarks/results/forgetting.md

English texts become JSON Lines with ids and URLs, several times over. A share of the documents is
drawn, and goes: `forget` writes what `tokenize` and `create` make anew of the text that is left,
and `curate` with `--without_documents`. Whole processes are timed from outside, in turn, and
medians are printed; the files are compared.
"""

import argparse
import functools
import json
import random
import statistics
import sys
import tempfile
import uuid
from pathlib import Path
from typing import NamedTuple

from machine import describe_machine, run

_HERE = Path(__file__).resolve().parent.parent
_SHARED = _HERE.parent / "shared" / "data"
_TEXTS = ("movie_reviews", "wikitext", "state_union", "inaugural")
_ENDINGS = ("bin", "idx", "provenance")
_STEPS = "gopher_quality gopher_repetition exact_duplicates near_duplicates"


def write_text(paths: list[Path], copies: int, share: float, folder: Path) -> tuple[int, int]:
    """Write all rows, those that stay, and the ids of the others; return bytes and documents."""
    draw, num_bytes, num_documents = random.Random(7), 0, 0
    texts = [
        text.replace("\n", " ").strip()
        for path in paths
        for text in path.read_text(encoding="utf-8").split("\n\n")
        if text.strip()
    ]
    for name in ("all", "left"):
        (folder / name).mkdir()
    with (
        open(folder / "all" / "text.jsonl", "w", encoding="utf-8") as every,
        open(folder / "left" / "text.jsonl", "w", encoding="utf-8") as left,
        open(folder / "ids.txt", "w", encoding="utf-8") as ids,
    ):
        for copy in range(copies):
            for number, text in enumerate(texts):
                name = f"<urn:uuid:{uuid.UUID(int=draw.getrandbits(128))}>"
                url = f"https://site{number % 997}.org/{copy}/{number}"
                row = json.dumps({"id": name, "url": url, "text": text}, ensure_ascii=False) + "\n"
                every.write(row)
                if draw.random() < share:
                    ids.write(f"{name}\n")
                else:
                    left.write(row)
                num_bytes += len(text.encode())
                num_documents += 1
    return num_bytes, num_documents


def _ledger_of(path: Path) -> Path:
    return path.with_name(f"ledger.{path.name}.parquet")


class Task(NamedTuple):
    """Commands: make a store or a set, make it without documents, take these out of it."""

    whole: list[str]
    anew: list[str]
    forget: list[str]
    files: list[tuple[Path, Path]]


def command(name: str, **flags: object) -> list[str]:
    """The command, which replaces what is there."""
    given = [f"--{flag}={value}" for flag, value in flags.items()]
    return [sys.executable, "-m", "bert_data", name, *given, "--overwrite"]


def task_of(kind: str, folder: Path, vocab: Path) -> Task:
    """What is compared: "document" or "sentence", levels of a store, "curated", or "records"."""
    whole, fresh, clean = (folder / f"{kind}-{name}" for name in ("whole", "fresh", "clean"))
    all_text, left, ids = folder / "all/text.jsonl", folder / "left/text.jsonl", folder / "ids.txt"
    if kind == "curated":
        for path in (whole, fresh, clean):
            path.mkdir()
        whole, fresh, clean = (path / "set.jsonl" for path in (whole, fresh, clean))
        curate = functools.partial(command, "curate", input_file=all_text, steps=_STEPS)
        return Task(
            curate(output_file=whole),
            curate(output_file=fresh, without_documents=ids),
            command("forget", input_file=whole, documents=ids, output_prefix=clean),
            [(p(fresh), p(clean)) for p in (Path, _ledger_of)],
        )
    if kind == "records":
        create = functools.partial(command, "create", vocab_file=vocab, dupe_factor=2)
        forget = functools.partial(command, "forget", input_file=whole, vocab_file=vocab)
        return Task(
            create(input_file=all_text, output_file=whole),
            create(input_file=left, output_file=fresh),
            forget(documents=ids, made_from=all_text, output_prefix=clean),
            [(fresh, clean)],
        )
    make = functools.partial(command, "tokenize", vocab_file=vocab, level=kind)
    return Task(
        make(input_file=all_text, output_prefix=whole),
        make(input_file=left, output_prefix=fresh),
        command("forget", input_file=whole, documents=ids, output_prefix=clean),
        [(Path(f"{fresh}.{ending}"), Path(f"{clean}.{ending}")) for ending in _ENDINGS],
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--folder", type=Path, default=_SHARED, help="of corpora/ and vocab/")
    parser.add_argument("--copies", type=int, default=40, help="how often the texts are repeated")
    parser.add_argument("--share", type=float, default=0.001, help="of the documents that go")
    parser.add_argument(
        "--kinds", default="document,sentence,curated,records", help="see `task_of`"
    )
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    paths = [arguments.folder / "corpora" / f"{name}.txt" for name in _TEXTS]
    vocab = arguments.folder / "vocab" / "bert-base-uncased.txt"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        num_bytes, num_documents = write_text(paths, arguments.copies, arguments.share, folder)
        num_gone = len((folder / "ids.txt").read_text().splitlines())
        print("# Taking documents out of token stores and curated sets\n")
        print(f"{describe_machine()}.\n")
        print(
            f"{num_bytes / 1e6:,.0f} MB of English text ({', '.join(_TEXTS)}, {arguments.copies}"
            f" times over) in {num_documents:,} documents with UUIDs and URLs, of which"
            f" {num_gone:,} go. Whole processes, medians of {arguments.runs} runs in turn.\n"
        )
        print("| | anew, CPU s | `forget`, CPU s | share | wall s | wall s | files |")
        print("|---|--:|--:|--:|--:|--:|---|")
        for kind in arguments.kinds.split(","):
            task = task_of(kind, folder, vocab)
            run(task.whole)
            seconds = [(run(task.anew), run(task.forget)) for _ in range(arguments.runs)]
            (cpu, wall), (own_cpu, own_wall) = (
                map(statistics.median, zip(*runs, strict=True))
                for runs in zip(*seconds, strict=True)
            )
            is_same = all(one.read_bytes() == other.read_bytes() for one, other in task.files)
            print(
                f"| {kind} | {cpu:.2f} | {own_cpu:.2f} | {own_cpu / cpu:.1%} | {wall:.2f} |"
                f" {own_wall:.2f} | {'same' if is_same else 'other'} bytes |",
                flush=True,
            )


if __name__ == "__main__":
    main()
