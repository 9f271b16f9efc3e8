"""Curation: documents in, documents worth training on out, and a ledger of what was rejected.

Document ──step──▶ Verdict ──step──▶ ...      a DocumentStep judges one document by itself
shards ──observe──▶ decide ──judge──▶ ...     a CorpusStep has to see all of them first

steps/        the steps, one per file
web/          building blocks of the steps for web pages and personal data
quality/      of those for prose: repetition, phrases, languages, a language model, classifiers
duplicates/   of those that compare documents
mixing/       of the one that samples them
running/      a run of a pipeline: shards, passes over them in processes, files, the ledger
reporting/    results of a run: summary, report, thresholds to try

The modules directly in this folder are for all of them: documents, verdicts, steps, words, lines.
"""
