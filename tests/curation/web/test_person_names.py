"""Full names of persons, and words that look like them."""

import pytest

from bert_data.curation.web.person_names import find_person_names


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
