"""Ids in graphs against the definition; rows, which `labelled/test_ragged.py` tests, by names."""

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.hub.preprocessing import GraphTokenizer, SpecialIds, pack_rows, width_of_longest
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.vocabulary import load_vocabulary
from tests.goldens.inputs import TEXTS, VOCABULARIES
from tests.goldens.reading import digest_of_rows, load_goldens, write_vocabulary
from tests.hypotheses import examples
from tests.rows import mostly_slow
from tests.tokens.odd_texts import (
    EVERY_LETTER,
    code_points,
    defined_ids,
    make_vocabulary,
    odd_texts,
    pieces_of_odd,
)

SPECIAL = SpecialIds(start_id=101, end_id=102, pad_id=7)


@pytest.mark.slow
def test_a_graph_serves_every_batch_and_width() -> None:
    spec = [tf.RaggedTensorSpec([None, None], tf.int32)] * 2
    function = tf.function(
        lambda a, b, width: pack_rows([a, b], SPECIAL, width),
        input_signature=[*spec, tf.TensorSpec([], tf.int32)],
    )
    rows = [[[201, 202, 203], [205]], [[204], []]]
    segments = [tf.ragged.constant(each, tf.int32) for each in rows]
    packed = {}
    for width in (5, 7, 30):
        packed[width] = function(*segments, tf.constant(width))
        for name, expected in pack_rows(segments, SPECIAL, width).items():
            np.testing.assert_array_equal(packed[width][name], expected)
    assert {name: values.numpy().tolist() for name, values in packed[7].items()} == {
        "input_word_ids": [[101, 201, 202, 203, 102, 204, 102], [101, 205, 102, 102, 7, 7, 7]],
        "input_mask": [[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]],
        "input_type_ids": [[0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0, 0]],
    }
    assert [int(width_of_longest(segments, most)) for most in (5, 7, 30)] == [5, 7, 7]
    with pytest.raises(tf.errors.InvalidArgumentError, match="seq_length must be more than the 2"):
        function(*segments, tf.constant(2))


def test_a_special_id_that_is_none() -> None:
    with pytest.raises(ValueError, match=r"end_id is -1; 0 to 2,147,483,647 is allowed"):
        SpecialIds(start_id=1, end_id=-1)


BATCH_SIZE = 4096
TEMPLATES = ("{}", "a{}b", "{} the", "e{}\u0301x", "aΣ{}a {}Σ", "a\u302f{}\U0001d165")


def ids_of(tokenizer: GraphTokenizer, texts: Sequence[str | bytes]) -> list[list[int]]:
    return tokenizer(tf.constant(texts, tf.string, [len(texts)])).merge_dims(1, 2).to_list()


def num_different(tokenizer: GraphTokenizer, expected: FastTokenizer, texts: Iterable[str]) -> int:
    """The number of texts whose ids are not FastTokenizer's, which are the definition's."""
    texts = [text.replace("\n", " ").replace("\r", " ") for text in texts]
    number = 0
    for first in range(0, len(texts), BATCH_SIZE):
        # The "~" is a word of one id, so that texts without ids are rows, too.
        batch = [f"{text} ~" for text in texts[first : first + BATCH_SIZE]]
        block = expected.tokenize_block("\n".join(batch).encode())
        ids = tokenizer(tf.constant(batch)).merge_dims(1, 2)
        lengths = ids.row_lengths().numpy()
        assert len(lengths) == len(block.sentence_lengths)
        if np.array_equal(ids.values, block.ids) and np.array_equal(
            lengths, block.sentence_lengths
        ):
            continue
        rows = ids.to_list()
        bounds = np.cumsum(block.sentence_lengths)[:-1]
        number += sum(
            row != list(other) for row, other in zip(rows, np.split(block.ids, bounds), strict=True)
        )
    return number


@pytest.mark.slow
@examples(8)
@given(pieces=pieces_of_odd, samples=st.lists(odd_texts, max_size=20), lower=st.booleans())
@example(pieces=[], samples=["a b", ""], lower=True)
@example(pieces=["##", "#", "", "a", "a", "##a", "##aa", "aaa"], samples=["aaaaa##a"], lower=True)
@example(pieces=["a b", "a", "##b", "\u3000", "b"], samples=["a b ab", " "], lower=False)
@example(pieces=["a" * 200, "##" + "a" * 200, "a" * 201], samples=["a" * 200], lower=True)
def test_ids_with_any_vocabulary(pieces: list[str], samples: list[str], lower: bool) -> None:
    vocabulary = make_vocabulary(pieces)
    tokenizer = GraphTokenizer(vocabulary, do_lower_case=lower, tokenizer="exact")
    expected = [defined_ids(vocabulary, lower, text) for text in samples]
    assert ids_of(tokenizer, samples) == expected


