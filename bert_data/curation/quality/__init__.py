"""Building blocks of the quality rules.

lines, paragraphs ──repeats──▶ share that occurred before      n-grams ──ngrams──▶ likewise
words ──languages──▶ language, stop words, terminal marks      phrases
reference texts ──kneser_ney──▶ ngram_model ──▶ perplexities      values ──percentiles──▶ ranks
lists ──phrase_lists──▶ phrases ──▶ where they occur
texts, .bin of fastText ──fasttext_model──▶ classifier ──▶ scores

classifier_training trains such a model: training_texts spools texts, word_counting counts their
words, text_rows lists their n-grams, descent trains, fasttext_writing writes the .bin, and held_out
says how good the model is.
"""
