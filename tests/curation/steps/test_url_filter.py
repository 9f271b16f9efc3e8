"""Addresses against lists and words; lists that cannot be meant; what is told of unused ones."""

import gzip
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document, Verdict
from bert_data.curation.step import make_step
from bert_data.curation.steps.url_filter import (
    UrlFilter,
    parent_addresses,
    parent_hosts,
    parse_url,
    registered_domain,
)
from bert_data.curation.web.personal_addresses import suffix_extractor
from tests.curation.corpora import write_rows


def judge(url: object, folder: Path, **lists) -> Verdict:
    parameters = {}
    for name, value in lists.items():
        if name.endswith("_files"):
            path = folder / f"{name}.txt"
            path.write_text(value, encoding="utf-8")
            value = (str(path),)
        parameters[name] = value
    step = UrlFilter(**parameters)
    prepared = folder / "prepared"
    prepared.mkdir(exist_ok=True)
    step.prepare(prepared)
    fields = {} if url is None else {"url": url}
    return step.open(prepared)(Document("a/1", "a", "Text.", fields))


def failed(verdict: Verdict) -> dict[str, object]:
    return {each.rule: each.value for each in verdict.measured if each.failed}


BLOCKED = "# a list\nbad.example.com\n*.worse.example  # why\nbücher.example\n10.1.2.3\n"


