"""A run of a pipeline: data sets in, curated files and a ledger out.

    pipeline_file ──▶ pipeline ──▶ run ──▶ stages ──▶ passes ──▶ judging     one inside the other
    data_sets ──shards──▶ passes ──spool──▶ passes ──▶ document_files        the way of documents
                            └─ step_log ──counts──▶ ledger                   what becomes of them

What is prepared, passed over, decided and written is tasks (`bert_data.work`), whose folders lie in
the run's work folder until all is whole.
"""
