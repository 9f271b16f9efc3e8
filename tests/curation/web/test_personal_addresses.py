"""Finders of personal data find them in texts.

A row of finders.tsv has a finder, a text, and what it finds; "\\n" is the end of a line.
"""

import pytest

from bert_data.curation.web import names_and_addresses, personal_addresses, personal_numbers, phones
from tests.curation.labels import FOLDER

COVERS = ("curation/web/names_and_addresses",)

MODULES = (names_and_addresses, personal_addresses, personal_numbers, phones)
FINDERS = {name: find for module in MODULES for name, find in vars(module).items()}
ROWS = (FOLDER / "finders.tsv").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("row", ROWS)
def test_what_is_found(row):
    finder, text, found = row.replace("\\n", "\n").split("\t")
    spans = FINDERS[finder](text)
    separator = " " if finder == "find_ip_addresses" else ""
    assert separator.join(text[start:end] for start, end in spans) == found
