"""Speed of turning text into token stores, compared with programs that call `tokenizers`.

    python benchmarks/token_stores.py > benchmarks/results/token_stores.md

English texts become JSON Lines, one document per line, several times over. Whole processes are
timed from outside, in turn, and medians are printed: MB of text per CPU second (user and system),
start and end included. `preprocess_peer.py` stands in for Megatron-LM's preprocess_data and NeMo
Curator's writer. The files of all programs that run the same tokenizer are compared.
"""

import argparse
import dataclasses
import importlib.metadata
import json
import statistics
import sys
import tempfile
from pathlib import Path

from creating import run
from machine import describe_machine

_HERE = Path(__file__).resolve().parent.parent
_SHARED = _HERE.parent / "shared" / "data"
_LIBRARIES = ("tokenizers", "fastokens")  # fastokens runs our BPE
_TEXTS = ("movie_reviews", "wikitext", "state_union", "inaugural")
_PEER = str(Path(__file__).with_name("preprocess_peer.py"))


@dataclasses.dataclass(frozen=True)
class Row:
    """A program that is timed: its name, its command but for the prefix, which row it equals."""

    name: str
    command: list[str]
    peer_of: str


def write_text(paths: list[Path], copies: int, out: Path) -> int:
    """Writes documents as JSON Lines; returns the bytes of text."""
    documents = [
        document.replace("\n", " ").strip()
        for path in paths
        for document in path.read_text(encoding="utf-8").split("\n\n")
        if document.strip()
    ]
    with open(out, "w", encoding="utf-8") as file:
        for _ in range(copies):
            for number, document in enumerate(documents):
                row = {"id": number, "text": document}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return copies * sum(len(document.encode()) for document in documents)


def make_tokenizers(vocab: Path, text: Path, folder: Path) -> tuple[str, str]:
    """A WordPiece tokenizer.json of the vocabulary, and byte-level BPE of the text, as GPT-2's."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokens = vocab.read_text(encoding="utf-8").splitlines()
    wordpiece = Tokenizer(
        models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]")
    )
    wordpiece.normalizer = normalizers.BertNormalizer(lowercase=True)
    wordpiece.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    wordpiece.save(str(folder / "wordpiece.json"))
    pairs = Tokenizer(models.BPE())
    pairs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=32_000,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    pairs.train([str(text)], trainer)
    pairs.save(str(folder / "bpe.json"))
    return str(folder / "wordpiece.json"), str(folder / "bpe.json")


def programs(text: Path, wordpiece: str, bpe: str) -> list[Row]:
    """The timed programs; the first of each group is ours."""

    def ours(tokenizer: str, *flags: str) -> list[str]:
        return [
            sys.executable, "-m", "bert_data.cli.tokenize", f"--input_file={text}",
            f"--tokenizer_file={tokenizer}", "--overwrite", *flags,
        ]  # fmt: skip

    def peer(tokenizer: str) -> list[str]:
        return [sys.executable, _PEER, str(text), tokenizer]

    rows = []
    for kind, tokenizer in (("WordPiece", wordpiece), ("BPE", bpe)):
        name = f"bert_data, {kind}, 1 thread"
        rows.append(Row(name, ours(tokenizer, "--num_workers=1"), name))
        rows.append(Row(f"bert_data, {kind}, all cores", ours(tokenizer), name))
        rows.append(Row(f"`tokenizers`, {kind}, in batches", [*peer(tokenizer), "batch"], name))
        rows.append(Row(f"a document at a time, {kind}", [*peer(tokenizer), "one"], name))
    name = "bert_data, WordPiece, sentences by sentencex"
    rows.append(Row(name, ours(wordpiece, "--num_workers=1", "--level=sentence"), name))
    return rows


def measure(rows: list[Row], folder: Path, num_runs: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds of each run of each program, in turn; the files are left in the folder."""
    seconds: dict[str, list[tuple[float, float]]] = {row.name: [] for row in rows}
    for _ in range(num_runs):
        for number, row in enumerate(rows):
            prefix = str(folder / f"store{number}")
            ours = "bert_data.cli.tokenize" in row.command
            place = [f"--output_prefix={prefix}"] if ours else []
            command = (
                [*row.command, *place] if ours else [*row.command[:-1], prefix, row.command[-1]]
            )
            took = run(command)
            seconds[row.name].append((took.cpu, took.wall))
    return seconds


def same_files(rows: list[Row], folder: Path, number: int) -> str:
    """Whether the store of a row is that of its group's first, byte for byte."""
    first = next(i for i, row in enumerate(rows) if row.name == rows[number].peer_of)
    if first == number:
        return ""
    pairs = [
        [(folder / f"store{i}{ending}").read_bytes() for i in (first, number)]
        for ending in (".bin", ".idx")
    ]
    return "same bytes" if all(ours == theirs for ours, theirs in pairs) else "other bytes"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--folder", type=Path, default=_SHARED, help="of corpora/ and vocab/")
    parser.add_argument("--copies", type=int, default=4, help="how often the texts are repeated")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    paths = [arguments.folder / "corpora" / f"{name}.txt" for name in _TEXTS]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = folder / "text.jsonl"
        num_bytes = write_text(paths, arguments.copies, text)
        vocab = arguments.folder / "vocab" / "bert-base-uncased.txt"
        rows = programs(text, *make_tokenizers(vocab, paths[0], folder))
        run([*rows[0].command, f"--output_prefix={folder}/first"])  # compiles, if nothing else has
        seconds = measure(rows, folder, arguments.runs)
        print("# Text to token stores\n")
        versions = ", ".join(f"{n} {importlib.metadata.version(n)}" for n in _LIBRARIES)
        print(f"{describe_machine()}; {versions}.\n")
        print(
            f"{num_bytes / 1e6:.1f} MB of English text ({', '.join(_TEXTS)}, {arguments.copies}"
            " times over) as JSON Lines, documents of one line; bert-base-uncased's vocabulary, and"
            f" BPE of 32,000 tokens. Whole processes, medians of {arguments.runs} runs in turn.\n"
        )
        print("| program | CPU s | MB a CPU s | wall s | times ours, CPU | its files |")
        print("|---|--:|--:|--:|--:|---|")
        for number, row in enumerate(rows):
            cpu, wall = map(statistics.median, zip(*seconds[row.name], strict=True))
            base = statistics.median(each for each, _ in seconds[row.peer_of])
            same = same_files(rows, folder, number)
            print(
                f"| {row.name} | {cpu:.2f} | {num_bytes / 1e6 / cpu:.1f} | {wall:.2f} |"
                f" {cpu / base:.1f} | {same} |"
            )


if __name__ == "__main__":
    main()
