r"""Clean the LaTeX source of a paper: the body that its authors wrote, in LaTeX, without macros.

    \documentclass{article} % comment
    \newcommand{\code}[1]{\texttt{#1}}
    \begin{document}\maketitle                      \section{One}
    \section{One}                             ->
    We use \code{emcee}. % why?                     We use \texttt{emcee}.
    \begin{thebibliography}...

Left out: comments, all before the first section, the bibliography, all after the document. The
authors' own macros are expanded, with their arguments; what LaTeX and its packages define stays,
also where it is redefined, and so do macros that are programs.

This is what LLaMA did to arXiv (Touvron et al. 2023, section 2.1, after Lewkowycz et al. 2022).
"""

import dataclasses
import re

MAX_EXPANSIONS = 100_000
"""Macros expanded in a paper; those after that stay as they are."""

MAX_GROWTH = 4
"""The most times that macros may multiply the size of a paper."""

_MAX_DEPTH = 32
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
_DEFINITION = re.compile(
    r"\\(?:(?:newcommand|(?P<renewed>renewcommand)|providecommand|DeclareRobustCommand)"
    r"|(?P<operator>DeclareMathOperator))\*?\s*"
    r"(?:\{\s*\\(?P<braced>[a-zA-Z@]+)\s*\}|\\(?P<bare>[a-zA-Z@]+))"
    r"\s*(?:\[(?P<count>[0-9])\])?\s*(?:\[(?P<default>[^\[\]]*)\])?\s*(?=\{)"
    r"|\\[gex]?def\s*\\(?P<name>[a-zA-Z@]+)(?P<parameters>(?:#[1-9])*)(?=\{)"
)
# What papers are made of; a redefinition only changes how it looks.
_STRUCTURE = frozenset(
    {"part", "chapter", "section", "subsection", "subsubsection", "paragraph", "begin", "end"}
    | {"item", "label", "ref", "cite", "title", "author", "maketitle", "caption", "footnote"}
)
# Bodies that are programs, not text.
_PROGRAM = re.compile(
    r"@|\\(?:expandafter|csname|begingroup|if[a-z]|let|futurelet|catcode)(?![a-z])"
)
_COMMAND = re.compile(r"\\([a-zA-Z@]+)")
_ENDS_WITH_COMMAND = re.compile(r"\\[a-zA-Z@]+\Z")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_SPACE = re.compile(r"[ \t]*\n?[ \t]*")
_TOKEN = re.compile(r"\\[a-zA-Z@]+|\\.|[^{}\\\s]", re.DOTALL)
_PARAMETER = re.compile(r"#([1-9])")
_OPTION = re.compile(r"\[([^\[\]]*)\]")

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


@dataclasses.dataclass(frozen=True)
class _Macro:
    """A definition: its body, its number of arguments, and the first one's default."""

    body: str
    num_arguments: int = 0
    default: str | None = None


def clean_paper(source: str) -> str:
    """Return the body of a paper, given all its files joined; "" if it has none.

    A paper without sections begins after its title and abstract.
    """
    text = drop_comments(source.replace("\r\n", "\n").replace("\r", "\n"))
    text, macros = _take_definitions(_drop_conditions(text).partition(_END)[0])
    _, has_preamble, body = text.partition(_BEGIN)
    text = _Expander(macros, body if has_preamble else text).expand()
    heading = _HEADING.search(text)
    if heading is not None:
        text = text[heading.start() :]
    else:
        text = text[max((match.end() for match in _FRONT.finditer(text)), default=0) :]
    for name in _BIBLIOGRAPHIES:
        text = _drop_environment(text, name)
    text = _BIBLIOGRAPHY.sub("", text)
    return _BLANK_LINES.sub("\n\n", _SPACES_AT_ENDS.sub("\n", text)).strip()


def find_title(source: str) -> str:
    """Return the title of a paper, in LaTeX; "" if there is none."""
    match = _TITLE.search(source)
    end = None if match is None else _matching_braces(source).get(match.end())
    return "" if match is None or end is None else " ".join(source[match.end() + 1 : end].split())


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


