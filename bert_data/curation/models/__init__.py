"""Building blocks of the steps that run a trained model over documents.

text_model.py  a model that reads texts: its files, tokenizer and limits, and rows of ids
model_step.py  what these steps share: parameters, scores and vectors of texts

TensorFlow is imported when a model is opened.
"""
