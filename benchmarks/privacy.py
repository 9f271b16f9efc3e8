"""Speed of the step privacy, in MB per CPU second, beside datatrove's formatter and phonenumbers.

    python benchmarks/privacy.py --datatrove=PYTHON > benchmarks/results/privacy.md

PYTHON is an interpreter with datatrove; its PIIFormatter knows e-mail and IP addresses only. The
documents are those of ../shared's corpora; phonenumbers' matcher, for one region, gets a part of
them. Each figure is the median of five runs; the programs take turns.
"""

import argparse
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

SHARED = CHECKOUT.parent / "shared" / "data" / "corpora"
CORPORA = ("movie_reviews", "wikitext", "state_union", "udhr", "lcsts")
NUM_RUNS = 5
MAX_MATCHER_CHARACTERS = 300_000
PEERS_KINDS = {"email", "ip_address"}
ONE_OF_EACH = "a@example.com, 8.8.8.8, +1 415 555 2671"
"""Loads what is loaded on first use, such as the list of public suffixes."""
DATATROVE = """
import sys
sys.path.insert(0, {folder!r})
from datatrove.pipeline.formatters import PIIFormatter
from privacy import print_rates
print_rates(PIIFormatter().format)
"""


def read_texts(name: str) -> list[str]:
    texts = (SHARED / f"{name}.txt").read_text(encoding="utf-8").split("\n\n")
    return [text for text in texts if text]


def rate(work: Callable[[str], object], texts: Sequence[str]) -> float:
    """MB a CPU second, of one run."""
    num_bytes = sum(len(text.encode()) for text in texts)
    start = time.process_time()
    for text in texts:
        work(text)
    return num_bytes / (time.process_time() - start) / 1e6


def print_rates(work: Callable[[str], object], max_characters: int | None = None) -> None:
    """Print the rate on each corpus, of one run, or of its first texts."""
    work(ONE_OF_EACH)
    rates = []
    for name in CORPORA:
        texts = read_texts(name)
        if max_characters is not None:
            sizes = itertools.accumulate(map(len, texts))
            sizes_and_texts = zip(sizes, texts, strict=True)
            texts = [text for size, text in sizes_and_texts if size <= max_characters] or texts[:1]
        rates.append(rate(work, texts))
    print(*rates)


def ours(parameters: dict[str, object]) -> Callable[[str], object]:
    from bert_data.curation.document import Document
    from bert_data.curation.step import make_step

    judge = make_step("privacy", parameters).open("")
    return lambda text: judge(Document("a", "a", text))


def run_ours(kind: str) -> None:
    from bert_data.curation.web.personal_data import KINDS

    if kind == "phonenumbers":
        import phonenumbers

        matcher = phonenumbers.PhoneNumberMatcher
        return print_rates(lambda text: list(matcher(text, "US")), MAX_MATCHER_CHARACTERS)
    chosen = {
        "defaults": {},
        "e-mail and IP addresses": dict.fromkeys(
            (each for each in KINDS if each not in PEERS_KINDS), "keep"
        ),
        "with postal addresses": {"postal_address": "replace"},
        "all kinds": {"postal_address": "replace", "person_name": "replace"},
    }[kind]
    print_rates(ours(chosen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datatrove", required=True, help="an interpreter that has datatrove")
    parser.add_argument("--one", help="one row, of one run")
    arguments = parser.parse_args()
    if arguments.one:
        return run_ours(arguments.one)
    from machine import describe_machine

    print("# Speed of the step privacy\n")
    print(
        f"`benchmarks/privacy.py`. MB a CPU second, the median of {NUM_RUNS} runs, one after the"
        " other on one core. datatrove's PIIFormatter replaces e-mail and IP addresses, by regular"
        " expressions; phonenumbers' matcher looks for phone numbers of one country.\n"
    )
    print(describe_machine(), end="\n\n")
    this = [sys.executable, __file__, "--datatrove="]
    programs = {
        f"`privacy`, {kind}": [*this, f"--one={kind}"]
        for kind in ("defaults", "e-mail and IP addresses", "with postal addresses", "all kinds")
    }
    folder = str(Path(__file__).parent)
    programs["datatrove"] = [arguments.datatrove, "-c", DATATROVE.format(folder=folder)]
    programs["phonenumbers"] = [*this, "--one=phonenumbers"]
    rates: dict[str, list[list[float]]] = {name: [] for name in programs}
    for _ in range(NUM_RUNS):
        for name, command in programs.items():
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode:
                raise SystemExit(f"{name} failed:\n{run.stderr[-3000:]}")
            rates[name].append(list(map(float, run.stdout.splitlines()[-1].split())))
    print("| | " + " | ".join(CORPORA) + " |")
    print("|---|" + "---:|" * len(CORPORA))
    sizes = [read_texts(name) for name in CORPORA]
    means = [statistics.mean(len(text.encode()) for text in texts) for texts in sizes]
    print("| bytes a document | " + " | ".join(f"{mean:,.0f}" for mean in means) + " |")
    for name, runs in rates.items():
        medians = map(statistics.median, zip(*runs, strict=True))
        print(f"| {name} | " + " | ".join(f"{median:.1f}" for median in medians) + " |")


if __name__ == "__main__":
    main()
