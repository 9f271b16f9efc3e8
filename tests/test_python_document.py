"""The examples of docs/python.md do what they show."""

import contextlib
import io
import re

import pytest

BLOCK = re.compile(r"^```(python)?\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def test_the_examples_give_what_they_show(tmp_path, monkeypatch, checkout):
    """All of them in turn, in one program, as a notebook runs them."""
    monkeypatch.chdir(tmp_path)
    text = (checkout / "docs" / "python.md").read_text(encoding="utf-8")
    names = {"__name__": "__main__"}
    printed, num_compared = "", 0
    for language, code in BLOCK.findall(text):
        if language:
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(code, "docs/python.md", "exec"), names)
            printed = output.getvalue()
        elif printed:
            assert printed == code
            printed, num_compared = "", num_compared + 1
    assert num_compared == 6


@pytest.mark.parametrize("name", ["train_vocab", "create_records", "tokenize", "curate",
                                  "train_classifier", "build_samples", "read_batches",
                                  "iterate_arrays", "train", "export_hub",
                                  "export_hf"])  # fmt: skip
def test_all_functions_are_in_the_document(checkout, name):
    assert f"| `{name}(" in (checkout / "docs" / "python.md").read_text(encoding="utf-8")
