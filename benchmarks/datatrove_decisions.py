"""Decisions of datatrove's filters on documents, rule by rule; runs in datatrove's interpreter.

    {"gopher_quality": {"min_words": 50, ...}, ...}     a line of thresholds, by step and rule
    "a text"                                            and a line for each document
      ->  {"gopher_quality": {"min_words": true, ...}, ...}   whether each rule rejects it

A filter reports only the first rule that fails, so there is one filter per rule, with the other
rules switched off. For C4, "text" holds what remains of the text.
"""

import json
import math
import sys

NEVER = math.inf


def quality_filters(thresholds):
    from datatrove.pipeline.filters import GopherQualityFilter

    names = {
        "min_words": "min_doc_words",
        "max_words": "max_doc_words",
        "min_mean_word_length": "min_avg_word_length",
        "max_mean_word_length": "max_avg_word_length",
        "max_symbol_word_ratio": "max_symbol_word_ratio",
        "max_bullet_line_fraction": "max_bullet_lines_ratio",
        "max_ellipsis_line_fraction": "max_ellipsis_lines_ratio",
        "min_alphabetic_word_fraction": "max_non_alpha_words_ratio",
        "min_stop_words": "min_stop_words",
    }
    off = dict.fromkeys(names.values())
    return {
        rule: GopherQualityFilter(**{**off, names[rule]: threshold})
        for rule, threshold in thresholds.items()
    }


def repetition_filters(thresholds):
    from datatrove.pipeline.filters import GopherRepetitionFilter

    names = {
        "max_duplicate_line_fraction": "dup_line_frac",
        "max_duplicate_paragraph_fraction": "dup_para_frac",
        "max_duplicate_line_character_fraction": "dup_line_char_frac",
        "max_duplicate_paragraph_character_fraction": "dup_para_char_frac",
    }
    off = {**dict.fromkeys(names.values()), "top_n_grams": (), "dup_n_grams": ()}
    filters = {}
    for rule, threshold in thresholds.items():
        if rule in names:
            on = {names[rule]: threshold}
        else:
            _, kind, order, _, _ = rule.split("_")
            name = "top_n_grams" if kind == "top" else "dup_n_grams"
            on = {name: ((int(order), threshold),)}
        filters[rule] = GopherRepetitionFilter(**{**off, **on})
    return filters


def fineweb_filters(thresholds):
    from datatrove.pipeline.filters import FineWebQualityFilter

    names = {
        "min_terminal_line_fraction": "line_punct_thr",
        "max_short_line_fraction": "short_line_thr",
        "max_duplicate_line_character_fraction": "char_duplicates_ratio",
        "max_newline_word_ratio": "new_line_ratio",
    }
    off = {**dict.fromkeys(names.values(), NEVER), "line_punct_thr": -1}
    return {
        rule: FineWebQualityFilter(**{**off, names[rule]: threshold})
        for rule, threshold in thresholds.items()
    }


def c4_filters(thresholds):
    from datatrove.pipeline.filters import C4QualityFilter

    names = {
        "max_lorem_ipsum_lines": "filter_lorem_ipsum",
        "max_curly_bracket_lines": "filter_curly_bracket",
    }
    off = {**dict.fromkeys(names.values(), False), "min_num_sentences": -1}
    filters = {rule: C4QualityFilter(**{**off, name: True}) for rule, name in names.items()}
    sentences = {**off, "min_num_sentences": thresholds["min_sentences"]}
    return {**filters, "min_sentences": C4QualityFilter(**sentences)}


FILTERS = {
    "gopher_quality": quality_filters,
    "gopher_repetition": repetition_filters,
    "fineweb": fineweb_filters,
    "c4": c4_filters,
}


def decide(filters, text):
    from datatrove.data import Document

    decisions = {}
    for step, of_step in filters.items():
        decisions[step] = {}
        for rule, one in of_step.items():
            document = Document(text=text, id="0")
            result = one.filter(document)
            decisions[step][rule] = result is not True
            if rule == "min_sentences":
                decisions[step]["text"] = document.text
    return decisions


def main():
    thresholds = json.loads(sys.stdin.readline())
    filters = {step: FILTERS[step](rules) for step, rules in thresholds.items()}
    for line in sys.stdin:
        print(json.dumps(decide(filters, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
