"""Building blocks of the quality rules.

lines, paragraphs ──repeats──▶ share that occurred before      n-grams ──ngrams──▶ likewise
words ──languages──▶ language, stop words                      terminal_marks, phrases
reference texts ──key_counts──▶ counts ──kneser_ney──▶ ngram_model ──▶ perplexities
"""
