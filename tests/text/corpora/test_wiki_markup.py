"""Wikitext as prose: what goes, what stays, and that no text breaks it."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.text.corpora.wiki_markup import LEFT_OUT, Rules, to_prose
from bert_data.text.corpora.wiki_templates import own_templates
from tests.rows import mostly_slow

COVERS = ("text/corpora/wiki_templates",)

PAIRS = [
    # Links.
    ("A [[b]] c [[d|e]]s [[f (g)|f]].", "A b c es f."),
    ("[[:Category:Rivers]] and [[wikt:river|river]]", "Category:Rivers and river"),
    ("A.\n[[Category:Rivers]]\n[[fr:Fleuve]]\n[[simple:River]]", "A."),
    ("[[File:A.jpg|thumb|The [[Styx|river]] ({{lang|grc|Στύξ}})]]A.", "A."),
    ("A [http://a.example/ page], [https://b.example] and https://c.example/?d=e here.",
     "A page, and here."),
    # Templates, tables, references, comments, elements.
    ("{{Infobox|name={{PAGENAME}}|image=[[File:a.jpg]]}}\nA.", "A."),
    ("A ({{IPA|a}}; {{lang-el|α}}, ''b'') c ({{IPA|d}}).", "A (α, b) c."),
    ("A {{convert|5|to|10|km2|sqmi}}, {{circa|1500}}, {{frac|2|1|3}}, {{as of|2014|4}}.",
     "A 5 to 10 km², c. 1500, 2 1/3, As of April 2014."),
    ("A{{snd}}b {{nowrap|1=c d}} {{formatnum:1234}} {{blockquote|text=e|author=f}}",
     "A – b c d 1234 e"),
    ("{{convert|5|ft|10|in|m}}, {{convert|12|st|5|lb|kg}}, {{convert|100|±|5|km}}, {{gaps|1|234}}",
     "5 ft 10 in, 12 st 5 lb, 100 ± 5 km, 1234"),
    ("{{val|5.2|e=-3|u=m}} {{nihongo|Tokyo|東京|Tōkyō}} {{as of|2010|6|lc=y}} {{mvar|x}}{{math|n}}",
     "5.2×10^-3 m Tokyo (東京, Tōkyō) as of June 2010 xn"),
    ("In [[CSI: Miami]] and [[CSI: NY]].[[fr:Les Experts]]", "In CSI: Miami and CSI: NY."),
    ("A.\n{| class=x\n|-\n! b || c\n{|\n|d\n|}\n|}\nE.", "A.\n\nE."),
    ("{{T|\n{|\n|a\n|}\n}}B.", "B."),
    ("{{T\n|a=b\n|}}C.", "C."),
    ("A<ref name=\"b/c\" />, b<ref>{{cite|}} <!-- </ref> --></ref>.", "A, b -->."),
    ("A,<ref>b</ref><ref>c</ref> d.<ref>e</ref>\nF<ref>g</ref>", "A, d.\nF"),
    ("A<!-- b\n\n c -->d<!-- e", "Ad"),
    ("a <math>\\frac{1}{2}</math> b<br/>c <small>d</small> <span style=\"e\">f</span>",
     "a b\nc d f"),
    ("A <nowiki>[[b]] ''c'' &amp;lt; &amp;</nowiki>", "A [[b]] ''c'' &lt; &"),
    ("A <source inline>b &lt; c</source> [mailto:a@b.example d], [news:e f]. [tel: 1]",
     "A b &lt; c d, f. [tel: 1]"),
    ("<source lang=c>{{\n{{</source>A <ref>b", "A b"),
    ("'''''a''' b''&nbsp;&ndash;&nbsp;c &amp;amp; d", "a b – c &amp; d"),
    ("__NOTOC__a -{zh-hans:网络; zh-hant:網路}- -{H|b}- -{c}-", "a 网络 c"),
    # Lines.
    ("== A ==\n=== B ===\n{{main|c}}\nD.\n== E ==\n{{reflist}}\n== F ==\n* [http://g.example]",
     "## A\n\n### B\n\nD."),
    ("A\n\n\n\nB\n----\n* c\n** d\n# e\n: f\n; g", "A\n\nB\n\n- c\n- d\n- e\nf\ng"),
    ("* {{cite}}, also b\n| c\n! d", "- also b"),
    # Brackets that do not match.
    ("A {{b c\n\nd [[e\n\nf ]] g }} h", "A h"),
    ("A {{b c\n\nd", "A b c\n\nd"),
    ("A [[b {{c]] d}} e", "A b e"),
    ("A }} b ]] c |} d {| e", "A b c d {| e"),
]  # fmt: skip


@pytest.mark.parametrize(("markup", "prose"), PAIRS)
def test_prose(markup, prose):
    assert to_prose(markup) == prose


@pytest.mark.parametrize(
    ("markup", "prose"),
    [
        ("See {{{a|b}}} and {{{1}}}c.", "See b and c."),
        ("{{lang|el|{{{1|λόγος}}}}}", "λόγος"),
        ("Use <syntaxhighlight lang=c inline>a[i] = ''b''</syntaxhighlight> here.",
         "Use a[i] = ''b'' here."),
        ("A <source lang=c>x</source>.\n<syntaxhighlight>\na\nb\n</syntaxhighlight>\nB.",
         "A x.\n\nB."),
    ],
)  # fmt: skip
def test_parameters_and_listings(markup, prose):
    assert to_prose(markup) == prose


@pytest.mark.parametrize(
    ("markup", "prose"),
    [
        ("{{sortname|Jane|Doe}} won on {{dts|2001|May|3}} with {{nts|1200}} points.",
         "Jane Doe won on 3 May 2001 with 1200 points."),
        ("The {{USS|Enterprise|CV-6}} and the {{ship|HMS|Hood}} met {{birth date|1941|5|24|df=y}}.",
         "The USS Enterprise (CV-6) and the HMS Hood met 24 May 1941."),
        ("Le {{s-|XX}} a {{unité|5|km}} et {{Lien|trad=x|texte=elle|lang=en}}.",
         "Le XXe siècle a 5 km et elle."),
        ("{{нп5|Имя|текст|en}} is {{sort|001|one}}, {{dts|2001}} {{math|x {{=}} 2}}.",
         "текст is one, 2001 x = 2."),
    ],
)  # fmt: skip
def test_templates_that_show_their_arguments(markup, prose):
    rules = Rules()
    assert to_prose(markup, rules) == prose
    assert not rules.left_out


def test_templates_that_are_left_out_of_sentences_are_counted():
    rules = Rules()
    markup = (
        "{{Infobox person|name=A\n|b={{odd|x}}}}Ann was {{Odd one|b}}{{sfn|C|2001}} born.\n"
        "* {{odd_one}} here {{#if:a|b}}{{DEFAULTSORT:A}}\n{{Navbox}}\nB.{{odd}}\n"
    )
    assert to_prose(markup, rules) == "Ann was born.\n- here\n\nB."
    assert rules.left_out == {"template odd one": 2, "template odd": 1}


def test_a_table_of_templates_is_read_with_its_lines():
    templates = own_templates().with_more(
        "# more\n\nA b, c -> <{1}>[ of {2}]{line}\nd ->\n", "t.txt"
    )
    assert templates.render("a_b|1|2") == "<1> of 2\n" and templates.render("c|1") == "<1>\n"
    assert templates.render("d|1") is None and not templates.unknown_name("D|1")
    with pytest.raises(ValueError, match=r"^t\.txt:2: it has no ' ->'"):
        own_templates().with_more("a -> b\nc: d", "t.txt")


def test_namespaces_of_a_language():
    markup = "[[Datei:a.jpg|mini|b]]C [[Kategorie:D]]"
    assert to_prose(markup, Rules(dropped_namespaces=frozenset({"datei", "kategorie"}))) == "C"
    former = "[[Imagen:a.png|200px]]A[[Bild:b.png|thumb|b]][[画像:c.png]][[Файл:d.png|мини]]"
    assert to_prose(former) == "A"


PARTS = [
    "{{", "}}", "[[", "]]", "{|", "|}", "|", "=", "==", "''", "'''", "<ref>", "</ref>", "<ref/>",
    "<!--", "-->", "<nowiki>", "</nowiki>", "<br>", "*", "#", ":", ";", "(", ")", ",", "&", "&amp;",
    "&#91;", "-{", "}-", "http://a.example", "[", "]", "{{lang|", "{{convert|", "File:",
    "__TOC__", "a", "é", "中", "1", " ", "\n", "\n\n", "\0",
]  # fmt: skip
MARKUP = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)


@given(MARKUP)
@example("===\na")
def test_any_markup(markup):
    prose = to_prose(markup)
    assert LEFT_OUT not in prose
    assert prose == prose.strip("\n") and "\n\n\n" not in prose and "  " not in prose
    assert all(any(map(str.isalnum, line)) or not line for line in prose.split("\n"))


@given(st.lists(st.sampled_from(["a", " ", "b c", "\n"]), max_size=20).map("".join))
def test_plain_words_stay(text):
    assert re.sub(r"\s+", "", to_prose(text)) == re.sub(r"\s+", "", text)


@mostly_slow(
    "part", ["{{", "[[", "{|\n", "<ref>", "<!--", "((", "[http://a ", "]]", "-{", "[[a|", "{{{"]
)
def test_time_does_not_grow_with_the_square(part):
    """With a square, so many open brackets would take an hour."""
    to_prose(part * 200_000)
