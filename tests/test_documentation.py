"""What the documentation says exists: its links, its Python, and the size of its first page."""

import re
from pathlib import Path

import pytest

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
