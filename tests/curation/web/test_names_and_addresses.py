"""Full names of persons, and words that look like them."""

import pytest

from bert_data.curation.web.names_and_addresses import find_person_names, find_postal_addresses


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Dr. Anke Vogelsang left", "Anke Vogelsang"),
        ("met John Q. Smith.", "John Q. Smith"),
        ("Mary Ann Jones's hat", "Mary Ann Jones"),
        ("My name is Olu Adeyemi, sir", "Olu Adeyemi"),
        ("Laura van Dyke", "Laura van Dyke"),
        ("John Smith Street", ""),
        ("St. John Smith", ""),
        ("The Thomas Cook Group", ""),
        ("David Street", ""),
        ("john smith", ""),
        ("Mr. Smith", ""),
        ("/John Smith", ""),
        ("联系人：王建国，电话", "王建国"),
        ("姓名欧阳修文。", "欧阳修文"),
        ("感谢周慧敏女士", "周慧敏"),
        ("王先生", ""),
        ("我叫你别来", ""),
        ("姓名：未填", ""),
        ("王建国昨天来了", ""),
        ("今天王建国先生在", "王建国"),
        ("他叫王小明，是我", "王小明"),
        ("她叫李娜。", "李娜"),
        ("他叫王小明来", ""),
        ("今天高中同学聚会", ""),
        ("昨天全体老师", ""),
        ("他叫路人，", ""),
        ("JOHN SMITH", ""),
        ("Smith, John", ""),
    ],
)
def test_names(text, found):
    assert "".join(text[start:end] for start, end in find_person_names(text)) == found


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
