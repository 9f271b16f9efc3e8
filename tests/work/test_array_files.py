"""Arrays in one file are those that were written, and damage to the table is told."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bert_data.work.array_files import ArrayFile, ArrayWriter
from tests.hypotheses import examples

KINDS = st.sampled_from(["|u1", "<i2", "<f4", "<u8"])
ARRAYS = arrays.arrays(KINDS, arrays.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=4))


@examples(60)
@given(st.data(), KINDS, st.dictionaries(st.text(), ARRAYS, max_size=4))
def test_arrays_and_rows_are_read_as_they_were_written(tmp_path_factory, data, kind, others):
    path = tmp_path_factory.mktemp("arrays") / "file"
    rows = data.draw(st.lists(arrays.arrays(kind, st.integers(0, 5))))
    others = {f"own {name}": array for name, array in others.items()}
    with ArrayWriter(path, kind) as writer:
        for row in rows:
            writer.append(row)
        writer.arrays |= others
    file = ArrayFile(path)
    for name, array in others.items():
        assert (file[name].dtype, file[name].shape) == (array.dtype, array.shape)
        assert file[name].tobytes() == array.tobytes()
    found = file.rows()
    assert [found.row(n).tobytes() for n in range(len(found))] == [row.tobytes() for row in rows]
    assert file.row_lengths().tolist() == [len(row) for row in rows]


def test_only_the_arrays_asked_for_are_fetched_from_a_store(tmp_path, object_store):
    with ArrayWriter(tmp_path / "file") as writer:
        writer.append(np.arange(1 << 20, dtype=np.uint64))
        writer.arrays |= {"few": np.arange(5), "none": np.empty((0, 2))}
    object_store.put("file", (tmp_path / "file").read_bytes())
    object_store.clear()
    file = ArrayFile(object_store.uri("file"))
    assert file["few"].tolist() == [0, 1, 2, 3, 4]
    assert file["none"].shape == (0, 2)
    assert file.row_lengths().tolist() == [1 << 20]
    bounds = [map(int, each.range[6:].split("-")) for each in object_store.requests if each.range]
    assert sum(last - first + 1 for first, last in bounds) < 1 << 18
    assert file.rows().values[-1] == (1 << 20) - 1
