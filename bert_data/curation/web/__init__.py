"""Building blocks of the steps for web texts.

URLs       ──addresses──▶ hosts, paths ──▶ entries of lists
lines      ──web_counters, web_phrases──▶ lines that are page furniture
texts      ──personal_data──▶ positions of personal data, by kind ──pseudonyms──▶ others instead
"""
