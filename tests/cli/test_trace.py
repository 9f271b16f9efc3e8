"""The command trace: a document to its steps and back, and mistakes in one sentence."""

import json
from collections import Counter

import numpy as np
import pytest

from bert_data.inspection.configs import TraceConfig
from bert_data.inspection.tracing.traced_batches import trace_step
from tests.recipes.stores import write_vocabulary

COVERS = (
    "inspection/tracing/traced_documents",
    "inspection/tracing/traced_batches",
    "inspection/tracing/shown",
    "inspection/tracing/text_search",
)

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


def test_records_there_and_back(folder, commands):
    commands.well("create", "--recipe=r.yaml", "--output_file=x-{stage}@3", "--num_examples=0")
    of_set = "--recipe=r.yaml", "--input_file=x-1@3"
    (document,) = traced(commands, *of_set, "--document=b7")
    held = [(r["record"], r["segment"], np.diff(r["tokens"])[0]) for r in document["records"]]
    assert len(held) == len([each for each in document["read"] if each["stage"] == 1]) > 2
    first = document["records"][0]
    found = traced(commands, *of_set, f"--record={first['shard']}:{first['place']}")
    assert found == traced(commands, *of_set, f"--record={first['record']}")
    assert {each["row"] for each in found} == {first["record"]}
    own = [(e["row"], e["segment"], e["num_tokens"]) for e in found if e["origin"]["id"] == "b7"]
    assert {*own} == {each for each in held if each[0] == first["record"]}
    shown = commands.well("trace", *of_set, "--document=b7").stdout
    assert f"{first['shard']}:{first['place']}" in shown and "held by" in shown


def test_records_that_no_recipe_made(folder, commands):
    commands.well(
        "create", "--input_file=a.txt", "--output_file=g@2", "--vocab_file=vocab.txt",
        "--max_seq_length=16", "--dupe_factor=2", "--num_examples=0",
    )  # fmt: skip
    texts = [text.split() for text in (folder / "a.txt").read_text().split("\n\n") if text]
    held = set()
    own = commands.well("inspect", "--input_file=g@2", "--vocab_file=vocab.txt", "--json").stdout
    for number, row in enumerate(map(json.loads, own.splitlines())):
        ids = [*row["tokens"]]
        for place, token in zip(row["masked_lm_positions"], row["masked_lm_tokens"], strict=True):
            ids[place] = token
        middle = ids.index("[SEP]")
        segments = {"A": ids[1:middle], "B": ids[middle + 1 : -1]}
        expected = {
            (segment, document)
            for segment, words in segments.items()
            for document, text in enumerate(texts)
            if any(text[n : n + len(words)] == words for n in range(len(text)))
        }
        found = traced(commands, "--input_file=g@2", "--stores=a", f"--record={number}")
        assert {(each["segment"], each["document"]) for each in found} == expected
        assert all(each["origin"]["file"] == "a.txt" for each in found)
        held |= expected
    assert len(held) > 5
    first = traced(commands, "--input_file=g@2", "--stores=a", "--record=g-00000-of-00002:0")
    assert first == traced(commands, "--input_file=g@2", "--stores=a", "--record=0")
    assert commands.error("trace", "--input_file=g@2", "--stores=a", "--record=x:1").endswith(
        "it must be a number, or SHARD:N, such as g-00000-of-00002:17"
    )
    assert commands.error("trace", "--input_file=g@2", "--stores=b@2", "--record=99999").endswith(
        "g@2 has no such record"
    )
    assert "is no shard that `create` made by a recipe" in commands.error(
        "trace", "--input_file=g@2", "--recipe=r.yaml", "--record=0"
    )