def _take_definitions(text: str) -> tuple[str, dict[str, _Macro]]:
    macros: dict[str, _Macro] = {}
    kept: list[str] = []
    closings = _matching_braces(text)
    position = 0
    for match in _DEFINITION.finditer(text):
        end = closings.get(match.end())
        if match.start() < position or end is None:
            continue
        name = match["braced"] or match["bare"] or match["name"]
        body = text[match.end() + 1 : end]
        if match["operator"]:
            body = f"\\operatorname{{{body}}}"
        is_own = name not in _STRUCTURE and (not match["renewed"] or name in macros)
        if is_own and not _PROGRAM.search(body):
            num_arguments = int(match["count"] or (match["parameters"] or "").count("#"))
            macros[name] = _Macro(body, num_arguments, match["default"])
        kept.append(text[position : match.start()])
        position = end + 1
    return "".join([*kept, text[position:]]), macros


def _matching_braces(text: str) -> dict[int, int]:
    """Return the place of the closing brace of each opening one that has one."""
    closings: dict[int, int] = {}
    is_open: list[int] = []
    for match in _BRACES.finditer(text):
        if match[0] == "{":
            is_open.append(match.start())
        elif match[0] == "}" and is_open:
            closings[is_open.pop()] = match.start()
    return closings


class _Expander:
    """Replaces macros by their bodies, and the macros in these, up to the bounds of a paper."""

    def __init__(self, macros: dict[str, _Macro], text: str) -> None:
        self._macros = macros
        self._text = text
        self._num_left = MAX_EXPANSIONS
        self._characters_left = MAX_GROWTH * len(text) + (1 << 20)

    def expand(self) -> str:
        return self._expand(self._text, 0) if self._macros else self._text

    def _expand(self, text: str, depth: int) -> str:
        closings: dict[int, int] | None = None
        pieces: list[str] = []
        position = 0
        for match in _COMMAND.finditer(text):
            macro = self._macros.get(match[1])
            if macro is None or match.start() < position:
                continue
            if self._num_left <= 0 or self._characters_left <= 0:
                break
            if closings is None:
                closings = _matching_braces(text) if "{" in text else {}
            arguments, end = _arguments(text, match.end(), macro, closings)
            if arguments is None:
                continue
            body = _fill(macro.body, arguments)
            self._num_left -= 1
            self._characters_left -= len(body)
            if depth < _MAX_DEPTH:
                body = self._expand(body, depth + 1)
            pieces += [text[position : match.start()], body]
            if text[end : end + 1].isalpha() and _ENDS_WITH_COMMAND.search(body[-50:]):
                pieces.append(" ")
            position = end
        return "".join([*pieces, text[position:]]) if pieces else text


def _arguments(
    text: str, position: int, macro: _Macro, closings: dict[int, int]
) -> tuple[list[str] | None, int]:
    """Return the arguments of a macro, None if there are too few; and where they end."""
    if not macro.num_arguments:
        return [], position + 2 * text.startswith("{}", position)
    arguments: list[str] = []
    if macro.default is not None:
        option = _OPTION.match(text, position)
        arguments.append(option[1] if option else macro.default)
        position = option.end() if option else position
    while len(arguments) < macro.num_arguments:
        space = _SPACE.match(text, position)
        assert space is not None
        start = space.end()
        if start in closings:
            arguments.append(text[start + 1 : closings[start]])
            position = closings[start] + 1
        elif token := _TOKEN.match(text, start):
            arguments.append(token[0])
            position = token.end()
        else:
            return None, position
    return arguments, position


def _fill(body: str, arguments: list[str]) -> str:
    if "#" not in body:
        return body
    values = {str(i): argument for i, argument in enumerate(arguments, 1)}
    return _PARAMETER.sub(lambda match: values.get(match[1], match[0]), body)
