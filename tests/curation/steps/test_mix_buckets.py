"""Buckets of data sets mixed by weights, epochs and sizes, up to whole pipelines."""

import dataclasses
import json
import math
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.reporting.report import make_report
from bert_data.curation.reporting.run_summary import summarize
from bert_data.curation.running.run import run_pipeline
from bert_data.curation.step import make_step
from bert_data.curation.steps.mix import Mix
from tests.curation.corpora import pipeline_of, run_corpus_step, write_rows
from tests.hypotheses import examples
from tests.rows import mostly_slow

WORDS = ("the", "quick", "brown", "fox")


def make_shards(sizes, seed=0, num_shards=1):
    """Shards of documents of the cells {"web/head": number}; every one has a score in [0, 1)."""
    draw = random.Random(seed)
    by_source = {}
    for cell, size in sizes.items():
        source, _, bucket = cell.partition("/")
        by_source.setdefault(source, []).extend([bucket] * size)
    shards = []
    for source, buckets in by_source.items():
        draw.shuffle(buckets)
        documents = [
            Document(
                id=f"{source}/{number}",
                source=source,
                text=" ".join(draw.choices(WORDS, k=draw.randrange(1, 40))),
                fields={"bucket": bucket, "score": draw.random()},
            )
            for number, bucket in enumerate(buckets)
        ]
        shards += [documents[i::num_shards] for i in range(num_shards)]
    return shards


def cell_of(document):
    bucket = document.fields["bucket"]
    return f"{document.source}/{bucket}" if bucket else document.source


def copies(verdicts):
    return {v.document.id: v.num_copies for shard in verdicts for v in shard}


SIZES = {"web/head": 150, "web/middle": 300, "web/tail": 900, "wiki": 400}
WEIGHTS = st.fixed_dictionaries(
    {"web": st.floats(0.2, 5), "wiki": st.floats(0.2, 5)},
    optional={"web/head": st.floats(0.2, 5), "web/tail": st.floats(0.2, 5)},
)


@examples(8)
@given(WEIGHTS, st.sampled_from(["documents", "bytes", "words"]), st.integers(1, 5), st.integers())
def test_shares_are_reached_as_closely_as_single_draws_allow(
    tmp_path_factory, weights, unit, most, seed
):
    """Six standard deviations of the sizes that are drawn; nothing else may be off."""
    size = {
        "documents": lambda document: 1,
        "bytes": lambda document: document.num_bytes,
        "words": lambda document: document.num_words,
    }[unit]
    step = Mix(weights=weights, unit=unit, most_epochs=most, bucket_field="bucket", seed=seed)
    if "web/head" not in weights and "web/tail" not in weights:
        step = dataclasses.replace(step, bucket_field=None)
    verdicts = run_corpus_step(step, make_shards(SIZES), tmp_path_factory.mktemp("mix"))
    judged = [verdict for shard in verdicts for verdict in shard]
    rates, meant, reached, variance = {}, Counter(), Counter(), Counter()
    for verdict in judged:
        cell = cell_of(verdict.document)
        portion = cell if cell in weights else cell.partition("/")[0]
        rate, amount = verdict.measured[0].threshold, size(verdict.document)
        assert rates.setdefault(portion, rate) == rate
        meant[portion] += rate * amount
        reached[portion] += verdict.num_copies * amount
        variance[portion] += (rate % 1) * (1 - rate % 1) * amount**2
    assert max(rates.values()) == most
    for name, weight in weights.items():
        share = meant[name] / sum(meant.values())
        assert share == pytest.approx(weight / sum(weights.values()))
        assert abs(reached[name] - meant[name]) <= 6 * math.sqrt(variance[name])


