"""Lists of phrases: entries, weights, compression, and what is wrong with a line."""

import gzip

import pytest

from bert_data.curation.quality.phrase_lists import read_phrases
from bert_data.curation.quality.phrases import Phrase


def test_entries_and_weights(tmp_path):
    plain, packed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_bytes("\ufeffgronk\r\n\n flim flam\t2.5\n坏话 \n#tag\n".encode())
    packed.write_bytes(gzip.compress(b"last\t1e-3"))
    assert list(read_phrases([str(plain), str(packed)])) == [
        Phrase("gronk"),
        Phrase("flim flam", 2.5),
        Phrase("坏话"),
        Phrase("#tag"),
        Phrase("last", 0.001),
    ]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "a.txt: the list has no entry"),
        (b"\n \n", "a.txt: the list has no entry"),
        (b"a\nb\tc\n", "a.txt:2: the weight is 'c'; it must be a number > 0"),
        (b"a\t0", "a.txt:1: the weight is '0'"),
        (b"a\t-1", "a.txt:1: the weight is '-1'"),
        (b"a\tnan", "a.txt:1: the weight is 'nan'"),
        (b"a\tinf", "a.txt:1: the weight is 'inf'"),
        (b"a\t1\t2", "a.txt:1: the weight is '1.t2'"),
        (b"a\nb\xff\n", "a.txt:2: the line is not UTF-8"),
        ("\u200b\u00ad".encode(), "a.txt:1: .* has no visible character"),
        (b"x" * 201, "a.txt:1: 'x* has 201 characters; at most 200"),
    ],
)
def test_lines_that_are_no_entries_are_told(tmp_path, data, sentence):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=sentence):
        list(read_phrases([str(path)]))


def test_missing_files_are_told(tmp_path):
    with pytest.raises(OSError, match="nothing"):
        list(read_phrases([f"{tmp_path}/nothing"]))
