"""Speed of the readers of corpora, and what markup they leave, beside the usual libraries.

    python benchmarks/corpora.py > benchmarks/results/corpora.md

The files are ../shared's samples of each kind. Peers, on the same markup in the same process:
mwparserfromhell's strip_code for wikitext, pylatexenc's latex_to_text for LaTeX (which makes text
of it, where this project's reader cleans the LaTeX). Each figure is the median of several runs.
"""

import bz2
import re
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from xml.etree import ElementTree

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import mwparserfromhell  # noqa: E402
from machine import cpu_seconds, describe_machine  # noqa: E402
from pylatexenc.latex2text import LatexNodes2Text  # noqa: E402

from bert_data.text.corpora.latex_markup import clean_paper  # noqa: E402
from bert_data.text.corpora.wiki_markup import to_prose  # noqa: E402
from bert_data.text.formats import read_documents  # noqa: E402
from bert_data.text.text_config import TextConfig  # noqa: E402

SHARED = CHECKOUT.parent / "shared" / "data" / "sources"
NUM_RUNS = 3
MAX_PEER_BYTES = 1_500_000
RESIDUES = (
    r"\{\{", r"\}\}", r"\[\[", r"\]\]", r"''", r"<[a-z/]", r"&[a-z]+;", r"\(\s*\)", r"\(\s*[,;]",
    r"(?m)^\s*[|!]", r"style=", r"(?m)^==", r"(?i)category:", r"\|thumb", r"https?://",
)  # fmt: skip


def median_seconds(work: Callable[[], object]) -> float:
    return statistics.median(cpu_seconds(work) for _ in range(NUM_RUNS))


def articles() -> list[str]:
    texts = []
    for path in sorted((SHARED / "wiki").glob("*.bz2")):
        for element in ElementTree.fromstring(bz2.decompress(path.read_bytes())):
            is_article = element.findtext("{*}ns") == "0" and element.find("{*}redirect") is None
            if element.tag.endswith("}page") and is_article:
                texts.append(element.findtext("{*}revision/{*}text") or "")
    return texts


def papers() -> list[str]:
    paths = sorted((SHARED / "latex").rglob("*.tex"))
    return [path.read_text(encoding="utf-8", errors="replace") for path in paths]


def up_to(texts: Iterable[str], max_bytes: int) -> list[str]:
    chosen, size = [], 0
    for text in texts:
        size += len(text.encode())
        if size > max_bytes:
            break
        chosen.append(text)
    return chosen


def attempt(work: Callable[[str], object], text: str) -> str:
    try:
        return str(work(text))
    except Exception:
        return ""


def compare(
    name: str, texts: list[str], ours: Callable[[str], str], peer_name: str, peer: Callable
) -> None:
    texts = up_to(texts, MAX_PEER_BYTES)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    rows = {}
    for who, work in (("bert_data", ours), (peer_name, peer)):
        outputs = [attempt(work, text) for text in texts]
        seconds = median_seconds(lambda work=work: [attempt(work, text) for text in texts])
        residues = sum(len(re.findall(each, text)) for each in RESIDUES for text in outputs)
        rows[who] = (megabytes / seconds, residues, sum(map(bool, outputs)))
    slowest = rows[peer_name][0]
    for who, (speed, residues, num_done) in rows.items():
        left = f"{residues:,}" if name == "wikitext" else "-"
        print(
            f"| {name}, {megabytes:.1f} MB | {who} | {speed:.2f} | {speed / slowest:.1f} | {left}"
            f" | {num_done} of {len(texts)} |"
        )


def read(name: str, paths: list[Path], input_format: str) -> None:
    config = TextConfig(input_format=input_format, on_error="skip", keep_fields=True)
    names = [str(path) for path in paths]

    def run() -> int:
        blocks = read_documents(names, config)
        return sum(len(block.documents) for block in blocks)

    num_documents = run()
    megabytes = sum(path.stat().st_size for path in paths) / 1e6
    speed = megabytes / median_seconds(run)
    print(f"| {name} | {len(paths)} | {megabytes:.1f} | {num_documents:,} | {speed:.1f} |")


def main() -> None:
    print("# Readers of corpora\n")
    print(describe_machine(), "\n")
    print("| markup | program | MB a CPU second | times | residues | done |")
    print("|---|---|--:|--:|--:|--:|")
    compare(
        "wikitext", articles(), to_prose,
        "mwparserfromhell", lambda text: mwparserfromhell.parse(text).strip_code(),
    )  # fmt: skip
    compare(
        "LaTeX", papers(), lambda paper: clean_paper(paper).body,
        "pylatexenc", LatexNodes2Text().latex_to_text,
    )  # fmt: skip
    print("\nResidues are what patterns of markup find in the text.\n")
    print("| files | number | MB on disk | documents | MB a CPU second |")
    print("|---|--:|--:|--:|--:|")
    read("mediawiki (.bz2)", sorted((SHARED / "wiki").glob("*.bz2")), "mediawiki")
    read("stackexchange", sorted((SHARED / "stackexchange").glob("*.xml")), "stackexchange")
    read("gutenberg", sorted((SHARED / "gutenberg").glob("*.txt")), "gutenberg")
    read("epub", sorted((SHARED / "epub").glob("*.epub")), "epub")
    read("arxiv", sorted((SHARED / "latex").rglob("m*s.tex")), "arxiv")
    read("code", [*(CHECKOUT / "bert_data").rglob("*.py")], "code")


if __name__ == "__main__":
    main()
