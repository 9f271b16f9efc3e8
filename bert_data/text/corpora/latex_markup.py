r"""Clean the LaTeX source of a paper: the body that its authors wrote, in LaTeX, without macros.

    \documentclass{article} % comment
    \newcommand{\code}[1]{\texttt{#1}}
    \begin{document}\maketitle                      \section{One}
    \section{One}                             ->
    We use \code{emcee}. % why?                     We use \texttt{emcee}.
    \begin{thebibliography}...

Left out: comments, all before the first section, the bibliography, all after the document. The
authors' own macros are expanded (`latex_macros.py`), in the title, too.

This is what LLaMA did to arXiv (Touvron et al. 2023, section 2.1, after Lewkowycz et al. 2022).
"""

import re
from typing import NamedTuple

from bert_data.text.corpora.latex_macros import Expander, matching_braces, take_definitions

_COMMENTS = re.compile(
    r"\\begin\{(?P<literal>verbatim\*?|Verbatim|lstlisting|minted|alltt)\}"
    r"|\\begin\{(?P<dropped>comment|filecontents\*?)\}"
    r"|\\verb\*?(?P<mark>[^a-zA-Z\s*])"
    # The arguments that are addresses, in which % is itself.
    r"|\\(?:url|path|nolinkurl|href)\s*\{(?P<address>[^{}\s]*)\}"
    r"|\\.|%[^\n]*",
    re.DOTALL,
)
_CONDITIONS = re.compile(
    r"\\(?:newif\s*\\\w+|(?P<word>if(?!f(?![a-zA-Z@])|thenelse)[a-zA-Z@]*|else|fi)(?![a-zA-Z@]))"
)
_BRANCHES = {"iffalse": "off", "iftrue": "on"}
_SPACE = re.compile(r"[ \t]*\n?[ \t]*")

_HEADING = re.compile(r"\\(?:part|chapter|section)\*?\s*[\[{]")
_FRONT = re.compile(r"\\maketitle(?![a-zA-Z@])|\\end\{(?:abstract|titlepage|frontmatter)\}")
_BEGIN, _END = r"\begin{document}", r"\end{document}"
_BIBLIOGRAPHIES = ("thebibliography", "references")
_BIBLIOGRAPHY = re.compile(
    r"\\(?:bibliography|bibliographystyle|nocite|addbibresource)\*?\s*(?:\[[^\[\]]*\])?\{[^{}]*\}"
    r"|\\printbibliography(?:\[[^\[\]]*\])?"
)
_TITLE = re.compile(r"\\title\s*(?:\[[^\[\]]*\])?\s*(?=\{)")
_SPACES_AT_ENDS = re.compile(r"(?<![ \t])[ \t]++\n")
_BLANK_LINES = re.compile(r"\n{3,}")


class CleanPaper(NamedTuple):
    """The body and the title of a paper, "" if there is none, and uses of macros that are left."""

    body: str
    title: str
    num_left: int


def clean_paper(source: str) -> CleanPaper:
    """Clean a paper, given all its files joined.

    A paper without sections begins after its title and abstract.
    """
    text = drop_comments(source.replace("\r\n", "\n").replace("\r", "\n"))
    text, definitions = take_definitions(_drop_conditions(text).partition(_END)[0])
    preamble, beginning, body = text.partition(_BEGIN)
    start = len(preamble) + len(beginning) if beginning else 0
    expander = Expander(definitions, len(text) - start)
    title = _find_title(text, expander)
    text = expander.expand(body if beginning else text, start)
    heading = _HEADING.search(text)
    if heading is not None:
        text = text[heading.start() :]
    else:
        text = text[max((match.end() for match in _FRONT.finditer(text)), default=0) :]
    for name in _BIBLIOGRAPHIES:
        text = _drop_environment(text, name)
    text = _BIBLIOGRAPHY.sub("", text)
    text = _BLANK_LINES.sub("\n\n", _SPACES_AT_ENDS.sub("\n", text)).strip()
    return CleanPaper(text, title, definitions.count_left(title + text))


def _find_title(text: str, expander: Expander) -> str:
    match = _TITLE.search(text)
    end = None if match is None else matching_braces(text).get(match.end())
    if match is None or end is None:
        return ""
    return " ".join(expander.expand(text[match.end() + 1 : end], match.end() + 1).split())


def drop_comments(text: str) -> str:
    r"""Return LaTeX without comments.

    A percent sign after a backslash, in a listing or in an address (`\url`, `\href`) begins none.

    A comment after a word joins it to the next line, as in TeX, and one that has a line to itself
    takes the line with it.
    """
    kept: list[str] = []
    position = 0
    while match := _COMMENTS.search(text, position):
        start, end = match.span()
        literal, dropped = match["literal"], match["dropped"]
        if literal or dropped:
            closing = f"\\end{{{literal or dropped}}}"
            at = text.find(closing, end)
            end = len(text) if at < 0 else at + len(closing)
            kept.append(text[position : end if literal else start])
        elif match["mark"]:
            line_end = text.find("\n", end)
            at = text.find(match["mark"], end, len(text) if line_end < 0 else line_end)
            end = end if at < 0 else at + 1
            kept.append(text[position:end])
        elif match[0].startswith("\\"):
            kept.append(text[position:end])
        else:
            start, end = _around_comment(text, start, end)
            kept.append(text[position:start])
        position = end
    return "".join([*kept, text[position:]])


def _around_comment(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the text before a comment ends, and where it continues."""
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip():
        return line, end + 1
    if text[start - 1].isspace() or text.startswith("\n\n", end):
        return start, end
    space = _SPACE.match(text, end)
    assert space is not None
    return start, space.end()


def _drop_conditions(text: str) -> str:
    r"""Return LaTeX without what is between \iffalse and \fi; other conditions stay."""
    kept: list[str] = []
    # For each open condition "other", or whether the present branch of \iftrue or \iffalse stays.
    branches: list[str] = []
    position = num_hidden = 0
    for match in _CONDITIONS.finditer(text):
        word, (start, end) = match["word"], match.span()
        if word is None:
            continue
        if word.startswith("if"):
            branch = "other" if num_hidden else _BRANCHES.get(word, "other")
            branches.append(branch)
            if branch == "other":
                continue
            num_hidden += branch == "off"
            kept.append(text[position:start])
        elif not branches or branches[-1] == "other":
            if branches and word == "fi":
                branches.pop()
            continue
        else:
            if branches[-1] == "on":
                kept.append(text[position:start])
            else:
                num_hidden -= 1
            if word == "fi":
                branches.pop()
            else:
                branches[-1] = "off" if branches[-1] == "on" else "on"
                num_hidden += branches[-1] == "off"
        position = end
    return "".join([*kept, text[position:]])


def _drop_environment(text: str, name: str) -> str:
    """Return LaTeX without the environments of a name; one that is not closed takes the rest."""
    opening, closing = f"\\begin{{{name}}}", f"\\end{{{name}}}"
    kept: list[str] = []
    position = 0
    while (start := text.find(opening, position)) >= 0:
        kept.append(text[position:start])
        end = text.find(closing, start)
        position = len(text) if end < 0 else end + len(closing)
    return "".join([*kept, text[position:]])
