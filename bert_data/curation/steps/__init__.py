"""The steps of curation, by name; see `bert_data.curation.step`."""

MODULES = {
    "gopher_quality": "gopher",
    "gopher_repetition": "gopher",
    "length": "gopher",
    "c4": "web_rules",
    "fineweb": "web_rules",
    "code_header": "code",
    "code_quality": "code",
    "field_values": "field_filters",
    "licence": "field_filters",
    "score_sampling": "field_filters",
    "classifier": "classify",
    "sentence_classifier": "classify",
    "embed": "model_score",
    "line_duplicates": "exact_duplicates",
}
"""Of steps that share a module, or have one of another name; a step loads its module alone."""
