"""Lines are those that fastText reads as the same words, whatever the texts hold."""

import itertools
import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.classifying.classifier_config import ClassFiles, ClassifierConfig
from bert_data.curation.classifying.training_texts import spool_texts
from tests.hypotheses import examples

WORDS = st.sampled_from(
    ["the", "cat", "</s>", "__label__x", "na\u00efve", "\u6c34", "<", "a" * 300]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=9).map(" ".join) | st.text(min_size=1, max_size=9)


def words_of(text: str) -> list[bytes]:
    words = text.encode(errors="replace").replace(b"\0", b" ").split()
    return [word for word in words if word != b"</s>" and not word.startswith(b"__label__")]


@examples(60)
@given(st.lists(TEXTS, max_size=9))
def test_a_line_has_the_words_of_its_text(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("spool")
    classes = []
    for label in ("a", "b"):
        path = folder / f"{label}.jsonl"
        path.write_text("".join(json.dumps({"text": each}) + "\n" for each in ["one", *texts]))
        classes.append(ClassFiles(label, (str(path),)))
    spooled = spool_texts(ClassifierConfig(classes=tuple(classes)), str(folder / "lines"))
    data, bounds = spooled.data.tobytes(), itertools.pairwise(spooled.ends.tolist())
    expected = [
        b"__label__%c %b\n" % (label, b" ".join(words))
        for label in b"ab"
        for words in map(words_of, ["one", *texts])
        if words
    ]
    assert [data[start:end] for start, end in bounds] == expected
    assert [spooled.labels[n] for n in spooled.targets] == [chr(each[9]) for each in expected]
    with open(folder / "some", "wb") as file:
        spooled.write(file, np.array([len(expected) - 1, 0]))
    assert (folder / "some").read_bytes() == expected[-1] + expected[0]
