"""Building blocks of the steps for web texts.

pages      ──html_tags──▶ nesting depth                 mojibake: text decoded with a wrong encoding
URLs       ──addresses──▶ hosts, paths ──web_lists──▶ entries of lists
lines      ──line_measures, web_counters, web_phrases──▶ lines that are page furniture
texts      ──personal_addresses, personal_numbers──▶ positions of personal data
names      ──licences──▶ licences in SPDX's form
"""
