"""Errors of functions name options; those of commands, the same sentences, name flags."""

import errno
import pickle
import threading

import pytest
from absl import logging

import bert_data
from bert_data.api.python_errors import with_python_errors
from bert_data.errors import CorruptDataError


@with_python_errors
def fail(error: Exception) -> None:
    """Raises an error."""
    raise error


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("a.jsonl:3: no field 'text' (--text_field)", "a.jsonl:3: no field 'text' (text_field)"),
        ("; --rows is for --input_format=jsonl", "; rows is for input_format=jsonl"),
        ("an end (--noappend_eod)", "an end (append_eod=False)"),
        ("--normalize it", "normalize it"),
        ("a--b.txt, x/--c and -- and --> 7", "a--b.txt, x/--c and -- and --> 7"),
    ],
)
def test_flags_become_options(sentence, said):
    with pytest.raises(ValueError, match=r".*") as caught:
        fail(ValueError(sentence))
    assert str(caught.value) == said


def test_kinds_of_errors_stay_what_they_are():
    with pytest.raises(FileExistsError) as exists:
        fail(FileExistsError(errno.EEXIST, "exists; --overwrite replaces it", "a"))
    assert str(exists.value) == "[Errno 17] exists; overwrite replaces it: 'a'"
    assert (exists.value.strerror, exists.value.filename) == ("exists; overwrite replaces it", "a")
    with pytest.raises(CorruptDataError, match="a: byte offset 3: not UTF-8; rows reads it") as bad:
        fail(CorruptDataError("a", 3, "not UTF-8; --rows reads it"))
    assert bad.value.offset == 3
    assert pickle.loads(pickle.dumps(bad.value)).path == "a"
    assert (fail.__name__, fail.__doc__) == ("fail", "Raises an error.")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: bert_data.create_records(["One."], "records"),
            "set one of vocab_file and tokenizer_file; neither is set",
        ),
        (
            lambda: bert_data.tokenize(["One."], "s", vocab_file="v.txt", eod_token="x"),
            "eod_token=x needs append_eod",
        ),
        (
            lambda: bert_data.train_vocab("a.txt", text_field="body"),
            "text_field is 'body', but the format is lines; text_field is for input_format=jsonl or"
            " parquet",
        ),
        (
            lambda: bert_data.create_records("a.jsonl", "records", vocab_file="v.txt"),
            "a.jsonl:1: no field 'text' (text_field)",
        ),
    ],
)
def test_functions_say_what_programs_can_do(tmp_path, monkeypatch, call, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("One.\n")
    (tmp_path / "a.jsonl").write_text('{"body": "One."}\n')
    (tmp_path / "v.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    with pytest.raises(ValueError, match=r".*") as caught:
        call()
    assert sentence in str(caught.value)
    assert "--" not in str(caught.value)


def test_log_lines_of_a_call_name_options(caplog):
    @with_python_errors
    def warn() -> None:
        logging.warning("%s look like JSON; %s", "3 lines", "--input_format=jsonl reads it")

    with caplog.at_level("WARNING", logger="absl"):
        warn()
        logging.warning("--rows=lines")
    said = ["3 lines look like JSON; input_format=jsonl reads it", "--rows=lines"]
    assert [record.getMessage() for record in caplog.records] == said


def test_a_call_that_ends_leaves_the_log_lines_of_others(caplog):
    @with_python_errors
    def end() -> None:
        pass

    @with_python_errors
    def warn() -> None:
        end()
        logging.warning("--rows")
        thread = threading.Thread(target=end)
        thread.start()
        thread.join()
        logging.warning("--text_field")

    warn()
    logging.warning("--vocab_file")
    said = [record.getMessage() for record in caplog.records]
    assert said == ["rows", "text_field", "--vocab_file"]
