"""Draws of documents: uniform, and of their own for each key."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.mixing.draws import draw


def document(name, source="web"):
    return Document(id=name, source=source, text="")


def test_draws_are_uniform_and_those_of_keys_independent():
    draws = {k: np.array([draw(k, document(str(n))) for n in range(5000)]) for k in ("0", "1")}
    for values in draws.values():
        counts = np.histogram(values, 10, (0, 1))[0]
        assert counts.sum() == 5000
        assert abs(counts - 500).max() < 6 * np.sqrt(500)
    assert abs(np.corrcoef(draws["0"], draws["1"])[0, 1]) < 0.1


@given(st.text(), st.text())
def test_a_draw_depends_on_key_data_set_and_id_alone(key, name):
    value = draw(key, document(name))
    assert 0 <= value < 1
    assert value == draw(key, Document(id=name, source="web", text="other", fields={"a": 1}))
    assert value != draw(key, document(name, "wiki"))
    assert value != draw(key, document(f"{name}x"))


def test_draws_stay_what_they_are():
    """A new version selects the same documents."""
    assert draw("0", document("web/web.jsonl:1")) == 0.614134215128226
