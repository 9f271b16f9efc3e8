"""LaTeX of papers: comments, conditions, macros, and where the body begins and ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.text.corpora.latex_markup import clean_paper, drop_comments
from tests.rows import mostly_slow


@pytest.mark.parametrize(
    ("latex", "without"),
    [
        ("a % b\nc", "a \nc"),
        ("a% b\n  c", "ac"),
        ("a%\n\nc", "a\n\nc"),
        ("a\n  % b\nc", "a\nc"),
        ("% b", ""),
        (r"10\% of \\% b", r"10\% of \\"),
        (r"\verb|%| \verb*!%!% b", r"\verb|%| \verb*!%!"),
        (
            "\\begin{verbatim}\n% b\n\\end{verbatim} % c\n",
            "\\begin{verbatim}\n% b\n\\end{verbatim} \n",
        ),
        (
            r"\url{http://a/c%20d}, \href{http://x/%7Em}{b} % e",
            r"\url{http://a/c%20d}, \href{http://x/%7Em}{b} ",
        ),
        ("a\\begin{comment}\nb\n\\end{comment}c", "ac"),
        ("a\\begin{comment}b", "a"),
        ("\\begin{lstlisting}[x]\n%b", "\\begin{lstlisting}[x]\n%b"),
    ],
)
def test_comments(latex, without):
    assert drop_comments(latex) == without


PAPER = r"""\documentclass{article}
\newcommand{\code}[1]{\texttt{#1}} \newcommand\us{we} \def\pair#1#2{(#1, #2)}
\newcommand*{\opt}[2][z]{#1-#2}
\DeclareMathOperator{\argmax}{arg\,max}
\renewcommand{\thesection}{\Roman{section}}
\title[short]{On {Rivers}
  and Lakes}
\begin{document}
\maketitle
\begin{abstract}An abstract.\end{abstract}
%s
\end{document}
After.
"""


@pytest.mark.parametrize(
    ("body", "cleaned"),
    [
        (r"Intro. \section{One} Here \us\ go.", r"\section{One} Here we\ go."),
        (r"\section*{One} \code{a\code{b}}", r"\section*{One} \texttt{a\texttt{b}}"),
        (r"\section{A}\us{} and \pair{x{y}} z", r"\section{A}we and (x{y}, z)"),
        (r"\section{A}\opt{b} \opt[c]{d}", r"\section{A}z-b c-d"),
        (r"\section{A}\argmax x", r"\section{A}\operatorname{arg\,max} x"),
        (r"\section{A}\newcommand{\x}{\alpha}\x y \x\x", r"\section{A}\alpha y \alpha\alpha"),
        (r"\section{A}\thesection \usa \code", r"\section{A}\Roman{section} \usa \code"),
        (r"\newcommand{\sect}[1]{\section{#1}} B \sect{C} D", r"\section{C} D"),
        ("No section,\njust text.", "No section,\njust text."),
        (r"\section{A}\begin{thebibliography}{9}\bibitem{b}\end{thebibliography}\appendix C",
         r"\section{A}\appendix C"),
        (r"\section{A} b \bibliographystyle{plain}\bibliography{c} \printbibliography[d=e]",
         r"\section{A} b"),
        (r"\section{A}\begin{references} b", r"\section{A}"),
        (r"\section{A}\iffalse b \iffalse c\fi d \else e\fi f", r"\section{A} e f"),
        (r"\section{A}\iftrue b\else c\fi \ifnum1=1 d\else e\fi $\iff$",
         r"\section{A} b \ifnum1=1 d\else e\fi $\iff$"),
        (r"\section{A}\newcommand{\p}[1]{\expandafter\q{#1}}\p{b}", r"\section{A}\p{b}"),
    ],
)  # fmt: skip
def test_papers(body, cleaned):
    paper = clean_paper(PAPER.replace("%s", body)).body
    assert paper == cleaned


def test_titles():
    assert clean_paper(PAPER).title == "On {Rivers} and Lakes"
    assert clean_paper(r"\title{open").title == "" and clean_paper("none").title == ""
    of_macros = r"\newcommand{\x}[1]{\emph{#1}}\title{On \x{y}}\renewcommand{\x}{z}\section{A}"
    assert clean_paper(of_macros).title == r"On \emph{y}"


def test_macros_that_explode_are_bounded():
    levels = "".join(rf"\def\{chr(97 + i)}{{\{chr(98 + i)}\{chr(98 + i)}}}" for i in range(24))
    source = rf"\section{{A}}{levels}\def\y{{{'word ' * 100}}}\a"
    assert len(clean_paper(source).body) < 10_000_000


PARTS = [
    *("\\", "{", "}", "[", "]", "%", "\n", "\n\n", " ", "#1", "a", "é", "\\x", "\\x{b}", "\\verb|"),
    *(
        "\\newcommand{\\x}[1]",
        "\\def\\x#1",
        "\\let\\x",
        "\\newenvironment{x}",
        "\\end{x}",
        "\\NewDocumentCommand\\x{mo}",
        "\\renewcommand\\x",
        "\\begin{x}",
        "\\iffalse",
        "\\iftrue",
        "\\else",
        "\\fi",
        "\\ifx",
    ),
    *("\\begin{document}", "\\end{document}", "\\section{", "\\begin{comment}", "\\end{comment}"),
    *("\\begin{verbatim}", "\\end{verbatim}", "\\begin{thebibliography}", "\\maketitle"),
]


@given(st.lists(st.sampled_from(PARTS), max_size=60).map("".join))
def test_any_source(source):
    paper = clean_paper(source).body
    assert paper == paper.strip() and "\n\n\n" not in paper
    assert "\\begin{thebibliography}" not in paper or "verbatim" in source


@mostly_slow("part", PARTS)
def test_time_does_not_grow_with_the_square(part):
    """A square would take an hour."""
    clean_paper("\\newcommand{\\x}[1]{#1#1}\\begin{document}\\section{A}" + part * 40_000)
