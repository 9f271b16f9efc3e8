"""Thresholds tried over a ledger, compared with runs that have them."""

import contextlib
import re
from pathlib import Path

import pytest
from pyarrow import Table, parquet

from bert_data.curation.reporting.what_if import describe_changes, parse_question, retry_thresholds
from bert_data.curation.running.output_files import output_paths
from bert_data.curation.steps.mix import Mix
from bert_data.errors import CorruptDataError
from tests.curation.fake_steps import Few, Unique
from tests.curation.running.test_run import run, web  # noqa: F401 (a fixture)
from tests.rows import mostly_slow


def ask(ledger: str, *questions: str):
    return retry_thresholds(ledger, [parse_question(each) for each in questions])


@mostly_slow(("new", "others"), [(1, 100), (2, 0), (4, 100), (5, 0), (99, 1)])
def test_it_agrees_with_a_run(tmp_path, web, new, others):  # noqa: F811
    """With all measures in the ledger a threshold can go both ways, and so can two at once."""
    before = run(tmp_path, [Few()], ledger="all")
    (change,) = ask(before.ledger[0], f"few.max_xs={new}", f"few.max_ys={others}")
    (source,) = change.sources
    kept = before.counts[1].num_documents + source.num_more - source.num_fewer
    if kept == 0:
        with pytest.raises(ValueError, match="no document is left"):
            run(tmp_path, [Few(max_xs=new, max_ys=others)], overwrite=True)
        return
    after = run(tmp_path, [Few(max_xs=new, max_ys=others)], overwrite=True)
    assert after.counts[1].num_documents == kept
    num_bytes = source.num_more_bytes - source.num_fewer_bytes
    assert after.counts[1].num_bytes == before.counts[1].num_bytes + num_bytes


def test_the_ledger_of_rejected_documents_can_be_loosened(tmp_path, web):  # noqa: F811
    before = run(tmp_path, [Few(max_xs=2), Unique()])
    (change,) = ask(before.ledger[0], "few.max_xs=3")
    assert change.sources[0].num_more == 40
    assert not change.may_tighten
    description = describe_changes([change])
    assert "web: 40 documents more" in description
    assert "not known" not in description
    (change,) = ask(before.ledger[0], "few.max_xs=1")
    assert change.sources[0].num_more == change.sources[0].num_fewer == 0
    description = describe_changes([change])
    assert "How many fewer pass is not known" in description
    assert "`ledger=all`" in description


def test_a_rule_of_one_step_alone_needs_no_step(tmp_path, web):  # noqa: F811
    ledger = run(tmp_path, [Few(max_xs=2), Unique()]).ledger[0]
    assert ask(ledger, "max_xs=3")[0].sources == ask(ledger, "few.max_xs=3")[0].sources
    twice = run(tmp_path, [Few(max_xs=3), Few(max_xs=2)], overwrite=True).ledger[0]
    with pytest.raises(ValueError, match="few, few#2 have the rule 'max_xs'"):
        ask(twice, "max_xs=3")
    assert ask(twice, "few#2.max_xs=3")[0].sources[0].num_more == 40


def test_what_cannot_be_asked(tmp_path, web):  # noqa: F811
    ledger = run(tmp_path, [Few()]).ledger[0]
    for question, sentence in (
        ("few.max_xs", "it must be STEP.RULE=VALUE"),
        ("max_zs=1", "no step in it has the rule 'max_zs'; its rules are few.max_xs, few.max_ys"),
        ("nope=0.95", "no step in it has the rule 'nope'; its rules are few.max_xs, few.max_ys"),
        ("few.max_xs=many", "'many' is not a number"),
        ("few.max_xs=nan", "'nan' is not a number"),
        ("language.languages=3", "has nothing of step 'language'.*it has few"),
        ("fewer.max_xs=3", "has nothing of step 'fewer'.*it has few"),
        ("few.max_zs=3", "step few has no rule 'max_zs'; it has max_xs, max_ys"),
    ):
        with pytest.raises(ValueError, match=sentence):
            ask(ledger, question)
    mixed = run(tmp_path, [Few(), Mix(epochs={"web": 0.5})], overwrite=True).ledger[0]
    sentence = (
        "asks for mix.epochs; only rules named .* can be tried again; those of .* are few.max_xs"
    )
    with pytest.raises(ValueError, match=sentence):
        ask(mixed, "mix.epochs=1")
    with pytest.raises(ValueError, match="asks twice"):
        ask(ledger, "few.max_xs=1", "few.max_xs=2")
    other = tmp_path / "other.parquet"
    parquet.write_table(Table.from_pylist([{"a": 1}]), other)
    with pytest.raises(CorruptDataError, match="not a ledger"):
        ask(str(other), "few.max_xs=1")
    data = Path(output_paths(ledger)[1][0]).read_bytes()
    refusals = []
    for place in (match.start() for match in re.finditer(b"rule", data)):  # also in the footer
        other.write_bytes(data[:place] + b"\xf5" + data[place + 1 :])
        with contextlib.suppress(CorruptDataError):
            ask(str(other), "few.max_xs=1")
            continue
        refusals.append(place)
    assert refusals
    other.write_bytes(b"PAR1 no")
    with pytest.raises(CorruptDataError, match="not a readable Parquet"):
        ask(str(other), "few.max_xs=1")