@examples(15)
@given(
    st.fixed_dictionaries({cell: st.integers(0, 5) for cell in SIZES}),
    st.integers(1, 4),
    st.integers(0, 9),
)
def test_whole_epochs_are_exact_for_any_shards(tmp_path_factory, epochs, num_shards, seed):
    step = Mix(epochs=epochs, bucket_field="bucket", seed=seed)
    shards = make_shards({cell: size // 10 for cell, size in SIZES.items()}, seed, num_shards)
    verdicts = run_corpus_step(step, shards, tmp_path_factory.mktemp("mix"))
    for shard in verdicts:
        for verdict in shard:
            assert verdict.num_copies == epochs[cell_of(verdict.document)]


@pytest.mark.parametrize("parameters", [
    {"exponent": 0.5},
    {"weights": {"web/2": 3, "web": 1, "wiki": 1}, "budget": 5000},
    {"epochs": {"*": {"2": 1.7, "0": 0.2}}},
])  # fmt: skip
def test_percentiles_cut_each_data_set_and_depend_on_no_shards(tmp_path, parameters):
    step = make_step("mix", {**parameters, "bucket_field": "score", "bucket_percentiles": [25, 90]})
    one, many = (
        run_corpus_step(step, make_shards(SIZES, num_shards=number), tmp_path) for number in (1, 5)
    )
    assert copies(one) == copies(many)
    if "epochs" not in parameters:
        return
    for shard in one:
        scores = sorted(verdict.document.fields["score"] for verdict in shard)
        for verdict in shard:
            place = scores.index(verdict.document.fields["score"])
            rate = 1.0 if place < 0.9 * len(scores) else 1.7
            assert verdict.measured[0].threshold == (0.2 if place < len(scores) // 4 else rate)


def test_more_of_a_bucket_keeps_what_was_there(tmp_path):
    shards = make_shards(SIZES)
    few, more = (
        copies(
            run_corpus_step(Mix(epochs={"web/head": rate}, bucket_field="bucket"), shards, tmp_path)
        )
        for rate in (0.4, 1.3)
    )
    assert all(more[name] >= number for name, number in few.items())
    assert sum(more.values()) > sum(few.values())


def test_only_data_sets_with_buckets_need_the_field(tmp_path):
    shards = make_shards(SIZES)
    shards[1] = [dataclasses.replace(document, fields={}) for document in shards[1]]
    run_corpus_step(Mix(epochs={"web/head": 2}, bucket_field="bucket"), shards, tmp_path)
    for parameters in ({"exponent": 1}, {"epochs": {"*/head": 2}}, {"epochs": {"web": 2}}):
        step = make_step("mix", {**parameters, "bucket_field": "bucket"})
        with pytest.raises(ValueError, match="document 'wiki/0' of wiki has no field 'bucket'"):
            run_corpus_step(step, shards, tmp_path)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (
            {"epochs": {"web/haed": 2}, "bucket_field": "bucket"},
            "epochs names the bucket 'haed'; the buckets are head, middle, tail",
        ),
        (
            {"weights": {"web/head": 2, "wiki": 1}, "bucket_field": "bucket"},
            "weights has no entry for web/",
        ),
        (
            {"exponent": 1, "budget": 10**9, "unit": "documents"},
            "budget is 1,000,000,000, but 4 epochs of all documents are 7,000",
        ),
        (
            {"exponent": 1, "bucket_field": "score"},
            "document 'w.*: field 'score' is 0.*; it must be a string or a whole",
        ),
        (
            {"exponent": 1, "bucket_field": "bucket", "bucket_percentiles": 50},
            "document 'w.*: field 'bucket' is '.*'; it must be a finite number",
        ),
    ],
)
def test_what_the_documents_do_not_allow_is_told(tmp_path, parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        run_corpus_step(make_step("mix", parameters), make_shards(SIZES), tmp_path)


def test_a_field_with_a_value_for_each_document_is_no_bucket(tmp_path):
    documents = [Document(id=f"{n}", source="a", text="x", fields={"n": n}) for n in range(1001)]
    step = Mix(exponent=1, bucket_field="n")
    for shards in ([documents], [documents[:600], documents[600:]]):
        with pytest.raises(ValueError, match="field 'n' has more than 1,000 values in a"):
            run_corpus_step(step, shards, tmp_path)


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for shard in make_shards(SIZES):
        rows = ({"text": d.text, **d.fields} for d in shard)
        write_rows(tmp_path / f"{shard[0].source}.jsonl", rows)
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "qui", "##ck", "brown", "fox"]
    (tmp_path / "vocab.txt").write_text("\n".join(tokens) + "\n")
    return tmp_path


def run(name, steps, num_workers=1, **changes):
    options = {"vocab_file": "vocab.txt", "shard_mb": 0.02, **changes}
    pipeline = pipeline_of(Path(), steps, names=("web", "wiki"), output=name, **options)
    return run_pipeline(pipeline, num_workers=num_workers)


@pytest.mark.process
def test_a_budget_of_tokens_is_reached_and_told_by_any_number_of_workers(corpus):
    step = Mix(
        weights={"web/good": 3, "web": 1, "wiki": 2},
        unit="tokens",
        budget=12_000,
        bucket_field="score",
        bucket_percentiles=(80,),
        bucket_names=("rest", "good"),
    )
    done = run("one.jsonl", [step])
    run("two.jsonl", [step], num_workers=2, shard_mb=0.007)
    assert (corpus / "one.jsonl").read_bytes() == (corpus / "two.jsonl").read_bytes()
    described = json.loads((corpus / "curation.one.jsonl.json").read_text())
    table = {row["part"]: row for row in described["tables"]["mix"]}
    assert list(table) == ["web/rest", "web/good", "wiki", "all"]
    rows = [json.loads(line) for line in (corpus / "one.jsonl").read_text().splitlines()]
    num_tokens = sum(len(r["text"].split()) + r["text"].split().count("quick") for r in rows)
    assert table["all"]["tokens"]["reached"] == num_tokens == done.counts[-1].num_tokens
    assert num_tokens == pytest.approx(12_000, rel=0.1)
    assert table["all"]["documents"]["reached"] == len(rows)
    wanted = [row["tokens"]["wanted"] for row in table.values()]
    assert wanted == pytest.approx([1 / 6, 3 / 6, 2 / 6, 1])
    for row in table.values():
        assert row["tokens"]["share"] == pytest.approx(row["tokens"]["wanted"], abs=0.05)
        assert row["epochs"]["reached"] == pytest.approx(row["epochs"]["wanted"], rel=0.25)
    counted = Counter(row["source"] for row in rows)
    assert table["wiki"]["documents"]["reached"] == counted["wiki"]
    summary, page = summarize(done), make_report(done)
    assert "\n  mix:\n  part" in summary and "counted" not in summary
    for text in (f"{num_tokens:,}", "web/good"):
        assert text in summary and text in page
    assert "<th>tokens wanted</th>" in page


@pytest.mark.slow
def test_tokens_need_a_vocabulary_and_two_draws_two_seeds(corpus):
    step = Mix(exponent=1, unit="tokens")
    with pytest.raises(ValueError, match="step mix counts tokens, which needs a vocabulary: name"):
        run("o.jsonl", [step], vocab_file=None)
    with pytest.raises(ValueError, match="steps mix and mix#2 have the same seed, 0, and would"):
        run("o.jsonl", [step, step])
    half = {"epochs": {"web": 0.5, "wiki": 0.5}}
    done = run("o.jsonl", [Mix(**half), Mix(**half, seed=1)])
    assert done.counts[-1].num_documents == pytest.approx(1750 / 4, abs=80)


@mostly_slow(
    ("step", "none"),
    [
        (Mix(epochs={"wiki": 0}), ["wiki"]),
        (Mix(epochs={"wiki": 1e-9, "web": 2}), ["wiki"]),
        (
            Mix(epochs={"web": {"0": 0.2, "1": 0}}, bucket_field="score", bucket_bounds=(0.5,)),
            ["web/1"],
        ),
        (Mix(weights={"wiki": 1, "web": 1e-9}, budget=500), ["web"]),
    ],
)
def test_parts_of_which_nothing_passes_are_in_the_table(corpus, step, none):
    done = run("o.jsonl", [step])
    table = {row["part"]: row for row in done.tables["mix"].as_json()}
    for cell in none:
        assert [table[cell][unit]["reached"] for unit in ("documents", "bytes", "tokens")] == [
            0
        ] * 3
        assert table[cell]["epochs"]["reached"] == 0
    assert table["all"]["documents"]["reached"] == done.counts[-1].num_documents > 0
    assert f"\n  {none[0]}" in summarize(done) and make_report(done)