@pytest.mark.slow
def test_pieces_are_grouped_by_word_and_text() -> None:
    vocabulary = make_vocabulary(["ab", "##c", "d", "."])
    for kind in ("exact", "fast"):
        tokenizer = GraphTokenizer(vocabulary, do_lower_case=True, tokenizer=kind)
        rows = tokenizer(tf.constant(["ABC x d.", "", " ", "[MASK] abcc"]))
        assert rows.dtype == tf.int32
        assert rows.to_list() == [[[5, 6], [1], [7], [8]], [], [], [[1], [1], [1], [5, 6, 6]]], kind


@pytest.mark.slow
def test_special_ids() -> None:
    vocabulary = make_vocabulary(["a"])
    tokenizer = GraphTokenizer(vocabulary, do_lower_case=True, tokenizer="exact")
    special = tokenizer.get_special_tokens_dict()
    assert {name: int(value) for name, value in special.items()} == {
        "vocab_size": 6,
        "padding_id": 0,
        "start_of_sequence_id": 2,
        "end_of_segment_id": 3,
        "mask_id": 4,
    }
    assert all(value.dtype == tf.int32 and value.shape == () for value in special.values())


def test_another_word_for_the_tokenizer_is_refused() -> None:
    with pytest.raises(ValueError, match="tokenizer is 'quick'; it must be one of exact, fast"):
        GraphTokenizer(EVERY_LETTER, do_lower_case=True, tokenizer="quick")


@pytest.mark.slow
@pytest.mark.parametrize("lower", [False, True])
def test_every_code_point_among_others(lower: bool) -> None:
    tokenizer = GraphTokenizer(EVERY_LETTER, do_lower_case=lower, tokenizer="exact")
    expected = FastTokenizer(EVERY_LETTER, lower)
    for template in TEMPLATES:
        points = code_points(1 if template == "a{}b" and lower else 500)
        texts = (template.replace("{}", point) for point in points)
        assert num_different(tokenizer, expected, texts) == 0, template


@pytest.mark.slow
def test_the_fast_way_differs_where_it_is_said_to() -> None:
    tokenizer = GraphTokenizer(EVERY_LETTER, do_lower_case=True, tokenizer="fast")
    expected = FastTokenizer(EVERY_LETTER, True)
    ascii_texts = [chr(a) + chr(b) + "a" for a in range(32, 127) for b in range(32, 127)]
    assert num_different(tokenizer, expected, ascii_texts) == 0
    assert num_different(tokenizer, expected, ["a\x01b", "a\xadb"]) == 1
    assert num_different(tokenizer, expected, ["ΑΣ", "ΑΣΑ"]) == 1
    assert num_different(tokenizer, expected, ["ς" * 101, "e" * 201]) == 1
    points = [chr(code) for code in range(0x30000) if not 0xD800 <= code < 0xE000]
    assert 100 < num_different(tokenizer, expected, points) < 10_000


@mostly_slow("vocabulary", VOCABULARIES)
@mostly_slow("lower", [True, False])
def test_ids_of_texts_by_formula_equal_the_reference(
    tmp_path: Path, vocabulary: str, lower: bool
) -> None:
    goldens = load_goldens("tokenization.json")["texts"]
    tokenizer = GraphTokenizer(
        load_vocabulary(write_vocabulary(tmp_path, vocabulary)),
        do_lower_case=lower,
        tokenizer="exact",
    )
    casing = "" if lower else " cased"
    for name, text in TEXTS.items():
        ids = ids_of(tokenizer, text().split(b"\n"))
        assert digest_of_rows(ids) == goldens[name][vocabulary + casing], name


FLAVORS = {"uncased": (True, "uncased"), "cased": (False, "uncased"), "chinese": (True, "chinese")}


@pytest.mark.slow
@pytest.mark.parametrize("flavor", FLAVORS)
def test_ids_of_real_and_edge_texts_equal_the_reference(shared: Path, flavor: str) -> None:
    goldens = json.loads((shared / "goldens/tokenization.json").read_text(encoding="utf-8"))
    if unicodedata.unidata_version != goldens["unicodedata"]:
        pytest.skip(f"the goldens are of Unicode {goldens['unicodedata']}")
    lower, name = FLAVORS[flavor]
    vocabulary = load_vocabulary(shared / f"data/vocab/bert-base-{name}.txt")
    tokenizer = GraphTokenizer(vocabulary, do_lower_case=lower, tokenizer="exact")
    for name, digests in goldens["corpora"].items():
        if flavor not in digests:
            continue
        folder = "corpora" if (shared / "data/corpora" / name).exists() else "edge"
        texts = (shared / "data" / folder / name).read_bytes().split(b"\n")
        digest, num_ids = hashlib.sha256(), 0
        for first in range(0, len(texts), BATCH_SIZE):
            for ids in ids_of(tokenizer, texts[first : first + BATCH_SIZE]):
                digest.update(f"{' '.join(map(str, ids))}\n".encode())
                num_ids += len(ids)
        assert [digest.hexdigest(), num_ids] == digests[flavor], name
