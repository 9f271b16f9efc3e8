r"""Expand the macros and environments that a paper's authors define, with their arguments.

    \newcommand{\code}[1]{\texttt{#1}}
    We use \code{a}. \renewcommand{\code}[1]{\emph{#1}}      ->     We use \texttt{a}.
    Then \code{b}.                                                  Then \emph{b}.

Read are `\newcommand`, `\renewcommand` and the like, `\def` without delimiters, `\let`,
`\newenvironment`, `\DeclareMathOperator`, and xparse's `\NewDocumentCommand` with mandatory and
optional arguments and stars. A use is replaced by the definition before it (the first one, if it
comes before all). What LaTeX makes papers of (`\section`, `\cite`, figures) stays, also where it is
redefined. Macros that are programs, use themselves, or have other arguments stay, and are counted.
"""

import bisect
import dataclasses
import functools
import re
from collections.abc import Iterator

MAX_EXPANSIONS = 100_000
"""Macros expanded in a paper; those after that stay as they are."""

MAX_GROWTH = 4
"""The most times that macros may multiply the size of a paper."""

_MAX_DEPTH = 32
_DEFINITION = re.compile(
    r"(?:\\(?:long|global|protected|outer)\s*)*"
    r"(?:\\(?:(?:re)?newcommand|(?P<provided>providecommand|Provide(?:Expandable)?DocumentCommand)"
    r"|DeclareRobustCommand|(?P<operator>DeclareMathOperator)"
    r"|(?:New|Renew|Declare)(?:Expandable)?DocumentCommand)(?![a-zA-Z@])\*?\s*"
    r"(?:\{\s*\\(?P<braced>[a-zA-Z@]+)\s*\}|\\(?P<bare>[a-zA-Z@]+))\s*"
    r"|\\(?:(?:re)?newenvironment|(?:New|Renew|Provide|Declare)DocumentEnvironment)\*?\s*"
    r"\{\s*(?P<environment>[a-zA-Z@]+\*?)\s*\}\s*"
    r"|\\[gex]?def\s*\\(?P<defined>[a-zA-Z@]+)(?P<parameters>[^{}\\\n]{0,80})(?=\{)"
    r"|\\let\s*\\(?P<let>[a-zA-Z@]+)\s*=?\s?(?P<meaning>\\[a-zA-Z@]+|\\.|[^\s{}\\]))"
)
# What papers are made of; a redefinition only changes how it looks.
_STRUCTURE = frozenset(
    {"part", "chapter", "section", "subsection", "subsubsection", "paragraph", "begin", "end"}
    | {"item", "label", "ref", "cite", "title", "author", "maketitle", "caption", "footnote"}
    | {"environment document", "environment abstract", "environment thebibliography"}
    | {"environment figure", "environment table", "environment equation", "environment itemize"}
    | {"environment enumerate", "environment verbatim", "environment proof"}
)
# Bodies that are programs, not text.
_PROGRAM = re.compile(
    r"@|\\(?:expandafter|csname|begingroup|if[a-z]|let|futurelet|catcode)(?![a-z])"
)
_COMMAND = re.compile(r"\\([a-zA-Z@]+)")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{\s*([a-zA-Z@]+\*?)\s*\}")
_ENDS_WITH_COMMAND = re.compile(r"\\[a-zA-Z@]+\Z")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_SPACE = re.compile(r"[ \t]*\n?[ \t]*")
_TOKEN = re.compile(r"\\[a-zA-Z@]+|\\.|[^{}\\\s]", re.DOTALL)
_PARAMETER = re.compile(r"#([1-9])")
_OPTION = re.compile(r"\[([^\[\]]*)\]")
_COUNT = re.compile(r"\[([0-9])\]\s*")
_PARAMETERS = re.compile(r"(?:#[1-9])*")
_BARE_BODY = re.compile(r"\\[a-zA-Z@]+")
_KIND = re.compile(r"\s*\+?(?:([mos])|O\s*\{([^{}]*)\})")
_MAX_TESTS = 50
_TEST = re.compile(r"\\If(NoValue|Value|Boolean)(TF|T|F)\s*(?:\{\s*#([1-9])\s*\}|#([1-9]))\s*")
_NO_VALUE, _STAR = "-NoValue-", "*"


@dataclasses.dataclass(frozen=True)
class Macro:
    r"""A definition.

    Attributes:
      body: its text, in which #1 stands for the first argument.
      end: of an environment, what \end stands for.
      arguments: of each, its default, None for one that must be given; `_STAR` for a star.
      is_final: the body is of LaTeX, and not expanded again, as in a macro that `\let` makes.
    """

    body: str
    end: str = ""
    arguments: tuple[str | None, ...] = ()
    is_final: bool = False


