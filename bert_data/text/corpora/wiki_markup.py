r"""Turn wikitext, the markup of MediaWiki, into prose.

    '''Achilles''' ({{lang-grc|Ἀχιλλεύς}}) was a [[Greeks|Greek]] hero.<ref>Iliad.</ref>
    == Birth ==
    [[File:A.jpg|thumb|The [[Styx]]]]He was the son of {{nowrap|[[Peleus]]}}.
      ->
    Achilles (Ἀχιλλεύς) was a Greek hero.
    ## Birth
    He was the son of Peleus.

Left out: templates, tables, references, comments, formulas, listings of several lines, pictures
with their captions, categories and links to other languages; of templates that show their
arguments (`{{lang}}`, `{{dts}}`, `{{convert}}`, ...) the text stays. A heading keeps its level as
in Markdown, unless its section has no text. Where something is left out of parentheses, its commas
go, too.

One pass matches brackets with a stack, so the time is linear in the text's length, whatever it is.
The markup is described in MediaWiki's manual (Help:Formatting, Help:Links, Help:Templates).
"""

import dataclasses
import html
import re
from collections import Counter
from collections.abc import Set

from bert_data.text.corpora.wiki_templates import Templates, own_templates

LEFT_OUT = "\0"
"""Marks, while a page is converted, where something was left out; no XML can contain it."""

_NAMESPACES = (
    "file|image|media|category|archivo|imagen|categoría|datei|bild|kategorie|fichier|"
    "catégorie|immagine|categoria|ficheiro|arquivo|imagem|imaxe|bestand|afbeelding|"
    "categorie|plik|grafika|kategoria|файл|изображение|категория|зображення|категорія|"
    "картинка|слика|датотека|категорија|ファイル|画像|カテゴリ|文件|档案|檔案|图像|圖像|图片|圖片|分类|分類|파일|그림|분류|"
    "ملف|صورة|تصنيف|پرونده|تصویر|رده|קובץ|תמונה|קטגוריה|चित्र|श्रेणी|চিত্র|বিষয়শ্রেণী|"
    "fil|bilde|billede|kategori|tiedosto|kuva|luokka|soubor|obrázek|súbor|obrázok|"
    "kategória|fájl|kép|dosya|resim|tập tin|hình|thể loại|berkas|gambar|fail|imej|fitxer|"
    "imatge|fitxategi|irudi|fișier|fişier|imagine|datoteka|slika|kategorija|αρχείο|"
    "εικόνα|κατηγορία|ไฟล์|ภาพ|หมวดหมู่|படிமம்|பகுப்பு|vaizdas|attēls|pilt|kategooria|"
    "dosiero|kategorio|fasciculus|imago|skrá|mynd|flokkur|պատկեր|կատեգորիա|ფაილი|"
    "კატეგორია|şəkil|kateqoriya|сурет|санат"
)
DROPPED_NAMESPACES = frozenset(_NAMESPACES.split("|"))
"""Namespaces of files, media and categories, whose links are not text; a dump names its own, but
not their former names."""

# MediaWiki expands no more than 40 templates within each other.
_MAX_DEPTH = 40
_MOST_AFTER, _LAST_PARTS = 20, 4  # of a template: characters and parts that show a sentence
_TOKENS = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}(?!\})|<!--|<([a-zA-Z]+)\b[^<>]*>")
_OPENING = {"}}": "{{", "]]": "[[", "|}": "{|"}
_DROPPED_ELEMENTS = (
    "ref references math chem ce gallery timeline syntaxhighlight source score imagemap graph pre "
    "mapframe maplink templatedata templatestyles inputbox hiero categorytree indicator section "
    "style script"
)
_CLOSING = {
    name: re.compile(rf"</{name}\s*>", re.IGNORECASE)
    for name in (*_DROPPED_ELEMENTS.split(), "nowiki")
}
# A template's parameter: its default, if it has one.
_PARAMETER = re.compile(r"\{\{\{[^{}|]*+(?:\|([^{}]*+))?\}\}\}")
_LISTINGS = ("syntaxhighlight", "source")
_MARKUP = re.compile(r"[\[\]{}'*#:;=<>|_!&-]")
_OTHER_WIKI = re.compile(r"[a-z]{2,3}(?:-[a-z]{2,8}){0,2}|simple")

