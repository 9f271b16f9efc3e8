"""The steps of curation, one per file, by name; see `bert_data.curation.step`."""
