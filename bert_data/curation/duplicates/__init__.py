"""Building blocks of the steps that compare documents.

documents  ──rosters──▶ the documents of all shards, best first, and equal ones
texts      ──normal_text──▶ texts that are equal up to details      decisions: which one is kept
lines      ──line_records──▶ lines of several documents
n-grams    ──minhash──▶ signatures ──lsh_buckets──▶ candidates ──lsh_clusters──▶ clusters
words      ──suffix_arrays──▶ long runs that recur ──▶ texts without them
other sets ──ngram_index──▶ n-grams of evaluation sets
"""
