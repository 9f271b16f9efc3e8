"""Text to token store: where documents end, what is counted, which line an error names."""

import dataclasses
import itertools
import json
import operator
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from tokenizers import Regex, models, pre_tokenizers
from tokenizers import Tokenizer as Tokenizers

from bert_data.text import lines
from bert_data.text.text_config import TextConfig
from bert_data.text.without import WithoutConfig
from bert_data.tokens import provenance
from bert_data.tokens.filling import FilledStore, TokenCounts, fill_store
from bert_data.tokens.provenance import ProvenanceRule
from bert_data.tokens.store import StoreShape
from bert_data.tokens.store_config import ProvenanceConfig
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_file import Tokenizer, load_tokenizer
from bert_data.tokens.vocabulary import load_vocabulary
from bert_data.work import open_threads
from tests.hypotheses import examples
from tests.tokens.json_files import byte_pairs, ranks, sentencepiece_model, unigram, wordpiece
from tests.tokens.store_contents import sequences_of


@pytest.fixture(scope="module")
def tokenizer(small_vocabulary):
    return FastTokenizer(load_vocabulary(small_vocabulary))


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few bytes."""
    monkeypatch.setattr(lines, "DEFAULT_BLOCK_BYTES", 9)


def fill(*arguments, **options) -> TokenCounts:
    return filled(*arguments, **options).counts


def filled(
    folder: Path, tokenizer: Tokenizer, contents: list[bytes], num_workers: int = 1, **options
) -> FilledStore:
    paths = []
    for number, content in enumerate(contents):
        path = folder / f"text{number}.txt"
        path.write_bytes(content)
        paths.append(str(path))
    with open_threads(num_workers) as executor:
        prefix = str(folder / "store")
        return fill_store(paths, tokenizer, prefix, executor=executor, **options)


def documents_of(folder: Path, tokenizer: FastTokenizer) -> list[list[str]]:
    """Documents as lists of sentences, tokens joined by spaces."""
    tokens = tokenizer.vocabulary.tokens
    return [
        [" ".join(tokens[i] for i in sentence) for sentence in document]
        for document in sequences_of(folder / "store")
    ]


@pytest.mark.parametrize("num_workers", [1, 3])
@pytest.mark.usefixtures("small_blocks")
class TestDocuments:
    def test_go_on_over_files(self, tmp_path, tokenizer, num_workers):
        contents = [b"ba\n\ndo\nki", b"", b"lu\n", b"\nme\n\n\n", b"\n\nno"]
        counts = fill(tmp_path, tokenizer, contents, num_workers=num_workers)
        assert documents_of(tmp_path, tokenizer) == [["ba"], ["do", "ki", "lu"], ["me"], ["no"]]
        assert counts == TokenCounts(
            num_bytes=sum(map(len, contents)),
            num_lines=12,
            num_documents=4,
            num_sentences=6,
            num_tokens=6,
            num_unknown=0,
            num_replaced=0,
        )

    def test_end_at_lines_that_strip_to_nothing(self, tmp_path, tokenizer, num_workers):
        # A no-break space and a line separator are spaces, a zero-width space is none.
        text = "ba\n\u00a0\u2028\ndo\n\u200b\nki\n\x1c\r\nlu \r\n \r \t\nme\n\u3000\n"
        fill(tmp_path, tokenizer, [text.encode()], num_workers=num_workers)
        assert documents_of(tmp_path, tokenizer) == [["ba"], ["do", "ki"], ["lu"], ["me"]]

    def test_lines_without_tokens_are_no_sentences(self, tmp_path, tokenizer, num_workers):
        fill(tmp_path, tokenizer, [b"\x01\x02\nba\n\x01\ndo\n\n\x03\n\n"], num_workers=num_workers)
        assert documents_of(tmp_path, tokenizer) == [["ba", "do"]]

    def test_blocks_of_blank_lines_alone(self, tmp_path, tokenizer, num_workers):
        contents = [b"\n" * 50 + b"ba\n" + b"\n" * 50 + b"do"]
        fill(tmp_path, tokenizer, contents, num_workers=num_workers)
        assert documents_of(tmp_path, tokenizer) == [["ba"], ["do"]]

    def test_unknown_words_are_counted(self, tmp_path, tokenizer, num_workers):
        counts = fill(tmp_path, tokenizer, [b"ba zzz\nzzz qqq do\n"], num_workers=num_workers)
        assert (counts.num_unknown, counts.num_tokens) == (3, 5)

    def test_a_text_without_a_sentence(self, tmp_path, tokenizer, num_workers):
        for contents in ([b""], [b"\n\n \n", b"\n" * 40], [b"\x01\n"]):
            others = " and 1 other file" if len(contents) == 2 else ""
            with pytest.raises(ValueError, match=rf"^no sentences in .*text0\.?\w*{others}$"):
                fill(tmp_path, tokenizer, contents, num_workers=num_workers)


@pytest.mark.parametrize("num_workers", [1, 3])
@pytest.mark.parametrize("line", [1, 2, 7, 400])
def test_a_line_that_is_not_utf8_is_named(tmp_path, tokenizer, small_blocks, num_workers, line):
    rows = [b"ba do"] * 500
    rows[line - 1] = b"ki \xff"
    first = b"ba\n" * 30 + b"do"
    with pytest.raises(ValueError, match=rf"text1\.txt:{line}: not UTF-8 \(.*byte 0xff") as caught:
        fill(tmp_path, tokenizer, [first, b"\n".join(rows)], num_workers=num_workers)
    assert "iconv -f LATIN1 -t UTF-8; `encoding_errors=replace`" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_first_of_several_bad_lines_is_named(tmp_path, tokenizer, small_blocks):
    text = b"ba\nba \xff\n" * 50
    with pytest.raises(ValueError, match=r"text0\.txt:2: "):
        fill(tmp_path, tokenizer, [text], num_workers=3)


def test_bytes_that_are_not_utf8_can_be_replaced_or_ignored(tmp_path, tokenizer):
    text = b"ba\xff do\n\xfe\nki\n"
    for how in ("replace", "ignore"):
        counts = fill(tmp_path, tokenizer, [text], text=TextConfig(encoding_errors=how))
        assert counts.num_replaced == 2
        decoded = text.decode(errors=how).encode()
        as_if = documents_of(tmp_path, tokenizer)
        fill(tmp_path, tokenizer, [decoded])
        assert documents_of(tmp_path, tokenizer) == as_if


PIECES = st.sampled_from(["ba", "the cat", " ", "\n", "\n\n", "\r\n", "\u00e9", "\u3000", "\x01"])
CONTENTS = st.builds(operator.mul, st.lists(PIECES).map("".join), st.integers(1, 30))
KINDS = ("byte_pairs", "vocabulary", "unigram", "model", "tiktoken", "wordpiece")


@pytest.fixture(
    scope="module",
    params=[KINDS[0], *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])],
)
def any_tokenizer(request, tmp_path_factory, tokenizer):
    """A tokenizer of each kind."""
    folder = tmp_path_factory.mktemp("tokenizers")
    if request.param == "vocabulary":
        return tokenizer
    if request.param == "tiktoken":
        path = folder / "cl100k_base.tiktoken"
        path.write_bytes(ranks([*(bytes([byte]) for byte in range(256)), b"th", b"the", b"\n\n"]))
        return load_tokenizer(None, str(path))
    if request.param == "wordpiece":
        tokens = ["[UNK]", "[CLS]", "[SEP]", "[MASK]", "ba", "cat"]
        return load_tokenizer(
            None, wordpiece(folder / "t.json", tokens, normalizer__handle_chinese_chars=False)
        )
    make = {"byte_pairs": byte_pairs, "unigram": unigram, "model": sentencepiece_model}
    return load_tokenizer(None, make[request.param](folder / f"t.{request.param}"))


def expected_documents(
    contents: list[str], encode: Callable[[str], list[int]], level: str
) -> list[tuple[tuple[str, int], list[list[int]]]]:
    """Return the file and first row of each document, and its sequences."""
    rows = [
        ((f"text{number}.txt", row), line.replace("\r", "").strip())
        for number, content in enumerate(contents)
        for row, line in enumerate(content.removesuffix("\n").split("\n") if content else [], 1)
    ]
    found = []
    for is_text, run in itertools.groupby(rows, key=lambda row: row[1] != ""):
        places, texts = zip(*run, strict=True)
        parts = texts if level == "sentence" else ["\n".join(texts)]
        sequences = [ids for ids in map(encode, parts) if ids]
        if is_text:
            found.append((places[0], sequences))
    return found


@examples(60)
@given(
    st.lists(CONTENTS, max_size=3),
    st.sampled_from([None, 200, 64, 9, 1]),
    st.sampled_from(["document", "sentence"]),
    st.booleans(),
    st.integers(1, 3),
    st.sets(st.tuples(st.integers(0, 2), st.integers(1, 40)), max_size=9),
)
def test_documents_of_lines_in_blocks_of_any_size(
    tmp_path_factory, any_tokenizer, contents, block_bytes, level, has_places, num_workers, named
):
    """Documents are left out that a list names by their first rows; other rows are not found."""
    folder, contents = tmp_path_factory.mktemp("lines"), [*contents, "\n\nthe cat"]
    names = [(f"text{file}.txt", row) for file, row in sorted(named) if file < len(contents) - 1]
    (folder / "ids.txt").write_text("".join(f"{file}:{row}\n" for file, row in [*names, ("x", 1)]))
    config = WithoutConfig(without_documents=str(folder / "ids.txt"))
    without = config.find_without(id_field="id", folder=str(folder)) if names else None
    rule = ProvenanceRule(fields=ProvenanceConfig().input_fields, folder=str(folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "DEFAULT_BLOCK_BYTES", block_bytes or lines.DEFAULT_BLOCK_BYTES)
        patch.setattr(provenance, "GROUP_ROWS", 2)
        store = filled(
            folder,
            any_tokenizer,
            [content.encode() for content in contents],
            num_workers,
            text=TextConfig(without=without),
            shape=StoreShape(level=level),
            provenance=rule if has_places else None,
        )
    documents = expected_documents(contents, any_tokenizer.encode, level)
    found = [place for place, _ in documents if place in names]
    assert store.read.num_left_out == len(found)
    assert sorted(names[number] for number in store.read.found) == sorted(found)
    expected = [each for each in documents if each[1] and each[0] not in found]
    assert sequences_of(folder / "store") == [sequences for _, sequences in expected]
    if not found:
        assert store.read.with_text == {
            f"{folder}/text{number}.txt" for number, text in enumerate(contents) if text.strip()
        }
    if has_places:
        table = parquet.read_table(
            pa.BufferReader((folder / "store.provenance.parquet").read_bytes())
        )
        columns = [table.column(name).to_pylist() for name in ("file", "row")]
        assert list(zip(*columns, strict=True)) == [place for place, _ in expected]
        assert table.column("document").to_pylist() == list(range(len(expected)))


def test_a_part_without_a_line(tmp_path, tokenizer):
    counts = fill(tmp_path, tokenizer, [b""], may_be_empty=True)
    assert not any(vars(counts).values())
    assert documents_of(tmp_path, tokenizer) == []


@pytest.mark.parametrize("level", ["sentence", "document"])
@pytest.mark.parametrize("kind", ["bert", "byte_pairs"])
@pytest.mark.usefixtures("small_blocks")
def test_a_special_token_is_refused_with_its_place(tmp_path, kind, level):
    tokens = ["[UNK]", "[CLS]", "[SEP]", "[MASK]", "ba"]
    path = tmp_path / "t.json"
    path = wordpiece(path, tokens) if kind == "bert" else byte_pairs(path, tuple(tokens[1:4]))
    tokenizer = load_tokenizer(None, path, in_text="refuse")
    options = {"shape": StoreShape(level=level)}
    for line in (1, 2, 99, 102, 160):
        rows = ["ba ba"] * 200
        rows[100] = ""
        rows[line - 1] = rows[line] = "ba [SEP]"
        # A document of lines is one text for the library.
        found = line if kind == "bert" or level == "sentence" else 1 if line < 101 else 102
        reason = rf"text1\.txt:{found}: the text has '\[SEP\]', a special token; "
        with pytest.raises(ValueError, match=reason):
            fill(tmp_path, tokenizer, [b"ba\n" * 9 + b"\n", "\n".join(rows).encode()], **options)
        file = tmp_path / "a.jsonl"
        file.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
        with pytest.raises(ValueError, match=rf"a\.jsonl:{line}: the text has '\[SEP\]', "):
            fill_store([str(file)], tokenizer, str(tmp_path / "s"), **options)


def failing(path: Path) -> str:
    """Write a tokenizer whose regular expression gives up on a long run of a without a b."""
    library = Tokenizers(models.BPE({"a": 0, "b": 1, "c": 2, " ": 3}, []))
    library.pre_tokenizer = pre_tokenizers.Split(Regex(r"(a+)+\1b"), "isolated")
    library.save(str(path))
    return str(path)


@pytest.mark.parametrize("level", ["sentence", "document"])
@pytest.mark.parametrize("is_lines", [True, False])
def test_a_text_on_which_a_regular_expression_gives_up(tmp_path, caplog, level, is_lines):
    tokenizer = load_tokenizer(None, failing(tmp_path / "t.json"), backend="tokenizers")
    texts = ["a b", "a" * 60 + "c", "", "b c", "a" * 70 + "c", "", "c b"] if is_lines else None
    rows = [{"text": "a b"}, {"text": "a" * 60 + "c"}, {"text": "b c"}]
    content = "\n".join(texts or map(json.dumps, rows)).encode()
    text = TextConfig(input_format="lines" if is_lines else "jsonl")
    options = {"shape": StoreShape(level=level), "text": text}
    row = 1 if is_lines and level == "document" else 2
    with pytest.raises(ValueError, match=rf"text0\.txt:{row}: .*t\.json cannot.*`on_error=skip`"):
        fill(tmp_path, tokenizer, [content], **options)
    options["text"] = dataclasses.replace(text, on_error="skip")
    counts = fill(tmp_path, tokenizer, [content], **options)
    num_tokens = 6 if not is_lines else 9 if level == "sentence" else 3
    assert (counts.num_skipped, counts.num_tokens) == (1 + is_lines, num_tokens)
    assert f"skipped: {tmp_path}/text0.txt:{row}: " in caplog.text


def test_the_first_document_may_be_skipped_that_began_in_another_file(tmp_path):
    tokenizer = load_tokenizer(None, failing(tmp_path / "t.json"), backend="tokenizers")
    fill(
        tmp_path,
        tokenizer,
        [b"a b\n\n" + b"a" * 60, b"aac\n\nb c\n\n"],
        text=TextConfig(on_error="skip"),
        shape=StoreShape(level="document"),
        provenance=ProvenanceRule(fields=ProvenanceConfig().input_fields, folder=str(tmp_path)),
    )
    table = parquet.read_table(tmp_path / "store.provenance.parquet", columns=["file", "row"])
    assert table.to_pylist() == [{"file": "text0.txt", "row": 1}, {"file": "text1.txt", "row": 3}]
