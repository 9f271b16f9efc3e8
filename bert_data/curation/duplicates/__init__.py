"""Building blocks of the steps that compare documents.

documents  ──rosters──▶ the documents of all shards, best first
texts      ──normal_text──▶ digests ──▶ equal documents     decisions: what is kept instead of what
lines      ──line_records──▶ lines of several documents
n-grams    ──minhash──▶ signatures ──lsh_buckets──▶ candidates ──lsh_clusters──▶ clusters
words      ──suffix_arrays──▶ long runs that recur ──word_cuts──▶ texts without them
other sets ──ngram_index──▶ n-grams of evaluation sets
"""