@pytest.mark.parametrize(
    ("url", "entry"),
    [
        ("http://bad.example.com/", "bad.example.com"),
        ("https://a.b.BAD.Example.com.:8080/x?y#z", "bad.example.com"),
        ("bad.example.com", "bad.example.com"),
        ("//user:word@www.worse.example/a", "worse.example"),
        ("HTTP:/bad.example.com", "bad.example.com"),
        (r"https:bad.example.com\a", "bad.example.com"),
        ("http://BÜCHER.example/ü", "xn--bcher-kva.example"),
        ("http://xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("http://10.1.2.3/a", "10.1.2.3"),
        ("http://example.com/bad.example.com", None),
        ("http://notbad.example.com/", None),
        ("http://110.1.2.3/", None),
        ("http://bad.example.com.other.example/", None),
    ],
)
def test_domains(tmp_path, url, entry):
    rule = failed(judge(url, tmp_path, blocked_domain_files=BLOCKED))
    assert rule == ({} if entry is None else {"blocked_domain_files": entry})


@pytest.mark.parametrize(
    ("url", "is_blocked"),
    [
        ("https://www.example.com/a/b", True),
        ("http://example.com/a/b/", True),
        ("http://example.com/a//b/c?d=1", True),
        ("http://example.com/a/bc", False),
        ("http://example.com/a", False),
        ("http://other.example.com/a/b", False),
        ("http://example.org/x?id=7#top", True),
        ("http://example.org/x?id=71", False),
        ("http://example.org/x", False),
        ("http://example.net/%C3%BC", True),
    ],
)
def test_addresses(tmp_path, url, is_blocked):
    blocked = "http://example.com/a/b\nexample.org/x?id=7\nexample.net/ü\n"
    rule = failed(judge(url, tmp_path, blocked_url_files=blocked))
    assert set(rule) == ({"blocked_url_files"} if is_blocked else set())


@pytest.mark.parametrize(
    ("url", "rules"),
    [
        ("http://foo-ba-r.example/", {"strict_words"}),
        ("http://a.example/fo/obar", {"strict_words"}),
        ("http://foo.bad-bar.example/", {"hard_words"}),
        ("http://a.example/x?q=BAD", {"hard_words"}),
        ("http://a.example/x?q=a%20b%61d%20c", {"hard_words"}),
        ("http://badly.example/", set()),
        ("http://soft.example/mild", {"max_soft_words"}),
        ("http://a.example/soft-soft", {"max_soft_words"}),
        ("http://softer.example/mild", set()),
        ("http://soft.example/bad/mild/foobar", {"strict_words", "hard_words", "max_soft_words"}),
        ("http://a.example/", set()),
    ],
)
def test_words(tmp_path, url, rules):
    words = {"strict_words": ("FooBar",), "hard_words": ("bad",), "soft_words": ("soft", "mild")}
    assert set(failed(judge(url, tmp_path, **words))) == rules


def test_soft_words_are_measured_for_a_later_threshold(tmp_path):
    verdict = judge("http://a.example/soft", tmp_path, soft_words=("soft",))
    assert verdict.kept and ("max_soft_words", 1, 1, False) in verdict.measured
    assert not judge("http://a.example/soft", tmp_path, soft_words=("soft",), max_soft_words=0).kept


def test_allowed_domains_win(tmp_path):
    lists = {"blocked_domain_files": "example.com\n", "allowed_domain_files": "good.example.com\n"}
    assert judge("http://www.good.example.com/porn", tmp_path, **lists).kept
    assert not judge("http://other.example.com/", tmp_path, **lists).kept


@pytest.mark.parametrize("url", [None, "", " ", 7, ["http://a.example/porn"]])
def test_documents_without_an_address_stay(tmp_path, url):
    verdict = judge(url, tmp_path)
    assert verdict.kept and not verdict.counted


@pytest.mark.parametrize(
    ("url", "entry"),
    [
        ("https://fr.m.wikipedia.org/wiki/Meunier", "wikipedia.org"),
        ("http://export.arxiv.org/abs/2306.01116", "arxiv.org"),
        ("https://math.stackexchange.com/q/1", "stackexchange.com"),
        ("https://www.gutenberg.org/ebooks/11", "gutenberg.org"),
        ("https://wikipedia.org.example.com/", None),
        ("https://www.nih.gov/", None),
    ],
)
def test_sources_that_come_from_elsewhere(tmp_path, url, entry):
    rules = {} if entry is None else {"quality_sources": entry}
    assert failed(judge(url, tmp_path, quality_sources=True)) == rules
    assert failed(judge(url, tmp_path)) == {}
    allowed = {"allowed_domain_files": url.split("/")[2]}
    assert failed(judge(url, tmp_path, quality_sources=True, **allowed)) == {}


def test_only_pages_of_a_list(tmp_path):
    cited = [
        {"references": ["https://www.a.example/x?p=1", "http://b.example/", "http://co.uk:x:y/ z"]},
        {"text": "no references"},
        {"references": None},
    ]
    write_rows(tmp_path / "wiki.jsonl", cited)
    (tmp_path / "more.txt").write_text("c.example/only\n")
    step = UrlFilter(only_url_files=(f"{tmp_path}/wiki.jsonl", f"{tmp_path}/more.txt"))
    step.prepare(tmp_path)
    judged = step.open(str(tmp_path))

    def rejected(url: str | None) -> dict[str, object]:
        return failed(judged(Document("a/1", "a", "Text.", {"url": url})))

    for url in ("http://a.example/x?p=1#top", "https://www.b.example", "http://c.example/only/"):
        assert rejected(url) == {}
    for url, page in [("http://a.example/x", "a.example/x"), ("http://b.example/y", "b.example/y")]:
        assert rejected(url) == {"only_url_files": page}
    assert rejected(None) == {"only_url_files": ""}
    write_rows(tmp_path / "wiki.jsonl", cited[1:])
    with pytest.raises(ValueError, match=r"wiki\.jsonl: no row has URLs in its field 'references'"):
        step.prepare(tmp_path)


def test_a_category_of_ut1(tmp_path):
    folder = tmp_path / "blacklists" / "adult"
    folder.mkdir(parents=True)
    (folder / "domains").write_bytes(
        b"bad.example.com\n10.1.2.3\nb\xe9.example\n-a_b.example.org\n"
    )
    (folder / "urls").write_bytes(b"fine.example.com/bad\n10.1.2.4/~x/\n")
    lists = {"blocked_domain_files": [f"{folder}/domains"], "blocked_url_files": [f"{folder}/urls"]}
    step = make_step("url_filter", lists)
    step.prepare(tmp_path)
    judged = step.open(str(tmp_path))
    urls = ["http://x.bad.example.com", "http://10.1.2.3/", "http://fine.example.com/bad/1"]
    for url in [*urls, "http://fine.example.com/"]:
        assert judged(Document("a/1", "a", "Text.", {"url": url})).kept == (url not in urls)


def test_lists_that_cannot_be_meant(tmp_path):
    for lists, sentence in [
        ({"blocked_domain_files": "a.example\nco.uk\n"}, r"txt:2: 'co.uk' is a public suffix"),
        ({"blocked_domain_files": "com"}, "'com' is a public suffix"),
        ({"blocked_domain_files": "http://a.example/b"}, "is not a domain"),
        ({"blocked_domain_files": "127.0.0.1 a.example"}, "is not a domain"),
        ({"blocked_url_files": "/a/b"}, "is not the URL of a page"),
        ({"blocked_url_files": "\n# nothing\n"}, "the list has no entry"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            judge("http://a.example", tmp_path, **lists)
    with pytest.raises(FileNotFoundError, match="no-such-file"):
        UrlFilter(blocked_url_files=("no-such-file",)).prepare(tmp_path)


def test_compressed_lists(tmp_path):
    path = tmp_path / "list.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfbad.example\r\n"))
    step = UrlFilter(blocked_domain_files=(str(path),))
    step.prepare(tmp_path)
    document = Document("a/1", "a", "Text.", {"url": "http://bad.example"})
    assert not step.open(tmp_path)(document).kept


def test_unused_lists_are_told(tmp_path):
    step = UrlFilter(blocked_domain_files=("a",), blocked_url_files=("b",))
    assert "no document has a URL in its field 'url'" in (step.describe_use({}) or "")
    warnings = step.describe_use({"urls": 9, "blocked_url_files": 1})
    assert warnings == "blocked_domain_files matched no document"
    assert step.describe_use({"urls": 9, "blocked_url_files": 1, "blocked_domain_files": 1}) is None


def test_public_suffixes_are_known_without_a_network(monkeypatch):
    import socket

    def refuse(*args: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    suffix_extractor.cache_clear()
    assert registered_domain("www.foo.example.co.uk") == "example.co.uk"
    assert list(parent_hosts("a.example.com.cn")) == ["a.example.com.cn", "example.com.cn"]
    assert list(parent_hosts("co.uk")) == ["co.uk"]


@given(st.text(st.characters(codec=None, categories=None), max_size=80))
def test_any_address(url):
    for text in (url, f"http://{url}", f"http://a.example/{url}"):
        address = parse_url(text)
        assert list(parent_hosts(address.host)) and list(parent_addresses(address))
        assert UrlFilter().judge_by({}, Document("a/1", "a", "", {"url": text})) is not None


@pytest.mark.parametrize("part", ["/", "a/", ".", "a.", "%", "?", "@", ":", "www.", "é.", "soft-"])
def test_long_addresses_take_no_longer(part):
    document = Document("a/1", "a", "", {"url": "http://" + part * 1_000_000})
    start = time.process_time()
    UrlFilter().judge_by({}, document)
    assert time.process_time() - start < 30  # a square of the length would take days
