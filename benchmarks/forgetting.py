"""Cost of taking documents out of a token store, compared with tokenizing the text without them.

    python benchmarks/forgetting.py > benchmarks/results/forgetting.md

English texts become JSON Lines with ids and URLs, several times over. A share of the documents is
drawn, and goes: `forget` writes the store without them, `tokenize` makes it anew of the text that
is left. Whole processes are timed from outside, in turn, and medians are printed; the files are
compared.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import uuid
from pathlib import Path

from machine import describe_machine, run

_HERE = Path(__file__).resolve().parent.parent
_SHARED = _HERE.parent / "shared" / "data"
_TEXTS = ("movie_reviews", "wikitext", "state_union", "inaugural")
_ENDINGS = ("bin", "idx", "provenance")


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


def tokenize(folder: Path, prefix: Path, vocab: Path, level: str) -> list[str]:
    """The command that makes a store of the text of a folder."""
    return [
        sys.executable, "-m", "bert_data", "tokenize", f"--input_file={folder}/text.jsonl",
        f"--output_prefix={prefix}", f"--vocab_file={vocab}", f"--level={level}", "--overwrite",
    ]  # fmt: skip


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--folder", type=Path, default=_SHARED, help="of corpora/ and vocab/")
    parser.add_argument("--copies", type=int, default=40, help="how often the texts are repeated")
    parser.add_argument("--share", type=float, default=0.001, help="of the documents that go")
    parser.add_argument("--levels", default="document,sentence", help="of the stores")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    paths = [arguments.folder / "corpora" / f"{name}.txt" for name in _TEXTS]
    vocab = arguments.folder / "vocab" / "bert-base-uncased.txt"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        num_bytes, num_documents = write_text(paths, arguments.copies, arguments.share, folder)
        num_gone = len((folder / "ids.txt").read_text().splitlines())
        print("# Taking documents out of a token store\n")
        print(f"{describe_machine()}.\n")
        print(
            f"{num_bytes / 1e6:,.0f} MB of English text ({', '.join(_TEXTS)}, {arguments.copies}"
            f" times over) in {num_documents:,} documents with UUIDs and URLs, of which"
            f" {num_gone:,} go. Whole processes, medians of {arguments.runs} runs in turn.\n"
        )
        print("| level | `tokenize`, CPU s | `forget`, CPU s | share | wall s | wall s | files |")
        print("|---|--:|--:|--:|--:|--:|---|")
        for level in arguments.levels.split(","):
            store, fresh, clean = (folder / f"{level}-{kind}" for kind in ("all", "fresh", "clean"))
            run(tokenize(folder / "all", store, vocab, level))
            anew = tokenize(folder / "left", fresh, vocab, level)
            forget = [
                sys.executable, "-m", "bert_data", "forget", f"--input_file={store}", "--overwrite",
                f"--documents={folder}/ids.txt", f"--output_prefix={clean}",
            ]  # fmt: skip
            seconds = [(run(anew), run(forget)) for _ in range(arguments.runs)]
            (cpu, wall), (own_cpu, own_wall) = (
                map(statistics.median, zip(*runs, strict=True))
                for runs in zip(*seconds, strict=True)
            )
            is_same = all(
                Path(f"{fresh}.{ending}").read_bytes() == Path(f"{clean}.{ending}").read_bytes()
                for ending in _ENDINGS
            )
            print(
                f"| {level} | {cpu:.2f} | {own_cpu:.2f} | {own_cpu / cpu:.1%} | {wall:.2f} |"
                f" {own_wall:.2f} | {'same' if is_same else 'other'} bytes |",
                flush=True,
            )


if __name__ == "__main__":
    main()
