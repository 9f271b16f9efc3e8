"""Where PyTorch is missing, importing bert_data.torch says what it needs."""

import importlib
import sys

import pytest


def test_without_pytorch_the_error_says_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "bert_data.torch", raising=False)
    with pytest.raises(ImportError, match=r"bert_data\.torch needs PyTorch.*pip install torch"):
        importlib.import_module("bert_data.torch")
