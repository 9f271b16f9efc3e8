"""Linear classifiers of texts in fastText's form: trained, written, read and applied.

texts, .bin or .ftz of fastText ──fasttext_model──▶ label_probability ──▶ scores

training trains such a model and writes its .bin: training_texts spools texts and counts words,
descent lists n-grams and trains, and held_out says how good the model is.
"""
