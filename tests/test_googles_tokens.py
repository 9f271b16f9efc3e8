"""Google's ids for texts by formula: of the definition, the fast tokenizer and subclasses."""

import unicodedata

import pytest

from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.vocabulary import load_vocabulary
from tests.goldens.inputs import TEMPLATES, TEXTS, VOCABULARIES
from tests.goldens.reading import digest_of_ids, digest_of_rows, load_goldens, write_vocabulary
from tests.goldens.subclasses import SUBCLASSES
from tests.rows import mostly_slow
from tokenization import BasicTokenizer, FullTokenizer

GOLDENS = load_goldens("tokenization.json")
CASINGS = {"": True, " cased": False}


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("vocabularies")
    return {name: write_vocabulary(folder, name) for name in VOCABULARIES}


@mostly_slow("casing", CASINGS)
@mostly_slow("vocabulary", VOCABULARIES)
def test_ids_of_lines(vocabularies: dict[str, str], vocabulary: str, casing: str) -> None:
    path, lower = vocabularies[vocabulary], CASINGS[casing]
    defined, fast = FullTokenizer(path, lower), FastTokenizer(load_vocabulary(path), lower)
    for name, text in TEXTS.items():
        lines = text().split(b"\n")
        expected = GOLDENS["texts"][name][vocabulary + casing]
        ids = [defined.convert_tokens_to_ids(defined.tokenize(line)) for line in lines]
        assert digest_of_ids(ids) == expected, name
        assert fast.encode_batch(lines) == ids, name
        assert list(map(fast.encode, lines)) == ids, name


@pytest.mark.slow
@pytest.mark.parametrize("casing", ["lower", "cased"])
def test_ids_of_every_code_point(vocabularies: dict[str, str], casing: str) -> None:
    goldens = GOLDENS["code_points"].get(unicodedata.unidata_version)
    if goldens is None:
        pytest.skip(f"no goldens of Unicode {unicodedata.unidata_version}, which this Python has")
    tokenizer = FastTokenizer(load_vocabulary(vocabularies["characters"]), casing == "lower")
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    for template in TEMPLATES:
        rows = tokenizer.encode_batch(list(map(template.format, points)))
        assert digest_of_ids(rows) == goldens[template][casing], template


@pytest.mark.parametrize("casing", ["lower", "cased"])
@pytest.mark.parametrize("name", SUBCLASSES)
def test_words_of_subclasses(name: str, casing: str) -> None:
    names = ("accents", "scripts", "unicode_space", "special_tokens")
    lines = [line for text in names for line in TEXTS[text]().split(b"\n")]
    base, subclass = BasicTokenizer, SUBCLASSES[name](BasicTokenizer)
    usual, words = (list(map(each(casing == "lower").tokenize, lines)) for each in (base, subclass))
    assert digest_of_rows(words) == GOLDENS["subclasses"][name][casing]
    assert (words == usual) == ((name, casing) == ("accents_kept", "cased"))
