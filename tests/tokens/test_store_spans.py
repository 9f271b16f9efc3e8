"""Documents of stores, in pieces and joined."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.tokens import store_spans
from bert_data.tokens.store import EMPTY_DOCUMENTS, StoreShape, open_store
from bert_data.tokens.store_spans import StoreSpan, join_spans
from tests.tokens.test_store_writer import DOCUMENTS, files, write


@given(st.data(), DOCUMENTS.filter(lambda documents: any(map(any, documents))))
def test_joined_spans_are_the_whole(tmp_path_factory, data, documents):
    folder = tmp_path_factory.mktemp("spans")
    shape = StoreShape(empty_documents=data.draw(st.sampled_from(EMPTY_DOCUMENTS)))
    write(folder / "whole", documents, shape, "<u2", [])
    bounds = open_store(str(folder / "whole")).documents.tolist()
    cuts = [cut for cut, bound in enumerate(bounds) if 0 < bound < bounds[-1]]
    cut = data.draw(st.sampled_from([0, *cuts]))  # no span is empty
    spans = [StoreSpan(prefix=str(folder / "whole"), start=cut)]
    if cut:
        spans.insert(0, StoreSpan(prefix=str(folder / "whole"), stop=cut))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_spans, "_SEQUENCES", data.draw(st.integers(1, 5)))
        patch.setattr(store_spans, "_TOKENS", data.draw(st.integers(1, 9)))
        join_spans(spans, str(folder / "joined"))
    assert files(folder / "joined") == files(Path(folder / "whole"))
