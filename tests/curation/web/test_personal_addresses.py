"""Passwords in URLs, and keys of services."""

import pytest

from bert_data.curation.web.personal_addresses import (
    find_secrets,
    find_url_passwords,
    find_written_emails,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("https://bob:hunter2@example.com/a", "bob:hunter2"),
        ("redis://:pa55@cache:6379", ":pa55"),
        ("ftp://user01:abc@123@ftp.example.com", "user01:abc@123"),
        ("连接mysql://root:密码@db.example.cn吧", "root:密码"),
        ("http://example.com:8080/a@b", ""),
        ("https://example.com/@a:b", ""),
        ("http://bob@example.com", ""),
        ("http://${USER}:${PASS}@example.com", ""),
        ("http://<user>:<password>@example.com", ""),
        ("bob:hunter2@example.com", ""),
        ("://a:b c@d", ""),
    ],
)
def test_passwords_in_urls(text, found):
    assert "".join(text[start:end] for start, end in find_url_passwords(text)) == found


def pem(end: str) -> str:
    return f"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END {end}PRIVATE KEY-----"


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("id AKIAIOSFODNN7EXAMPLE.", "AKIAIOSFODNN7EXAMPLE"),
        ("是AKIAIOSFODNN7EXAMPLE的", "AKIAIOSFODNN7EXAMPLE"),
        ("AKIAIOSFODNN7EXAMPLEX", ""),
        ("xAKIAIOSFODNN7EXAMPLE", ""),
        ("hf_" + "a" * 34, "hf_" + "a" * 34),
        ("hf_" + "a" * 33, ""),
        (f"Bearer {JWT}", JWT),
        ("sk-" + "ab1" * 12, "sk-" + "ab1" * 12),
        ("sk-" + "learn-contrib-" * 4, ""),
        (f"key:\n{pem('RSA ')}\nend", pem("RSA ")),
        (pem("EC "), ""),
    ],
)
def test_keys_and_tokens(text, found):
    assert "".join(text[start:end] for start, end in find_secrets(text)) == found


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
