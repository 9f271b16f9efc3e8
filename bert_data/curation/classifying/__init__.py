"""Linear classifiers of texts in fastText's form: trained, written, read and applied.

texts, .bin or .ftz of fastText ──fasttext_model──▶ classifier ──▶ scores

training trains such a model: training_texts spools texts, word_counting counts their words,
text_rows lists their n-grams, descent trains, fasttext_writing writes the .bin, and held_out says
how good the model is.
"""
