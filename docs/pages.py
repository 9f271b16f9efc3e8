"""Pages of the site that lie outside docs/: a hook of MkDocs.

    README.md                       ->  index.md
    SECURITY.md and the like        ->  security.md
    benchmarks/results/reading.md   ->  results/reading.md

Links are written as they work in the repository, `[results](../benchmarks/results/reading.md)`, and
changed here to those that work on the site, `[results](results/reading.md)`.
"""

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

CHECKOUT = Path(__file__).resolve().parent.parent
RENAMED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "examples/from_text_to_model.ipynb": "from_text_to_model.ipynb",
}
_CODE = re.compile(r"<code>[^<\n]*</code>")
_FLAG = re.compile(r"(?<![\w-])--[\w-]+")
_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[)#])")


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the pages that lie outside docs/."""
    from mkdocs.structure.files import File

    results = (CHECKOUT / "benchmarks/results").iterdir()
    for path in (*RENAMED, *(f"benchmarks/results/{each.name}" for each in sorted(results))):
        files.append(File.generated(config, find_page(path), abs_src_path=str(CHECKOUT / path)))
    return files


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Change the links of a page from the repository's paths to the site's."""
    return change_links(markdown, page.file.src_uri)


def on_page_content(html: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Keep the names of flags whole where a line breaks."""
    return mark_flags(html)


def mark_flags(html: str) -> str:
    """Return HTML with a class for the flags in code of one line, which site.css knows."""
    return _CODE.sub(lambda code: _FLAG.sub(r'<span class="flag">\g<0></span>', code[0]), html)


def change_links(markdown: str, uri: str) -> str:
    """Return the text of the site's page `uri` with links that work on the site."""
    folder = posixpath.dirname(find_source(uri))

    def change(link: re.Match[str]) -> str:
        target = find_page(posixpath.normpath(posixpath.join(folder, link[1])))
        return posixpath.relpath(target, posixpath.dirname(uri) or ".")

    return _LINK.sub(change, markdown)


def find_source(uri: str) -> str:
    """Return the path in the repository of a page of the site."""
    for path in RENAMED:
        if find_page(path) == uri:
            return path
    return f"benchmarks/{uri}" if uri.startswith("results/") else f"docs/{uri}"


def find_page(path: str) -> str:
    """Return where the site has a file of the repository; the path itself if it has none."""
    if path in RENAMED:
        return RENAMED[path]
    return re.sub(r"^(docs/|benchmarks/(?=results/))", "", path)
