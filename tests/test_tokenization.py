"""The module as programs written for google-research/bert use it."""

import subprocess
import sys
from pathlib import Path

import pytest

import tokenization


def test_the_readmes_of_other_projects_work(small_vocabulary: Path) -> None:
    tokenizer = tokenization.FullTokenizer(vocab_file=str(small_vocabulary), do_lower_case=True)
    text = tokenization.convert_to_unicode(b"BADO b\xc3\xa1? zzz")
    tokens = tokenizer.tokenize(text)
    assert tokens == ["ba", "##do", "ba", "?", "[UNK]"]
    ids = tokenizer.convert_tokens_to_ids(["[CLS]", *tokens, "[SEP]"])
    assert (ids[0], ids[-1]) == (2, 3)
    assert tokenization.convert_ids_to_tokens(tokenizer.inv_vocab, ids[1:-1]) == tokens
    assert tokenization.convert_tokens_to_ids(tokenizer.vocab, tokens) == ids[1:-1]
    vocab = tokenization.load_vocab(str(small_vocabulary))
    assert tokenization.convert_by_vocab(vocab, tokens) == ids[1:-1]
    words = tokenization.BasicTokenizer(do_lower_case=False).tokenize("BADO bá?")
    assert words == ["BADO", "bá", "?"]
    pieces = tokenization.WordpieceTokenizer(vocab=vocab, unk_token="?").tokenize("bado BADO")
    assert pieces == ["ba", "##do", "?"]
    assert tokenization.whitespace_tokenize(" a\tb\n") == ["a", "b"]
    assert tokenization.printable_text(b"a\xff") == "a"


def test_characters_have_their_classes_by_the_names_with_an_underscore() -> None:
    for char in " \t\r\n\u00a0\u3000":
        assert tokenization._is_whitespace(char)
        assert not tokenization._is_control(char)
        assert not tokenization._is_punctuation(char)
    for char in "\x05\x7f\u200d\u00ad":
        assert tokenization._is_control(char)
        assert not tokenization._is_whitespace(char)
    for char in "-$`.~^\u2019\u3002\u00bf":
        assert tokenization._is_punctuation(char)
        assert not tokenization._is_control(char)
    for char in "Az5é東\U0001f4a9€©":
        assert not tokenization._is_whitespace(char)
        assert not tokenization._is_control(char)
        assert not tokenization._is_punctuation(char)


@pytest.mark.process
def test_local_files_need_no_tensorflow(small_vocabulary: Path, checkout: Path) -> None:
    program = (
        "import sys, tokenization\n"
        f"print(tokenization.FullTokenizer({str(small_vocabulary)!r}).tokenize('bado'))\n"
        "assert 'tensorflow' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=checkout, check=True)
