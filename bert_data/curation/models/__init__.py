"""Building blocks of the steps that run a trained model over documents.

rows.py        texts to rows of ids, in batches planned by length
text_model.py  a model that reads texts: its files, tokenizer and limits
scoring.py     a score of each text
embedding.py   a vector of each text
model_step.py  the parameters that these steps share

TensorFlow is imported when a model is opened.
"""
