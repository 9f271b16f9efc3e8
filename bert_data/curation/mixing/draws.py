"""A document's number in a draw, which depends on nothing but the draw's key, data set and id.

draw("7", document)  ->  0.6180...         the same in every run, wherever the document is
"""

import xxhash

from bert_data.curation.document import Document


def draw(key: str, document: Document) -> float:
    """Return a number in [0, 1); those of other keys are independent of it."""
    name = f"{key}\0{document.source}\0{document.id}".encode(errors="surrogatepass")
    return (xxhash.xxh3_64_intdigest(name) >> 11) / 2**53
