"""The command trace: a document to its steps and back, and mistakes in one sentence."""

import json
from collections import Counter

import pytest

from bert_data.inspection.tracing import TraceConfig, trace_step
from tests.recipes.stores import write_vocabulary

COVERS = ("inspection/tracing",)

pytestmark = pytest.mark.process

RECIPE = """
vocab_file: vocab.txt
stores: {a: a, b: b@2}
shuffle_block: 8
shuffle_window: 32
skip: [[3, 5]]
stages:
  - {steps: 60, max_seq_length: 16, batch_size: 4, objective: nsp}
  - {steps: 5, max_seq_length: 32, batch_size: 2, objective: none, batching: packed}
"""


@pytest.fixture
def folder(tmp_path, commands):
    """Stores a, of lines, and b, of rows with ids, the last one twice, in two parts."""
    write_vocabulary(tmp_path)
    (tmp_path / "a.txt").write_text("".join(f"w0 w{3 * n}\nw3\nw6 w9\n\n" for n in range(40)))
    rows = [
        {"text": ["w0 w3", f"w{3 * n}", "w9"], "key": f"b{min(n, 38)}", "license": "CC0"}
        for n in range(40)
    ]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, *flags in (("a.txt",), ("b.jsonl", "--num_partitions=2", "--id_field=key")):
        commands.well(
            "tokenize", f"--input_file={name}", f"--output_prefix={name[0]}", *flags,
            "--vocab_file=vocab.txt", "--level=sentence",
        )  # fmt: skip
    (tmp_path / "r.yaml").write_text(RECIPE)
    return tmp_path


def traced(commands, *flags):
    return json.loads(commands.well("trace", *flags, "--json").stdout)


def test_there_and_back(folder, commands, monkeypatch):
    (document,) = traced(commands, "--recipe=r.yaml", "--document=b7")
    assert (document["file"], document["row"], document["license"]) == ("b.jsonl", 8, "CC0")
    assert document["tokens"][1] - document["tokens"][0] == 4
    steps = Counter(each["step"] for each in document["read"])
    assert len(steps) > 2 and not {3, 4, 5} & {*steps}
    read = [
        (each["step"], each["row"], each["segment"], each["tokens"][1] - each["tokens"][0])
        for each in document["read"]
    ]
    monkeypatch.chdir(folder)
    found = [
        (step, each.row, each.segment, each.num_tokens)
        for step in range(65)
        if not 3 <= step <= 5
        for each in trace_step(TraceConfig(recipe="r.yaml", step=step))
        if each.origin.id == "b7"
    ]
    assert sorted(found) == sorted(read)


def test_what_is_shown(folder, commands):
    shown = commands.well("trace", "--input_file=a", "--row=a.txt:6").stdout
    assert "document 1 of a" in shown and "row  5" in shown and "id  not known" in shown
    assert "2 documents" in commands.well("trace", "--input_file=b@2", "--document=b38").stdout
    assert "b-0000" in commands.well("trace", "--recipe=r.yaml", "--step=62").stdout
    commands.well("trace", "--recipe=r.yaml", "--row=a.txt:1", "--html=t.html")
    assert "<table" in (folder / "t.html").read_text()


def test_mistakes(folder, commands):
    for flags, sentence in (
        ((), "set one of --document, --row and --step; 0 are set"),
        (("--document=x", "--row=y:1"), "set one of --document, --row and --step; 2 are set"),
        (
            ("--document=x",),
            "set --input_file (token stores) or --recipe, whose stores are searched",
        ),
        (("--step=1",), "--step needs --recipe, whose batch it names"),
        (("--input_file=a", "--row=7"), "--row is '7'; it must be FILE:ROW, such as web.jsonl:17"),
        (
            ("--input_file=a", "--document=x"),
            "--document is 'x'; none of 1 token stores has it, a first",
        ),
        (("--recipe=r.yaml", "--step=4"), "--step is 4, which r.yaml skips"),
        (
            ("--recipe=r.yaml", "--step=65"),
            "--step is 65; r.yaml has the 65 steps from 0 to 64",
        ),
    ):
        assert commands.error("trace", *flags) == sentence
    (folder / "a.provenance").unlink()
    assert commands.error("trace", "--input_file=a", "--document=x").startswith(
        "a does not say where its documents came from"
    )
