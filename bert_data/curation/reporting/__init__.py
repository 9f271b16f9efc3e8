"""What a run did, for people: a summary, a report with plots, other thresholds tried out.

Curation ──▶ summary (text, JSON), report (HTML, with plots)
ledger   ──▶ what_if
"""
