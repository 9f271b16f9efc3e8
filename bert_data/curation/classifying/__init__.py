"""Linear classifiers of texts in fastText's form: trained, written, read and applied.

texts, .bin or .ftz of fastText ──fasttext_model──▶ label_probability ──▶ scores

training lets fastText train such a model (fasttext_program): training_texts spools the texts, and
held_out says how good the model is.
"""
