"""Definitions of papers: each kind, where it holds, what stays and is counted, and bounds."""

import pytest

from bert_data.text.corpora.latex_markup import clean_paper
from tests.rows import mostly_slow


@pytest.mark.parametrize(
    ("definitions", "body", "expanded"),
    [
        (r"\renewcommand{\vec}[1]{\mathbf{#1}}", r"\vec{x} \vector", r"\mathbf{x} \vector"),
        (r"\newcommand\x\alpha \renewcommand{\x}{\beta}", r"\x y", r"\beta y"),
        ("", r"\newcommand{\x}{a}\x{}\renewcommand{\x}{b}\x{}\x", "abb"),
        (r"\providecommand{\x}{a}\providecommand{\x}{b}", r"\x", "a"),
        (r"\let\eps=\varepsilon \let\x\eps", r"$\eps \x$", r"$\varepsilon \varepsilon$"),
        (r"\let\oldvec\vec\renewcommand{\vec}[1]{\oldvec{\mathbf{#1}}}", r"\vec{x}",
         r"\vec{\mathbf{x}}"),
        (r"\newcommand{\x}[1]{a#1}\let\y\x\renewcommand{\x}[1]{\y{b#1}}", r"\x{c}", "abc"),
        (r"\let\oldsection\section", r"\oldsection{B}", r"\section{B}"),
        (r"\NewDocumentCommand{\x}{m}{[#1]}", r"\x{a}", "[a]"),
        (r"\NewDocumentCommand\x{s o +m O{d}}{\IfBooleanTF{#1}{S}{-}\IfValueT{#2}{(#2)}#3#4}",
         r"\x{a} \x*[b]{c} \x{a}[e]", r"-ad S(b)cd -ae"),
        (r"\RenewDocumentCommand\x{o}{\IfNoValueTF{#1}{n}{\IfBooleanF#1{v}}}", r"\x. \x[a].",
         "n. v."),
        (r"\newenvironment{x}[2][d]{<#1|#2>}{</>}", r"\begin{x}{a}b\end{x} \begin{x}[e]{f}\end{x}",
         "<d|a>b</> <e|f></>"),
        (r"\newenvironment{x*}{\begin{y}}{\end{y}}\renewenvironment{y}{(}{)}",
         r"\begin{x*}a\end{x*}", "(a)"),
        (r"\NewDocumentEnvironment{x}{m}{\emph{#1}}{.}", r"\begin{x}{a} b\end{x}", r"\emph{a} b."),
        (r"\renewcommand{\cite}{x}\renewenvironment{figure}{a}{b}",
         r"\cite{a}\begin{figure}\end{figure}", r"\cite{a}\begin{figure}\end{figure}"),
        (r"\long\def\x #1{(#1)}\global\let\y\x", r"\x{a}\y b", "(a)(b)"),
        (r"\DeclareMathOperator*{\argmin}{arg\,min}", r"\argmin_x", r"\operatorname{arg\,min}_x"),
    ],
)  # fmt: skip
def test_definitions(definitions, body, expanded):
    paper = clean_paper(rf"{definitions}\begin{{document}}\section{{A}}{body}\end{{document}}")
    assert (paper.body, paper.num_left) == (rf"\section{{A}}{expanded}", 0)


@pytest.mark.parametrize(
    ("definitions", "body", "num_left"),
    [
        (r"\def\loop{\loop b}", r"\loop \loop", 2),
        (r"\def\a{\b}\def\b{\a}\newcommand{\c}{\a}", r"\c", 1),
        (r"\newcommand{\x}[1]{\expandafter\q{#1}}", r"\x{b}", 1),
        (r"\def\x#1.{(#1)}", r"\x a.", 1),
        (r"\NewDocumentCommand\x{d<>}{#1}", r"\x<a>", 1),
        (r"\newenvironment{x}{\begin{x}}{e}", r"\begin{x}\end{x}", 1),
        (r"\newcommand{\x}[2]{#1}", r"\x", 1),
        (r"\newcommand{\unused}{\csname a\endcsname}", "b", 0),
    ],
)
def test_what_cannot_be_expanded_is_counted(definitions, body, num_left):
    paper = clean_paper(rf"{definitions}\begin{{document}}\section{{A}}{body}\end{{document}}")
    assert (paper.body, paper.num_left) == (rf"\section{{A}}{body}", num_left)


def test_what_is_beyond_the_bounds_is_counted():
    paper = clean_paper(r"\def\x{a}\section{A}" + r"\x " * 100_007)
    assert paper.num_left == 7


@mostly_slow(
    "definition",
    [
        r"\newcommand{\x}[1]{#1#1}",
        r"\let\x\y\let\y\x",
        r"\newenvironment{x}{\begin{x}}{}",
        r"\NewDocumentCommand\x{o}{" + r"\IfValueT{#1}{a}" * 20 + "}",
    ],
)
@pytest.mark.parametrize("use", [r"\x{", r"\begin{x}", r"\x", r"\def\x{"])
def test_time_does_not_grow_with_the_square(definition, use):
    """A square would take an hour."""
    clean_paper(definition + r"\section{A}" + use * 20_000 + definition * 2_000)
