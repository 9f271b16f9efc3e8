"""A run of a pipeline: data sets in, curated files and a ledger out.

    presets ──▶ pipeline_file ──▶ pipeline                      what a user asks for
    run ──▶ stages ──▶ passes                                   one calls the next
    data_sets ──▶ passes ──document_spool──▶ passes ──▶ output_files     the way of the documents
    ledger ──▶ counts ──▶ result                                what is noted about them

Preparing, passing, deciding and writing are tasks (`bert_data.work`), whose folders stay in the
run's work folder until the outputs are complete.
"""
