"""Things that the documentation names exist: links, Python, and the size of its first page."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import bert_data
from bert_data.curation.step import steps_by_name

CHECKOUT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    [*CHECKOUT.glob("*.md"), *CHECKOUT.glob("docs/**/*.md"), *CHECKOUT.glob("benchmarks/**/*.md")]
)
NAMES = [page.relative_to(CHECKOUT).as_posix() for page in PAGES]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!`)!?\[[^\]\n]*\]\(([^)\s]+)\)")


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]+`", "code", FENCE.sub("", text))


def list_anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and Python-Markdown name them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", read(page)), re.MULTILINE)
    words = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {re.sub(r" ", "-", each) for each in words}


def find_broken_links(page: Path, text: str) -> list[str]:
    """Return the links of a page to files that do not exist, or headings that they lack."""
    broken = []
    for link in LINK.findall(without_code(text)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in list_anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    page = CHECKOUT / name
    assert find_broken_links(page, read(page)) == []


def test_a_broken_link_is_found() -> None:
    text = "[a](docs/faq.md) [b](docs/none.md) [c](CONTRIBUTING.md#style) [d](#no-heading) `[e](f)`"
    page = CHECKOUT / "README.md"
    assert find_broken_links(page, text) == ["docs/none.md", "#no-heading"]


@pytest.mark.parametrize("name", NAMES)
def test_python_compiles(name: str) -> None:
    for number, (language, code) in enumerate(FENCE.findall(read(CHECKOUT / name))):
        if language == "python":
            compile(code, f"{name}, block {number}", "exec")


def test_the_first_page_is_short() -> None:
    lines = read(CHECKOUT / "README.md").splitlines()
    assert len(lines) <= 150
    first_screen = "\n".join(lines[:24])
    assert "--record_layout=reference" in first_screen
    assert "make demo" in "\n".join(lines) and "make test" in "\n".join(lines)


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, CHECKOUT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    """The hook that adds pages from outside docs/ to the site."""
    return load_script("pages")


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    """What writes the tables of flags, settings and fields."""
    return load_script("tables")


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_those_of_the_declarations(tables: ModuleType, name: str) -> None:
    page = read(CHECKOUT / name)
    assert tables.fill(page) == page, "python docs/tables.py writes them"


def test_a_table_follows_from_its_marker(tables: ModuleType) -> None:
    after = "\n\nText."
    filled = tables.fill(f"<!-- flags train adam_beta1 width -->\nold{after}")
    marker, head, rule, beta, width = filled.removesuffix(after).splitlines()
    assert (marker, head) == ("<!-- flags train adam_beta1 width -->", "| flag | values | |")
    assert rule == "|---|---|---|"
    assert beta == (
        "| `--adam_beta1` | 0 to 0.999999; default: 0.9"
        " | decay of the mean of gradients, below 1. |"
    )
    assert width.startswith("| `--width` | | width of a batch") and "`--num_buckets`" in width
    settings = tables.fill("<!-- settings reader.ReaderConfig form width -->\n").splitlines()
    assert settings[3].startswith("| `form` | features, supervised, fit; default: features | ")
    assert "`num_buckets`" in settings[4]
    (field,) = tables.fill("<!-- fields records -->\n").splitlines()[3:4]
    assert field == "| `input_ids` | token | int64_list | `tokens` int32 | int32 |"
    with pytest.raises(KeyError, match="no_such"):
        tables.fill("<!-- flags train no_such -->\n")


def test_no_table_of_flags_is_written_by_hand() -> None:
    """A table whose first column is of our flags, without a marker above it."""
    by_hand = []
    for page in CHECKOUT.glob("docs/**/*.md"):
        for match in re.finditer(r"(^<!--[^\n]*\n)?((?:^\|.*\n)+)", read(page), re.MULTILINE):
            head, _, *rows = match[2].splitlines()
            of_flags = [row for row in rows if re.match(r"\| `--\w+`", row)]
            if not match[1] and head.startswith("| flag") and of_flags:
                by_hand.append((page.name, head))
    assert by_hand == []


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("index.md", "docs/guides/text.md", "guides/text.md"),
        ("index.md", "CONTRIBUTING.md#style", "contributing.md#style"),
        ("guides/text.md", "../../benchmarks/results/reading.md", "../results/reading.md"),
        ("guides/text.md", "../pictures/plan.svg", "../pictures/plan.svg"),
        ("tutorial.md", "../README.md#install", "index.md#install"),
        ("results/padding.md", "reading.md", "reading.md"),
        ("contributing.md", "docs/design.md", "design.md"),
        ("faq.md", "#a-heading", "#a-heading"),
        ("faq.md", "https://example.com/a.md", "https://example.com/a.md"),
    ],
)
def test_links_work_on_the_site(pages: ModuleType, page: str, link: str, expected: str) -> None:
    assert pages.change_links(f"see [it]({link}).", page) == f"see [it]({expected})."


def test_flags_are_not_broken(pages: ModuleType) -> None:
    html = "<p>a--b <code>x --of=1,--to</code></p><pre><code>--a\n--b</code></pre>"
    flags = [f'<span class="flag">{name}</span>' for name in ("--of", "--to")]
    marked = f"<code>x {flags[0]}=1,{flags[1]}</code>"
    assert pages.mark_flags(html) == html.replace("<code>x --of=1,--to</code>", marked)


@pytest.mark.parametrize("page", ["promises.md", "documents.md"])
def test_pages_name_tests_that_exist(page: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`", read(CHECKOUT / "docs" / page))
    assert len(named) > 20
    for name in named:
        assert (CHECKOUT / name).is_file() and Path(name).name.startswith("test_"), name


def test_the_site_has_every_page() -> None:
    """MkDocs tells of pages without a place; this is known without it."""
    navigation = (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    named = set(re.findall(r": ([\w/]+\.md)$", navigation, re.MULTILINE))
    docs = CHECKOUT / "docs"
    assert {page.relative_to(docs).as_posix() for page in docs.glob("**/*.md")} == named - {
        "index.md",
        "changelog.md",
        "contributing.md",
        "security.md",
    }


def test_the_reference_has_every_public_name() -> None:
    named = re.findall(
        r"^::: bert_data\.(\w+)$", read(CHECKOUT / "docs/reference.md"), re.MULTILINE
    )
    assert sorted(named) == sorted(bert_data.__all__)


def test_the_page_of_python_has_every_function() -> None:
    page = read(CHECKOUT / "docs" / "python.md")
    functions = [name for name in bert_data.__all__ if callable(getattr(bert_data, name))]
    assert [n for n in functions if n[0].islower() and f"{n}(" not in page] == []


def test_the_guide_has_every_step_of_curation() -> None:
    guide = read(CHECKOUT / "docs" / "guides" / "curate.md")
    table = guide.partition("| step | |")[2].partition("\n\n")[0]
    first_cells = " ".join(row.split(" | ")[0] for row in table.splitlines())
    assert sorted(re.findall(r"`(\w+)`", first_cells)) == list(steps_by_name())


@pytest.mark.process
@pytest.mark.slow
def test_the_site_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strictly: a link, an anchor, a page or an API name that is missing is an error."""
    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    monkeypatch.setenv("SITE_REPO_URL", "https://git.example/a")
    monkeypatch.chdir(CHECKOUT)
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    build(load_config("mkdocs.yml", site_dir=str(tmp_path)))
    front = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'href="guides/records.html"' in front and 'href="https://git.example/a"' in front
    assert 'href="site.css"' in front and '<span class="flag">--record_layout' in front
    assert "read_batches" in (tmp_path / "reference.html").read_text(encoding="utf-8")
    assert "per-batch maximum" in (tmp_path / "results" / "padding.html").read_text("utf-8")
