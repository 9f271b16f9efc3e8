"""The command that trains a classifier, as a user types it, and the step that applies its model."""

import json

import pytest

pytestmark = pytest.mark.process


@pytest.fixture
def texts(tmp_path):
    """good.jsonl, bad-0.txt and bad-1.txt, and both kinds in all.jsonl."""
    good = [f"We measure {n} samples with care." for n in range(40)]
    bad = [f"buy {n} cheap pills now" for n in range(40)]
    (tmp_path / "good.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in good))
    (tmp_path / "bad-0.txt").write_text("".join(f"{text}\n\n" for text in bad[:20]))
    (tmp_path / "bad-1.txt").write_text("".join(f"{text}\n\n" for text in bad[20:]))
    rows = [{"text": t, "kind": kind} for kind, each in enumerate((good, bad)) for t in each]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


SMALL = ("--buckets=500", "--dimension=8", "--epochs=25", "--learning_rate=0.5")
PAIR = ("--positive_file=good.jsonl", "--negative_file=bad-*.txt", "--output_file=m.bin")


@pytest.mark.usefixtures("texts")
def test_a_model_is_trained_and_applied(commands, tmp_path):
    said = commands.well("train_classifier", *PAIR, *SMALL, "--positive_label=hq").stderr
    assert "texts: 40 hq, 40 negative" in said
    assert "\nhq             4      1.000   1.000  1.000\n" in said
    assert commands.error("train_classifier", *PAIR, *SMALL).startswith("m.bin: exists")
    commands.well(
        "curate",
        "--input_file=web=all.jsonl",
        "--output_file=kept.jsonl",
        "--steps=classifier:model_file=m.bin,label=hq,min_score=0.5",
        "--num_workers=1",
    )
    kept = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert [row["kind"] for row in kept] == [0] * 40


@pytest.mark.usefixtures("texts")
def test_pages_that_a_wiki_cites(commands, tmp_path):
    """The commands of the guide, on a small dump and crawl."""
    refs = "".join(f"&lt;ref>[http://a.org/{n} A]&lt;/ref>" for n in range(40))
    (tmp_path / "wiki-pages-articles.xml").write_text(
        f"<mediawiki><page><title>A</title><id>1</id><revision><text>Good.{refs}</text></revision>"
        "</page></mediawiki>"
    )
    (tmp_path / "crawl").mkdir()
    (tmp_path / "cited").mkdir()
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    with (tmp_path / "crawl/a.jsonl").open("w") as file:
        for n, row in enumerate(rows):
            file.write(json.dumps({"text": row["text"], "url": f"https://www.a.org/{n}"}) + "\n")
    commands.well(
        "curate", "--input_file=wiki-pages-articles.xml", "--steps=repair",
        "--output_file=wiki.jsonl.gz",
    )  # fmt: skip
    commands.well(
        "curate", "--input_file=crawl/*.jsonl", "--steps=url_filter:only_url_files=[wiki.jsonl.gz]",
        "--output_file=cited/pages.jsonl.gz",
    )  # fmt: skip
    said = commands.well(
        "train_classifier", "--positive_file=cited/*.jsonl.gz", "--negative_file=bad-*.txt",
        "--output_file=m.bin", "--positive_label=hq", *SMALL,
    ).stderr  # fmt: skip
    assert "texts: 40 hq, 40 negative" in said


@pytest.mark.usefixtures("texts")
def test_labels_come_from_a_field_and_a_model_that_knows_nothing_is_told(commands):
    said = commands.well(
        "train_classifier", "--input_file=all.jsonl", "--label_field=kind", "--output_file=m.bin",
        "--buckets=500", "--epochs=1", "--learning_rate=0.001",
    ).stderr  # fmt: skip
    assert "texts: 40 0, 40 1" in said
    assert "the model has learned little: its mean loss is 0.693, and 0.693 without" in said


@pytest.mark.usefixtures("texts")
@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (PAIR[::2], "--negative_file is missing: name good texts by --positive_file"),
        ((*PAIR, "--input_file=all.jsonl"), "--input_file and --positive_file are both set"),
        (("--input_file=all.jsonl", PAIR[2]), "--label_field is missing"),
        ((*PAIR, "--label_field=kind"), "--label_field is set without --input_file"),
        ((*PAIR[1:], "--positive_file=none*"), "none*"),
    ],
)
def test_mistakes_are_one_sentence(commands, flags, sentence):
    assert sentence in commands.error("train_classifier", *flags)
