"""Building blocks of the quality rules.

lines, paragraphs ──repeats──▶ share that occurred before      n-grams ──ngrams──▶ likewise
words ──languages──▶ language, stop words, terminal marks      phrases
reference texts ──kneser_ney──▶ ngram_model ──▶ perplexities      values ──percentiles──▶ ranks
lists ──phrase_lists──▶ phrases ──▶ where they occur
language_model: fastText's lid.176, by kernels
"""
