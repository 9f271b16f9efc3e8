"""Reports of a run, for people: a summary, a page with plots, other thresholds tried out.

Curation ──▶ summary (text, JSON), report (HTML, with plots)
ledger   ──▶ what_if
"""
