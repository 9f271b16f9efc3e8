"""The arguments of functions for programs."""

import dataclasses
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

import bert_data
from bert_data.api.arguments import Options, takes
from bert_data.settings import Formerly
from bert_data.work.engine import Ray


@dataclasses.dataclass(kw_only=True)
class Size:
    width: Annotated[int, Formerly("breadth")] = 1
    height: int = 2


@dataclasses.dataclass(kw_only=True)
class Place:
    folder: str
    names: tuple[str, ...] = ()


def test_each_configuration_takes_its_own():
    @takes(Size, f"{__name__}.Place", others=("engine", "more"))
    def f() -> None: ...

    options = {"width": np.int32(5), "names": ("a",), "engine": "ray"}
    given = Options(f.__name__, options)
    assert given.config(Size) == Size(width=5)
    assert given.config(Place, folder="x") == Place(folder="x", names=("a",))
    assert given.engine() == Ray()
    assert given.take("more", 7) == 7
    given.end()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("widht", r"f\(\) has no option 'widht'; did you mean width\?"),
        ("folder", r"f\(\) has no option 'folder'$"),  # the function names it otherwise
    ],
)
def test_an_unknown_option_is_refused(name, sentence):
    with pytest.raises(TypeError, match=sentence):
        given = Options("f", {name: 1}, Size, Place)
        given.config(Place, folder="x")
        given.end()


def test_an_option_has_its_former_name_for_a_while():
    with pytest.warns(DeprecationWarning, match="^breadth is called width now$"):
        given = Options("f", {"breadth": 3}, Size)
    assert given.config(Size) == Size(width=3)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: bert_data.create_records(["One."], "records"),
            "set one of `vocab_file` and `tokenizer_file`; neither is set",
        ),
        (
            lambda: bert_data.tokenize(["One."], "s", vocab_file="v.txt", eod_token="x"),
            "`eod_token=x` needs `append_eod`",
        ),
        (
            lambda: bert_data.train_vocab("a.txt", text_field="body"),
            "text_field is 'body', but the format is lines; `text_field` is for"
            " `input_format=jsonl or parquet`",
        ),
        (
            lambda: bert_data.create_records("a.jsonl", "records", vocab_file="v.txt"),
            "a.jsonl:1: no field 'text' (`text_field`)",
        ),
        (
            lambda: bert_data.create_records("a.txt", Path("a,b"), vocab_file="v.txt"),
            "'a,b' has a comma, which separates names; rename it",
        ),
        (
            lambda: bert_data.curate("a.txt", steps=["length"], output_file=Path("a,b")),
            "'a,b' has a comma, which separates names; rename it",
        ),
        (
            lambda: bert_data.create_records("a.txt", "records", vocab_file="v.txt", dupe_factor=0),
            "dupe_factor is 0; 1 to 1,000,000 is allowed",
        ),
        (lambda: bert_data.curate("a.txt", steps=5), "steps is 5; a step or a list of them"),
        (lambda: bert_data.curate("a.txt", output_file=5), "output_file is 5; it must be a string"),
        (lambda: bert_data.build_samples(5), "stores is 5; it must be a list, each a string"),
        (lambda: bert_data.iterate_arrays(["a.txt", 5]), "the path 5 is not a string"),
        (lambda: bert_data.Recipe.from_file(5), "path is 5; it must be a string"),
        (lambda: bert_data.BertConfig.load(5), "file_or_name is 5; it must be a string"),
    ],
)
def test_errors_name_options(tmp_path, monkeypatch, call, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("One.\n")
    (tmp_path / "a.jsonl").write_text('{"body": "One."}\n')
    (tmp_path / "v.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    with pytest.raises(ValueError, match=r".*") as caught:
        call()
    assert sentence in str(caught.value)
    assert "--" not in str(caught.value)
