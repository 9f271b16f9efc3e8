"""Find what opens accounts: users with passwords in URLs, and keys of well-known services.

    find_url_passwords("git clone https://bob:hunter2@example.com/a")   ->  [(18, 29)]
    find_secrets("id AKIAIOSFODNN7EXAMPLE")                               ->  [(3, 23)]

Keys are recognized by the prefixes that their issuers document. All functions take time linear in
the length of the text.
"""

import re

from bert_data.curation.web.personal_addresses import Spans

# The last @ before the path ends the password, as people do not escape one within it.
_URL_PASSWORD = re.compile(
    r"://(?P<user>[^\s/?#:@<>\"'${}]{0,64}:[^\s/?#<>\"'${}]{1,128})@(?=[\w\[])"
)
_SECRETS = {
    # What the text must contain: the whole expression.
    "AKIA": r"AKIA[0-9A-Z]{16}",
    "ASIA": r"ASIA[0-9A-Z]{16}",
    "AIza": r"AIza[0-9A-Za-z_-]{35}",
    "ghp_": r"ghp_[0-9A-Za-z]{36,255}",
    "gho_": r"gho_[0-9A-Za-z]{36,255}",
    "ghs_": r"ghs_[0-9A-Za-z]{36,255}",
    "github_pat_": r"github_pat_[0-9A-Za-z_]{60,255}",
    "glpat-": r"glpat-[0-9A-Za-z_-]{20,255}",
    "xox": r"xox[abeprs]-[0-9A-Za-z-]{20,255}",
    "_live_": r"[sr]k_live_[0-9A-Za-z]{24,255}",
    "sk-": r"sk-(?=[A-Za-z_-]{0,40}[0-9])[0-9A-Za-z_-]{32,255}",
    "hf_": r"hf_[A-Za-z]{34}",
    "npm_": r"npm_[0-9A-Za-z]{36}",
    ".eyJ": r"eyJ[0-9A-Za-z_-]{10,2000}\.eyJ[0-9A-Za-z_-]{10,4000}\.[0-9A-Za-z_-]{10,1000}",
}
_PATTERNS = {
    part: re.compile(rf"(?<![0-9A-Za-z_-]){pattern}(?![0-9A-Za-z_])")
    for part, pattern in _SECRETS.items()
}
_PEM_BEGIN, _PEM_END = "-----BEGIN ", " PRIVATE KEY-----"
_PEM = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,2}PRIVATE KEY-----")
_MAX_PEM = 16_000


def find_url_passwords(text: str) -> Spans:
    """Return the positions of `user:password` in URLs; names in braces or brackets stay."""
    return [match.span("user") for match in _URL_PASSWORD.finditer(text)]


def find_secrets(text: str) -> Spans:
    """Return the positions of access keys, tokens (JWT too) and private keys (PEM)."""
    has_line = "_" in text
    spans = [
        match.span()
        for part, pattern in _PATTERNS.items()
        if (has_line or "_" not in part) and part in text
        for match in pattern.finditer(text)
    ]
    if _PEM_BEGIN in text and _PEM_END in text:
        spans += _find_private_keys(text)
    return spans


def _find_private_keys(text: str) -> Spans:
    spans: Spans = []
    for match in _PEM.finditer(text):
        end_line = match[0].replace("BEGIN", "END")
        end = text.find(end_line, match.end(), match.end() + _MAX_PEM)
        if end >= 0:
            spans.append((match.start(), end + len(end_line)))
    return spans
