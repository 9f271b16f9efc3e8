"""The functions of the library that `bert_data` itself exports, for programs and notebooks.

    arguments.py   documents and options as Python has them
    text.py        train_vocab, create_records, tokenize
    curating.py    curate, train_classifier
    reading.py     read_batches, iterate_arrays, build_samples
    models.py      train, export_hub, export_hf

Each calls the stages that its command calls, so the same text gives the same bytes.
"""
