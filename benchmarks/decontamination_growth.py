"""Growth of decontaminate with its evaluation sets and documents: CPU, disk, peak memory.

    python benchmarks/decontamination_growth.py > benchmarks/results/decontamination_growth.md
    python benchmarks/decontamination_growth.py --documents=20000000 --folder=/large/disk

As many evaluation texts of 20 words, in 10 files, as documents of 80 words are made by formula. One
of a hundred documents has an evaluation text inside, and one of a thousand the same one, which is
in every file. The sets are indexed in one process and the documents judged in another one, as two
tasks of a run do it. Judging maps the index, so its memory is shown twice: its own, and with the
pages of the index that the system keeps as long as nothing else needs the room. The
time of making the documents is not counted.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import numpy as np  # noqa: E402
from deciding_growth import DiskWatch, mixed, process_status, run_alone  # noqa: E402
from machine import describe_machine  # noqa: E402

from bert_data.curation.document import Document  # noqa: E402
from bert_data.curation.step import make_step  # noqa: E402
from bert_data.storage import folder_size, make_folder  # noqa: E402

NUM_FILES, NUM_WORDS, NUM_EVALUATION_WORDS = 10, 80, 20
VOCABULARY = 100_000
AT_A_TIME = 20_000


def make_texts(first, end, num_words, kind):
    """Texts by their numbers."""
    numbers = np.arange(first, end, dtype=np.uint64)
    places = np.arange(num_words, dtype=np.uint64)
    words = mixed(numbers[:, None], places[None, :], kind) % np.uint64(VOCABULARY)
    return [" ".join(map(str, row)) for row in words.tolist()]


def write_sets(folder, num_texts):
    a_file = num_texts // NUM_FILES
    for number in range(NUM_FILES):
        with open(folder / f"set-{number}.txt", "w") as file:
            file.write(f"{hot_text()}\n")
            for first in range(number * a_file, (number + 1) * a_file, AT_A_TIME):
                end = min(first + AT_A_TIME, (number + 1) * a_file)
                for text in make_texts(first, end, NUM_EVALUATION_WORDS, 1):
                    file.write(f"{text}\n\n")


def hot_text():
    return " ".join(f"hot{n}" for n in range(NUM_EVALUATION_WORDS))


def make_documents(num_documents):
    for first in range(0, num_documents, AT_A_TIME):
        end = min(first + AT_A_TIME, num_documents)
        evaluated = make_texts(first, end, NUM_EVALUATION_WORDS, 1)[::100]
        for number, text in enumerate(make_texts(first, end, NUM_WORDS, 2), first):
            if number % 1000 == 5:
                text = f"{text} {hot_text()}"
            elif number % 100 == 0:
                text = f"{text} {evaluated[(number - first) // 100]}"
            yield Document(str(number), "web", text)


def index(step, folder):
    step.prepare(folder / "work" / "index")
    return {"disk": folder_size(folder / "work" / "index")}


def judge(step, folder, num_documents):
    judge = step.open(str(folder / "index"))
    seconds, num_found, own = 0.0, 0, 0
    for number, document in enumerate(make_documents(num_documents)):
        start = time.process_time()
        num_found += not judge(document).kept
        seconds += time.process_time() - start
        if number % AT_A_TIME == 0:
            own = max(own, process_status("RssAnon"))
    return {"cpu": seconds, "found": num_found, "own": own}


def run(what, folder, num_documents):
    """Index or judge in this process, and print the figures as JSON."""
    step = make_step("decontaminate", {"evaluation_sets": [str(folder / "set-*.txt")]})
    work = folder / "work"
    make_folder(work / "index")
    watch = DiskWatch(work)
    watch.start()
    start = time.process_time()
    figures = index(step, folder) if what == "index" else judge(step, folder, num_documents)
    figures = {"cpu": time.process_time() - start, **figures, "peak": watch.finish()}
    if what == "index":
        (work / "index").rename(folder / "index")
    print(json.dumps({**figures, "memory": process_status("VmHWM")}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", default="200000,2000000")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--run", choices=("index", "judge"), help="in this process")
    flags = parser.parse_args()
    counts = [int(each) for each in flags.documents.split(",")]
    if flags.run:
        run(flags.run, flags.folder, counts[0])
        return
    print("# Growth of decontamination\n")
    print(f"{describe_machine()}. An evaluation text has 8 n-grams of 13 words.\n")
    print(
        "| texts and documents | index: CPU s | µs a text | disk, MB | its peak | peak MB |", end=""
    )
    print(" judge: CPU s | µs a document | found | own MB | peak MB |")
    print("|--:" * 11 + "|")
    for number in counts:
        with tempfile.TemporaryDirectory(dir=flags.folder) as name:
            folder = Path(name)
            write_sets(folder, number)
            done = run_alone(__file__, folder, "--run=index", f"--documents={number}")
            judged = run_alone(__file__, folder, "--run=judge", f"--documents={number}")
        print(
            f"| {number:,} | {done['cpu']:.1f} | {1e6 * done['cpu'] / number:.1f} |"
            f" {done['disk'] / 1e6:,.0f} | {done['peak'] / 1e6:,.0f} |"
            f" {done['memory'] / 1e6:.0f} | {judged['cpu']:.1f} |"
            f" {1e6 * judged['cpu'] / number:.1f} | {judged['found']:,} |"
            f" {judged['own'] / 1e6:.0f} | {judged['memory'] / 1e6:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