_VARIANTS = re.compile(r"-\{([^{}]*)\}-")
_EXTERNAL = re.compile(
    r"\[(?:(?:https?:|ftps?:|ircs?:)?//|(?:mailto|news|tel|urn|geo):)"
    r"[^\s\[\]]++(?:[ \t]++([^\[\]\n]*+))?+\]"
)
_QUOTES = re.compile(r"'''''|'''|''")
_BREAK = re.compile(r"<(?:br|hr|p|/p|li|/li|tr|/tr|div|/div|blockquote|/blockquote)\b[^<>]*>", re.I)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_SWITCH = re.compile(r"__[A-Z]{3,}__")
_URL = re.compile(r"(?:https?|ftp)://[^\s\0]+")
_PARENTHESES = re.compile(r"[(（][^()（）\n]*[)）]")
_LONELY_MARKS = re.compile(r"(?<=[(（])[\s,;:/،、，；\0]+|[\s,;:/،、，；\0]+(?=[)）])")
_DOUBLE_MARKS = re.compile(r"([,;，；])(?:[ \0]*[,;，；])+")
_EMPTY_PARENTHESES = re.compile(r"[(（][)）]")
_SPACES = ("\t", "\xa0", "\u2009", "\u202f")
_STARTS_OF_LINES = ("\n", "* ", "*", "# ", "#")
_NO_SPACE_BEFORE = " \n,.;:!?)、，。）"
_MANY_SPACES = re.compile(r"  +")
_HEADING = re.compile(r"(={1,6})(.+?)\1[\s\0]*")
_LIST_ITEM = re.compile(r"([*#:;]+)\s*")
_TABLE_ROW = re.compile(r"[|!]|\{\||\|\}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rules:
    """What becomes of links and templates.

    Attributes:
      dropped_namespaces: names of namespaces, in lower case, whose links are left out.
      left_out: gets the names of unknown templates that stand in sentences.
    """

    dropped_namespaces: Set[str] = DROPPED_NAMESPACES
    templates: Templates = dataclasses.field(default_factory=own_templates)
    left_out: Counter[str] = dataclasses.field(default_factory=Counter)


def to_prose(markup: str, rules: Rules | None = None) -> str:
    """Return the prose of a page.

    Args:
      markup: wikitext, with the XML of a dump already decoded.

    Returns:
      Its paragraphs, headings (`## Birth`) and items of lists (`- one`), a line each; an empty line
      stands where the page has one, and around headings.
    """
    markup = markup.replace(LEFT_OUT, "")
    if "{{{" in markup:
        markup = _PARAMETER.sub(r"\1", markup)
    text = _match_brackets(markup, rules or Rules())
    if "-{" in text:
        text = _VARIANTS.sub(_choose_variant, text)
    if "[" in text:
        text = _EXTERNAL.sub(lambda match: match[1] or LEFT_OUT, text)
    text = _QUOTES.sub("", text)
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", text))
    if "__" in text:
        text = _SWITCH.sub("", text)
    if "://" in text:
        text = _URL.sub(LEFT_OUT, text)
    if LEFT_OUT in text:
        text = _drop_marks(_PARENTHESES.sub(_clean_parentheses, text))
    if "&" in text:
        text = html.unescape(text)
    for space in _SPACES:
        text = text.replace(space, " ")
    if "  " in text:
        text = _MANY_SPACES.sub(" ", text)
    return _join_lines(text.split("\n"))


def _match_brackets(markup: str, rules: Rules) -> str:
    """Replace links and templates by their text, and all else that is left out by a mark."""
    frames: list[tuple[str, list[str]]] = [("", [])]
    unclosed: set[str] = set()
    position, num_too_deep = 0, 0
    while match := _TOKENS.search(markup, position):
        parts = frames[-1][1]
        parts.append(markup[position : match.start()])
        position = match.end()
        token = match[0]
        if token in ("{{", "[[", "{|"):
            if token == "{|" and not _begins_line(markup, match.start()):
                parts.append(token)
            elif len(frames) <= _MAX_DEPTH:
                frames.append((token, []))
            else:
                num_too_deep += 1
        elif token in _OPENING:
            if num_too_deep:
                num_too_deep -= 1
            else:
                _close(frames, _OPENING[token], rules, markup[position : position + _MOST_AFTER])
        else:
            end, text = _skip_element(markup, match, unclosed)
            position = max(position, end)
            parts.append(text)
    frames[-1][1].append(markup[position:])
    return "".join(part for _, parts in frames for part in parts)


def _begins_line(markup: str, position: int) -> bool:
    """Whether nothing but spaces and colons precedes a place in its line."""
    line = markup.rfind("\n", max(0, position - 100), position) + 1
    return not markup[line:position].strip(" \t:") and (line > 0 or position <= 100)


def _close(frames: list[tuple[str, list[str]]], opening: str, rules: Rules, following: str) -> None:
    """Close the innermost open bracket of a kind, and the ones within it; ignore one too many."""
    depth = next((i for i in range(len(frames) - 1, 0, -1) if frames[i][0] == opening), 0)
    if depth == 0 or (opening == "[[" and depth < len(frames) - 1):
        return
    content = "".join(part for _, parts in frames[depth:] for part in parts)
    del frames[depth:]
    if opening == "[[":
        text = _render_link(content, rules.dropped_namespaces)
    elif opening == "{{":
        text = rules.templates.render(content)
        name = rules.templates.unknown_name(content) if text is None and depth == 1 else ""
        if name and _is_in_sentence(frames[0][1], content, following):
            rules.left_out[f"template {name}"] += 1
    else:
        text = None
    frames[-1][1].append(LEFT_OUT if text is None else text)


def _is_in_sentence(parts: list[str], content: str, following: str) -> bool:
    """Whether letters stand before a template in its line, or behind one of a single line."""
    before = "".join(parts[-_LAST_PARTS:]).rpartition("\n")[2]
    behind = "" if "\n" in content else following.partition("\n")[0]
    return any(map(str.isalnum, before[-_MOST_AFTER:])) or any(map(str.isalnum, behind))


def _skip_element(markup: str, match: re.Match[str], unclosed: set[str]) -> tuple[int, str]:
    """Return where an element ends, and what stays of it.

    Args:
      unclosed: names of elements that are not closed from here on; this adds to them, so that
        their ends are not looked for again.
    """
    if match[1] is None:
        end = markup.find("-->", match.end())
        return (len(markup) if end < 0 else end + 3), ""
    name = match[1].lower()
    if name not in _CLOSING:
        return match.end(), match[0]
    if match[0].endswith("/>") or name in unclosed:
        return match.end(), LEFT_OUT
    closing = _CLOSING[name].search(markup, match.end())
    if closing is None:
        unclosed.add(name)
        return match.end(), LEFT_OUT
    literal = markup[match.end() : closing.start()]
    if name == "nowiki":
        literal = html.unescape(literal)
    if name == "nowiki" or (name in _LISTINGS and "\n" not in literal.strip()):
        return closing.end(), _MARKUP.sub(lambda mark: f"&#{ord(mark[0])};", literal)
    return closing.end(), LEFT_OUT


def _render_link(content: str, dropped: Set[str]) -> str | None:
    """Return what a reader sees of a link between `[[` and `]]`; None if it is left out."""
    target, has_label, label = content.partition("|")
    prefix, has_prefix, page = target.partition(":")
    if has_prefix:
        is_other_wiki = not has_label and _OTHER_WIKI.fullmatch(prefix) and not page[:1].isspace()
        if is_other_wiki or prefix.strip().replace("_", " ").lower() in dropped:
            return None
    if has_label:
        return label[label.rfind("|") + 1 :] or None
    return target.strip().removeprefix(":")


def _choose_variant(match: re.Match[str]) -> str:
    """Return one of the variants of Chinese and others: `-{zh-hans:网络; zh-hant:網路}-`."""
    flags, has_flags, text = match[1].rpartition("|")
    if has_flags and set(flags.upper()) & set("HTRD-"):
        return ""
    variants = {
        name.strip(): variant.strip()
        for name, has_name, variant in (part.partition(":") for part in text.split(";"))
        if has_name
    }
    for name in ("zh-hans", "zh-cn", "zh"):
        if name in variants:
            return variants[name]
    return next(iter(variants.values()), text)


def _clean_parentheses(match: re.Match[str]) -> str:
    text = match[0]
    if LEFT_OUT not in text:
        return text
    text = _LONELY_MARKS.sub("", _DOUBLE_MARKS.sub(r"\1", text))
    return _EMPTY_PARENTHESES.sub(LEFT_OUT, text)


def _drop_marks(text: str) -> str:
    """Drop the marks, and a space or comma that stood beside what was left out."""
    pieces = text.split(LEFT_OUT)
    kept = [pieces[0]]
    last = 0  # place of the last one that is not empty
    for piece in pieces[1:]:
        before = kept[last]
        if not before or before.endswith(_STARTS_OF_LINES):
            piece = piece.lstrip(" ,;")
        elif piece and piece[0] in _NO_SPACE_BEFORE:
            kept[last] = before.removesuffix(" ")
        if piece:
            last = len(kept)
        kept.append(piece)
    return "".join(kept)


def _join_lines(lines: list[str]) -> str:
    """Join lines; headings become Markdown's; those without words, or text below them, go."""
    prose: list[str] = []
    headings: list[tuple[int, str]] = []  # that no text has followed yet
    for line in lines:
        line = line.strip()
        if line.startswith("=") and (heading := _HEADING.fullmatch(line)):
            level, title = len(heading[1]), heading[2].strip(" \0")
            headings = [each for each in headings if each[0] < level]
            if any(map(str.isalnum, title)):
                headings.append((level, f"{'#' * level} {title}"))
            continue
        line = _clean_line(line)
        if not line:
            if prose and prose[-1] and not headings:
                prose.append("")
            continue
        for _, title in headings:
            prose += ["", title, ""] if prose and prose[-1] else [title, ""]
        headings = []
        prose.append(line)
    while prose and not prose[-1]:
        prose.pop()
    return "\n".join(prose)


def _clean_line(line: str) -> str:
    """Return a line as prose; "" if it has no letter or digit."""
    if not line:
        return ""
    first = line[0]
    if first in "|!{" and _TABLE_ROW.match(line):
        return ""  # of a table whose end is missing
    if first in "*#:;":
        item = _LIST_ITEM.match(line)
        assert item is not None
        rest = line[item.end() :]
        line = f"- {rest}" if item[1][-1] in "*#" else rest
    return line if any(map(str.isalnum, line)) else ""
