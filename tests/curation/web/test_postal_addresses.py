"""Postal addresses, and what looks like them."""

import pytest

from bert_data.curation.web.postal_addresses import find_postal_addresses


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("at 350 Fifth Avenue, New York, NY 10118.", "350 Fifth Avenue, New York, NY 10118"),
        (
            "45 N. Elm Rd., Apt. 4B\nBoston, MA 02116-1234",
            "45 N. Elm Rd., Apt. 4B\nBoston, MA 02116-1234",
        ),
        ("10 Downing Street, London SW1A 2AA", "10 Downing Street, London SW1A 2AA"),
        ("80 Wellington St, Ottawa, K1A 0A2", "80 Wellington St, Ottawa, K1A 0A2"),
        ("P.O. Box 12, Austin, TX 78701", "P.O. Box 12, Austin, TX 78701"),
        ("lives at 12 Elm Street", "12 Elm Street"),
        ("filmed 12 Elm Street", ""),
        ("In 1984 Main Street", ""),
        ("lives at 12 elm street", ""),
        ("address: version 1.12 Elm Street", ""),
        ("住在上海市浦东新区世纪大道100号12楼", "上海市浦东新区世纪大道100号12楼"),
        ("家住长安街甲10号3号楼2单元501室。", "长安街甲10号3号楼2单元501室"),
        ("他住在阳光小区3栋2单元501室", "阳光小区3栋2单元501室"),
        ("京藏高速公路88号", ""),
        ("铁路12306号客服", ""),
        ("12号路上", ""),
        ("路12号", ""),
    ],
)
def test_addresses(text, found):
    assert "".join(text[start:end] for start, end in find_postal_addresses(text)) == found
