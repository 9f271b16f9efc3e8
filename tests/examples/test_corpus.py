"""The example of a corpus: what is planted in its sources goes, and the rest becomes data."""

import collections
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bert_data.text.formats import read_documents
from bert_data.text.text_config import TextConfig
from examples.corpus.__main__ import parse_engine
from examples.corpus.__main__ import run as run_command
from examples.corpus.prose import advertisement, chatter, german, pieces, questions
from examples.corpus.samples import PLANTED, write_samples


def run(folder: Path, checkout: Path) -> subprocess.CompletedProcess[str]:
    names = ("bert_data", "examples", "LICENSE", "create_pretraining_data.py", "tokenization.py")
    for name in names:
        (folder / name).symlink_to(checkout / name)
    return subprocess.run(
        [sys.executable, "-m", "examples.corpus"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.process
@pytest.mark.slow
def test_from_seven_sources_to_records(tmp_path: Path, checkout: Path) -> None:
    result = run(tmp_path, checkout)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout + result.stderr
    output = tmp_path / "corpus_output"
    (path,) = output.glob("curation.*.json")
    summary = json.loads(path.read_text("utf-8"))
    check_what_was_rejected(summary, output / "rejected.jsonl")
    check_what_is_left(summary, output)
    check_that_samples_are_the_same(output / "sources", tmp_path / "again")
    report = (output / "report.html").read_text("utf-8")
    assert {"<td>kept, MB</td>", "<td>licence</td>", "<td>decontaminate</td>"} <= {
        *re.findall("<td>.*?</td>", report)
    }
    counts = {}
    for name in ("records", "samples"):
        manifest = json.loads((output / f"manifest.{name}.tfrecord.json").read_text("utf-8"))
        counts[name] = sum(file["num_records"] for file in manifest["files"])
    # Each token is in about one sample of 128, and in two records of up to 128.
    num_tokens = (output / "documents.bin").stat().st_size // 2
    assert counts["samples"] == (num_tokens - 1) // 128
    assert 2 * num_tokens / 128 < counts["records"] < 4 * num_tokens / 128


def check_that_samples_are_the_same(folder: Path, again: Path) -> None:
    write_samples(again)
    first, second = (
        {path.relative_to(each): path.read_bytes() for path in each.rglob("*.*") if path.is_file()}
        for each in (folder, again)
    )
    assert first == second
    assert len(first) > 60


def check_what_was_rejected(summary: dict[str, Any], path: Path) -> None:
    rejected = {each["label"]: each for each in summary["counts"]}
    by_rule = {label: collections.Counter(each["rejected"]) for label, each in rejected.items()}
    assert by_rule["licence"]["allowed"] == PLANTED["files under GPL-3.0"]
    assert by_rule["code_quality"]["max_line_length"] == PLANTED["minified files"]
    assert by_rule["exact_duplicates"]["max_copies"] == PLANTED["copied files"]
    assert by_rule["c4"]["max_lorem_ipsum_lines"] == PLANTED["pages of filler"]
    assert by_rule["contained_duplicates"]["max_containment"] == PLANTED["second editions of books"]
    assert by_rule["field_values#2"]["allowed"] == PLANTED["questions of a small site"]
    assert by_rule["language"]["languages"] == PLANTED["German pages"]
    assert by_rule["safety"]["max_flagged_words"] >= PLANTED["pages of a casino"] - 2
    assert by_rule["classifier"]["min_score"] >= PLANTED["pages of chatter"] - 4
    rows = [*map(json.loads, path.read_text("utf-8").splitlines())]
    asked = [row["step"] for row in rows if any(each in row["text"] for each in questions())]
    assert len(asked) == PLANTED["texts with evaluation questions"]
    # The prose around them is Python's own documentation, of which another step may reject one.
    assert by_rule["decontaminate"]["max_overlap"] == asked.count("decontaminate") >= 4
    steps = [row["step"] for row in rows if "//copied.example" in row["fields"].get("url", "")]
    copied = PLANTED["pages copied from Wikipedia"] + PLANTED["pages copied from C4"]
    assert len(steps) == copied
    duplicates = sum(step in ("exact_duplicates#2", "near_duplicates") for step in steps)
    assert duplicates > copied / 2  # perplexity rejects the others before


def check_what_is_left(summary: dict[str, Any], output: Path) -> None:
    paths = sorted(map(str, output.glob("corpus-*.jsonl.zst")))
    blocks = read_documents(paths, TextConfig(keep_fields=True))
    documents = [document for block in blocks for document in block.documents]
    left = collections.Counter(each.fields["source"] for each in documents)  # type: ignore[index]
    assert {each["name"] for each in summary["data_sets"]} == set(left)
    urls = "\n".join((each.fields or {}).get("url") or "" for each in documents)
    assert "//own.example" in urls and "//address.example" in urls
    for kind in ("german", "advertisement", "chatter", "casino", "copied", "asked"):
        assert f"//{kind}.example" not in urls
    text = "\n".join(str(each.text) for each in documents)
    assert "@mill-and-river.org" not in text
    assert not any(question in text for question in questions())
    num_bytes = {each["name"]: each["counts"][-1]["num_bytes"] for each in summary["data_sets"]}
    for each in summary["data_sets"]:
        share = num_bytes[each["name"]] / sum(num_bytes.values())
        assert share == pytest.approx(each["weight"] / 100, rel=0.25)


@pytest.mark.slow
def test_no_sentence_is_in_two_pieces() -> None:
    made = pieces()
    sentences = [sentence for piece in made for sentence in piece]
    assert len(made) > 600 and len(sentences) == len(set(sentences))


def test_sentences_differ() -> None:
    assert len({german(number) for number in range(648)}) == 648
    assert len({advertisement(number) for number in range(5832)}) == 5832
    assert len({chatter(number) for number in range(1716)}) == 1716
    assert len(set(questions())) == 8
    assert min(len(question.split()) for question in questions()) > 13


def test_the_engines_flags_are_passed_on() -> None:
    assert parse_engine([]) == []
    flags = ["--engine=ray", "--ray_address=auto"]
    assert parse_engine(flags) == flags


@pytest.mark.process
def test_an_error_names_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="corpus: the command above ended with status 3"):
        run_command(["-c", "raise SystemExit(3)"])
