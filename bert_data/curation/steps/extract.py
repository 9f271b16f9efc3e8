"""Extract the text of web pages: the main content as a reader sees it."""

from typing import Annotated

from bert_data.curation.document import Document, Verdict, measure, page_type
from bert_data.curation.step import DocumentStep, register
from bert_data.settings import Within
from bert_data.text.html import XHTML, measure_tags, visible_text
from bert_data.text.xhtml import as_html, is_xhtml

_TYPE = "content_type"
_FEW_ATTRIBUTES = 256


@register
class Extract(DocumentStep):
    """Extracts the text of HTML pages; other documents pass unchanged.

    A document is HTML if its field `content_type` says so or, without that field, if its first
    1,000 characters contain a doctype or one of the tags `<html>`, `<head>` and `<body>`. The text
    is extracted by resiliparse (Bevendorff et al. 2018, "Elastic ChatNoir"), which preserves lines,
    paragraphs and lists and leaves out ruby readings; `content_type` then becomes "text/plain".
    XHTML (`content_type` "application/xhtml+xml", or an XML declaration and XHTML's namespace) is
    parsed as XML if it is well-formed, otherwise as HTML. Pages with deeply nested elements or very
    many attributes, which could keep the parser busy for hours, are rejected. Browsers limit the
    depth, too (Chromium to 512).

    Attributes:
      main_content: leave out navigation, headers, footers and the like.
      comments: treat readers' comments as content.
      alt_texts: include the alternative texts of images.
      links: include the targets of links.
      list_bullets: put a bullet or number before list items.
      max_depth: largest depth of nested elements.
      max_attributes: largest number of attributes of a tag, at least 256.
    """

    name = "extract"
    own_fields = (_TYPE,)
    accepts_markup = True
    is_meant_to_shorten = True
    main_content: bool = True
    comments: bool = False
    alt_texts: bool = False
    links: bool = False
    list_bullets: bool = True
    max_depth: Annotated[int, Within(1)] = 256
    max_attributes: Annotated[int, Within(_FEW_ATTRIBUTES)] = 1_000

    step_examples = (
        (
            "<html><head><title>T</title></head><body><nav><a href=/>Home</a></nav>"
            "<article><h1>Bread</h1><p>Flour &amp; water.<p>And time.</article></body></html>",
            "Bread\n\nFlour & water.\n\nAnd time.",
        ),
        ("No page: a < b.", "No page: a < b."),
        ("<html><body>" + "<div>" * 300 + "deep", None),
    )

    def judge(self, document: Document) -> Verdict:
        page, type_of_page = document.text, page_type(document)
        if type_of_page is None:
            return Verdict(document)
        if type_of_page == XHTML or is_xhtml(page):
            page = as_html(page)
        tags = measure_tags(page, few_attributes=_FEW_ATTRIBUTES)
        measured = (
            measure("max_depth", tags.depth, self.max_depth),
            measure("max_attributes", tags.num_attributes, self.max_attributes),
        )
        if any(each.failed for each in measured):
            return Verdict(document, measured)
        plain = document.with_text(self._text_of(page))
        return Verdict(plain.with_fields(**{_TYPE: "text/plain"}), measured, {"pages": 1})

    def _text_of(self, page: str) -> str:
        return visible_text(
            page,
            "it",
            main_content=self.main_content,
            list_bullets=self.list_bullets,
            alt_texts=self.alt_texts,
            links=self.links,
            comments=self.comments,
        )

    def describe_use(self, counted: dict[str, int]) -> str | None:
        return None if counted.get("pages") else "no document was HTML; none was changed"
