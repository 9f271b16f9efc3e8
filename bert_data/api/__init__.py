"""The functions of the library that `bert_data` itself exports, for programs and notebooks.

    documents.py   documents as Python has them, in a file that the stages read
    options.py     options, by the names of the commands' flags
    text.py        train_vocab, create_records, tokenize
    curating.py    curate
    classifying.py train_classifier
    reading.py     read_batches, iterate_arrays, build_samples
    models.py      train, export_hub, export_hf

Each calls the stages that its command calls, so the same text gives the same bytes.
"""
