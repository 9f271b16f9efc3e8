"""Texts to compare the rules of curation with their oracles on."""

from hypothesis import strategies as st

from bert_data.curation.document import Document

# Little is drawn from, so that words, lines and n-grams are repeated; all ends of lines, marks and
# scripts are among it.
_WORDS = ("a", "b", "the", "of", "with", "ab", "x1", "7", "#", "...", "…", "-", "•", "!", "。")
_WORDS += (*"中的のカก", "ที่", "\u200b", "\x00", "\ud800", "é", "end.", "{", "…\u3000")
_SPACES = (" ", " ", " ", "\n", "\n", "\n\n", "\n\n\n", "\r\n", "\t", "", "\x0b", "\u2028", "\x85")

TEXTS = st.one_of(
    st.lists(st.one_of(st.sampled_from(_WORDS), st.sampled_from(_SPACES)), max_size=60).map(
        "".join
    ),
    st.lists(st.sampled_from([*"aaab", " ", " ", "\n"]), max_size=80).map("".join),
    st.lists(st.sampled_from("的是人山水，。\n"), max_size=80).map("".join),
    st.text(max_size=40),
)


def make_document(text, **fields):
    return Document(id="a/1", source="a", text=text, fields=fields)


def measured(step, text, **fields):
    """Values by rule; each is compared with its threshold as its name says."""
    verdict = step.judge(make_document(text, **fields))
    for each in verdict.measured:
        assert each.threshold == getattr(step, each.rule)
        below = each.value < each.threshold
        above = each.value > each.threshold
        assert each.failed == (below if each.rule.startswith("min_") else above)
    return {each.rule: each.value for each in verdict.measured}
