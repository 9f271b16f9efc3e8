"""Precision and recall of the steps privacy and line_corrections on labelled sets.

    python benchmarks/curation_labels.py > benchmarks/results/curation_labels.md

The sets are tests/curation/data/*.tsv: English and Chinese, for phone numbers also twelve other
languages; most rows were used to make the rules, the others (held out) were not. The peers of
privacy are plain regular expressions for e-mail and IP addresses, and phonenumbers' own matcher
with the same regions.
"""

import ipaddress
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import phonenumbers  # noqa: E402
from machine import describe_machine  # noqa: E402

from bert_data.curation.document import Document  # noqa: E402
from bert_data.curation.steps.line_corrections import LineCorrections  # noqa: E402
from bert_data.curation.steps.privacy import PLACEHOLDERS, Privacy  # noqa: E402
from bert_data.curation.web.phones import regions_of  # noqa: E402
from tests.curation.labels import MarkedText, marked_lines, marked_texts  # noqa: E402

HEADER = "kind | right | wrong | missed | precision | recall |\n|---|---|---|---|---|---|---|"
WRITTEN = ("before", "after")
LANGUAGES = ("en", "zh")
PHONES = ("phone", "chinese_mobile")
EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
IPV4 = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}")

Spans = set[tuple[str, int, int]]
Finder = Callable[[MarkedText], Spans]
PRIVACY = Privacy(**dict.fromkeys(PLACEHOLDERS, "replace"))


def find_plainly(row: MarkedText) -> Spans:
    """The finds of plain expressions and phonenumbers, phones of any kind as "phone"."""
    text = row.text
    spans = {("email", *match.span()) for match in EMAIL.finditer(text)}
    for match in IPV4.finditer(text):
        try:
            is_public = ipaddress.ip_address(match[0]).is_global
        except ValueError:
            is_public = False
        if is_public:
            spans.add(("ip_address", *match.span()))
    for region in dict.fromkeys((*PRIVACY.regions, *regions_of(row.language))):
        matcher = phonenumbers.PhoneNumberMatcher(text, region)
        spans |= {("phone", match.start, match.end) for match in matcher}
    return spans


def find_ours(row: MarkedText) -> Spans:
    return set(PRIVACY.find(row.text, row.language))


def merge_phones(spans: Spans) -> Spans:
    return {("phone" if kind in PHONES else kind, start, end) for kind, start, end in spans}


def rates(right: int, wrong: int, missed: int) -> str:
    precision = f"{right / (right + wrong):.3f}" if right + wrong else "-"
    recall = f"{right / (right + missed):.3f}" if right + missed else "-"
    return f"{right} | {wrong} | {missed} | {precision} | {recall}"


def compare(rows: Iterable[MarkedText], find: Finder) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        spans = find(row)
        for kind, *_ in spans & row.spans:
            counts[kind]["right"] += 1
        for kind, *_ in spans - row.spans:
            counts[kind]["wrong"] += 1
        for kind, *_ in row.spans - spans:
            counts[kind]["missed"] += 1
    return counts


def print_counts(label: str, counts: dict[str, Counter[str]], kinds: Iterable[str]) -> None:
    for kind in kinds:
        if kind in counts:
            of_kind = counts[kind]
            figures = rates(of_kind["right"], of_kind["wrong"], of_kind["missed"])
            print(f"| {label} | {kind} | {figures} |")


def print_privacy() -> None:
    rows = marked_texts()
    groups = {
        "English": [row for row in rows if row.language == "en"],
        "Chinese": [row for row in rows if row.language == "zh"],
        "others": [row for row in rows if row.language not in LANGUAGES],
    }
    for written, title in zip(WRITTEN, ("used for the rules", "held out"), strict=True):
        print(f"\nprivacy, {title}: places of personal data\n")
        print("| texts | " + HEADER)
        for group, members in groups.items():
            chosen = [row for row in members if row.written == written]
            counts = compare(chosen, find_ours)
            counts["all"] = sum(counts.values(), Counter())
            print_counts(f"{group} ({len(chosen)})", counts, [*PLACEHOLDERS, "all"])
    print("\nprivacy beside plain expressions and phonenumbers' matcher, all texts\n")
    print("| by | " + HEADER)
    merged = [row._replace(spans=merge_phones(row.spans)) for row in rows]
    kinds = ("email", "ip_address", "phone")
    print_counts("ours", compare(merged, lambda row: merge_phones(find_ours(row))), kinds)
    print_counts("plain", compare(merged, find_plainly), kinds)


def print_lines() -> None:
    step = LineCorrections(max_corrected_fraction=1)
    print("\nline_corrections: lines that are dropped or edited\n")
    print("| lines | right | wrong | missed | precision | recall | left as wanted |")
    print("|---|---|---|---|---|---|---|")
    for language in LANGUAGES:
        for written in WRITTEN:
            counts: Counter[str] = Counter()
            for row in marked_lines():
                if (row.language, row.written) != (language, written):
                    continue
                rest = step.judge(Document("a/1", "a", row.line)).document.text
                is_furniture, is_corrected = row.corrected != row.line, rest != row.line
                counts["all"] += 1
                counts["exact"] += rest == row.corrected
                counts["right"] += is_furniture and is_corrected
                counts["wrong"] += is_corrected and not is_furniture
                counts["missed"] += is_furniture and not is_corrected
            figures = rates(counts["right"], counts["wrong"], counts["missed"])
            exact = f"{counts['exact']} of {counts['all']}"
            print(f"| {language}, {written} | {figures} | {exact} |")


def main() -> None:
    print("# Precision and recall of privacy and line corrections\n")
    print(
        "`benchmarks/curation_labels.py`. The rules were made with the rows of the first table; the"
        " held-out rows tell what to expect of other texts, though the same hand wrote them. About"
        " half of the texts are hard negatives: versions, dates, prices, ISBNs, numbers of orders,"
        " scores, coordinates, code, times, sentences that begin or end as calls to action do. What"
        " is missed in lines are phrases that are not in the lists, of which there is no end.\n"
    )
    print(describe_machine())
    print_privacy()
    print_lines()


if __name__ == "__main__":
    main()
