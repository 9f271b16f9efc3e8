"""Columns equal pyarrow's own, and making them imports no pandas."""

import subprocess
import sys

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.running.arrow_files import make_column

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = {
    pyarrow.string(): _TEXTS,
    pyarrow.large_string(): _TEXTS,
    pyarrow.int32(): st.integers(-(2**31), 2**31 - 1),
    pyarrow.int64(): st.integers(-(2**63), 2**63 - 1),
    pyarrow.float64(): st.floats(allow_nan=False),
    pyarrow.bool_(): st.booleans(),
}


@given(st.data())
def test_a_column_is_what_pyarrow_makes(data):
    kind = data.draw(st.sampled_from(list(VALUES)))
    values = data.draw(st.lists(st.none() | VALUES[kind], max_size=20))
    column = make_column(values, kind)
    column.validate(full=True)
    assert column.equals(pyarrow.array(values, kind))


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(UnicodeEncodeError):
        make_column(["a\ud800"], pyarrow.string())


@pytest.mark.process
def test_pandas_is_not_imported():
    program = "import sys, pyarrow; from bert_data.curation.running.arrow_files import make_column"
    program += "\nmake_column(['a', None], pyarrow.string()); sys.exit('pandas' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
