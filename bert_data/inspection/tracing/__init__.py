"""From documents to what holds them, and back.

traced_documents.py  documents to the steps of a recipe's run; text_search.py finds them by text
traced_records.py    to the records that `create` made, and back; recipe_sets.py: by a recipe
traced_samples.py    to GPT samples, and back
traced_batches.py    batches, and records that do not say it, to documents
decisions.py         documents through a run of curation
shown.py             shows all of them
"""
