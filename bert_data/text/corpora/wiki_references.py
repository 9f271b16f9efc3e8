"""The URLs that a page of a wiki cites: in its references, and as the `url` of its templates.

{{Internetquelle |url=http://a.org/1}} <ref>[http://b.org/?x=1&amp;y=2 B]</ref> [http://c.org]
  ->  http://a.org/1  http://b.org/?x=1&y=2
"""

import html
import re

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_REFERENCE = re.compile(r"<ref\b[^<>]*(?<!/)>(.*?)(?:</ref\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_URL = re.compile(r"https?://[^\s\[\]<>{}|\"]+", re.IGNORECASE)
_PARAMETER = re.compile(r"\|\s{0,99}url\s{0,99}=\s{0,99}(?=https?://)", re.IGNORECASE)


def find_references(markup: str) -> list[str]:
    """Return the URLs that a page cites, each once, in the order of their first places."""
    markup = _COMMENT.sub("", markup)
    found = {
        url.start(): url[0]
        for reference in _REFERENCE.finditer(markup)
        for url in _URL.finditer(markup, *reference.span(1))
    }
    for parameter in _PARAMETER.finditer(markup):
        url = _URL.match(markup, parameter.end())
        if url is not None:
            found[url.start()] = url[0]
    return list(dict.fromkeys(_end_of_sentence_off(found[place]) for place in sorted(found)))


def _end_of_sentence_off(url: str) -> str:
    """Return a URL without what follows it in a sentence: marks, and a bracket that it closes."""
    url = html.unescape(url).rstrip(".,;:!?'")
    return url if "(" in url else url.rstrip(").,;:!?'")
