"""A table at the end of a file is the one that was written, or it is damaged."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.work.tables import read_table, write_table
from tests.hypotheses import examples


@examples(60)
@given(st.data(), st.binary(max_size=20), st.integers(0, 1 << 17))
def test_a_table_is_read_whatever_is_before_it_and_damage_is_told(
    tmp_path_factory, data, before, size
):
    path = tmp_path_factory.mktemp("table") / "file"
    with path.open("wb") as file:
        file.write(before)
        write_table(file, json.dumps("x" * size))
    assert read_table(path) == ("x" * size, len(before))
    whole = bytearray(path.read_bytes())
    damaged = data.draw(st.integers(len(before), len(whole) - 1))
    whole[damaged] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, len(whole) - 1))
    for content in (whole, path.read_bytes()[:cut]):
        path.write_bytes(content)
        with pytest.raises(CorruptDataError):
            read_table(path)
