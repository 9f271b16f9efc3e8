"""E-mail addresses that are written out, and sentences that look like them."""

import pytest

from bert_data.curation.web.written_emails import find_written_emails


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("jane (at) example (dot) org, please", "jane (at) example (dot) org"),
        ("<jane[at]example.org>", "jane[at]example.org"),
        ("我是lisi（at）163.com哦", "lisi（at）163.com"),
        ("邮箱lisi艾特qq点com", "lisi艾特qq点com"),
        ("12345678#qq.com", "12345678#qq.com"),
        ("j.doe at example dot co dot uk!", "j.doe at example dot co dot uk"),
        ("kim AT example DOT com", "kim AT example DOT com"),
        ("mail: bob @ example . com", "bob @ example . com"),
        ("john[dot]doe[at]gmail[dot]com", "john[dot]doe[at]gmail[dot]com"),
        ("he is jane dot doe at gmail dot com", "jane dot doe at gmail dot com"),
        ("max(ät)web.de", "max(ät)web.de"),
        ("look at example dot com", ""),
        ("e-mail us at the dot com", ""),
        ("jane (at) example", ""),
        ("jane (at) example (dot) nosuchtld", ""),
        ("(at) example.org", ""),
        ("C#example.com", ""),
        ("艾特我", ""),
        ("jane (at) the (dot) com", ""),
    ],
)
def test_written_addresses(text, found):
    assert "".join(text[start:end] for start, end in find_written_emails(text)) == found