class Definitions:
    """The macros of a paper by their names, and where each definition begins to hold."""

    def __init__(self) -> None:
        self._places: dict[str, list[int]] = {}
        self._macros: dict[str, list[Macro | None]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def add(self, name: str, place: int, macro: Macro | None) -> None:
        """Add a definition, None if it cannot be expanded; places ascend."""
        self._places.setdefault(name, []).append(place)
        self._macros.setdefault(name, []).append(macro)

    def find(self, name: str, place: int) -> Macro | None:
        """Return what a name means at a place."""
        if name not in self._places:
            return None
        number = bisect.bisect_right(self._places[name], place) - 1
        return self._macros[name][max(number, 0)]

    def drop_recursive(self) -> None:
        """Let macros stay that use themselves, and those that use them: TeX would never end."""
        uses = {
            name: {
                each
                for macro in macros
                if macro is not None and not macro.is_final
                for each in _names_in(macro.body + macro.end)
                if each in self._macros
            }
            for name, macros in self._macros.items()
        }
        users: dict[str, list[str]] = {name: [] for name in uses}
        for name, used in uses.items():
            for each in used:
                users[each].append(name)
        num_left = {name: len(used) for name, used in uses.items()}
        ended = [name for name, number in num_left.items() if not number]
        for name in ended:  # grows: those whose uses have all ended
            for user in users[name]:
                num_left[user] -= 1
                if not num_left[user]:
                    ended.append(user)
        for name in self._macros.keys() - set(ended):
            self._macros[name] = [None] * len(self._macros[name])

    def count_left(self, text: str) -> int:
        """Return how many uses of the macros in a text were not expanded."""
        finals = {
            name
            for macros in self._macros.values()
            for macro in macros
            if macro is not None and macro.is_final
            for name in _names_in(macro.body)
        }
        return sum(name in self._macros and name not in finals for name in _names_in(text))


def _names_in(text: str) -> Iterator[str]:
    for match in _COMMAND.finditer(text):
        environment = _ENVIRONMENT.match(text, match.start())
        if environment is None:
            yield match[1]
        elif environment[1] == "begin":
            yield f"environment {environment[2]}"


def take_definitions(text: str) -> tuple[str, Definitions]:
    """Return LaTeX without definitions, and these, with their places in it."""
    definitions = Definitions()
    kept: list[str] = []
    closings = matching_braces(text)
    position = place = 0
    for match in _DEFINITION.finditer(text):
        found = _read_definition(text, match, closings) if match.start() >= position else None
        if found is None:
            continue
        macro, end = found
        kept.append(text[position : match.start()])
        place += len(kept[-1])
        position = end
        name = match["braced"] or match["bare"] or match["defined"] or match["let"]
        name = name or f"environment {match['environment']}"
        if match["let"]:
            macro = _meaning(match["meaning"], definitions, place)
        if name not in _STRUCTURE and not (match["provided"] and name in definitions):
            definitions.add(name, place, macro)
    definitions.drop_recursive()
    return "".join([*kept, text[position:]]), definitions


def _meaning(token: str, definitions: Definitions, place: int) -> Macro | None:
    """Return the macro that `\\let` makes: what a name means at its place."""
    name = token[1:]
    return definitions.find(name, place) if name in definitions else Macro(token, is_final=True)


def _read_definition(
    text: str, match: re.Match[str], closings: dict[int, int]
) -> tuple[Macro | None, int] | None:
    """Return a macro, None if it cannot be expanded, and where its definition ends.

    None if it does not end.
    """
    position = match.end()
    if match["let"]:
        return None, position
    arguments: tuple[str | None, ...] | None
    if match["defined"]:
        numbers = match["parameters"].strip()
        is_plain = _PARAMETERS.fullmatch(numbers) is not None
        arguments = (None,) * numbers.count("#") if is_plain else None
    else:
        arguments, position = _read_arguments(text, position, closings, "Document" in match[0])
    groups = []
    for _ in range(1 + bool(match["environment"])):
        start = _after_space(text, position)
        token = None if match["environment"] else _BARE_BODY.match(text, start)
        if start in closings:
            groups.append(text[start + 1 : closings[start]])
            position = closings[start] + 1
        elif token is not None:
            groups.append(token[0])
            position = token.end()
        else:
            return None
    body, end = groups[0], "".join(groups[1:])
    if match["operator"]:
        body = f"\\operatorname{{{body}}}"
    is_program = _PROGRAM.search(body + end) or len(_TEST.findall(body)) > _MAX_TESTS
    return (None if arguments is None or is_program else Macro(body, end, arguments)), position


def _read_arguments(
    text: str, position: int, closings: dict[int, int], is_document: bool
) -> tuple[tuple[str | None, ...] | None, int]:
    """Return the arguments of a definition, None if they are of other kinds; and where they end."""
    if not is_document:
        count = _COUNT.match(text, position)
        position = count.end() if count else position
        number = int(count[1]) if count else 0
        option = _OPTION.match(text, position) if number else None
        first = (option[1],) if option else ()
        return (*first, *(None,) * (number - len(first))), option.end() if option else position
    if position not in closings:
        return None, position
    signature, end = text[position + 1 : closings[position]].strip(), closings[position] + 1
    arguments: list[str | None] = []
    place = 0
    while place < len(signature):
        match = _KIND.match(signature, place)
        if match is None:
            return None, end
        kinds = {"m": None, "o": _NO_VALUE, "s": _STAR}
        arguments.append(kinds[match[1]] if match[1] else match[2])
        place = match.end()
    return tuple(arguments), end


def matching_braces(text: str) -> dict[int, int]:
    """Return the place of the closing brace of each opening one that has one."""
    closings: dict[int, int] = {}
    is_open: list[int] = []
    for match in _BRACES.finditer(text):
        if match[0] == "{":
            is_open.append(match.start())
        elif match[0] == "}" and is_open:
            closings[is_open.pop()] = match.start()
    return closings


class Expander:
    """Replaces macros by their bodies, and the macros in these, up to the bounds of a paper."""

    def __init__(self, definitions: Definitions, num_characters: int) -> None:
        self._definitions = definitions
        self._num_left = MAX_EXPANSIONS
        self._characters_left = MAX_GROWTH * num_characters + (1 << 20)

    def expand(self, text: str, place: int) -> str:
        """Return a part of a paper, which begins at a place, expanded."""
        return self._expand(text, 0, place)

    def _expand(self, text: str, depth: int, place: int) -> str:
        closings: dict[int, int] | None = None
        pieces: list[str] = []
        position = 0
        for match in _COMMAND.finditer(text):
            if match.start() < position:
                continue
            environment = _ENVIRONMENT.match(text, match.start())
            name = f"environment {environment[2]}" if environment else match[1]
            at = place if depth else place + match.start()  # what is in a macro has its place
            macro = self._definitions.find(name, at)
            if macro is None:
                continue
            if self._num_left <= 0 or self._characters_left <= 0:
                break
            if closings is None:
                closings = matching_braces(text) if "{" in text else {}
            after = (environment or match).end()
            if environment and environment[1] == "end":
                body, end = macro.end, after
            else:
                arguments, end = _arguments(text, after, macro, closings)
                if arguments is None:
                    continue
                body = _fill(macro.body, arguments)
            self._num_left -= 1
            self._characters_left -= len(body)
            if depth < _MAX_DEPTH and not macro.is_final:
                body = self._expand(body, depth + 1, at)
            pieces += [text[position : match.start()], body]
            if text[end : end + 1].isalpha() and _ENDS_WITH_COMMAND.search(body[-50:]):
                pieces.append(" ")
            position = end
        return "".join([*pieces, text[position:]]) if pieces else text


def _arguments(
    text: str, position: int, macro: Macro, closings: dict[int, int]
) -> tuple[list[str] | None, int]:
    """Return the arguments of a macro, None if there are too few; and where they end."""
    if not macro.arguments:
        return [], position + 2 * text.startswith("{}", position)
    arguments: list[str] = []
    for default in macro.arguments:
        start = _after_space(text, position)
        if default == _STAR:
            is_given = text.startswith("*", position)
            arguments.append(_STAR if is_given else "")
            position += is_given
        elif default is not None:
            option = _OPTION.match(text, position)
            arguments.append(option[1] if option else default)
            position = option.end() if option else position
        elif start in closings:
            arguments.append(text[start + 1 : closings[start]])
            position = closings[start] + 1
        elif token := _TOKEN.match(text, start):
            arguments.append(token[0])
            position = token.end()
        else:
            return None, position
    return arguments, position


def _after_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    assert space is not None
    return space.end()


def _fill(body: str, arguments: list[str]) -> str:
    if "#" not in body:
        return body
    values = {str(i): argument for i, argument in enumerate(arguments, 1)}
    if _TEST.search(body):
        absent = frozenset(name for name, value in values.items() if value == _NO_VALUE)
        starred = frozenset(name for name, value in values.items() if value == _STAR)
        body = _choose(body, absent, starred)
    return _PARAMETER.sub(lambda match: values.get(match[1], match[0]), body)


@functools.lru_cache(maxsize=256)
def _choose(body: str, absent: frozenset[str], starred: frozenset[str]) -> str:
    """Replace tests of arguments by branches, given those without a value, and given stars."""
    while match := _TEST.search(body):
        closings = matching_braces(body)
        position, groups = match.end(), {}
        for branch in match[2]:
            position = _after_space(body, position)
            if position not in closings:
                return body
            groups[branch] = body[position + 1 : closings[position]]
            position = closings[position] + 1
        is_true = (match[3] or match[4]) in (starred if match[1] == "Boolean" else absent)
        is_true ^= match[1] == "Value"
        body = body[: match.start()] + groups.get("T" if is_true else "F", "") + body[position:]
    return body
