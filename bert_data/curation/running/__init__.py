"""A run of a pipeline: data sets in, curated files and a ledger out.

    presets ──▶ pipeline_file ──▶ pipeline                      what a user asks for
    run ──▶ markup ──▶ stages ──▶ passes ──▶ judging            one calls the next
    data_sets ──▶ passes ──spool──▶ passes ──▶ document_files   the way of the documents
    step_log ──▶ counts, examples ──▶ problems                  what is noted about them
    step_log ──▶ ledger ──▶ joining                             and written to files of its own

Preparing, passing, deciding and writing are tasks (`bert_data.work`), whose folders stay in the
run's work folder until the outputs are complete.
"""
