"""The size and cost of 10 TB of documents, measured on little and multiplied.

    python benchmarks/ten_terabytes.py > benchmarks/results/ten_terabytes.md

Documents of the corpora beside the checkout go through curation, a token store and records for
BERT, as users would run them; each whole process is measured, its start included. The rest is
arithmetic: CPU seconds become hours on a cluster, bytes become tasks and requests to an object
store.
"""

import argparse
import gzip
import json
import sys
import tempfile
from pathlib import Path

from curation import CHECKOUT, SHARED, cpu_seconds_of, read_documents, write_rows
from machine import describe_machine, size_of

VOCABULARY = SHARED.parent / "vocab" / "bert-base-uncased.txt"
PRESET = "gopher"
TB = 10
NODES, CORES, BUSY = 20, 32, 0.8
NUM_PARTS = 4
SHARD_MB, PARTITION_MB = 256, 512
READ_MB, UPLOAD_MB = 1, 10  # of a request: the buffer of a remote file, and the part of an upload
DOLLARS_PER_1000_READS, DOLLARS_PER_1000_WRITES = 0.0004, 0.005


def module(name, *flags):
    return [sys.executable, "-m", f"bert_data.cli.{name}", *flags]


def run_stages(rows, folder):
    """Yield (stage, bytes read, bytes written, what it counted, CPU seconds)."""
    clean = folder / "clean-*.jsonl.gz"
    curate = module("curate", f"--input_file={rows}", "--num_workers=1")
    curate += [f"--output_file={folder}/clean.jsonl.gz@{NUM_PARTS}"]
    curate += [f"--preset={PRESET}"]
    store = folder / "store"
    tokenize = module("tokenize", f"--input_file={clean}", f"--output_prefix={store}")
    tokenize += [f"--vocab_file={VOCABULARY}", "--level=document", "--num_workers=1"]
    records = folder / "records"
    create = [sys.executable, "create_pretraining_data.py", f"--input_file={clean}"]
    create += [
        f"--vocab_file={VOCABULARY}",
        f"--output_file={records}@{NUM_PARTS}",
        f"--num_partitions={NUM_PARTS}",
    ]
    create += ["--dupe_factor=5", "--num_workers=1"]
    for command in (curate, tokenize, create):  # compiles the kernels
        seconds, _ = cpu_seconds_of(command)
    again = "--overwrite"
    seconds, _ = cpu_seconds_of([*curate, again])
    summary = json.loads((folder / "curation.clean.jsonl.gz.json").read_text("utf-8"))
    kept = f"{summary['counts'][-1]['num_documents']:,} documents"
    read = size_of(folder, "clean-*.jsonl.gz")
    yield f"curate --preset={PRESET}", rows.stat().st_size, read, kept, seconds
    seconds, _ = cpu_seconds_of([*tokenize, again])
    written = size_of(folder, "store.bin")
    tokens = f"{written // 2:,} tokens"
    yield "tokenize --level=document", read, size_of(folder, "store.*"), tokens, seconds
    seconds, _ = cpu_seconds_of([*create, again])
    manifest = json.loads((folder / "manifest.records.json").read_text("utf-8"))
    instances = f"{sum(shard['num_records'] for shard in manifest['files']):,} instances"
    written = size_of(folder, "records-*") + size_of(folder, "index.records-*")
    yield "create_pretraining_data.py --num_partitions", read, written, instances, seconds


def text_bytes(paths):
    """Bytes of the texts in rows, which compression and JSON do not change."""
    rows = (line for path in paths for line in (gzip.open if "gz" in path.name else open)(path))
    return sum(len(json.loads(row)["text"].encode()) for row in rows)


def print_measured(stages, num_documents, text, kept):
    print(f"{num_documents:,} documents, {text / 1e6:.1f} MB of text; {kept / 1e6:.1f} MB after")
    print(f"curation. {describe_machine()}\n")
    print("| stage | reads MB | writes MB | counted | CPU s | MB of text a CPU second |")
    print("|---|--:|--:|--:|--:|--:|")
    for number, (name, read, written, counted, seconds) in enumerate(stages):
        base = text if number == 0 else kept
        row = (name, f"{read / 1e6:.1f}", f"{written / 1e6:.1f}", counted)
        print("|", " | ".join((*row, f"{seconds:.2f}", f"{base / seconds / 1e6:.1f}")), "|")


def print_extrapolated(stages, num_documents, text):
    factor = TB * 1e12 / text
    print(f"\n## {TB} TB of text, on {NODES} nodes of {CORES} cores, {BUSY:.0%} busy\n")
    print(f"{num_documents * factor / 1e9:.1f} billion documents\n")
    print("| stage | reads TB | writes TB | counted | tasks | CPU hours | hours | requests, $ |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for number, (name, read, written, counted, seconds) in enumerate(stages):
        count, what = counted.split()
        count = int(count.replace(",", "")) * factor / 1e9
        tasks = read * factor / 1e6 / (PARTITION_MB if number else SHARD_MB)
        cpu_hours = seconds * factor / 3600
        reads, writes = read * factor / 1e6 / READ_MB, written * factor / 1e6 / UPLOAD_MB
        dollars = (reads * DOLLARS_PER_1000_READS + writes * DOLLARS_PER_1000_WRITES) / 1000
        row = (
            name, f"{read * factor / 1e12:.2f}", f"{written * factor / 1e12:.2f}",
            f"{count:,.1f} billion {what}", f"{tasks:,.0f}", f"{cpu_hours:,.0f}",
            f"{cpu_hours / (NODES * CORES * BUSY):.1f}", f"{dollars:,.0f}",
        )  # fmt: skip
        print("|", " | ".join(row), "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max_mb", type=float, default=30.0, help="of text to measure on")
    max_bytes = parser.parse_args().max_mb * 1e6
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = read_documents(max_bytes)
        rows = write_rows(texts, folder / "rows")
        stages = list(run_stages(rows, folder))
        text, kept = text_bytes([rows]), text_bytes(folder.glob("clean-*.jsonl.gz"))
    print("# 10 TB: what was measured, and what follows\n")
    print(f"    python {Path(__file__).relative_to(CHECKOUT)}\n")
    print_measured(stages, len(texts), text, kept)
    print_extrapolated(stages, len(texts), text)


if __name__ == "__main__":
    main()
