"""Quality and speed of the step extract beside resiliparse and trafilatura, on labelled pages.

    python benchmarks/web_steps.py TRAFILATURA/tests VENV/bin/python > web_steps.md

The pages are those of trafilatura's repository: `evaldata.json` says which passages of each must
occur in its text, and which must not. trafilatura runs in an environment of its own (packages
trafilatura and lxml_html_clean), with the settings of its own evaluation. Passages are compared
with single spaces between words.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import describe_machine  # noqa: E402
from resiliparse.extract.html2text import extract_plain_text  # noqa: E402

from bert_data.curation.document import Document  # noqa: E402
from bert_data.curation.step import make_step  # noqa: E402
from bert_data.text.documents import RowError  # noqa: E402
from bert_data.text.html import decode_page  # noqa: E402

PEER = """
import json, sys, time
import trafilatura
pages = json.load(sys.stdin)
trafilatura.extract(pages[0])
start, options = time.process_time(), {"include_comments": False, "include_tables": True}
texts = [trafilatura.extract(page, fast=FAST, **options) or "" for page in pages]
json.dump([texts, time.process_time() - start], sys.stdout)
"""


def read_pages(folder: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the name, text and labels of pages that can be decoded."""
    pages = []
    for labels in json.loads((folder / "evaldata.json").read_text(encoding="utf-8")).values():
        path = next(p for p in (folder / "cache", folder / "eval") if (p / labels["file"]).exists())
        try:
            page = decode_page((path / labels["file"]).read_bytes(), None, "replace")[0]
        except RowError as error:
            sys.exit(f"{labels['file']}: {error}")
        pages.append((labels["file"], page, labels))
    return pages


def here(work: Callable[[str], str], pages: list[str]) -> tuple[list[str], float]:
    work(pages[0])
    start = time.process_time()
    texts = [work(page) for page in pages]
    return texts, time.process_time() - start


def peer(python: str, pages: list[str], *, fast: bool) -> tuple[list[str], float]:
    command = [python, "-c", PEER.replace("FAST", str(fast))]
    done = subprocess.run(
        command, input=json.dumps(pages).encode(), capture_output=True, check=True
    )
    texts, seconds = json.loads(done.stdout)
    return texts, seconds


def score(texts: list[str], labels: list[dict[str, Any]]) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the passages that occur."""
    right = wrong = missing = 0
    for text, label in zip(texts, labels, strict=True):
        text = " ".join(text.split())
        found = [" ".join(each.split()) in text for each in label["with"]]
        right, missing = right + sum(found), missing + found.count(False)
        wrong += sum(" ".join(each.split()) in text for each in label["without"])
    precision, recall = right / max(1, right + wrong), right / max(1, right + missing)
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def main() -> None:
    folder, python = Path(sys.argv[1]), sys.argv[2]
    names, pages, labels = map(list, zip(*read_pages(folder), strict=True))
    judge = make_step("extract", {}).open(Path("/nonexistent"))

    def ours(page: str) -> str:
        return judge(Document("p", "p", page, {"content_type": "text/html"})).document.text

    def alone(page: str) -> str:
        return extract_plain_text(page, main_content=True)

    rows = {
        "`extract`": here(ours, pages),
        "resiliparse alone, `main_content=True`": here(alone, pages),
        "trafilatura": peer(python, pages, fast=False),
        "trafilatura, `fast=True`": peer(python, pages, fast=True),
    }
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(json.dumps([names, {k: v[0] for k, v in rows.items()}]))
    num_bytes = sum(len(page.encode(errors="replace")) for page in pages)
    passages = [sum(len(label[side]) for label in labels) for side in ("with", "without")]
    print("# Text of web pages\n")
    print(
        f"`benchmarks/web_steps.py`: {len(pages):,} labelled pages of trafilatura's repository,"
        f" {num_bytes / 1e6:.0f} MB, with {passages[0]:,} passages that must occur in the text and"
        f" {passages[1]:,} that must not. Megabytes of pages a CPU second, on a machine"
        " with other work.\n"
    )
    print(describe_machine(), end="\n\n")
    print("| | precision | recall | F1 | MB a CPU second |\n|---|---|---|---|---|")
    for name, (texts, seconds) in rows.items():
        figures = " | ".join(f"{each:.3f}" for each in score(texts, labels))
        print(f"| {name} | {figures} | {num_bytes / seconds / 1e6:.1f} |")


if __name__ == "__main__":
    main()