def test_samples_that_were_written(folder, commands):
    commands.well(
        "tokenize", "--input_file=b.jsonl", "--output_prefix=d", "--id_field=key",
        "--vocab_file=vocab.txt", "--num_partitions=2",
    )  # fmt: skip
    made = ("--num_samples=30", "--seq_length=8", "--weights=1")
    commands.well("build_samples", "--input=d@2", *made, "--output_file=s@3")
    held = [
        traced(commands, *own, "--document=b7")[0]["records"]
        for own in (("--input_file=s@3",), ("--input_file=d@2", *made))
    ]
    assert held[0] and [each["tokens"] for each in held[0]] == [e["tokens"] for e in held[1]]
    for written, drawn in zip(*held, strict=True):
        assert divmod(drawn["place"], 3) == (written["place"], int(written["shard"][2:7]))
    first = f"{held[0][0]['shard']}:{held[0][0]['place']}"
    back = commands.well("trace", "--input_file=s@3", f"--record={first}").stdout
    assert "b7" in back and "b.jsonl:8" in back
    (folder / "d-00001-of-00002.store.json").unlink()
    assert "of another store" in commands.error("trace", "--input_file=s@3", "--record=1")


def test_many_documents_are_as_each_alone(folder, commands):
    (folder / "ids.txt").write_text("b3\nb38\nb0\nb3\n")
    together = traced(commands, "--recipe=r.yaml", "--input_file=b@2", "--documents=ids.txt")
    assert [each["id"] for each in together] == ["b0", "b3", "b38", "b38"]
    alone = [traced(commands, "--recipe=r.yaml", f"--document={n}") for n in ("b0", "b38")]
    assert alone == [together[:1], together[2:]]
    (folder / "ids.txt").write_text("b3\nno\nne\n")
    some = commands.well("trace", "--input_file=b@2", "--documents=ids.txt")
    assert "ids.txt has 'no' and 1 more; no document of the 2 token stores" in some.stderr
    assert "document 3 of b-0000" in some.stdout
    (folder / "ids.txt").write_text("no\n")
    assert commands.error("trace", "--input_file=b@2", "--documents=ids.txt") == (
        "--documents is 'ids.txt'; no document of the 2 token stores b-00000-of-00002 to"
        " b-00001-of-00002 has it"
    )


def test_text(folder, commands):
    own = "--input_file=a,b@2", "--vocab_file=vocab.txt"
    found = traced(commands, *own, "--text= w21 w9 ")
    assert [(each["id"], each["row"]) for each in found] == [("b7", 8)]
    lines = traced(commands, *own, "--text=w0 w21 w3")
    assert [(each["prefix"], each["row"]) for each in lines] == [("a", 29)]
    # Not from the end of a document to the beginning of the next one.
    assert "no document of the 3 token stores a to b" in commands.error(
        "trace", *own, "--text=w9 w0 w24"
    )
    assert commands.error("trace", "--input_file=a", "--text=w0").startswith("--text needs --vocab")


def test_what_is_shown(folder, commands):
    past = commands.well("trace", "--input_file=a", "--row=a.txt:999999")
    assert "no document begins in row a.txt:999999; the last one before begins in" in past.stderr
    shown = commands.well("trace", "--input_file=a", "--row=a.txt:6").stdout
    assert "document 1 of a" in shown and "row  5" in shown and "id  not known" in shown
    assert "2 documents" in commands.well("trace", "--input_file=b@2", "--document=b38").stdout
    assert "b-0000" in commands.well("trace", "--recipe=r.yaml", "--step=62").stdout
    commands.well("trace", "--recipe=r.yaml", "--row=a.txt:1", "--html=t.html")
    assert "<table" in (folder / "t.html").read_text()


def test_mistakes(folder, commands):
    for flags, sentence in (
        ((), "set one of --document, --documents, --row, --text, --step and --record; 0 are set"),
        (
            ("--document=x", "--row=y:1"),
            "set one of --document, --documents, --row, --text, --step and --record; 2 are set",
        ),
        (
            ("--record=7", "--recipe=r.yaml"),
            "--record needs --input_file, the set of records",
        ),
        (
            ("--document=x",),
            "set --input_file (token stores) or --recipe, whose stores are searched",
        ),
        (("--step=1",), "--step needs --recipe, whose batch it names"),
        (("--input_file=a", "--row=7"), "--row is '7'; it must be FILE:ROW, such as web.jsonl:17"),
        (
            ("--input_file=a", "--document=x"),
            "--document is 'x'; no document of a has it",
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
