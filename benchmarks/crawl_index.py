"""Reading chosen pages of a crawl by its index, beside reading the whole archive.

    python benchmarks/crawl_index.py > benchmarks/results/crawl_index.md

The archive has 3,000 pages of random words, each compressed by itself as Common Crawl does. The
index names all of them, a tenth or a hundredth. Each figure is the median CPU time of five runs in
one process.
"""

import gzip
import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from machine import describe_machine  # noqa: E402

from bert_data.text.documents import TextConfig  # noqa: E402
from bert_data.text.formats import read_documents  # noqa: E402

NUM_PAGES, WORDS_A_PAGE, NUM_RUNS = 3000, 3000, 5


def write_archive(path: Path) -> list[str]:
    """Write the archive; return the lines of its index."""
    draw = random.Random(0)
    words = [f"word{number}" for number in range(5000)]
    lines, offset = [], 0
    with path.open("wb") as file:
        for number in range(NUM_PAGES):
            text = " ".join(draw.choices(words, k=WORDS_A_PAGE))
            page = f"<html><body><p>{text}</p></body></html>"
            answer = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{page}"
            head = (
                f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/{number}\r\n"
                "Content-Type: application/http; msgtype=response\r\n"
                f"Content-Length: {len(answer)}\r\n\r\n"
            )
            part = gzip.compress(f"{head}{answer}\r\n\r\n".encode(), 6)
            file.write(part)
            entry = {"status": "200", "length": len(part), "offset": offset, "filename": path.name}
            lines.append(f"example,a)/{number} 20240101000000 {json.dumps(entry)}\n")
            offset += len(part)
    return lines


def median_seconds(path: Path) -> tuple[int, float]:
    """Return the documents of a file, and the seconds that reading them takes."""
    seconds = []
    for _ in range(NUM_RUNS):
        start = time.process_time()
        num_documents = sum(
            len(block.documents) for block in read_documents([str(path)], TextConfig())
        )
        seconds.append(time.process_time() - start)
    return num_documents, statistics.median(seconds)


def main() -> None:
    """Print the table."""
    print("# Chosen pages of a crawl\n")
    print(f"{describe_machine()}. `python benchmarks/crawl_index.py`\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive = folder / "a.warc.gz"
        lines = write_archive(archive)
        paths = {"the whole archive": archive}
        for what, step in (("all", 1), ("a tenth", 10), ("a hundredth", 100)):
            paths[f"by an index of {what}"] = folder / f"{step}.cdxj"
            paths[f"by an index of {what}"].write_text("".join(lines[::step]))
        print("| what is read | pages | CPU seconds | of the whole |\n|---|--:|--:|--:|")
        _, whole = median_seconds(archive)
        for what, path in paths.items():
            num_documents, seconds = median_seconds(path)
            print(f"| {what} | {num_documents:,} | {seconds:.3f} | {seconds / whole:.2f} |")
        print(f"\nThe archive has {archive.stat().st_size / 1e6:.0f} MB.")


if __name__ == "__main__":
    main()
