"""The property Sentence_Terminal."""

import unicodedata

import numpy as np

from bert_data.curation.quality.terminal_marks import sentence_terminals


def test_marks_of_many_scripts_and_nothing_else() -> None:
    marks = sentence_terminals()
    assert marks.dtype == np.uint32
    assert (np.diff(marks.astype(int)) > 0).all()
    among = {chr(code) for code in marks.tolist()}
    assert {*".!?‼⁇。！？．｡।॥۔؟։።᙮"} <= among
    assert not among & {*",;:-…'\")]}»、·"}
    # A code point that this Python's Unicode does not know yet is "Cn".
    assert {unicodedata.category(mark) for mark in among} <= {"Po", "Cn"}
