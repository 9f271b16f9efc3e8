"""The definition of instances, by hand: what each step does, and in which order it draws."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.objectives.instance_definition import (
    TrainingInstance,
    create_instances_from_document,
    create_masked_lm_predictions,
    create_training_instances,
    truncate_seq_pair,
)
from bert_data.tokens.definition import FullTokenizer

WORDS = ["x", "y", "z"]


class Scripted(random.Random):
    """Gives the numbers of a list; whole numbers to randint, others to random."""

    def __init__(self, *numbers):
        super().__init__(0)
        self.numbers = list(numbers)

    def random(self):
        number = self.numbers.pop(0)
        assert isinstance(number, float)
        return number

    def randint(self, a, b):
        number = self.numbers.pop(0)
        assert isinstance(number, int)
        assert a <= number <= b
        return number

    def shuffle(self, x):
        pass


def instances_of(documents, index, rng, *, max_seq_length=11, short_seq_prob=0.1):
    """One pass over a document, nothing predicted."""
    instances = create_instances_from_document(
        documents, index, max_seq_length, short_seq_prob, 0.15, 0, WORDS, rng
    )
    assert not rng.numbers
    return [(" ".join(instance.tokens), instance.is_random_next) for instance in instances]


DOCUMENT = [["a1", "a2", "a3"], ["b1", "b2"], ["c1", "c2", "c3"], ["d1"]]
OTHER = [["p1"], ["q1", "q2", "q3"], ["r1"]]


class TestPairs:
    def test_the_rest_of_a_chunk_follows(self):
        rng = Scripted(0.5, 2, 0.5, 0, 1, 1)
        assert instances_of([DOCUMENT, OTHER], 0, rng) == [
            ("[CLS] a1 a2 a3 b1 b2 [SEP] c1 c2 c3 [SEP]", False),
            ("[CLS] d1 [SEP] q1 q2 q3 r1 [SEP]", True),
        ]

    def test_sentences_that_a_random_next_displaces_are_used_again(self):
        rng = Scripted(0.5, 1, 0.49, 1, 0, 2, 0.9)
        assert instances_of([DOCUMENT, OTHER], 0, rng) == [
            ("[CLS] a1 a2 a3 [SEP] p1 q1 q2 q3 r1 [SEP]", True),
            ("[CLS] b1 b2 c1 c2 c3 [SEP] d1 [SEP]", False),
        ]

    def test_the_tenth_draw_may_be_the_document_itself(self):
        same = [0] * 10
        rng = Scripted(0.5, 1, 0.0, *same, 2, *same, 0, 0.5, 0.49, *same, 0)
        assert instances_of([OTHER], 0, rng, max_seq_length=5) == [
            ("[CLS] p1 [SEP] r1 [SEP]", True),
            ("[CLS] q2 [SEP] p1 [SEP]", True),
            ("[CLS] r1 [SEP] p1 [SEP]", True),
        ]

    def test_a_document_may_have_a_shorter_target(self):
        rng = Scripted(0.05, 2, 1, 0, 1, 2)
        assert instances_of([[DOCUMENT[0], DOCUMENT[3]], OTHER], 0, rng) == [
            ("[CLS] a1 a2 a3 [SEP] p1 [SEP]", True),
            ("[CLS] d1 [SEP] r1 [SEP]", True),
        ]

    def test_segments(self):
        (instance,) = create_instances_from_document(
            [[["a"], ["b", "c"]]], 0, 11, 0.0, 0.15, 5, WORDS, Scripted(0.5, 1, 0.9, 0.0)
        )
        assert instance.tokens == ["[CLS]", "[MASK]", "[SEP]", "b", "c", "[SEP]"]
        assert instance.segment_ids == [0, 0, 0, 1, 1, 1]
        assert (instance.masked_lm_positions, instance.masked_lm_labels) == ([1], ["a"])

    def test_an_instance_has_room_for_two_tokens(self):
        with pytest.raises(ValueError, match="max_seq_length is 4; it must be 5 or more"):
            instances_of([OTHER], 0, Scripted(), max_seq_length=4)


class TestTruncation:
    def test_takes_from_the_longer_one_and_of_equals_from_b(self):
        a, b = ["a1", "a2"], ["b1", "b2"]
        truncate_seq_pair(a, b, 2, Scripted(0.49, 0.5))
        assert (a, b) == (["a1"], ["b2"])

    @given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 30), st.integers())
    def test_keeps_a_range_of_each(self, num_a, num_b, most, seed):
        a, b = list(range(num_a)), list(range(num_b))
        truncate_seq_pair(a, b, most, random.Random(seed))
        assert len(a) + len(b) == min(num_a + num_b, most)
        for kept in (a, b):
            assert not kept or kept == list(range(kept[0], kept[0] + len(kept)))


def test_lines_are_sentences_and_blank_ones_end_documents(tmp_path, small_vocabulary):
    """Documents ba-do, ki-lu, and me-no of two files; a line of U+200B is not blank."""
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_bytes(b"ba\rdo \r\n\n\n \xe2\x80\x8b\nki lu\n\xc2\xa0\nme")
    second.write_bytes(b"no\n\n")
    rng = Scripted(0.5, 1, 0, 0.5, 0, 0, 0.5, 1, 0.5)
    instances = create_training_instances(
        [str(first), str(second)], FullTokenizer(small_vocabulary), 16, 1, 0.0, 0.0, 0, rng
    )
    assert [" ".join(instance.tokens) for instance in instances] == [
        "[CLS] ba ##do [SEP] ki lu [SEP]",
        "[CLS] ki lu [SEP] ba ##do [SEP]",
        "[CLS] me [SEP] no [SEP]",
    ]


def test_an_instance_shows_itself_as_googles_does():
    instance = TrainingInstance(["[CLS]", "a", "[SEP]"], [0, 0, 0], [1], ["b"], True)
    assert (
        str(instance)
        == repr(instance)
        == (
            "tokens: [CLS] a [SEP]\nsegment_ids: 0 0 0\nis_random_next: True\n"
            "masked_lm_positions: 1\nmasked_lm_labels: b\n\n"
        )
    )


def masked(tokens, prob, most, *numbers, whole_words=False):
    rng = Scripted(*numbers)
    original = tokens.split()
    shown, positions, labels = create_masked_lm_predictions(
        original, prob, most, WORDS, rng, do_whole_word_mask=whole_words
    )
    assert not rng.numbers
    assert original == tokens.split()
    assert labels == [original[position] for position in positions]
    return " ".join(shown), positions


def test_a_token_is_masked_or_stays_or_is_a_random_word():
    draws = (0.79, 0.8, 0.49, 0.8, 0.5, 1)
    assert masked("[CLS] a b [SEP] c [SEP]", 0.5, 9, *draws) == (
        "[CLS] [MASK] b [SEP] y [SEP]",
        [1, 2, 4],
    )


@pytest.mark.parametrize(
    ("num_tokens", "prob", "most", "expected"),
    [(10, 0.25, 20, 2), (14, 0.25, 20, 4), (9, 0.0, 20, 1), (9, 1.0, 3, 3), (9, 0.5, 0, 0)],
)
def test_the_number_to_predict(num_tokens, prob, most, expected):
    """Of all tokens, special ones included, rounded half to even; one at least."""
    tokens = " ".join(["[CLS]", *"a" * (num_tokens - 3), "[SEP]", "[SEP]"])
    _, positions = masked(tokens, prob, most, *[0.0] * expected)
    assert positions == list(range(1, 1 + expected))


def test_pieces_of_a_word_go_together():
    tokens = "[CLS] a b ##c ##d [SEP] e [SEP]"
    assert masked(tokens, 0.5, 4, 0.0, 0.8, 0.0, 0.0, 0.9, 0.9, 0, whole_words=True) == (
        "[CLS] [MASK] b [MASK] x [SEP] e [SEP]",
        [1, 2, 3, 4],
    )


def test_a_word_that_is_too_large_is_skipped():
    assert masked("[CLS] a ##b c [SEP]", 0.2, 4, 0.0, whole_words=True) == (
        "[CLS] a ##b [MASK] [SEP]",
        [3],
    )


def test_a_piece_continues_the_token_before_it_across_a_separator():
    draws = (0.0, 0.0)
    assert masked("[CLS] a [SEP] ##b [SEP]", 0.4, 4, *draws, whole_words=True)[1] == [1, 3]
    assert masked("[CLS] ##a [SEP] b [SEP]", 0.2, 4, 0.0, whole_words=True)[1] == [1]
    assert masked("[CLS] a [SEP] ##b [SEP]", 0.2, 4, 0.0)[1] == [1]
